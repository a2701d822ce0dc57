"""Engine and recording against a bare `mj_step` loop: 10 substeps an act, no frames.

Both go through the same states with the same actuator inputs, in turns of a few steps, so that
whatever else the machine does meets both; the median of the turns' ratios is printed. Recording is
the real one: a journal line in the file system before every act.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from clew import registry
from clew.core import NOTHING, Control
from clew.replay import Episode, begin
from clew.store import Recorder, Writer

STEPS, TURN, ROUNDS, SUBSTEPS = 150, 25, 60, 10


def main() -> None:
    environment: Any = registry.environment("tabletop")
    start = environment.start("pick-place", 0)
    rng = np.random.default_rng(0)
    controls = [Control(tuple(row), "float32") for row in rng.uniform(-1, 1, (STEPS, 4))]
    applied, last = _applied(environment, start, controls)
    folder = Path(tempfile.mkdtemp())
    writer = Writer(folder, "bench")
    bare: list[float] = []
    clew: list[float] = []
    for round_ in range(ROUNDS):
        session = environment.open(start)
        session.observe(NOTHING)
        with begin(environment, start, sink=Recorder(writer, {"bench": True})) as episode:
            for t in range(0, STEPS, TURN):
                turn = slice(t, t + TURN)
                bare_first = (round_ + t // TURN) % 2
                if bare_first:
                    bare.append(_bare(session._model, session._data, applied[turn]))
                clew.append(_acted(episode, controls[turn]))
                if not bare_first:
                    bare.append(_bare(session._model, session._data, applied[turn]))
            for ended in (session, episode.session):
                assert np.array_equal(ended._data.qpos, last), "the two did not do the same"
        session.close()
    shutil.rmtree(folder)
    ratio = statistics.median(c / b for c, b in zip(clew, bare))
    print(f"{'bare mj_step':24} {statistics.median(bare) / TURN * 1e6:8.1f} µs a step")
    print(f"{'clew, recorded':24} {statistics.median(clew) / TURN * 1e6:8.1f} µs a step")
    print(f"{'overhead (median pair)':24} {(ratio - 1) * 100:8.1f} %   (reach: ≤ 10 %)")


def _applied(
    environment: Any, start: object, controls: list[Control]
) -> tuple[list[np.ndarray], np.ndarray]:
    """The actuator inputs that the session really applies for each action, and where they lead."""
    session = environment.open(start)
    rows = []
    for control in controls:
        session.act(control, NOTHING)
        rows.append(session._data.ctrl.copy())
    last = session._data.qpos.copy()
    session.close()
    return rows, last


def _bare(model: mujoco.MjModel, data: mujoco.MjData, applied: list[np.ndarray]) -> float:
    began = time.perf_counter()
    for row in applied:
        data.ctrl[:] = row
        mujoco.mj_step(model, data, nstep=SUBSTEPS)
    return time.perf_counter() - began


def _acted(episode: Episode, controls: list[Control]) -> float:
    began = time.perf_counter()
    for control in controls:
        episode.act(control)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
