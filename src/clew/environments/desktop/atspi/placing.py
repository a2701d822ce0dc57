"""What shows, and where on the screen, by the habits of each toolkit. It reads no contents.

GTK 4 says neither: its boxes are relative to the window and count from the content inside the
border, and only windows have the state `showing`. LibreOffice's own widgets leave out the menu bar
above them. Measured with GTK 4.8 and LibreOffice 7.4 (gtk3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clew.environments.desktop.atspi import records
from clew.environments.desktop.atspi.records import ACCESSIBLE, APPLICATION, Record, method, prop
from clew.environments.desktop.atspi.windows import PlacedWindow
from clew.environments.desktop.atspi.wire import Call
from clew.environments.desktop.atspi.words import DEFUNCT, SHOWING, VISIBLE

Ask = Callable[..., list[Any]]
Windows = Callable[[], Sequence[PlacedWindow]]
#: What may be without area and still hold what has one. All else that is flat does not show:
#: LibreOffice keeps a second menu bar so, GTK 3 empty cells.
_MAY_BE_FLAT = frozenset({
    "document", "grid", "group", "heading", "link", "list", "listitem", "other", "paragraph",
    "row", "tree", "treeitem",
})  # fmt: skip


class Placing:
    """How one application's objects are placed."""

    def __init__(self, root: Record, ask: Ask, windows: Windows | None) -> None:
        self._ask = ask
        answers = ask([root], prop(APPLICATION, "ToolkitName"), prop(APPLICATION, "Version"))
        toolkit, version = map(records.text, answers)
        self._relative = toolkit.casefold() == "gtk" and version.startswith("4.")
        self._windows = list(windows()) if self._relative and windows is not None else []
        self._pid = -1
        if self._windows:
            bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus")
            whose = Call(*bus, bus[0], "GetConnectionUnixProcessID", "s", (root.reference[0],))
            self._pid = records.integer(ask([root], lambda _: whose)[0])

    def may_show(self, record: Record) -> bool:
        """Whether a record shows as far as its states say."""
        shown = VISIBLE if self._relative else SHOWING
        return not record.bits >> DEFUNCT & 1 and bool(record.bits >> shown & 1)

    def shown(self, level: Sequence[Record]) -> list[Record]:
        """Those of a level that show, each with what its box lacks."""
        if self._relative:
            return [record for record in level if self._placed_in_window(record)]
        level = [r for r in level if r.role in _MAY_BE_FLAT or not _is_flat(r)]
        for record in level:
            _lay_below_menu_bar(record)
        shifted = [record for record in level if record.shift != (0, 0)]
        attributes = self._ask(shifted, method(ACCESSIBLE, "GetAttributes"))
        for record, answer in zip(shifted, attributes):
            # A GTK widget inside LibreOffice's own knows where it is.
            if records.pairs(answer).get("toolkit") == "gtk":
                record.shift = (0, 0)
        return list(level)

    def _placed_in_window(self, record: Record) -> bool:
        assert record.parent is not None
        if record.raw is None or _is_flat(record):
            return False
        if record.parent.parent is None:
            record.shift = self._content_of(record)
        else:
            x, y, width, height = record.raw
            for window in self._windows:
                if window.popup and window.box[2:] == (width, height):
                    record.shift = (window.box[0] - x, window.box[1] - y)
        return True

    def _content_of(self, record: Record) -> tuple[int, int] | None:
        """Where the content of a top-level window begins."""
        own = [w for w in self._windows if w.pid == self._pid and not w.popup]
        named = [w for w in own or self._windows if w.title == record.name and not w.popup]
        found = (named or own)[-1:]
        if not found or record.raw is None:
            return None
        x, y, width, height = found[0].box
        left, right, top, bottom = found[0].border
        # Where nothing composes the screen GTK draws a line of its own around the content.
        line_x = (width - left - right - record.raw[2]) // 2
        line_y = (height - top - bottom - record.raw[3]) // 2
        return x + left + line_x - record.raw[0], y + top + line_y - record.raw[1]


def _is_flat(record: Record) -> bool:
    return record.raw is not None and 0 in record.raw[2:]


def _lay_below_menu_bar(record: Record) -> None:
    """A root pane as large as the panel that it fills is where that panel is."""
    around = record.parent
    if record.native != "root pane" or around is None or record.raw is None or around.raw is None:
        return
    if record.raw[2:] == around.raw[2:]:
        record.shift = (around.raw[0] - record.raw[0], around.raw[1] - record.raw[1])
