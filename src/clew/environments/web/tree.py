"""Reads a page's accessibility tree, its frames' too, into the one node form. It acts on nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clew.environments.gui import Node
from clew.environments.web.roles import (
    SKIPPED,
    SKIPPED_UNNAMED,
    TEXTUAL,
    native_role,
    properties,
    role_of,
    states_of,
    text_of,
)

Box = tuple[int, int, int, int]
Raw = Mapping[str, Any]
#: A tree beyond this many nodes is cut, and its reader is told.
MAX_NODES = 20_000
MAX_TEXT = 10_000
SNAPSHOT = {"computedStyles": [], "includeDOMRects": True}


@dataclass(frozen=True)
class Tree:
    """A page's nodes, the DOM node of each (`backend`), and how many were cut off."""

    nodes: tuple[Node, ...]
    backend: tuple[int, ...]
    cut: int = 0


async def read_tree(cdp: Any, width: int, height: int) -> Tree:
    """The tree of a page whose screen is `width` × `height` pixels."""
    frames = [f async for f in _frames(cdp)]
    raws: dict[str, Sequence[Raw]] = {}
    owners: dict[int, str] = {}
    for frame, parent in frames:
        raws[frame] = (await cdp.send("Accessibility.getFullAXTree", {"frameId": frame}))["nodes"]
        if parent:
            owner = await cdp.send("DOM.getFrameOwner", {"frameId": frame})
            owners[owner["backendNodeId"]] = frame
    boxes = _boxes(await cdp.send("DOMSnapshot.captureSnapshot", SNAPSHOT))
    builder = _Builder(raws, owners, boxes, (width, height))
    builder.add(frames[0][0])
    nodes = _with_headers(builder.nodes)
    return Tree(tuple(nodes), tuple(builder.backend), builder.cut)


async def _frames(cdp: Any) -> Any:
    """(frame, its parent or "") of the page, outer ones first."""
    waiting = [(await cdp.send("Page.getFrameTree"))["frameTree"]]
    while waiting:
        here = waiting.pop()
        yield here["frame"]["id"], here["frame"].get("parentId", "")
        waiting.extend(reversed(here.get("childFrames", ())))


class _Builder:
    """Walks the raw trees in reading order."""

    def __init__(
        self, raws: Mapping[str, Sequence[Raw]], owners: Mapping[int, str],
        boxes: Mapping[int, Box], screen: tuple[int, int],
    ) -> None:  # fmt: skip
        self._raws, self._owners, self._boxes, self._screen = raws, owners, boxes, screen
        self.nodes: list[Node] = []
        self.backend: list[int] = []
        self.cut = 0

    def add(self, frame: str, parent: int = -1) -> None:
        """Add a frame's nodes below `parent`. Iterative: pages nest deeper than Python does."""
        raws = self._raws[frame]
        if not raws:
            return
        by_id = {raw["nodeId"]: raw for raw in raws}
        waiting: list[tuple[Raw, int]] = [(raws[0], parent)]
        while waiting:
            raw, above = waiting.pop()
            here = above
            if not self._skipped(raw, above):
                if len(self.nodes) >= MAX_NODES:
                    self.cut += 1
                    continue
                here = self._add_one(raw, above)
            inner = self._owners.get(raw.get("backendDOMNodeId", -1))
            if inner is not None:
                self.add(inner, here)
                continue
            children = (by_id.get(i) for i in reversed(raw.get("childIds", ())))
            waiting.extend((child, here) for child in children if child is not None)

    def _skipped(self, raw: Raw, above: int) -> bool:
        role = native_role(raw)
        if raw.get("ignored") or role in SKIPPED:
            return True
        if role == "StaticText":  # the parent's name says it already
            said = self.nodes[above] if above >= 0 else None
            return said is not None and text_of(raw, "name").strip() in (said.name, said.value, "")
        if role in SKIPPED_UNNAMED and not text_of(raw, "name"):
            has = properties(raw)
            return not (has.get("focusable") or has.get("editable"))
        return False

    def _add_one(self, raw: Raw, parent: int) -> int:
        number = len(self.nodes)
        role, backend = role_of(raw), int(raw.get("backendDOMNodeId", -1))
        box = self._boxes.get(backend)
        if native_role(raw) == "RootWebArea" and parent < 0:
            box = (0, 0, *self._screen)
        shows = box is not None and box[2] > 0 and box[3] > 0
        name, value = text_of(raw, "name").strip(), text_of(raw, "value")
        self.nodes.append(
            Node(
                number, role, name[:MAX_TEXT], parent, native_role(raw), value[:MAX_TEXT],
                (value if role in TEXTUAL else name if role == "label" else "")[:MAX_TEXT],
                states_of(raw, role, shows, box is not None and self._outside(box)), box,
                _actions(raw, role),
            )
        )  # fmt: skip
        self.backend.append(backend)
        return number

    def _outside(self, box: Box) -> bool:
        x, y, width, height = box
        return x >= self._screen[0] or y >= self._screen[1] or x + width <= 0 or y + height <= 0


