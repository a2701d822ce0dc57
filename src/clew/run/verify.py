"""Verifies a run or a pack: its store, its tables, and a random sample of its units, run again."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clew.core import Refused
from clew.run.code import changed, code_items
from clew.run.drive import Study, finished, identified, must_be_trusted, rerun
from clew.run.executor import Done, Progress
from clew.run.folder import FROM_PACK, RunFolder, differences
from clew.run.units import Result, Unit
from clew.store import Damaged, Locator, Reader, check, load, unpack


@dataclass(frozen=True)
class Verdict:
    """What was checked and what was found wrong; nothing wrong is an empty `findings`."""

    units: int
    sampled: int
    findings: tuple[str, ...]


def verify(
    path: Path,
    study_of: Callable[[RunFolder], Study],
    *,
    sample: int,
    seed: int,
    workers: int,
    progress: Progress,
    trusted: Sequence[str] = (),
) -> Verdict:
    """Check every line and blob, recompute the tables, and run `sample` units again, cold.

    `path` is a run's folder or a pack, which is unpacked into a temporary folder. The sample is
    drawn by `numpy.random.default_rng(seed)` from units that are not void.
    """
    with _unpacked(path) as place:
        folder = RunFolder(place)
        study = study_of(folder)
        must_be_trusted(study, folder, trusted)
        # A torn end is a write that a kill cut off: nothing that was accepted stands there.
        damage = dict.fromkeys([*check(folder.path), *folder.damage()])
        findings = [f"store: {found}" for found in damage if found.kind != "torn"]
        findings += _accepted_twice(folder)
        try:
            done = finished(study, folder)
        except Refused as error:
            return Verdict(len(folder.accepted()), 0, (*findings, f"results: {error}"))
        findings += _tables_differ(study, folder, done)
        findings += _judged_otherwise(folder, done)
        pairs = [pair for stage in done for pair in done[stage] if pair[1].outcome != "void"]
        chosen = _sample(pairs, sample, seed)
        again = rerun(study, folder, [u for u, _ in chosen], workers=workers, progress=progress)
        findings += [found for unit, was in chosen if (found := _differs(unit, was, again))]
    return Verdict(len(pairs), len(chosen), tuple(findings))


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield path
        return
    if not path.exists():
        raise Refused(f"there is no run or pack {path}")
    with tempfile.TemporaryDirectory() as name:
        unpack(path, Path(name, "run"))
        Path(name, "run", FROM_PACK).touch(0o600)
        yield Path(name, "run")


def _accepted_twice(folder: RunFolder) -> list[str]:
    """Units with two scored results: no run writes a second one unless the first was withdrawn."""
    withdrawn, seen, found = folder.withdrawn(), set[str](), []
    for result in folder.results():
        if result.outcome == "void" or result.about.get("snapshot") in withdrawn:
            continue
        if result.unit in seen:
            found.append(f"results: unit {result.unit} has more than one scored result")
        seen.add(result.unit)
    return found


def _tables_differ(study: Study, folder: RunFolder, done: Done) -> list[str]:
    file = folder.path / "tables.json"
    if not file.exists():
        return ["tables: there is no tables.json; run: clew report on the run's folder"]
    try:
        written = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        return [f"tables: tables.json is damaged: {error}"]
    computed = json.loads(json.dumps(identified(study, folder, done)))
    return [
        f"tables: {name} is not what the results give" for name in differences(written, computed)
    ]


def _judged_otherwise(folder: RunFolder, done: Done) -> list[str]:
    """Results whose outcome is not what their own attempt ended with."""
    reader, found = Reader(folder.path), []
    for stage in done:
        for unit, result in done[stage]:
            if result.outcome != "void" and "attempt" in result.about:
                try:
                    finish = load(reader, Locator.of(result.about["attempt"])).finish or {}
                except Damaged:
                    continue  # the check of the store has named it
                if "stop" in finish and finish["passed"] != (result.outcome == "pass"):
                    found.append(
                        f"unit {unit.digest} is accepted as {result.outcome}, but its attempt ended"
                        f" with passed = {finish['passed']}"
                    )
    return found


def _sample(pairs: Sequence[tuple[Unit, Result]], size: int, seed: int) -> list[Any]:
    order = np.random.default_rng(seed).permutation(len(pairs))[:size]
    return [pairs[i] for i in order.tolist()]


def _differs(unit: Unit, was: Result, again: dict[str, Result]) -> str:
    now = again[unit.digest]
    if now.outcome == "void" and was.outcome != "void":
        detail = now.cause.detail if now.cause else ""
        return f"unit {unit.digest} could not be run again: {detail}"
    if (now.outcome, now.values) == (was.outcome, was.values):
        return ""
    if differs := changed(dict(code_items(was.about)), dict(code_items(now.about))):
        where = f"by other code ({', '.join(differs)})"
    elif now.about.get("fingerprint") != was.about.get("fingerprint"):
        where = "on another fingerprint"
    else:
        where = "on the same fingerprint"
    what = f"{was.outcome} {dict(was.values)} became {now.outcome} {dict(now.values)}"
    return f"unit {unit.digest} ({unit.function.rpartition(':')[2]}) differs {where}: {what}"
