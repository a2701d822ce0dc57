"""Connections to an X server by the path of its socket, and what window managers tell there.

It sends no input. `python-xlib` finds servers by display number only, under /tmp/.X11-unix; a
session's socket is in a room of its own.
"""

from __future__ import annotations

import contextlib
import types
from dataclasses import dataclass
from typing import Any

import Xlib.display
import Xlib.error
import Xlib.protocol.display
import Xlib.protocol.event
import Xlib.support.unix_connect
from Xlib import X

#: What fails when the server has gone.
GONE = (Xlib.error.ConnectionClosedError, ConnectionError)


class _ByPath:
    """Stands where `Xlib.support.connect` stands, for one server: its path and its cookie."""

    def __init__(self, path: str, cookie: bytes) -> None:
        self._path, self._cookie = path, cookie

    def get_display(self, name: str) -> tuple[str, str, str, int, int]:
        return name, "unix", "", 0, 0

    def get_socket(self, *_: Any) -> Any:
        return Xlib.support.unix_connect._get_unix_socket(self._path)

    def get_auth(self, *_: Any) -> tuple[bytes, bytes]:
        return (b"MIT-MAGIC-COOKIE-1", self._cookie) if self._cookie else (b"", b"")


def connected(path: str, cookie: bytes = b"") -> Any:
    """An `Xlib.display.Display` on the server whose socket is at `path`.

    Raises `Xlib.error.DisplayConnectionError` or `OSError` when nobody answers there.
    """
    wire = _with(Xlib.protocol.display.Display.__init__, connect=_ByPath(path, cookie))

    class Wire(Xlib.display._BaseDisplay):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            self.resource_classes = Xlib.display._resource_baseclasses.copy()
            self._atom_cache: dict[str, int] = {}
            wire(self, name)

    display = Xlib.display.Display.__new__(Xlib.display.Display)
    _with(Xlib.display.Display.__init__, _BaseDisplay=Wire)(display, ":0")
    return display


def _with(function: Any, **names: Any) -> Any:
    """The same function with other globals, so that nothing of the library is patched."""
    return types.FunctionType(function.__code__, {**function.__globals__, **names})


@dataclass(frozen=True)
class Window:
    """One window: `box` is (x, y, width, height) of its content in screen pixels."""

    id: int
    title: str
    name: str
    box: tuple[int, int, int, int]
    active: bool

    def json(self) -> dict[str, Any]:
        """The window as the channel `windows` holds it; ids are the server's and left out."""
        return {
            "title": self.title, "class": self.name, "box": list(self.box), "active": self.active
        }  # fmt: skip


class Windows:
    """The windows of one display, by the rules of window managers (EWMH)."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._root = display.screen().root

    def managed(self) -> bool:
        """Whether a window manager has announced itself."""
        return bool(self._numbers(self._root, "_NET_SUPPORTING_WM_CHECK"))

    def all(self) -> list[Window]:
        """Every window, the lowest first."""
        active = next(iter(self._numbers(self._root, "_NET_ACTIVE_WINDOW")), 0)
        found = []
        for number in self._numbers(self._root, "_NET_CLIENT_LIST_STACKING"):
            with contextlib.suppress(Xlib.error.BadWindow, Xlib.error.BadDrawable):
                found.append(self._described(number, number == active))
        return found

    def activate(self, number: int) -> None:
        """Ask the window manager to raise a window and give it the keyboard."""
        atom = self._display.get_atom("_NET_ACTIVE_WINDOW")
        window = self._display.create_resource_object("window", number)
        by_a_pager, now = 2, X.CurrentTime
        message = Xlib.protocol.event.ClientMessage(
            window=window, client_type=atom, data=(32, [by_a_pager, now, 0, 0, 0])
        )
        mask = X.SubstructureRedirectMask | X.SubstructureNotifyMask
        self._root.send_event(message, event_mask=mask)
        self._display.flush()

    def _described(self, number: int, active: bool) -> Window:
        window = self._display.create_resource_object("window", number)
        title = self._text(window, "_NET_WM_NAME") or self._text(window, "WM_NAME")
        names = self._text(window, "WM_CLASS").split("\0")
        size = window.get_geometry()
        # python-xlib takes the source window first: this is (0, 0) of `window` seen from the root.
        at = self._root.translate_coords(window, 0, 0)
        box = (at.x, at.y, size.width, size.height)
        return Window(number, title, names[1] if len(names) > 1 else "", box, active)

    def _numbers(self, window: Any, name: str) -> list[int]:
        found = self._property(window, name)
        return [int(each) for each in found.value] if found is not None else []

    def _text(self, window: Any, name: str) -> str:
        found = self._property(window, name)
        raw = found.value if found is not None else b""
        return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)

    def _property(self, window: Any, name: str) -> Any:
        atom = self._display.get_atom(name)
        return window.get_full_property(atom, X.AnyPropertyType)
