"""What recording and reading cost, against the plainest way to do the same in the same run.

Medians of CPU time (system time included), the peer measured in turns; "2x" is twice as fast, or
half as large, as the peer.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from clew.core import Control, Moment, Seen, Start, Step, action_json
from clew.store import Index, Log, Reader, Recorder, Writer, load

REPEATS = 7
STEPS = 20_000
LINES = 100_000
START = Start("tabletop", "stack", 3)


def cpu_s(run: Callable[[], object]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun


def compared(
    ours: Callable[[], object], peer: Callable[[], object], repeats: int = REPEATS
) -> tuple[float, float]:
    """The median of ours in seconds of CPU time, and the median of peer / ours, taken in turns."""
    pairs = [(cpu_s(ours), cpu_s(peer)) for _ in range(repeats)]
    return statistics.median(a for a, _ in pairs), statistics.median(b / a for a, b in pairs)


def recording(folder: Path) -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(0)
    step = Step(Moment(), Control(tuple(rng.normal(size=7))))
    unseen = Moment()
    vectors = [Moment(Seen({"vector": v})) for v in rng.normal(size=(STEPS * REPEATS, 39))]
    writer = Writer(folder / "store", "steps")
    recorder = Recorder(writer, {})
    recorder.began(START, unseen)

    def blind() -> None:
        for t in range(STEPS):
            recorder.acting(t, step)
            recorder.acted(t, unseen)

    def seeing() -> None:
        for t in range(STEPS):
            recorder.acting(t, step)
            recorder.acted(t, vectors.pop())

    with open(folder / "naive.jsonl", "wb", buffering=0) as file:

        def naive() -> None:
            for t in range(STEPS):
                record = {"type": "acting", "t": t, "action": action_json(step.action)}
                file.write(json.dumps(record).encode() + b"\n")

        blind_s, faster = compared(blind, naive)
        naive_bytes = file.tell() / STEPS / REPEATS
    parts = (folder / "store" / name for name in ("segments/steps.jsonl", "blobs/steps.pack"))
    segment, pack = parts
    blind_bytes = segment.stat().st_size / STEPS / REPEATS
    seeing_s = statistics.median(cpu_s(seeing) for _ in range(REPEATS))
    seen_bytes = (segment.stat().st_size + pack.stat().st_size) / STEPS / REPEATS - blind_bytes
    writer.close()
    smaller = naive_bytes / blind_bytes
    return [
        ("control step, nothing seen", _us(blind_s), f"{faster:.1f}x json.dumps and a write"),
        ("  its bytes", f"{blind_bytes:.0f}", f"{smaller:.1f}x json.dumps and a write"),
        ("control step, 39 float64 seen", _us(seeing_s), ""),
        ("  its bytes", f"{seen_bytes:.0f}", ""),
    ]


def log_reading(folder: Path) -> list[tuple[str, str, str]]:
    log = Log(folder / "log.jsonl")
    for n in range(LINES):
        log.append({"unit": f"{n:064x}", "attempt": n, "outcome": "pass"})

    def plainly() -> list[object]:
        with open(log.path, "rb") as file:
            return [json.loads(line[9:]) for line in file]

    ours_s, ratio = compared(log.read, plainly)
    return [(f"log of {LINES} lines read", f"{ours_s:.2f} s", f"{ratio:.1f}x json.loads alone")]


def indexing(folder: Path) -> list[tuple[str, str, str]]:
    store, step = folder / "many", Step(Moment(), Control((0.25,) * 7))
    with Writer(store, "w") as writer:
        for n in range(LINES):
            recorder = Recorder(writer, {"unit": f"{n:064x}", "repeat": 0})
            recorder.began(START, Moment())
            for t in range(10):
                recorder.acting(t, step)
            recorder.finish({"outcome": "pass", "actions": 10})
    index, reader = Index(store), Reader(store)

    def rebuild() -> None:
        index.path.unlink(missing_ok=True)
        index.refresh()

    rebuild_s, faster = compared(rebuild, lambda: sum(1 for _ in reader.records("w")), 3)
    refresh_s = statistics.median(cpu_s(index.refresh) for _ in range(REPEATS))
    found = index.attempts()
    loading_s = cpu_s(lambda: [load(reader, a.locator) for a in found[:1000]])
    return [
        (f"index of {LINES} attempts rebuilt", f"{rebuild_s:.2f} s", f"{faster:.1f}x parsing it"),
        ("  brought up to date", f"{refresh_s * 1e3:.1f} ms", ""),
        ("attempt of 10 steps loaded", _us(loading_s, 1000), ""),
    ]


def _us(seconds: float, count: int = STEPS) -> str:
    return f"{seconds / count * 1e6:.1f} us"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for row in (*recording(folder), *log_reading(folder), *indexing(folder)):
            print("{:34} {:>10}   {}".format(*row))


if __name__ == "__main__":
    main()
