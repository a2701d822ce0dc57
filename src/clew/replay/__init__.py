"""The verbs: the whole engine. They name no environment and no study."""

from clew.replay.episode import Episode, begin
from clew.replay.shrink import shrink
from clew.replay.snapshots import Snapshot, Snapshots
from clew.replay.verbs import certify, own_oracle, reconstruct, replayed, resume, value

__all__ = [
    "Episode", "Snapshot", "Snapshots", "begin", "certify", "own_oracle", "reconstruct",
    "replayed", "resume", "shrink", "value",
]  # fmt: skip
