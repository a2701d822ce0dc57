"""Engine and recording against a bare `mj_step` loop: 10 substeps an act, no frames.

Both run the same controls on the same model, interleaved, many rounds; the median of the paired
ratios is printed. Recording is the real one: a journal line in the file system before every act.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np

from clew import registry
from clew.core import Control
from clew.replay import begin
from clew.store import Recorder, Writer

STEPS, ROUNDS, SUBSTEPS = 150, 40, 10


def main() -> None:
    environment = registry.environment("tabletop")
    start = environment.start("pick-place", 0)  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    controls = [Control(tuple(row), "float32") for row in rng.uniform(-1, 1, (STEPS, 4))]
    folder = Path(tempfile.mkdtemp())
    writer = Writer(folder, "bench")
    bare, clew = [], []
    for _ in range(ROUNDS):
        session = environment.open(start)
        applied = _applied(environment, start, controls)
        bare.append(_bare(session._model, session._data, applied))  # type: ignore[attr-defined]
        session.close()
        with begin(environment, start, sink=Recorder(writer, {"bench": True})) as episode:
            began = time.perf_counter()
            for control in controls:
                episode.act(control)
            clew.append(time.perf_counter() - began)
    shutil.rmtree(folder)
    ratio = statistics.median(c / b for c, b in zip(clew, bare))
    print(f"{'bare mj_step':24} {statistics.median(bare) / STEPS * 1e6:8.1f} µs a step")
    print(f"{'clew, recorded':24} {statistics.median(clew) / STEPS * 1e6:8.1f} µs a step")
    print(f"{'overhead (median pair)':24} {(ratio - 1) * 100:8.1f} %   (reach: ≤ 10 %)")


def _applied(environment: object, start: object, controls: list[Control]) -> np.ndarray:
    """The actuator inputs that the session really applies for each action, shape (STEPS, nu)."""
    session = environment.open(start)  # type: ignore[attr-defined]
    rows = []
    for control in controls:
        session.act(control, frozenset())
        rows.append(session._data.ctrl.copy())
    session.close()
    return np.array(rows)


def _bare(model: mujoco.MjModel, data: mujoco.MjData, applied: np.ndarray) -> float:
    began = time.perf_counter()
    for row in applied:
        data.ctrl[:] = row
        mujoco.mj_step(model, data, nstep=SUBSTEPS)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
