"""Where the X server has put each window, for toolkits that do not know. It moves none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import Xlib.error
from Xlib import X

from clew.environments.gui.nodes import Box


@dataclass(frozen=True, slots=True)
class PlacedWindow:
    """One window on the screen: `box` is that of the X window in screen pixels, `border` what the
    toolkit draws around its content inside it (left, right, top, bottom; _GTK_FRAME_EXTENTS).
    `popup` windows (menus, tooltips) are not the window manager's and have no title.
    """

    title: str
    pid: int
    box: Box
    border: tuple[int, int, int, int] = (0, 0, 0, 0)
    popup: bool = False


def x_windows(display: Any) -> list[PlacedWindow]:
    """The windows of an `Xlib.display.Display`, the lowest first; those that vanish are left out."""
    root = display.screen().root
    managed = _property(display, root, "_NET_CLIENT_LIST_STACKING")
    found = []
    for number, popup in [*((n, False) for n in managed), *((n, True) for n in _popups(root))]:
        try:
            found.append(_placed(display, root, int(number), popup))
        except (Xlib.error.BadWindow, Xlib.error.BadDrawable):
            continue
    return found


def _popups(root: Any) -> Iterable[int]:
    for window in root.query_tree().children:
        try:
            attributes = window.get_attributes()
        except (Xlib.error.BadWindow, Xlib.error.BadDrawable):
            continue
        if attributes.override_redirect and attributes.map_state == X.IsViewable:
            yield window.id


def _placed(display: Any, root: Any, number: int, popup: bool) -> PlacedWindow:
    window = display.create_resource_object("window", number)
    size, at = window.get_geometry(), root.translate_coords(window, 0, 0)
    border = [int(each) for each in _property(display, window, "_GTK_FRAME_EXTENTS")]
    title = _property(display, window, "_NET_WM_NAME")
    pid = _property(display, window, "_NET_WM_PID")
    return PlacedWindow(
        title.decode("utf-8", "replace") if isinstance(title, bytes) else "",
        int(pid[0]) if len(pid) == 1 else 0,
        (at.x, at.y, size.width, size.height),
        (*border,) if len(border) == 4 else (0, 0, 0, 0),  # type: ignore[arg-type]
        popup,
    )


def _property(display: Any, window: Any, name: str) -> Any:
    found = window.get_full_property(display.get_atom(name), X.AnyPropertyType)
    return found.value if found is not None else ()
