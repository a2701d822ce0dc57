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

    Siblings are paired by role and name, then by role, in order. Raises `Refused` for what is no
    tree: another kind of data, an `id` twice, a node in two places or under itself.
    """
    added = removed = changed = 0
    waiting = [(_roots(recorded), _roots(reached))]
    while waiting:
        ours, theirs = waiting.pop()
        pairs, gone, new = _paired(ours, theirs)
        removed, added = removed + _count(gone), added + _count(new)
        for one, other in pairs:
            changed += _facts(one) != _facts(other)
            waiting.append((_nodes(one.get("children") or ()), _nodes(other.get("children") or ())))
    return TreeDifference(added, removed, changed)


def _roots(tree: Any) -> Sequence[Node]:
    """The topmost nodes, everything under them checked; a flat list is nested first."""
    nodes = _nodes([tree] if isinstance(tree, Mapping) else tree)
    if not any(node.get("parent") is not None for node in nodes):
        _count(nodes)
        return nodes
    # By `repr`, which every value has, and which None does not share with any other.
    ids = [repr(node["id"]) for node in nodes if node.get("id") is not None]
    below: dict[str, list[Node]] = {name: [] for name in ids}
    if len(below) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise Refused(f"two accessibility nodes have the id {twice}: every id must stand once")
    copies = [{**node, "children": below.get(repr(node.get("id")), [])} for node in nodes]
    roots: list[Node] = []
    for node in copies:
        below.get(repr(node.get("parent")), roots).append(node)
    if _count(roots) < len(copies):
        raise Refused("accessibility nodes are their own ancestors: their `parent`s go in a circle")
    return roots


def _nodes(value: Any) -> Sequence[Node]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(n, Mapping) for n in value):
        raise Refused("an accessibility tree is neither a node nor a list of nodes")
    return value


def _paired(
    ours: Sequence[Node], theirs: Sequence[Node]
) -> tuple[list[tuple[Node, Node]], Sequence[Node], Sequence[Node]]:
    pairs: list[tuple[Node, Node]] = []
    for names in (("role", "name"), ("role",)):
        free: dict[Any, list[Node]] = defaultdict(list)
        for node in reversed(theirs):
            free[tuple(repr(node.get(name)) for name in names)].append(node)
        left = []
        for node in ours:
            same = free[tuple(repr(node.get(name)) for name in names)]
            pairs.append((node, same.pop())) if same else left.append(node)
        taken = {id(other) for _, other in pairs}
        ours, theirs = left, [node for node in theirs if id(node) not in taken]
    return pairs, ours, theirs


def _facts(node: Node) -> bytes:
    return canonical_json({name: node.get(name) for name in FIELDS}, "accessibility node")


def _count(nodes: Iterable[Node]) -> int:
    """How many nodes there are, those below included."""
    waiting, met = list(nodes), set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in met:
            raise Refused("an accessibility tree holds one node in two places, or under itself")
        met.add(id(node))
        waiting.extend(_nodes(node.get("children") or ()))
    return len(met)
