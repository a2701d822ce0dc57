"""Desktop sessions: reset, observe and act, against a fixed wait of ten seconds a step.

    python bench/desktop.py [--repeats 5] [APPLICATION …]

Cold: everything is started and the application's screen is quiet. Warm: the next session was made
ready before it was asked for. Frame: read and hashed at 1920×1080. Step: a character typed, settled,
beside the papers' fixed wait (ReTrace). Side by side: four desktops do the same at once, and each
final frame is compared with that of one alone.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from clew.core import NOTHING, Text, value_digest
from clew.environments.desktop import Desktop
from clew.environments.gui import PRESETS

FRAME = frozenset({"frame"})
LIGHT = ("xterm", "mousepad", "galculator", "gnome-calculator")
WORDS = ("one ", "two ", "three\n", "é√ ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("applications", nargs="*", default=list(LIGHT))
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    began = os.getloadavg()[0]
    print("application          cold s   warm s   step s   times less than the fixed wait")
    for name in asked.applications:
        print(row(name, asked.repeats))
    print(frames(asked.repeats))
    print(side_by_side(4))
    print(f"load of the machine: {began:.1f} to {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def row(name: str, repeats: int) -> str:
    cold, steps = [], []
    desktop = Desktop(warm=0)
    start = desktop.start(f"{name}/open")
    for _ in range(repeats):
        seconds, session = timed(lambda: desktop.open(start))
        cold.append(seconds)
        type_one = functools.partial(session.act, Text("7"), NOTHING)
        steps += [timed(type_one)[0] for _ in range(4)]
        session.close()
    desktop.close()
    step = statistics.median(steps)
    ratio = PRESETS["papers"].cap_ms / 1e3 / step
    warm = statistics.median(warm_resets(name, repeats))
    return f"{name:<20} {statistics.median(cold):6.2f}   {warm:6.3f}   {step:6.3f}   {ratio:6.0f}"


def warm_resets(name: str, repeats: int) -> list[float]:
    desktop, found = Desktop(), []
    start = desktop.start(f"{name}/open")
    for _ in range(repeats + 2):
        # What an attempt takes is longer than making the next session ready.
        desktop._pool.wait()
        seconds, session = timed(lambda: desktop.open(start))
        found.append(seconds)
        session.close()
    desktop.close()
    return found[2:]


def frames(repeats: int) -> str:
    desktop = Desktop(warm=0)
    session = desktop.open(desktop.start("mousepad/open"))
    read = [timed(lambda: session.observe(FRAME))[0] for _ in range(10 * repeats)]
    frame = session.observe(FRAME)["frame"]
    hashed = [timed(lambda: value_digest(frame))[0] for _ in range(10 * repeats)]
    changed = [timed(session.display.frame.changed)[0] for _ in range(10 * repeats)]
    busy = [timed(session.display.busy)[0] for _ in range(10 * repeats)]
    desktop.close()
    ms = [statistics.median(each) * 1e3 for each in (read, hashed, changed, busy)]
    return (
        f"1920x1080 frame: read {ms[0]:.1f} ms, hash {ms[1]:.1f} ms; settling asks whether it "
        f"changed {ms[2]:.2f} ms, whether anything is at work {ms[3]:.1f} ms"
    )


def side_by_side(count: int) -> str:
    desktop = Desktop(warm=0)
    start = desktop.start("mousepad/open")

    def run(sessions: list[Any]) -> list[str]:
        for word in WORDS:
            for session in sessions:
                session.act(Text(word), NOTHING)
        found = [value_digest(session.observe(FRAME)["frame"]) for session in sessions]
        for session in sessions:
            session.close()
        return found

    (alone,) = run([desktop.open(start)])
    found = run([desktop.open(start) for _ in range(count)])
    desktop.close()
    return f"{count} side by side: {found.count(alone)} of {count} final frames equal one alone"


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


if __name__ == "__main__":
    main()
