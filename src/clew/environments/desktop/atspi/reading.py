"""Reads the accessibility trees of applications into records. It acts on nothing.

The tree is read level by level, so that the calls of one level travel together. What does not
show is asked for nothing but its state, and its children not at all. Applications are hostile:
nothing that they say is trusted to be small, unique, or their own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.environments.desktop.atspi import records
from clew.environments.desktop.atspi.bus import Bus, Failure
from clew.environments.desktop.atspi.placing import Placing, Windows
from clew.environments.desktop.atspi.records import (
    ACCESSIBLE,
    ACTION,
    BOX,
    NAME,
    STATES,
    TABLE,
    TEXT,
    TEXT_CHARACTERS,
    VALUE,
    Question,
    Record,
    Reference,
    call,
    get,
    has_failed,
    method,
    prop,
)
from clew.environments.desktop.atspi.tables import name_columns, read_shown_cells
from clew.environments.desktop.atspi.wire import Call
from clew.environments.desktop.atspi.words import MANAGES, ROLE_CLASSES, native_role, states_of

NODES = 5_000
DEPTH = 120
TREE_S = 8.0
#: A table with more children than this is read only where it shows.
WHOLE_TABLE = 1_500
REGISTRY = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")

_CHILDREN = method(ACCESSIBLE, "GetChildren")
_INTERFACES = method(ACCESSIBLE, "GetInterfaces")
_ROLE = method(ACCESSIBLE, "GetRole")
_VALUED = frozenset({"progress", "scrollbar", "slider", "spinbox"})
#: Classes whose text says nothing that their name does not.
_NAMED_BY_TEXT = frozenset({"button", "checkbox", "menu", "menuitem", "radio", "separator", "tab"})
#: Classes that some toolkits give an action though nothing can be done with them.
_INERT = frozenset({
    "application", "group", "image", "label", "other", "scrollbar", "separator", "status",
    "toolbar", "window",
})  # fmt: skip


@dataclass
class Notes:
    """How a tree was read, for those who rely on it."""

    calls: int = 0
    silent: list[str] = field(default_factory=list)
    nodes_left_out: int = 0
    repeated: int = 0
    texts_cut: int = 0
    tables_not_read: int = 0
    windows_not_placed: int = 0
    late: bool = False

    def json(self) -> dict[str, Any]:
        """The notes as plain data, without what did not happen."""
        return {name: value for name, value in vars(self).items() if value}


class Reading:
    """One reading of the desktop: use once."""

    def __init__(self, bus: Bus, windows: Windows | None) -> None:
        self._bus = bus
        self._windows = windows
        self._deadline = time.monotonic() + TREE_S
        self._seen: set[Reference] = set()
        self._applications: set[str] = set()
        self.left = NODES
        self.notes = Notes()

    def applications(self, name: str | None) -> list[Record]:
        """The trees of all applications, or of those with a name; ordered by name."""
        self._bus.forgive()
        found = self.answers([Call(*REGISTRY, ACCESSIBLE, "GetChildren")])[0]
        if isinstance(found, Failure):
            self.notes.silent = ["registry"]
        roots = [Record(each) for each in records.references(found)]
        self._applications = {root.reference[0] for root in roots}
        for root, answer in zip(roots, self.ask(roots, NAME)):
            root.name = records.text(answer)
            root.native = root.role = "application"
        asked = [r for r in roots if name in (None, r.name) or self._is_silent(r)]
        asked.sort(key=lambda root: root.name)
        for root in asked:
            if not self._is_silent(root):
                self._read(root)
        self.notes.silent += [r.name or r.reference[0] for r in asked if self._is_silent(r)]
        return [root for root in asked if root.name or not self._is_silent(root)]

    def ask(self, about: Sequence[Record], *questions: Question) -> list[Any]:
        """The answers of each record to the same questions, record by record."""
        return self.answers([question(each) for each in about for question in questions])

    def answers(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to some calls, failures among them."""
        self.notes.calls += len(calls)
        found = self._bus.all(calls, self._deadline)
        self.notes.late |= any(has_failed(each, "late") for each in found)
        return found

    def claim(self, reference: Reference, parent: Record) -> bool:
        """Whether an object belongs to its parent: not read before, not another application's."""
        foreign = reference[0] != parent.reference[0] and reference[0] in self._applications
        if foreign or reference in self._seen:
            self.notes.repeated += 1
            return False
        self._seen.add(reference)
        return True

    def _read(self, root: Record) -> None:
        self._seen.add(root.reference)
        placing = Placing(root, self.ask, self._windows)
        found = [root]
        level = self._claimed([(root, self.ask([root], _CHILDREN)[0])])
        while level:
            for record, answer in zip(level, self.ask(level, STATES)):
                record.bits = records.bits(answer)
            level = [record for record in level if placing.may_show(record)]
            families = self._described(level)
            level = self._within_budget(placing.shown(level))
            for record in level:
                assert record.parent is not None
                record.parent.children.append(record)
            found += level
            level = self._claimed([(r, families[r]) for r in level if _is_entered(r)])
        self._contents(found)
        self.notes.windows_not_placed += sum(r.shift is None for r in root.children)
        for record in found:
            if _is_huge(record):
                read_shown_cells(self, record)
            elif TABLE in record.interfaces:
                name_columns(self, record)

    def _is_silent(self, record: Record) -> bool:
        return self._bus.silent(record.reference[0])

    def _claimed(self, families: Sequence[tuple[Record, Any]]) -> list[Record]:
        """The children of some records, at most as many as there may be nodes."""
        level = [
            Record(reference, parent, parent.depth + 1, shift=parent.shift)
            for parent, children in families
            if parent.depth < DEPTH
            for reference in records.references(children)
            if self.claim(reference, parent)
        ]
        self.notes.nodes_left_out += max(0, len(level) - NODES)
        return level[:NODES]

    def _within_budget(self, shown: list[Record]) -> list[Record]:
        kept = shown[: self.left]
        self.left -= len(kept)
        self.notes.nodes_left_out += len(shown) - len(kept)
        return kept

    def _described(self, about: Sequence[Record]) -> dict[Record, Any]:
        """Read role, name, interfaces and box; returns who the children are.

        Who manages its children itself may have 2^31 of them: they are counted first.
        """
        answers = self.ask(about, _ROLE, NAME, _INTERFACES, BOX, _children_or_count)
        per_record = [answers[at : at + 5] for at in range(0, len(answers), 5)]
        families = {}
        for record, (role, name, interfaces, box, children) in zip(about, per_record):
            record.native = native_role(records.integer(role))
            record.role = ROLE_CLASSES.get(record.native, "other")
            record.name = records.text(name)
            record.interfaces = frozenset(records.texts(interfaces))
            record.raw = records.box(box)
            record.states = states_of(record.bits, record.native) | {"showing"}
            record.size = records.integer(children)
            families[record] = children
        counted = [r for r in about if _manages(r) and not _is_huge(r)]
        families.update(zip(counted, self.ask(counted, _CHILDREN)))
        return families

    def _contents(self, about: Sequence[Record]) -> None:
        """Text, value and actions of those that have them."""
        written = [r for r in about if TEXT in r.interfaces and r.role not in _NAMED_BY_TEXT]
        for record, answer in zip(written, self.read_texts(written)):
            record.text = "" if record.role == "label" and answer == record.name else answer
        valued = [r for r in about if VALUE in r.interfaces and r.role in _VALUED]
        values = self.ask(valued, prop(VALUE, "CurrentValue"))
        for record, answer in zip(valued, values):
            value = records.first(answer)
            record.value = f"{value:.12g}" if isinstance(value, float) else ""
        active = [r for r in about if ACTION in r.interfaces and r.role not in _INERT]
        actions = self.ask(active, method(ACTION, "GetActions"))
        for record, answer in zip(active, actions):
            record.actions = records.action_names(answer)

    def read_texts(self, about: Sequence[Record]) -> list[str]:
        """The text of each; one that is too long is cut."""
        counts = self.ask(about, prop(TEXT, "CharacterCount"))
        ends = [min(max(records.integer(count), 0), TEXT_CHARACTERS) for count in counts]
        self.notes.texts_cut += sum(records.integer(n) > TEXT_CHARACTERS for n in counts)
        # LibreOffice answers with an empty text where the end lies beyond it.
        asked = zip(about, ends)
        answers = self.answers([call(each, TEXT, "GetText", "ii", 0, end) for each, end in asked])
        return [records.text(answer, TEXT_CHARACTERS) for answer in answers]


def _is_entered(record: Record) -> bool:
    """Whether the children of a record are read; of a closed menu none shows."""
    above = record.parent
    closed = record.role == "menu" and not record.states & {"selected", "expanded"}
    return not _is_huge(record) and not (closed and above is not None and above.role == "menubar")


def _is_huge(record: Record) -> bool:
    """Whether a record has so many children that only those that show are read."""
    return _manages(record) and record.size > WHOLE_TABLE


def _manages(record: Record) -> bool:
    return bool(record.bits >> MANAGES & 1)


def _children_or_count(record: Record) -> Call:
    return get(record, ACCESSIBLE, "ChildCount") if _manages(record) else _CHILDREN(record)
