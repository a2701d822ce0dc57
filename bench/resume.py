"""Planning the resume of 100,000 units of which 99 % are done: from the folder to the list of what
is left. The naive way beside it: one result file per unit, each opened and parsed."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

from clew.run.folder import RunFolder
from clew.run.units import Result, Unit

COUNT = 100_000


def main() -> None:
    units = _units()
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder.create(Path(name, "run"), "bench", {}, "engine")
        files = Path(name, "files")
        files.mkdir()
        for unit in units[: COUNT * 99 // 100]:
            about = {"seconds": 1.25, "fingerprint": "0123456789abcdef"}
            record = Result(
                unit.digest, "pass", {"actions": 120, "stop": "until"}, None, about
            ).json()
            folder.log.append(record)
            (files / unit.digest).write_text(json.dumps(record))
        ours = statistics.median(_planned(folder.path) for _ in range(3))
        naive = _files(files)
    print(f"{'clew':28} {ours:6.2f} s   (reach: ≤ 2 s)")
    print(f"{'one file per unit':28} {naive:6.2f} s, ratio {naive / ours:.1f} ×")


def _units() -> list[Unit]:
    return [
        Unit("study:trial", "tabletop", {"policy": {"policy": f"p{i % 6}"}, "trial": i})
        for i in range(COUNT)
    ]


def _planned(path: Path) -> float:
    """Seconds to know what is left, digests of all units included."""
    began = time.monotonic()
    done = RunFolder(path).accepted()
    left = [unit for unit in _units() if unit.digest not in done]
    seconds = time.monotonic() - began
    assert len(left) == COUNT // 100, len(left)
    return seconds


def _files(files: Path) -> float:
    began = time.monotonic()
    done = {}
    for unit in _units():
        file = files / unit.digest
        if file.exists():
            done[unit.digest] = json.loads(file.read_text())
    return time.monotonic() - began


if __name__ == "__main__":
    main()
