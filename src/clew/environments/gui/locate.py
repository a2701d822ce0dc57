"""From a locator to the one node that it means. It acts on nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clew.core import Element
from clew.environments.gui.nodes import Box, Node, normalised

#: Windows of these classes bound where a locator is looked for first.
WINDOWS = frozenset({"window", "dialog", "alert"})


@dataclass(frozen=True)
class Found:
    """What a locator resolved to: the node, and how many nodes it could have meant."""

    node: Node
    candidates: int

    def notes(self) -> dict[str, object]:
        """What a step's notes say of it."""
        return {**hit_notes(self.node), "candidates": self.candidates}


class NotFound(LookupError):
    """No showing, enabled node is meant by the locator.

    Not bad input: an environment does nothing and says so in the step's notes, which tells it
    from an act on a wrong element.
    """


def hit_notes(node: Node) -> dict[str, object]:
    """The element that an act hit, as a step's notes name it."""
    return {"role": node.role, "name": node.name, "box": list(node.box) if node.box else None}


def find(element: Element, nodes: Sequence[Node]) -> Found:
    """The node that a locator means.

    Role class and normalised name must be equal, and each of `within` must be the normalised name
    of an ancestor, outer ones first, or of a row or column header. Among showing, enabled nodes,
    those of the focused window go first; then reading order (top to bottom, left to right, then
    the tree's). The number of candidates left is recorded. Raises `NotFound`, saying which
    condition failed.
    """
    by_id = {node.id: node for node in nodes}
    name, within = normalised(element.name), [normalised(w) for w in element.within]
    named = [n for n in nodes if n.role == element.role and normalised(n.name) == name]
    placed = [n for n in named if _inside(n, within, by_id)]
    usable = [n for n in placed if "showing" in n.states and "enabled" in n.states]
    if not usable:
        raise NotFound(_why_not(element, named, placed))
    window = _focused_window(nodes)
    focused = [n for n in usable if window is not None and window in _path(n, by_id)]
    pool = focused or usable
    return Found(min(pool, key=_reading_order), len(pool))


def hit(x: int, y: int, nodes: Iterable[Node]) -> Node | None:
    """The smallest showing node at a pixel; the later of equals, which is drawn above."""
    best: Node | None = None
    for node in nodes:
        if node.box is None or "showing" not in node.states or not _covers(node.box, x, y):
            continue
        if best is None or _area(node) <= _area(best):
            best = node
    return best


def centre(node: Node) -> tuple[int, int]:
    """The middle of a node's box. Raises `NotFound` where it has none on the screen."""
    if node.box is None or node.box[2] <= 0 or node.box[3] <= 0:
        raise NotFound(f"{node.role} {node.name!r} has no box on the screen: it cannot be clicked")
    x, y, width, height = node.box
    return x + width // 2, y + height // 2


def _inside(node: Node, within: list[str], by_id: dict[int, Node]) -> bool:
    headers = {normalised(h) for h in node.headers}
    above = [normalised(by_id[i].name) for i in reversed(_path(node, by_id)[1:])]
    at = 0
    for wanted in within:
        if wanted in headers:
            continue
        try:
            at = above.index(wanted, at) + 1
        except ValueError:
            return False
    return True


def _path(node: Node, by_id: dict[int, Node]) -> list[int]:
    """The node's id and those of its ancestors, up to the root."""
    path, seen = [], set()
    at: Node | None = node
    while at is not None and at.id not in seen:
        seen.add(at.id)
        path.append(at.id)
        at = by_id.get(at.parent)
    return path


def _focused_window(nodes: Sequence[Node]) -> int | None:
    """The id of the active window; an active modal dialog goes first."""
    active = [n for n in nodes if n.role in WINDOWS and "active" in n.states]
    modal = [n for n in active if "modal" in n.states]
    chosen = modal or active
    return chosen[-1].id if chosen else None


def _reading_order(node: Node) -> tuple[int, int, int]:
    x, y = (node.box[0], node.box[1]) if node.box else (1 << 20, 1 << 20)
    return y, x, node.id


def _covers(box: Box, x: int, y: int) -> bool:
    return box[0] <= x < box[0] + box[2] and box[1] <= y < box[1] + box[3]


def _area(node: Node) -> int:
    return node.box[2] * node.box[3] if node.box else 1 << 60


def _why_not(element: Element, named: list[Node], placed: list[Node]) -> str:
    what = f"{element.role} {element.name!r}"
    if element.within:
        what += f" within {' > '.join(element.within)}"
    if placed:
        return f"{what} is there but neither showing nor enabled: nothing was done"
    if named:
        return f"{what} is not there, though {len(named)} of that role and name are elsewhere"
    return f"{what} is not there: nothing was done"