def _actions(raw: Raw, role: str) -> tuple[str, ...]:
    """The verbs of an `Element` act that make sense here."""
    has = properties(raw)
    found = ["press"] if has.get("focusable") or role in ("listitem", "canvas") else []
    if role in TEXTUAL and has.get("editable"):
        found += ["set", "type"]
    if native_role(raw) in ("combobox", "ComboBoxSelect", "listbox") and not has.get("editable"):
        found.append("select")
    if has.get("expanded") in (False, "false"):
        found.append("expand")
    return tuple(found)


def _boxes(snapshot: Raw) -> dict[int, Box]:
    """DOM node → its box on the screen, of all documents."""
    documents = snapshot["documents"]
    offsets: dict[int, tuple[float, float]] = {0: (0.0, 0.0)}
    boxes: dict[int, Box] = {}
    for number, document in enumerate(documents):
        dx, dy = offsets.get(number, (0.0, 0.0))
        dx -= document.get("scrollOffsetX", 0)
        dy -= document.get("scrollOffsetY", 0)
        nodes, layout = document["nodes"], document["layout"]
        inner = dict(zip(*(nodes["contentDocumentIndex"][k] for k in ("index", "value"))))
        backend = nodes["backendNodeId"]
        rects = (layout["clientRects"], layout["nodeIndex"], layout["bounds"])
        for client, index, (x, y, width, height) in zip(*rects):
            left, top = round(x + dx), round(y + dy)
            boxes[backend[index]] = (
                left, top, round(x + dx + width) - left, round(y + dy + height) - top,
            )  # fmt: skip
            if index in inner:  # a frame's document begins inside its border
                border_x, border_y = (client[0], client[1]) if client else (0, 0)
                offsets[inner[index]] = (x + dx + border_x, y + dy + border_y)
    return boxes


def _with_headers(nodes: Sequence[Node]) -> list[Node]:
    """The nodes, those in a table with the names of their row's and column's headers.

    What is inside a cell has its cell's headers. A row without a header of its own is named by its
    first cell.
    """
    below: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        below[node.parent].append(node)
    headers: dict[int, tuple[str, ...]] = {}
    for grid in (n for n in nodes if n.role == "grid"):
        columns: list[str] = []
        for row in _rows(grid, below):
            cells = [n for n in below[row.id] if n.role in ("cell", "header")]
            if cells and all(n.native_role == "columnheader" for n in cells):
                columns = [n.name for n in cells]
                continue
            named = [n.name for n in cells if n.native_role == "rowheader"]
            for at, cell in enumerate(cells):
                key = named or ([cells[0].name] if at else [])
                column = columns[at : at + 1]
                headers[cell.id] = tuple(h for h in (*key, *column) if h and h != cell.name)
    found = []
    for node in nodes:
        inherited = headers.get(node.parent, ())
        if node.id not in headers and inherited:
            headers[node.id] = inherited
        found.append(replace(node, headers=headers.get(node.id, ())) if headers else node)
    return found


def _rows(grid: Node, below: Mapping[int, Sequence[Node]]) -> Iterator[Node]:
    """A table's rows, also within groups of rows; not those of tables inside it."""
    waiting = list(reversed(below[grid.id]))
    while waiting:
        node = waiting.pop()
        if node.role == "row":
            yield node
        elif node.role == "group":
            waiting.extend(reversed(below[node.id]))
