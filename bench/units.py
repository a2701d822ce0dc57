"""Trivial units through the whole executor: units per second, and memory over 20,000 of them.

    python bench/units.py [UNITS] [WORKERS]

The naive way beside it: a fresh interpreter per unit, as `subprocess.run` gives it.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from clew.run.drive import interpreter
from clew.run.engine import place
from clew.run.executor import Executor, Stage
from clew.run.folder import RunFolder
from clew.run.units import Result, Unit

_MODULE = "def trivial(bench, arguments, inputs):\n    return {'i': arguments['i']}\n"


class Watch:
    """Progress that notes the memory of this process and of its workers every 1,000 units."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done, self.kib = 0, list[tuple[int, int]]()

    def stage(self, name: str, total: int, done: int) -> None: ...
    def note(self, text: str) -> None: ...

    def accepted(self, result: Result) -> None:
        self.done += 1
        if self.done % 1000 == 0:
            self.kib.append((_resident("self"), sum(map(_resident, _workers(self.folder)))))


def main(count: int, workers: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "modules").mkdir()
        (folder / "modules" / "trivial_units.py").write_text(_MODULE)
        engine, file = place(folder / "engine")
        run = RunFolder.create(folder / "run", "bench", {}, engine)
        units = [Unit("trivial_units:trivial", "unreliable", {"i": i}) for i in range(count)]
        watch = Watch(run.path)
        with run.driving() as driver:
            executor = Executor(
                run, driver, interpreter, workers=workers,
                paths=(str(file), str(folder / "modules")), progress=watch,
            )  # fmt: skip
            began = time.monotonic()
            executor.run([Stage("trivial", lambda _: units)])
            seconds = time.monotonic() - began
    naive = statistics.median(_fresh() for _ in range(9)) / workers
    ours = seconds / count
    print(f"{'clew':32} {1 / ours:9.0f} units/s on {workers} workers   (reach: ≥ 200)")
    print(
        f"{'a fresh interpreter per unit':32} {1 / naive:9.0f} units/s, ratio {naive / ours:.0f} ×"
    )
    for label, column in (("driver", 0), ("workers", 1)):
        early = min(5, len(watch.kib))
        first, last = watch.kib[early - 1][column], watch.kib[-1][column]
        each = (last - first) * 1024 / max(1, watch.done - early * 1000)
        print(
            f"{label + ' memory':32} {first / 1024:9.1f} MiB after {early},000,"
            f" {last / 1024:.1f} after {watch.done:,}: {each:.0f} bytes a unit"
        )


def _fresh() -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import numpy"], check=True)
    return time.monotonic() - began


def _workers(folder: Path) -> list[str]:
    """The workers of the run in that folder, without their wardens."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
            if str(folder).encode() in words and b"warden" not in words:
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def _resident(pid: str) -> int:
    """Resident memory in KiB."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss if pid == "self" else 0
    return int(text.partition("VmRSS:")[2].split()[0])


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:3] or ("20000", "2")))
