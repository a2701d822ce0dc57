"""The one form of an accessibility node, on every platform. It reads no platform's tree itself.

A tree is a tuple of nodes in reading order of the platform (parents before their children); the
channel `tree` holds the same as plain data, see `channel`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Role classes: what an element is for, whatever a platform calls it. Toggle buttons are buttons.
ROLES = frozenset({
    "alert", "application", "button", "canvas", "cell", "checkbox", "column", "combobox", "dialog",
    "document", "grid", "group", "header", "heading", "image", "label", "link", "list", "listitem",
    "menu", "menubar", "menuitem", "other", "page", "paragraph", "progress", "radio", "row",
    "scrollbar", "separator", "slider", "spinbox", "status", "tab", "tablist", "terminal",
    "textbox", "toolbar", "tooltip", "tree", "treeitem", "window",
})  # fmt: skip

#: States that any platform can report; others are left out.
STATES = frozenset({
    "active", "busy", "checked", "collapsed", "editable", "enabled", "expanded", "focused",
    "invalid", "modal", "multiselectable", "offscreen", "password", "pressed", "readonly",
    "required", "selectable", "selected", "showing",
})  # fmt: skip

Box = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Node:
    """One element.

    `id` is its number in the tree, from 0 in reading order, and `parent` that of its parent (−1:
    none). `role` is one of `ROLES`, `native_role` the platform's own word. `value` is a control's
    value (of a slider, a spin box, a cell), `text` the content of a text element. `box` is
    (x, y, width, height) in screen pixels, None where it is not known. `states` are of `STATES`,
    sorted. `actions` are the platform's own names of what can be done. `headers` are the names of
    a cell's row and column headers.
    """

    id: int
    role: str
    name: str = ""
    parent: int = -1
    native_role: str = ""
    value: str = ""
    text: str = ""
    states: tuple[str, ...] = ()
    box: Box | None = None
    actions: tuple[str, ...] = ()
    headers: tuple[str, ...] = field(default=())

    def json(self) -> dict[str, Any]:
        """The node as plain data, as the channel `tree` holds it."""
        return {
            "id": self.id, "parent": self.parent if self.parent >= 0 else None,
            "role": self.role, "native_role": self.native_role, "name": self.name,
            "value": self.value, "text": self.text, "states": list(self.states),
            "box": None if self.box is None else list(self.box), "actions": list(self.actions),
            "headers": list(self.headers),
        }  # fmt: skip


def channel(nodes: Iterable[Node]) -> list[dict[str, Any]]:
    """The tree as the plain data of a channel."""
    return [node.json() for node in nodes]


def nodes_of(tree: Sequence[Mapping[str, Any]]) -> tuple[Node, ...]:
    """The nodes that `channel` wrote."""
    return tuple(
        Node(
            one["id"], one["role"], one["name"], -1 if one["parent"] is None else one["parent"],
            one["native_role"], one["value"], one["text"], tuple(one["states"]),
            None if one["box"] is None else (*one["box"],), tuple(one["actions"]),
            tuple(one.get("headers", ())),
        )
        for one in tree
    )  # fmt: skip


_MARKS = re.compile(r"[\s\u2026:*]+$|\.\.\.\s*$")
_SPACES = re.compile(r"\s+")


def normalised(name: str) -> str:
    """A name as locators compare it: NFKC, one space between words, no mnemonic underscore or
    ampersand, no trailing ellipsis, colon or asterisk, case folded."""
    name = unicodedata.normalize("NFKC", name).replace("_", "").replace("&", "")
    name = _SPACES.sub(" ", name).strip()
    while _MARKS.search(name):
        name = _MARKS.sub("", name)
    return name.casefold()
