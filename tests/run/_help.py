"""Helpers of the tests of runs: waiting for conditions, finding processes, reading logs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import clew
from clew.run.executor import Executor
from clew.run.folder import RunFolder
from clew.store import Log

HERE = Path(__file__).parent
MARK = "CLEW_TEST_MARK"


class Told:
    """A progress that remembers."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.results: list[Any] = []
        self.stages: list[tuple[str, int, int]] = []

    def stage(self, name: str, total: int, done: int) -> None:
        self.stages.append((name, total, done))

    def accepted(self, result: Any) -> None:
        self.results.append(result)

    def note(self, text: str) -> None:
        self.notes.append(text)


def until(condition: Callable[[], Any], what: str, seconds: float = 60.0) -> Any:
    """Wait for a condition; what it gave."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"waited {seconds} s in vain for {what}"
        time.sleep(0.005)
    return found


def new_mark() -> dict[str, str]:
    """An environment whose processes can be found again, `setsid` children included."""
    return {**os.environ, MARK: uuid.uuid4().hex}


def marked(environment: Mapping[str, str], containing: str = "") -> list[int]:
    """Living processes that inherited the mark, whose command line contains a text."""
    wanted = f"{MARK}={environment[MARK]}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                command = (entry / "cmdline").read_bytes().decode("utf-8", "replace")
                if command and containing in command:
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


def none_left(environment: Mapping[str, str]) -> None:
    until(lambda: not marked(environment), "every process to end", 20.0)


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def log_of(folder: Path, kind: str = "result") -> list[dict[str, Any]]:
    return [r for _, r in Log(folder / "log.jsonl").read() if r["type"] == kind]


def scored(folder: Path) -> list[str]:
    """The unit of every result that is not void, in log order."""
    return [r["unit"] for r in log_of(folder) if r["outcome"] != "void"]


def results(folder: Path) -> int:
    """How many results the log holds, quickly."""
    log = folder / "log.jsonl"
    return log.read_bytes().count(b'{"type":"result"') if log.exists() else 0


def recorded_bytes(folder: Path) -> int:
    return sum(f.stat().st_size for f in (folder / "segments").glob("*"))


def executor(path: Path, progress: Any = None, **options: Any) -> tuple[Executor, Any]:
    """An executor on a folder of the small study, within `driving`; use it in a `with`."""
    folder = run_folder(path)
    return folder, lambda driver: Executor(
        folder, driver, options.pop("interpreter", lambda _: Path(sys.executable)),
        paths=(str(Path(clew.__file__).parents[1]), str(HERE)), progress=progress or Told(),
        **options,
    )  # fmt: skip


def run_folder(path: Path) -> RunFolder:
    return RunFolder.create(path, "small", {"name": "small"}, "e" * 64)


def execute(
    path: Path, units: Iterable[Any], progress: Any = None, **options: Any
) -> dict[str, Any]:
    """Run units as one stage; digest → result."""
    from clew.run.executor import Stage

    units = list(units)
    folder, made = executor(path, progress, **options)
    with folder.driving() as driver:
        done = made(driver).run([Stage("units", lambda _: units)])
    return {unit.digest: result for unit, result in done["units"]}


def ended(process: subprocess.Popen[bytes], seconds: float = 120.0) -> tuple[int, str]:
    """Exit code and what it said on stderr."""
    _, said = process.communicate(timeout=seconds)
    return process.returncode, said.decode()
