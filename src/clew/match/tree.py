"""The difference of two accessibility trees, as counts of nodes. It does not judge them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.core import Refused, canonical_json

Node = Mapping[str, Any]
#: What makes a node another one; `id`, `parent` and the rest are how it was found.
FIELDS = ("role", "name", "value", "states", "box")


@dataclass(frozen=True)
class TreeDifference:
    """Nodes added, removed, and changed in role, name, value, states or box."""

    added: int
    removed: int
    changed: int


def tree_difference(recorded: Any, reached: Any) -> TreeDifference:
    """Compares a node with `children`, a list of such, or a flat list with `id` and `parent`.

    Siblings are paired by role and name, then by role, in order. Raises `Refused` otherwise.
    """
    added = removed = changed = 0
    waiting = [(_children(recorded), _children(reached))]
    while waiting:
        ours, theirs = waiting.pop()
        pairs, gone, new = _paired(ours, theirs)
        removed, added = removed + _count(gone), added + _count(new)
        for one, other in pairs:
            changed += _facts(one) != _facts(other)
            waiting.append((one.get("children", ()), other.get("children", ())))
    return TreeDifference(added, removed, changed)


def _children(tree: Any) -> Sequence[Node]:
    nodes = [tree] if isinstance(tree, Mapping) else tree
    if not isinstance(nodes, (list, tuple)) or not all(isinstance(n, Mapping) for n in nodes):
        raise Refused("an accessibility tree is neither a node nor a list of nodes")
    if not any(node.get("parent") is not None for node in nodes):
        return nodes
    below: dict[Any, list[Node]] = defaultdict(list)
    copies = [{**node, "children": below[node.get("id")]} for node in nodes]
    known = {node.get("id") for node in nodes}
    for node in copies:
        below[node.get("parent")].append(node)
    return [node for node in copies if node.get("parent") not in known]


def _paired(
    ours: Sequence[Node], theirs: Sequence[Node]
) -> tuple[list[tuple[Node, Node]], Sequence[Node], Sequence[Node]]:
    pairs: list[tuple[Node, Node]] = []
    for names in (("role", "name"), ("role",)):
        free: dict[Any, list[Node]] = defaultdict(list)
        for node in reversed(theirs):
            free[tuple(node.get(name) for name in names)].append(node)
        left = []
        for node in ours:
            same = free[tuple(node.get(name) for name in names)]
            pairs.append((node, same.pop())) if same else left.append(node)
        taken = {id(other) for _, other in pairs}
        ours, theirs = left, [node for node in theirs if id(node) not in taken]
    return pairs, ours, theirs


def _facts(node: Node) -> bytes:
    return canonical_json({name: node.get(name) for name in FIELDS}, "accessibility node")


def _count(nodes: Iterable[Node]) -> int:
    waiting, count = list(nodes), 0
    while waiting:
        count += 1
        waiting.extend(waiting.pop().get("children", ()))
    return count
