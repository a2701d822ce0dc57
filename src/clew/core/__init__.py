"""The vocabulary: frozen data and protocols. Standard library and numpy only; runs nothing."""

from clew.core.actions import (  # isort: skip
    Action, Control, Element, Keys, Pointer, Scroll, Text, Tool, Wait, action_json, action_of,
    canonical,
)  # fmt: skip
from clew.core.canonical import canonical_json, digest, value_digest

from clew.core.data import (  # isort: skip
    NOTHING, UNSEEN, Brief, Budget, Certificate, Channels, Decision, Evidence, Fingerprint,
    Judgement, Key, Moment, Seen, Start, Step, Trajectory, next_key,
)  # fmt: skip
from clew.core.errors import ClewError, Diverged, Refused, SessionSpent, Trouble, boundary, nearest
from clew.core.outcomes import Cause, Outcome, Party, outcome_of

from clew.core.protocols import (  # isort: skip
    Actor, Described, Environment, Expects, Judged, Match, Observation, Oracle, Policy, Probed,
    Recalls, Saved, Session, Sink,
)  # fmt: skip

__all__ = [
    "NOTHING", "UNSEEN", "Action", "Actor", "Brief", "Budget", "Cause", "Certificate", "Channels",
    "ClewError", "Control", "Decision", "Described", "Diverged", "Element", "Environment",
    "Evidence", "Expects", "Fingerprint", "Judged", "Judgement", "Key", "Keys", "Match", "Moment",
    "Observation", "Oracle", "Outcome", "Party", "Pointer", "Policy", "Probed", "Recalls",
    "Refused", "Saved", "Scroll", "Seen", "Session", "SessionSpent", "Sink", "Start", "Step",
    "Text", "Tool", "Trajectory", "Trouble", "Wait", "action_json", "action_of", "boundary",
    "canonical", "canonical_json", "digest", "nearest", "next_key", "outcome_of", "value_digest",
]  # fmt: skip
