"""What a plan would run, how long, how much disk: from a finished part of the run, or a pilot."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.run.drive import Study, interpreter, must_run_here, open_run
from clew.run.executor import Done, Executor, Stage, size_bytes
from clew.run.folder import RunFolder
from clew.run.progress import units
from clew.run.units import Result, Unit

#: Units of the first stage that a pilot runs in a temporary folder.
PILOT = 4


class _Silent:
    def stage(self, name: str, total: int, done: int) -> None: ...
    def accepted(self, result: Result) -> None: ...
    def note(self, text: str) -> None: ...


@dataclass(frozen=True)
class Cost:
    """What a unit takes here, in seconds and bytes; `first_s` with the start of its process."""

    seconds: float
    first_s: float
    bytes: float


def estimate(study: Study, path: Path, workers: int) -> str:
    """Lines of text: units per stage, seconds and bytes. Stages that depend on results are given
    as the most that they can be. Raises `Refused` if the plan cannot run here."""
    must_run_here(study)
    results = RunFolder(path).accepted() if (path / "run.json").exists() else {}
    most, known, first = study.most(), _known(study, results), _first(study)
    if results:
        source = f"{units(len(results))} of {path}"
        cost = _measured(list(results.values()), size_bytes(path) / len(results))
    else:
        source = f"a pilot of {units(min(PILOT, len(first)))} of the first stage"
        cost = _pilot(study, first[:: max(1, len(first) // PILOT)][:PILOT])
    lines, left, fresh = [], 0, 0
    for stage, count in most.items():
        total, done = known.get(stage, (count, 0))
        left += total - done
        fresh += total - done if stage in study.fresh() else 0
        limit = "" if stage in known else "at most "
        process = ", a new process each" if stage in study.fresh() else ""
        lines.append(
            f"{stage}: {limit}{units(total)}{process}" + (f", {done} done" if done else "")
        )
    time_s = ((left - fresh) * cost.seconds + fresh * cost.first_s) / workers
    if left > fresh:  # every worker has to start, too
        time_s += max(cost.first_s - cost.seconds, 0.0)
    limit = "" if len(known) == len(most) else "at most "
    lines.append(
        f"left: {limit}{units(left)}, about {_duration(time_s)} with"
        f" {workers} {'worker' if workers == 1 else 'workers'} and"
        f" {left * cost.bytes / 2**20:.0f} MiB of disk"
    )
    lines.append(
        f"measured on {source}: {cost.seconds:.3f} s and {cost.bytes / 1024:.1f} KiB a unit,"
        f" {cost.first_s:.3f} s with the start of its process; other stages may take more or less"
    )
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


def _pilot(study: Study, pilot: Sequence[Unit]) -> Cost:
    """Some units in a temporary folder, one after another in one process."""
    if not pilot:
        return Cost(0.0, 0.0, 0.0)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        folder, engine = open_run(study, path)
        with folder.driving() as driver:
            executor = Executor(
                folder, driver, interpreter, workers=1, paths=(str(engine), os.getcwd()),
                progress=_Silent(),
            )  # fmt: skip
            done = executor.run([Stage("pilot", lambda _: pilot)])
        return _measured([result for _, result in done["pilot"]], size_bytes(path) / len(pilot))


def _measured(results: Sequence[Result], bytes_each: float) -> Cost:
    """Means. The first unit of a process loads the simulator: it counts with the start alone.
    Voids that no worker answered have no times."""
    abouts = [result.about for result in results]
    firsts = [float(about["first_s"]) for about in abouts if "first_s" in about]
    others = [float(a["seconds"]) for a in abouts if "seconds" in a and "first_s" not in a]
    others = others or [float(about["seconds"]) for about in abouts if "seconds" in about] or [0.0]
    return Cost(statistics.fmean(others), statistics.fmean(firsts or others), bytes_each)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
