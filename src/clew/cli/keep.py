"""`clew verify`, `clew pack`, `clew unpack`, `clew gc`: keeping a run, and trusting it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from clew.cli.run import count, whole


def add(subparsers: Any) -> None:
    """The four commands."""
    verify = subparsers.add_parser("verify", help="recompute a run's tables; run a sample again")
    verify.add_argument("path", type=Path, help="a run's folder or a pack")
    verify.add_argument(
        "--sample", type=whole, default=5, help="units to run again, cold (default 5)"
    )
    verify.add_argument("--seed", type=whole, default=0, help="seed of the sample (default 0)")
    verify.add_argument("--workers", type=count, default=2, help="worker processes (default 2)")
    verify.add_argument(
        "--trust", action="append", default=[], metavar="MODULE:NAME",
        help="code that a pack names and that may be run here (again for more)",
    )  # fmt: skip
    verify.set_defaults(call=_verify)
    pack = subparsers.add_parser("pack", help="put a run into one file")
    pack.add_argument("folder", type=Path, help="the run's folder")
    pack.add_argument("file", type=Path, help="the file to write, such as run.clewpack")
    pack.set_defaults(call=_pack)
    unpack = subparsers.add_parser("unpack", help="take a run out of a pack")
    unpack.add_argument("file", type=Path, help="the pack")
    unpack.add_argument("folder", type=Path, help="the folder to make")
    unpack.set_defaults(call=_unpack)
    gc = subparsers.add_parser("gc", help="drop what nothing in a run refers to")
    gc.add_argument("folder", type=Path, help="the run's folder")
    gc.add_argument("--dry-run", action="store_true", help="only say what would be dropped")
    gc.set_defaults(call=_gc)


def _verify(arguments: argparse.Namespace) -> int:
    from clew.report.numbers import counted
    from clew.run.folder import RunFolder
    from clew.run.progress import Lines
    from clew.run.verify import verify
    from clew.studies import catalog

    def study_of(folder: RunFolder) -> Any:
        return catalog.made(folder.header["plan"], folder.path / "run.json")

    progress = Lines()
    verdict = verify(
        arguments.path, study_of, sample=arguments.sample, seed=arguments.seed,
        workers=arguments.workers, progress=progress, trusted=arguments.trust,
    )  # fmt: skip
    progress.finished()
    for finding in verdict.findings:
        print(finding)
    found = counted(len(verdict.findings), "finding") if verdict.findings else "nothing wrong"
    units = counted(verdict.units, "unit")
    print(f"{arguments.path}: {units}, {verdict.sampled} run again, {found}")
    return 1 if verdict.findings else 0


def _pack(arguments: argparse.Namespace) -> int:
    from clew.run.folder import RunFolder
    from clew.store import pack

    folder = RunFolder(arguments.folder)
    with folder.held():
        pack(folder.path, arguments.file)
    print(f"{arguments.file}: {arguments.file.stat().st_size / 2**20:.1f} MiB")
    return 0


def _unpack(arguments: argparse.Namespace) -> int:
    from clew.run.folder import FROM_PACK
    from clew.store import unpack

    unpack(arguments.file, arguments.folder)
    (arguments.folder / FROM_PACK).touch(0o600)
    print(arguments.folder)
    return 0


def _gc(arguments: argparse.Namespace) -> int:
    from clew.report.numbers import counted
    from clew.run.folder import RunFolder
    from clew.store import gc

    folder = RunFolder(arguments.folder)
    with folder.held():
        collected = gc(folder.path, dry_run=arguments.dry_run)
    for finding in collected.left_alone:
        print(f"left alone: {finding}")
    word = "would drop" if arguments.dry_run else "dropped"
    dropped = f"{counted(collected.blobs, 'blob')}, {collected.dropped_bytes / 2**20:.1f} MiB"
    kept = f"{collected.kept_bytes / 2**20:.1f} MiB are kept"
    print(f"{arguments.folder}: {word} {dropped}; {kept}")
    return 0
