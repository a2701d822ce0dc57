"""One accessible object as it was read, and what an application's answers mean. It asks nothing.

The answers are hostile: each reader here takes any D-Bus value and gives a bounded one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from clew.environments.desktop.atspi.bus import Failure
from clew.environments.desktop.atspi.wire import Call
from clew.environments.gui.nodes import Box, Node

NAME_CHARACTERS = 1_000
TEXT_CHARACTERS = 10_000
ACTIONS = 20

ACCESSIBLE = "org.a11y.atspi.Accessible"
ACTION = "org.a11y.atspi.Action"
APPLICATION = "org.a11y.atspi.Application"
COMPONENT = "org.a11y.atspi.Component"
EDITABLE = "org.a11y.atspi.EditableText"
PROPERTIES = "org.freedesktop.DBus.Properties"
SELECTION = "org.a11y.atspi.Selection"
TABLE = "org.a11y.atspi.Table"
TEXT = "org.a11y.atspi.Text"
VALUE = "org.a11y.atspi.Value"
#: `ATSPI_COORD_TYPE_SCREEN`
ON_SCREEN = 0

#: An object's address: bus name and object path.
Reference = tuple[str, str]


@dataclass(slots=True, eq=False)
class Record:
    """One accessible object.

    `raw` is its box as the application says it and `shift` what makes screen pixels of it, None
    where that is not known. `bits` is its whole state set, `size` the number of children of a
    table that manages them.
    """

    reference: Reference
    parent: Record | None = None
    depth: int = 0
    native: str = ""
    role: str = "other"
    name: str = ""
    text: str = ""
    value: str = ""
    states: set[str] = field(default_factory=set)
    bits: int = 0
    raw: Box | None = None
    shift: tuple[int, int] | None = (0, 0)
    interfaces: frozenset[str] = frozenset()
    actions: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    children: list[Record] = field(default_factory=list)
    size: int = 0

    @property
    def box(self) -> Box | None:
        """The box in screen pixels."""
        if self.raw is None or self.shift is None:
            return None
        x, y, width, height = self.raw
        return x + self.shift[0], y + self.shift[1], width, height

    def node(self, number: int, parent: int) -> Node:
        """The record in the form that every platform shares."""
        return Node(
            number, self.role, self.name, parent, self.native, self.value, self.text,
            tuple(sorted(self.states)), self.box, self.actions, self.headers,
        )  # fmt: skip


def call(record: Record, interface: str, member: str, signature: str = "", *args: Any) -> Call:
    """A method of a record's object."""
    return Call(*record.reference, interface, member, signature, args)


def get(record: Record, interface: str, name: str) -> Call:
    """A property of a record's object."""
    return call(record, PROPERTIES, "Get", "ss", interface, name)


#: Makes of a record the call that asks its object something.
Question = Callable[[Record], Call]


def method(interface: str, member: str, signature: str = "", *args: Any) -> Question:
    """The question that calls a method of each object."""
    return lambda record: call(record, interface, member, signature, *args)


def prop(interface: str, name: str) -> Question:
    """The question that gets a property of each object."""
    return lambda record: get(record, interface, name)


NAME = prop(ACCESSIBLE, "Name")
STATES = method(ACCESSIBLE, "GetState")
BOX = method(COMPONENT, "GetExtents", "u", ON_SCREEN)


def first(answer: Any) -> Any:
    """The first value of an answer, None where there is none."""
    return answer[0] if isinstance(answer, tuple) and answer else None


def integer(answer: Any) -> int:
    """A whole number, -1 where there is none."""
    value = first(answer)
    return value if isinstance(value, int) else -1


def text(answer: Any, most: int = NAME_CHARACTERS) -> str:
    """A text of at most so many characters, empty where there is none."""
    value = first(answer)
    return value[:most] if isinstance(value, str) else ""


def texts(answer: Any) -> list[str]:
    value = first(answer)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def bits(answer: Any) -> int:
    """A state set as one number, bit n for state n; 0 where there is none."""
    value = first(answer)
    if not isinstance(value, list) or not all(isinstance(word, int) for word in value):
        return 0
    return sum((word & 0xFFFFFFFF) << 32 * n for n, word in enumerate(value[:2]))


def box(answer: Any) -> Box | None:
    """A box; None for what was never shown (GTK 4: -2147483648, GTK 3: -1 everywhere)."""
    value = first(answer)
    if not isinstance(value, tuple) or [type(n) for n in value] != [int] * 4:
        return None
    x, y, width, height = value
    if min(x, y) < -(1 << 20) or max(value) > 1 << 20 or min(width, height) < 0:
        return None
    return x, y, width, height


def reference(value: Any) -> Reference | None:
    """An object's address; None for the null object and for what is no address."""
    if not isinstance(value, tuple) or [type(each) for each in value] != [str, str]:
        return None
    name, path = value
    if not name.startswith(":") or not path.startswith("/") or path.endswith("/null"):
        return None
    return name, path


def references(answer: Any) -> list[Reference]:
    value = first(answer)
    found = [reference(each) for each in value] if isinstance(value, list) else []
    return [each for each in found if each is not None]


def pairs(answer: Any) -> dict[str, str]:
    """An object's attributes."""
    value = first(answer)
    found = value if isinstance(value, list) else []
    return {
        each[0]: each[1]
        for each in found
        if isinstance(each, tuple) and [type(word) for word in each] == [str, str]
    }


def action_names(answer: Any) -> tuple[str, ...]:
    """The names in a list of (name, description, key binding)."""
    value = first(answer)
    found = value[:ACTIONS] if isinstance(value, list) else []
    return tuple(
        each[0][:NAME_CHARACTERS]
        for each in found
        if isinstance(each, tuple) and each and isinstance(each[0], str)
    )


def has_failed(answer: Any, kind: str) -> bool:
    return isinstance(answer, Failure) and answer.kind == kind
