"""Drives a study: from a plan to finished stages, with workers or, for a debugger, in this process."""

from __future__ import annotations

import json
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from clew import environment_install
from clew.core import Refused
from clew.registry import Kind, manifest
from clew.run.code import code_items, short, source
from clew.run.engine import frozen, place
from clew.run.executor import Done, Executor, Progress, Stage
from clew.run.folder import RunFolder, write_private
from clew.run.units import Result, Unit


class Study(Protocol):
    """What a run needs of a study."""

    name: str
    #: The plan as plain data: a run's identity.
    data: Mapping[str, Any]

    def stages(self) -> Sequence[Stage]: ...
    #: Name → the plan's field that names it.
    def environments(self) -> Mapping[str, str]: ...
    def policies(self) -> Mapping[str, str]: ...
    def tables(self, done: Done) -> dict[str, Any]: ...
    def text(self, tables: Mapping[str, Any]) -> str: ...
    def most(self) -> Mapping[str, int]: ...
    #: Stages every unit of which asks for a new process.
    def fresh(self) -> Sequence[str]: ...


def open_run(study: Study, path: Path) -> tuple[RunFolder, Path]:
    """The run's folder, made if it is not there, and the frozen engine that its workers use."""
    must_run_here(study)
    engine, _ = frozen()
    folder = RunFolder.create(path, study.name, study.data, engine)
    _, file = place(folder.path / "engine")
    return folder, file


def must_run_here(study: Study) -> None:
    """Raise `Refused` for an environment that is not installed or a policy that is not there,
    naming the plan's field."""
    for environment, field in study.environments().items():
        with _in_field(field):
            interpreter(environment)
    for policy, field in study.policies().items():
        with _in_field(field):
            manifest("policy", policy)


@contextmanager
def _in_field(field: str) -> Iterator[None]:
    try:
        yield
    except Refused as error:
        raise Refused(f"the plan's {field!r}: {error}") from None


def must_be_trusted(study: Study, folder: RunFolder, trusted: Sequence[str]) -> None:
    """Raise `Refused` for code that a run from elsewhere names and its user did not."""
    if not folder.from_elsewhere:
        return
    for name in (*study.environments(), *study.policies()):
        if ":" in name and name not in trusted:
            raise Refused(
                f"{folder.path} came from a pack and names the code {name!r}, which would be run"
                f" here: read it, then give --trust {name}"
            )


def drive(
    study: Study,
    folder: RunFolder,
    engine: Path,
    *,
    workers: int,
    progress: Progress,
    quota_bytes: int | None = None,
    here: bool = False,
    mixed: bool = False,
    voids_again: bool = False,
) -> Done:
    """Run every stage that is not done yet, with workers or, `here`, one unit after another in this
    process; with `voids_again` also units that stayed void. Raises `Interrupted` after a Ctrl-C,
    and `Refused` before results of other code are added to, unless `mixed`."""
    for finding in folder.damage():
        progress.note(f"{finding}; a unit whose result was there is done again")
    with folder.driving() as driver:
        executor = Executor(
            folder, driver, interpreter, workers=1 if here else workers,
            paths=(str(engine), os.getcwd()), progress=progress, quota_bytes=quota_bytes, here=here,
            code=code_now(study), mixed=mixed, voids_again=voids_again,
        )  # fmt: skip
        return executor.run(study.stages())


def code_now(study: Study) -> dict[str, str]:
    """The engine's digest and those of the user's own code, as far as they can be told from here:
    a plug-in for an environment of its own may be another version there, and its results tell."""
    plug_ins: list[tuple[Kind, str]] = [("environment", name) for name in study.environments()]
    here = all(interpreter(name) == Path(sys.executable) for _, name in plug_ins)
    plug_ins += [("policy", name) for name in study.policies()]
    found = {
        f"{kind} {name}": source(kind, name)
        for kind, name in plug_ins
        if here or not manifest(kind, name).distribution
    }
    return {"engine": short(frozen()[0]), **{n: digest for n, digest in found.items() if digest}}


def finished(study: Study, folder: RunFolder) -> Done:
    """The stages of a run that is complete. Raises `Refused` and says what is missing."""
    results, done = folder.accepted(), Done()
    for stage in study.stages():
        units = list(stage.units(done))
        missing = sum(u.digest not in results for u in units)
        if missing:
            raise Refused(
                f"{folder.path} is not complete: {missing} of {len(units)} units of stage"
                f" {stage.name!r} have no result; run: clew resume {folder.path}"
            )
        done.add(stage.name, [(u, results[u.digest]) for u in units])
    return done


def interpreter(environment: str) -> Path:
    """The Python that runs an environment's units. Raises `Refused` with the install command."""
    path = environment_install.interpreter(environment)
    if path is None:
        raise Refused(
            f"environment {environment!r} is not installed; run: clew env install {environment}"
        )
    found = manifest("environment", environment)
    if path == Path(sys.executable) and (missing := found.missing()):
        raise Refused(
            f"environment {environment!r} needs {' and '.join(missing)};"
            f" run: {found.install_command()}"
        )
    return path


def rerun(
    study: Study, folder: RunFolder, units: Sequence[Unit], *, workers: int, progress: Progress
) -> dict[str, Result]:
    """Those units again, cold (no snapshots), beside the run: its log is not touched."""
    if not units:
        return {}
    name = f"verify-{secrets.token_hex(4)}"
    with folder.held(), tempfile.TemporaryDirectory() as temporary:
        _, engine = place(Path(temporary))
        executor = Executor(
            folder, name, interpreter, workers=workers, paths=(str(engine), os.getcwd()),
            progress=progress, cold=True, code=code_now(study),
        )  # fmt: skip
        try:
            return executor.again(units)
        finally:
            for part in ("segments", "blobs"):
                # One that was killed left its own; nobody else writes meanwhile.
                for file in (folder.path / part).glob("verify-*"):
                    file.unlink()


def tables_of(study: Study, folder: RunFolder, done: Done) -> dict[str, Any]:
    """The study's tables with the run's identity; also written to `tables.json`."""
    tables = identified(study, folder, done)
    write_private(folder.path / "tables.json", json.dumps(tables, indent=1, sort_keys=True))
    return tables


def identified(study: Study, folder: RunFolder, done: Done) -> dict[str, Any]:
    """The study's tables and what they were made from."""
    header = folder.header
    made = [
        (unit.environment, result.outcome, result.about) for s in done for unit, result in done[s]
    ]
    prints = {(name, about["fingerprint"]) for name, _, about in made if "fingerprint" in about}
    codes: dict[str, set[str]] = {}
    for _, _, about in made:
        for name, digest in code_items(about):
            codes.setdefault(name, set()).add(digest)
    run = {
        "plan_digest": header["plan_digest"], "engine": header["engine"],
        "fingerprints": folder.fingerprints(),
        # More than one fingerprint of one environment, more than one code of one name.
        "mixed": len(prints) > len({name for name, _ in prints}),
        "mixed_code": sorted(name for name, digests in codes.items() if len(digests) > 1),
        "code": {name: sorted(digests) for name, digests in sorted(codes.items())},
        "after_void": sum(o != "void" and "earlier_voids" in about for _, o, about in made),
    }  # fmt: skip
    return {**study.tables(done), "run": run}
