"""`clew run`, `clew resume`, `clew plan`, `clew report`: a study from its plan to its tables."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

#: A quota below this is taken for one whose unit was forgotten.
LEAST_QUOTA = 1 << 20


def add(subparsers: Any) -> None:
    """The four commands."""
    run = subparsers.add_parser("run", help="run a plan; go on where it stopped")
    run.add_argument("plan", type=Path, help="a plan file (TOML)")
    run.add_argument(
        "--out", type=Path, help="the run's folder (default: runs/ and the plan file's name)"
    )
    _driving(run)
    run.set_defaults(call=_run)
    resume = subparsers.add_parser("resume", help="go on with a run, under its own plan")
    resume.add_argument("folder", type=Path, help="the run's folder")
    _driving(resume)
    resume.set_defaults(call=_resume)
    plan = subparsers.add_parser("plan", help="say what a plan would run, how long, how much disk")
    plan.add_argument("plan", type=Path, help="a plan file (TOML)")
    plan.add_argument("--out", type=Path, help="a run's folder: only what is missing there counts")
    plan.add_argument("--workers", type=count, default=_cores(), help="worker processes")
    plan.set_defaults(call=_plan)
    report = subparsers.add_parser("report", help="write a finished run's tables and report again")
    report.add_argument("folder", type=Path, help="the run's folder")
    report.set_defaults(call=_report)


def _driving(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workers", type=count, default=_cores(), help="worker processes")
    parser.add_argument("--quota", type=_bytes, help="most bytes of the run's folder, such as 20G")
    parser.add_argument(
        "--mixed", action="store_true",
        help="go on although results were made by other code; tables will say so",
    )  # fmt: skip
    parser.add_argument("--here", action="store_true", help="all in this process, for a debugger")
    parser.add_argument(
        "--trust", action="append", default=[], metavar="MODULE:NAME",
        help="code that a run from a pack names and that may be run here (again for more)",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _run(arguments: argparse.Namespace) -> int:
    from clew.studies import catalog

    study = catalog.read(arguments.plan)
    folder = arguments.out or Path("runs", arguments.plan.stem)
    return _drive(study, folder, arguments, voids_again=False)


def _resume(arguments: argparse.Namespace) -> int:
    return _drive(_study_of(arguments.folder), arguments.folder, arguments, voids_again=True)


def _drive(study: Any, path: Path, arguments: argparse.Namespace, *, voids_again: bool) -> int:
    from clew.run.drive import drive, must_be_trusted, open_run
    from clew.run.executor import Interrupted
    from clew.run.progress import Lines

    progress = Lines(quiet=arguments.quiet)
    folder, engine = open_run(study, path)
    must_be_trusted(study, folder, arguments.trust)
    try:
        done = drive(
            study, folder, engine, workers=arguments.workers, progress=progress,
            quota_bytes=arguments.quota, here=arguments.here, mixed=arguments.mixed,
            voids_again=voids_again,
        )  # fmt: skip
    except Interrupted:
        progress.note(f"stopped; nothing is lost. Go on with: clew resume {path}")
        return 130
    progress.finished()
    return _write(study, folder, done)


def _report(arguments: argparse.Namespace) -> int:
    from clew.run.drive import finished
    from clew.run.folder import RunFolder

    study, folder = _study_of(arguments.folder), RunFolder(arguments.folder)
    return _write(study, folder, finished(study, folder))


def _write(study: Any, folder: Any, done: Any) -> int:
    """Tables as JSON, the report as one HTML file, the tables on stdout."""
    from clew.report import write_report
    from clew.run.drive import tables_of

    tables = tables_of(study, folder, done)
    page = write_report(study, folder, tables)
    print(study.text(tables))
    print(f"\nreport: {page}")
    return 0


def _plan(arguments: argparse.Namespace) -> int:
    from clew.run.estimate import estimate
    from clew.studies import catalog

    study = catalog.read(arguments.plan)
    folder = arguments.out or Path("runs", arguments.plan.stem)
    print(estimate(study, folder, arguments.workers))
    return 0


def _study_of(path: Path) -> Any:
    from clew.run.folder import RunFolder
    from clew.studies import catalog

    folder = RunFolder(path)
    return catalog.made(folder.header["plan"], path / "run.json")


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def count(text: str) -> int:
    """A whole number, at least 1, for argparse."""
    if whole(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 1 on, such as 2")
    return int(text)


def whole(text: str) -> int:
    """A whole number, at least 0, for argparse."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on, such as 2")
    return int(text)


def _bytes(text: str) -> int:
    """`500M`, `20G` or a number of bytes."""
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    shift = units.get(text[-1:].upper(), 0)
    try:
        size = int(float(text[:-1] if shift else text) * (1 << shift))
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500M or 20G")
    if size < LEAST_QUOTA:
        raise argparse.ArgumentTypeError(
            f"{text!r} is {size} bytes, less than 1M: give a size with its unit, such as 500M or 20G"
        )
    return size
