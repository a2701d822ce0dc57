"""What recording and reading cost, against the plainest way to do the same in the same run.

Run as `.venv/bin/python bench/store.py`. Medians over repeats; the ratios are what to compare.
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


def median_s(run: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


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

        naive_s = median_s(naive)
        naive_bytes = file.tell() / STEPS / REPEATS
    segment, pack = (
        folder / "store" / part for part in ("segments/steps.jsonl", "blobs/steps.pack")
    )
    blind_s = median_s(blind)
    blind_bytes = segment.stat().st_size / STEPS / REPEATS
    seeing_s = median_s(seeing)
    seen_bytes = (segment.stat().st_size + pack.stat().st_size) / STEPS / REPEATS - blind_bytes
    writer.close()
    return [
        (
            "control step, nothing seen",
            _us(blind_s),
            f"{naive_s / blind_s:.1f}x json.dumps + write",
        ),
        ("  bytes", f"{blind_bytes:.0f}", f"{blind_bytes / naive_bytes:.2f} of json.dumps + write"),
        ("control step, vector of 39 seen", _us(seeing_s), f"{seen_bytes:.0f} bytes"),
    ]


def log_reading(folder: Path) -> list[tuple[str, str, str]]:
    log = Log(folder / "log.jsonl")
    for n in range(LINES):
        log.append({"unit": f"{n:064x}", "attempt": n, "outcome": "pass"})

    def plainly() -> list[object]:
        with open(log.path, "rb") as file:
            return [json.loads(line[9:]) for line in file]

    ours, plain = median_s(log.read), median_s(plainly)
    return [
        (f"log of {LINES} lines read", f"{ours:.2f} s", f"{ours / plain:.2f} of json.loads alone")
    ]


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

    rebuild_s, parse_s = median_s(rebuild), median_s(lambda: sum(1 for _ in reader.records("w")))
    found = index.attempts()
    loading_s = median_s(lambda: [load(reader, a.locator) for a in found[:1000]]) / 1000
    return [
        (
            f"index of {LINES} attempts rebuilt",
            f"{rebuild_s:.2f} s",
            f"{parse_s / rebuild_s:.1f}x parsing",
        ),
        ("  and brought up to date", f"{median_s(index.refresh) * 1e3:.1f} ms", ""),
        ("attempt of 10 steps loaded", _us(loading_s, 1), ""),
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
