"""Being at step 150 of a trajectory by snapshot, against replaying it, in one run.

    python bench/snapshot.py [tabletop|metaworld]

Both give an episode at the same state with the observation in hand; snapshots are proven before
they are served, and their audit (5 % of servings are replayed cold as well) is shown apart.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from clew import registry
from clew.core import Control
from clew.match import preset
from clew.replay import Snapshots, begin, reconstruct

STEPS, ROUNDS = 150, 30
TASKS = {"tabletop": "pick-place", "metaworld": "pick-place-v3"}


def main(name: str) -> None:
    environment = registry.environment(name)
    start = environment.start(TASKS[name], 0)  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    with begin(environment, start) as episode:
        for row in rng.uniform(-1, 1, (STEPS, 4)):
            episode.act(Control(tuple(row), "float32"))
        episode.look(frozenset({"vector"}), True)
        trajectory = episode.trajectory
    see, match = frozenset({"vector"}), preset("state")
    snapshots = Snapshots(environment, audit=0.0)
    if not snapshots.offer(environment, trajectory, match):
        raise SystemExit("the snapshot did not pass its proof")
    replay, served = [], []
    for _ in range(ROUNDS):
        replay.append(_timed(lambda: reconstruct(environment, trajectory, match, see=see)))
        served.append(
            _timed(
                lambda: reconstruct(environment, trajectory, match, see=see, snapshots=snapshots)
            )
        )
    ratios = [r / s for r, s in zip(replay, served)]
    print(f"{name}, step {STEPS}")
    print(f"{'replay':24} {statistics.median(replay) * 1e3:9.2f} ms")
    print(f"{'snapshot':24} {statistics.median(served) * 1e3:9.2f} ms")
    print(f"{'ratio (median pair)':24} {statistics.median(ratios):9.1f} ×   (reach: ≥ 50 ×)")


def _timed(call: object) -> float:
    began = time.perf_counter()
    episode = call()  # type: ignore[operator]
    seconds = time.perf_counter() - began
    episode.close()
    return seconds


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tabletop")
