"""A page's alert, confirm, prompt or "leave this page?", as something to see and to answer.

Chromium draws no dialog without a window, and a page that has opened one is held: it shows, says
and runs nothing until the dialog is answered. So while one is open the frame and the tree show
this dialog alone, drawn here, and the next acts go to it.
"""

from __future__ import annotations

import html
from typing import Any

from playwright.async_api import Dialog

from clew.core import Action, Element, Keys, Pointer, Text
from clew.core.actions import reveal
from clew.environments.gui import Node, NotFound, find, normalised
from clew.environments.web.frames import Frame, capture
from clew.environments.web.hands import secret

MAX_MESSAGE = 2_000
WIDTH, HEIGHT = 480, 240
_WINDOW = ("active", "enabled", "modal", "showing")
_SHOWN = ("enabled", "showing")


class OpenDialog:
    """One dialog that waits for an answer, on a screen of `width` × `height` pixels."""

    def __init__(self, dialog: Dialog, width: int, height: int) -> None:
        self.dialog = dialog
        self.kind = str(dialog.type)
        self.message = dialog.message[:MAX_MESSAGE]
        if self.kind == "beforeunload":
            self.message = self.message or "Leave this page? What you typed may be lost."
        self.draft = dialog.default_value[:MAX_MESSAGE] if self.kind == "prompt" else ""
        self._typed = False
        self._screen = (width, height)
        self._left, self._top = (width - WIDTH) // 2, (height - HEIGHT) // 2

    def json(self) -> dict[str, str]:
        return {"kind": self.kind, "message": self.message}

    def answer(self, action: Action) -> str:
        """What an act means: `accept`, `dismiss`, or nothing (it may have edited the draft)."""
        if isinstance(action, Text):
            return self._type(reveal(action.text, secret))
        if isinstance(action, Keys) and action.verb == "press" and len(action.keys) == 1:
            return self._press(action.keys[0])
        if isinstance(action, Pointer) and action.verb in ("click", "up"):
            x, y = action.path[0]
            for node in self.nodes():
                if node.role == "button" and node.box and _inside(node.box, x, y):
                    return "accept" if node.name == "OK" else "dismiss"
        if isinstance(action, Element):
            return self._on_element(action)
        return ""

    def nodes(self) -> tuple[Node, ...]:
        """The dialog in the one node form."""
        x, y = self._left, self._top
        nodes = [
            Node(0, "dialog", self.kind, -1, self.kind, states=_WINDOW, box=(x, y, WIDTH, HEIGHT)),
            Node(1, "label", self.message, 0, "message", text=self.message, states=_SHOWN,
                 box=(x + 20, y + 20, WIDTH - 40, 110)),
        ]  # fmt: skip
        if self.kind == "prompt":
            nodes.append(
                Node(2, "textbox", "", 0, "input", self.draft, self.draft,
                     ("editable", "enabled", "focused", "showing"), (x + 20, y + 140, 440, 32),
                     ("set", "type"))
            )  # fmt: skip
        for name, left in self._buttons():
            box = (x + left, y + 190, 90, 32)
            nodes.append(
                Node(len(nodes), "button", name, 0, "button", states=_SHOWN, box=box,
                     actions=("press",))
            )  # fmt: skip
        return tuple(nodes)

    async def picture(self, context: Any) -> Frame:
        """The frame, drawn in a context of its own, which this closes."""
        page = await context.new_page()
        await page.set_content(self._html())
        cdp = await context.new_cdp_session(page)
        frame = await capture(cdp)
        await context.close()
        return frame

    def _buttons(self) -> list[tuple[str, int]]:
        ok = [("OK", 370)]
        return ok if self.kind == "alert" else [("Cancel", 270), *ok]

    def _type(self, text: str) -> str:
        if self.kind == "prompt":
            typed = text.partition("\n")[0]
            self.draft = self.draft + typed if self._typed else typed
            self._typed = True
        return "accept" if "\n" in text else ""

    def _press(self, key: str) -> str:
        if key in ("enter", "space") and not (key == "space" and self.kind == "prompt"):
            return "accept"
        if key == "escape":
            return "dismiss"
        if key == "backspace":
            self.draft, self._typed = (self.draft[:-1] if self._typed else ""), True
        elif key == "space" or len(key) == 1:
            return self._type(" " if key == "space" else key)
        return ""

    def _on_element(self, action: Element) -> str:
        try:
            node = find(action, self.nodes()).node
        except NotFound:
            return ""
        if node.role == "button" and action.verb == "press":
            return "accept" if normalised(node.name) == "ok" else "dismiss"
        if node.role == "textbox" and action.verb in ("set", "type"):
            self._typed = self._typed and action.verb == "type"
            return self._type(reveal(action.text, secret))
        return ""

    def _html(self) -> str:
        style = "position:absolute;box-sizing:border-box;font:15px 'DejaVu Sans',sans-serif;"
        inner = []
        for node in self.nodes():
            assert node.box is not None
            x, y, width, height = node.box
            place = f"left:{x}px;top:{y}px;width:{width}px;height:{height}px;"
            inner.append(
                f'<div style="{style}{place}{_LOOKS[node.role]}">'
                f"{html.escape(node.value or node.name if node.role != 'dialog' else '')}</div>"
            )
        return f'<!doctype html><body style="margin:0;background:#777">{"".join(inner)}'


_LOOKS = {
    "dialog": "background:#fff;border:1px solid #333;",
    "label": "overflow:hidden;white-space:pre-wrap;overflow-wrap:anywhere;",
    "textbox": "border:1px solid #333;padding:5px;overflow:hidden;white-space:pre;",
    "button": "border:1px solid #333;background:#eee;padding:6px;text-align:center;",
}


def _inside(box: tuple[int, int, int, int], x: int, y: int) -> bool:
    return box[0] <= x < box[0] + box[2] and box[1] <= y < box[1] + box[3]
