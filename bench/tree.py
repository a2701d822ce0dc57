"""Milliseconds to read an application's accessibility tree, one way against the others.

    .venv/bin/python bench/tree.py [APPLICATION ...]

`clew` reads what shows; `all nodes` asks the same of every node, hidden ones too; `one by one` is
`all nodes` with one call in flight, as a plain D-Bus client works; `cache` is one call of
`Cache.GetItems`, which GTK 3 offers only after somebody listens to its events, of which GTK 4 fills
in only what was asked for before, and which holds no box, text or value: clew does not use it. Medians; the ratio is that of `one by one` to `clew`.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from clew.environments.desktop.applications import application
from clew.environments.desktop.atspi import Accessibility, bus, x_windows
from clew.environments.desktop.atspi.reading import REGISTRY
from clew.environments.desktop.atspi.records import (
    ACCESSIBLE,
    BOX,
    NAME,
    STATES,
    Record,
    Reference,
    bits,
    first,
    method,
    references,
)
from clew.environments.desktop.atspi.wire import Call
from clew.environments.desktop.atspi.words import MANAGES
from clew.environments.desktop.display import Display, Screen
from clew.environments.gui import settled
from clew.environments.gui.settle import Settle

APPLICATIONS = (
    "galculator", "mousepad", "gnome-calculator", "thunar", "libreoffice-writer",
    "libreoffice-calc", "gimp",
)  # fmt: skip
REPEATS = 7
READY = Settle("quiet", quiet_ms=1_000, cap_ms=60_000)
QUESTIONS = (
    STATES, method(ACCESSIBLE, "GetRole"), NAME, method(ACCESSIBLE, "GetInterfaces"), BOX,
)  # fmt: skip


def main() -> None:
    print(f"{'':<20}{'nodes':>7}{'calls':>7}{'clew ms':>9}{'all nodes':>11}{'ms':>8}"
          f"{'one by one ms':>15}{'cache':>8}{'ms':>7}{'ratio':>7}")  # fmt: skip
    for name in sys.argv[1:] or APPLICATIONS:
        if shutil.which(application(name).command[0]) is not None:
            measure(name)


def measure(name: str) -> None:
    display = Display(Screen(1920, 1080), "2026-01-01 10:00:00")
    tree = Accessibility(
        display.bus_address, lambda: x_windows(display.x), display.accessibility_address
    )
    client = bus.Bus(display.accessibility_address)
    try:
        started = application(name)
        modules = {"GTK_MODULES": "gail:atk-bridge"}
        display.launch(replace(started, environment={**started.environment, **modules}))
        while not any("active" in node.states for node in tree.tree().nodes):
            time.sleep(0.1)
        settled(READY, display.frame.changed, display.busy)
        snapshot = tree.tree()
        ours = median_ms(tree.tree)
        every = len(walk(client))
        pipelined = median_ms(lambda: walk(client))
        in_flight, bus.IN_FLIGHT = bus.IN_FLIGHT, 1
        single = median_ms(lambda: walk(client), 3)
        bus.IN_FLIGHT = in_flight
        cached, cache_ms = cache(client)
        print(f"{name:<20}{len(snapshot.nodes):>7}{snapshot.notes['calls']:>7}{ours:>9.0f}"
              f"{every:>11}{pipelined:>8.0f}{single:>15.0f}{cached:>8}{cache_ms:>7.0f}"
              f"{single / ours:>7.1f}", flush=True)  # fmt: skip
    finally:
        client.close()
        tree.close()
        display.close()


def walk(client: bus.Bus) -> set[Reference]:
    """Every node of every application, hidden ones too; tables that manage theirs not entered."""
    found = client.one(Call(*REGISTRY, ACCESSIBLE, "GetChildren"))
    level = [Record(each) for each in references(found)]
    seen = {record.reference for record in level}
    while level:
        calls = [question(record) for record in level for question in QUESTIONS]
        answers = client.all(calls)
        states = answers[:: len(QUESTIONS)]
        entered = [r for r, state in zip(level, states) if not bits(state) >> MANAGES & 1]
        families = client.all([method(ACCESSIBLE, "GetChildren")(record) for record in entered])
        new = [each for family in families for each in references(family) if each not in seen]
        level = [Record(each) for each in dict.fromkeys(new)]
        seen.update(new)
    return seen


def cache(client: bus.Bus) -> tuple[int, float]:
    """How many nodes the cache of the application holds, and how long the call takes."""
    root, path = REGISTRY[0], "/org/a11y/atspi/registry"
    client.one(Call(root, path, root, "RegisterEvent", "s", ("object:children-changed",)))
    (peer, _), *_ = references(client.one(Call(*REGISTRY, ACCESSIBLE, "GetChildren")))
    call = Call(peer, "/org/a11y/atspi/cache", "org.a11y.atspi.Cache", "GetItems")
    found = first(client.all([call])[0])
    held = len(found) if isinstance(found, list) else 0
    return held, median_ms(lambda: client.all([call]))


def median_ms(work: Callable[[], object], repeats: int = REPEATS) -> float:
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        spent.append((time.perf_counter() - began) * 1e3)
    return statistics.median(spent)


if __name__ == "__main__":
    main()
