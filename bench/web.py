"""`web`: reset, observe, and wall time per step against the papers' fixed ten seconds, in one run.

    python bench/web.py

Resets come after a session of three acts, as in a run. The peer is the preset `papers`, which
waits 10 s after every action; the embedded tasks would take it ten minutes, so a few of its steps
are really run and the rest is their median times the number of steps. Both count the whole step:
act, settle, frame.
"""

from __future__ import annotations

import statistics
import time

from clew.core import Wait, value_digest
from clew.environments.web import Web

FRAME, TREE = frozenset({"frame"}), frozenset({"tree"})
RESETS, LOOKS, PEER_STEPS = 12, 15, 3
TASKS = ("office-search", "office-delete", "office-settings", "office-emergency", "office-note")
HD = {"width": 1920, "height": 1080}


def main() -> None:
    web = Web()
    began = time.perf_counter()
    web.open(web.start("office-search")).close()
    first_s = time.perf_counter() - began
    rows = [
        ("first start, with Chromium", f"{first_s:.2f} s", ""),
        ("reset", f"{reset_s(web):.2f} s", "reach: 0.5 s"),
        *looks(web),
        *steps(web),
    ]
    web.close()
    for what, figure, beside in rows:
        print(f"{what:44} {figure:>10}  {beside}")


def reset_s(web: Web) -> float:
    """Median time of a new session, from the start to a settled page."""
    start, taken = web.start("office-settings"), []
    for _ in range(RESETS):
        began = time.perf_counter()
        session = web.open(start)
        taken.append(time.perf_counter() - began)
        for action in web.solution("office-settings")[:3]:
            session.act(action, FRAME)
        session.close()
    return statistics.median(taken[1:])


def looks(web: Web) -> list[tuple[str, str, str]]:
    """Frame with its hash, and tree, at 1080p."""
    session = web.open(web.start("office-search", screen=HD))

    def frame() -> None:
        value_digest(session.observe(FRAME)["frame"])

    nodes = len(session.observe(TREE)["tree"])
    rows = [
        ("frame and hash, 1920×1080", f"{median_ms(frame):.0f} ms", ""),
        (f"tree of {nodes} nodes", f"{median_ms(lambda: session.observe(TREE)):.0f} ms", ""),
    ]
    session.close()
    return rows


def median_ms(look: object) -> float:
    assert callable(look)
    taken = []
    for _ in range(LOOKS):
        began = time.perf_counter()
        look()
        taken.append((time.perf_counter() - began) * 1e3)
    return statistics.median(taken)


def steps(web: Web) -> list[tuple[str, str, str]]:
    """Wall time per step of the same tasks, adaptive and by the preset."""
    taken = [t for task in TASKS for t in step_times(web, task)]
    session = web.open(web.start("office-search", settle="papers"))
    peer = []
    for _ in range(PEER_STEPS):
        began = time.perf_counter()
        session.act(Wait(0), FRAME)
        peer.append(time.perf_counter() - began)
    session.close()
    ours, theirs = statistics.mean(taken), statistics.median(peer)
    return [
        (f"step, adaptive (mean of {len(taken)})", f"{ours * 1e3:.0f} ms", ""),
        (f"step, papers (median of {PEER_STEPS})", f"{theirs * 1e3:.0f} ms", ""),
        ("ratio", f"{theirs / ours:.0f}×", "reach: 15×"),
    ]


def step_times(web: Web, task: str) -> list[float]:
    session, taken = web.open(web.start(task)), []
    for action in web.solution(task):
        began = time.perf_counter()
        session.act(action, FRAME)
        taken.append(time.perf_counter() - began)
    session.close()
    return taken


if __name__ == "__main__":
    main()
