"""The accessibility tree of a Linux desktop (AT-SPI over D-Bus), and acts on its nodes. No input.

`enable` comes before any application starts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from clew.environments.desktop.atspi.act import Acting, Done
from clew.environments.desktop.atspi.bus import Bus, Closed, accessibility_bus, enable
from clew.environments.desktop.atspi.placing import Windows
from clew.environments.desktop.atspi.reading import Reading
from clew.environments.desktop.atspi.records import Record
from clew.environments.desktop.atspi.windows import PlacedWindow, x_windows
from clew.environments.gui.locate import NotFound
from clew.environments.gui.nodes import Node

__all__ = ["Accessibility", "Closed", "Done", "PlacedWindow", "Snapshot", "enable", "x_windows"]


@dataclass(frozen=True)
class Snapshot:
    """A tree and how it was read.

    `notes` has the number of D-Bus calls and milliseconds, and only where it happened: `silent`
    (applications that did not answer; their trees are partial or missing), `late` (the whole took
    too long), `nodes_left_out`, `texts_cut`, `repeated` (objects that had been read already),
    `tables_not_read`, `windows_not_placed` (their boxes are None).
    """

    nodes: tuple[Node, ...]
    notes: dict[str, Any] = field(default_factory=dict)


class Accessibility:
    """The accessibility tree of one session. Not thread-safe.

    `windows` says where the X server has put each window (`x_windows`); without it the boxes of
    GTK 4 applications are None. `accessibility_address` is the accessibility bus as this process
    reaches it, for a session whose own paths are not this process's. Raises `ConnectionError` or
    `OSError` where no bus answers.
    """

    def __init__(
        self,
        session_bus_address: str,
        windows: Windows | None = None,
        accessibility_address: str = "",
    ) -> None:
        self._windows = windows
        self._session = Bus(session_bus_address)
        try:
            self._bus = Bus(accessibility_address or accessibility_bus(self._session))
        except BaseException:
            self._session.close()
            raise
        self._records: list[Record] = []

    def enable(self) -> None:
        """Switch accessibility on, before any application starts."""
        enable(self._session)

    def tree(self, application: str | None = None) -> Snapshot:
        """What shows of all applications, or of those with a name, as of now.

        Bounded: 5,000 nodes, 10,000 characters of each text, 8 s; see `Snapshot.notes`. Raises
        `Closed` when the accessibility bus is gone.
        """
        began = time.monotonic()
        reading = Reading(self._bus, self._windows)
        roots = reading.applications(application)
        self._records, nodes = _numbered(roots)
        elapsed_ms = round((time.monotonic() - began) * 1e3, 1)
        return Snapshot(tuple(nodes), {**reading.notes.json(), "ms": elapsed_ms})

    def press(self, node_id: int) -> Done:
        """Press a node of the last tree; like every verb, raises `NotFound` when it has gone."""
        return self._acting(node_id).press()

    def focus(self, node_id: int) -> Done:
        """Give a node the keyboard."""
        return self._acting(node_id).focus()

    def set(self, node_id: int, text: str) -> Done:
        """Set the value or the whole text of a node."""
        return self._acting(node_id).set(text)

    def select(self, node_id: int) -> Done:
        """Select a node in its parent."""
        return self._acting(node_id).select()

    def expand(self, node_id: int) -> Done:
        """Open a menu, a combo box, a row of a tree."""
        return self._acting(node_id).expand()

    def close(self) -> None:
        """Leave both buses; closing twice does nothing."""
        self._bus.close()
        self._session.close()

    def _acting(self, node_id: int) -> Acting:
        if not 0 <= node_id < len(self._records):
            raise NotFound(f"node {node_id} is not in the last tree: it has {len(self._records)}")
        self._bus.forgive()
        return Acting(self._bus, self._records[node_id])


def _numbered(roots: list[Record]) -> tuple[list[Record], list[Node]]:
    """The records, parents before their children, and their nodes, whose ids are the positions."""
    records: list[Record] = []
    nodes: list[Node] = []
    stack = [(root, -1) for root in reversed(roots)]
    while stack:
        record, parent = stack.pop()
        number = len(nodes)
        records.append(record)
        nodes.append(record.node(number, parent))
        stack += [(child, number) for child in reversed(record.children)]
    return records, nodes
