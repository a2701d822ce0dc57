"""What a plan would run, how long, how much disk: from a finished part of the run, or a pilot."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clew.run.drive import Study, interpreter, must_run_here, open_run
from clew.run.executor import Done, Executor, Stage, size_bytes
from clew.run.folder import RunFolder
from clew.run.units import Result, Unit

#: Units of the first stage that a pilot runs in a temporary folder.
PILOT = 4


class _Silent:
    def stage(self, name: str, total: int, done: int) -> None: ...
    def accepted(self, result: Result) -> None: ...
    def note(self, text: str) -> None: ...


def estimate(study: Study, path: Path, workers: int) -> str:
    """Lines of text: units per stage, seconds and bytes. Stages that depend on results are given
    as the most that they can be. Raises `Refused` if the plan cannot run here."""
    must_run_here(study)
    results = RunFolder(path).accepted() if (path / "run.json").exists() else {}
    most, known, first = study.most(), _known(study, results), _first(study)
    if results:
        source = f"{len(results)} units of {path}"
        seconds, bytes_each = _measured(results.values()), size_bytes(path) / len(results)
    else:
        source = f"a pilot of {min(PILOT, len(first))} units"
        seconds, bytes_each = _pilot(study, first[:: max(1, len(first) // PILOT)][:PILOT])
    lines, left = [], 0
    for stage, count in most.items():
        total, done = known.get(stage, (count, 0))
        left += total - done
        limit = "" if stage in known else "at most "
        lines.append(f"{stage}: {limit}{total} units" + (f", {done} done" if done else ""))
    time_s = left * seconds / workers
    limit = "" if len(known) == len(most) else "at most "
    lines.append(
        f"left: {limit}{left} units, {limit}{_duration(time_s)} with {workers} workers and"
        f" {left * bytes_each / 2**20:.0f} MiB of disk"
    )
    lines.append(f"measured on {source}: {seconds:.3f} s and {bytes_each / 1024:.1f} KiB a unit")
    return "\n".join(lines)


def _known(study: Study, results: Mapping[str, Result]) -> dict[str, tuple[int, int]]:
    """Stages whose units are known: (units, of which done)."""
    found: dict[str, tuple[int, int]] = {}
    done = Done()
    for stage in study.stages():
        try:
            units = list(stage.units(done))
        except KeyError:
            break
        found[stage.name] = len(units), sum(u.digest in results for u in units)
        if found[stage.name][0] > found[stage.name][1]:
            continue
        done.add(stage.name, [(u, results[u.digest]) for u in units])
    return found


def _first(study: Study) -> list[Unit]:
    """The units of the first stage that has any and needs no results."""
    for stage in study.stages():
        try:
            if units := list(stage.units(Done())):
                return units
        except KeyError:
            break
    return []


def _pilot(study: Study, units: Sequence[Unit]) -> tuple[float, float]:
    """(seconds, bytes) per unit, the first unit of a worker left out: it loads the simulator."""
    if not units:
        return 0.0, 0.0
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        folder, engine = open_run(study, path)
        with folder.driving() as driver:
            executor = Executor(
                folder, driver, interpreter, workers=1, paths=(str(engine), os.getcwd()),
                progress=_Silent(),
            )  # fmt: skip
            done = executor.run([Stage("pilot", lambda _: units)])
        results = [result for _, result in done["pilot"]]
        return _measured(results[1:] or results), size_bytes(path) / len(units)


def _measured(results: Iterable[Result]) -> float:
    """Mean seconds of a unit; voids that no worker answered have none."""
    return statistics.fmean(float(r.about.get("seconds", 0.0)) for r in results)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
