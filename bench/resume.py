"""Planning the resume of 100,000 units of which 99 % are done: from the folder to the list of what
is left, each time in a process of its own, as `clew resume` is. The naive way beside it: one result
file per unit, each opened and parsed."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Container
from pathlib import Path

from clew.run.folder import RunFolder
from clew.run.planning import planning
from clew.run.units import Result, Unit

COUNT = 100_000


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, files = Path(name, "run"), Path(name, "files")
        _write(folder, files)
        pairs = [(_apart("clew", folder), _apart("naive", files)) for _ in range(5)]
    for label, who in (("clew (reach: ≤ 2 s)", 0), ("one file per unit", 1)):
        wall, processor = (statistics.median(pair[who][i] for pair in pairs) for i in (0, 1))
        ratio = statistics.median(pair[who][0] / pair[0][0] for pair in pairs)
        print(f"{label:28} {wall:6.2f} s, {processor:6.2f} s of a processor, ratio {ratio:.1f} ×")


def _write(folder: Path, files: Path) -> None:
    log = RunFolder.create(folder, "bench", {}, "engine").log
    files.mkdir()
    about = {"seconds": 1.25, "fingerprint": "0123456789abcdef"}
    for unit in _units()[: COUNT * 99 // 100]:
        record = Result(
            unit.digest, "pass", {"actions": 120, "stop": "until"}, None, about
        ).json()  # fmt: skip
        log.append(record)
        (files / unit.digest).write_text(json.dumps(record))


def _apart(who: str, path: Path) -> list[float]:
    command = [sys.executable, __file__, who, str(path)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return [float(word) for word in said.split()]


def planned(who: str, path: Path) -> None:
    """Print the seconds, and those of the processor, to know what is left, digests of all units
    included."""
    began, before = time.monotonic(), time.process_time()
    done: Container[str] = RunFolder(path).accepted() if who == "clew" else _parsed(path)
    with planning():  # as the executor does
        units = _units()
    left = [unit for unit in units if unit.digest not in done]
    print(time.monotonic() - began, time.process_time() - before)
    assert len(left) == COUNT // 100, len(left)


def _parsed(files: Path) -> dict[str, object]:
    return {file.name: json.loads(file.read_text()) for file in files.iterdir()}


def _units() -> list[Unit]:
    return [
        Unit("study:trial", "tabletop", {"policy": {"policy": f"p{i % 6}"}, "trial": i})
        for i in range(COUNT)
    ]


if __name__ == "__main__":
    planned(sys.argv[1], Path(sys.argv[2])) if sys.argv[1:] else main()
