"""Acts on one accessible object, or says where to click and what to type instead.

It sends no input of its own; see `Done`. Some toolkits answer an action that opens a dialog only
when the dialog is closed, so an action without an answer counts as done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from clew.environments.desktop.atspi import records
from clew.environments.desktop.atspi.bus import Bus, Failure
from clew.environments.desktop.atspi.records import (
    ACCESSIBLE,
    ACTION,
    COMPONENT,
    EDITABLE,
    PROPERTIES,
    SELECTION,
    STATES,
    TEXT,
    TEXT_CHARACTERS,
    VALUE,
    Record,
    call,
    get,
    has_failed,
)
from clew.environments.desktop.atspi.wire import Call
from clew.environments.desktop.atspi.words import DEFUNCT, SHOWING, VISIBLE
from clew.environments.gui.locate import NotFound

Way = Literal["action", "focus", "value", "text", "selection", "already", "pixel"]
#: Native action names that press, the best first; without one of them the mouse does it.
_PRESSES = ("click", "press", "activate", "clicked", "jump", "toggle", "check", "uncheck")
_EXPANDS = ("expand or contract", "expand", "open", "popup", "press", "click")
#: Classes whose action means something else than a press.
_NOT_PRESSED = frozenset({"textbox", "terminal", "paragraph", "document", "cell", "grid", "tree"})
_SHOWN = 1 << SHOWING | 1 << VISIBLE


@dataclass(frozen=True)
class Done:
    """By which way an act was done, and what is left to the session.

    With the way `pixel` it clicks `pixel`. With `types` it then types that text, where `replaces`
    in place of all that is there (a spreadsheet's cell is overwritten by typing alone).
    """

    way: Way
    detail: str = ""
    pixel: tuple[int, int] | None = None
    types: str | None = None
    replaces: bool = True

    def notes(self) -> dict[str, Any]:
        """What a step's notes say of it."""
        return {"way": self.way, "detail": self.detail}


class Acting:
    """The verbs, on one record. Each raises `NotFound` when the object has gone since."""

    def __init__(self, bus: Bus, record: Record) -> None:
        self._bus = bus
        self._record = record
        self._check_still_there()

    def press(self) -> Done:
        """Press by the object's own action, otherwise by the mouse."""
        if self._record.role not in _NOT_PRESSED and (done := self._act(_PRESSES)):
            return done
        return self._pixel()

    def focus(self) -> Done:
        """Give it the keyboard."""
        if self._agrees(call(self._record, COMPONENT, "GrabFocus")):
            return Done("focus")
        return self._pixel()

    def set(self, text: str) -> Done:
        """Set its value or its whole text; what cannot be set is typed."""
        number = _number(text)
        if VALUE in self._record.interfaces and number is not None and self._set_value(number):
            return Done("value")
        if EDITABLE in self._record.interfaces and self._set_text(text):
            return Done("text")
        if self._record.role == "cell":
            return replace(self.focus(), detail="typed", types=text + "\n", replaces=False)
        return replace(self._pixel(), detail="typed", types=text)

    def select(self) -> Done:
        """Select it in its parent."""
        record = self._record
        if "selected" in record.states:
            return Done("already")
        above = record.parent
        if above is not None and SELECTION in above.interfaces:
            index = records.integer(self._ask(call(record, ACCESSIBLE, "GetIndexInParent")))
            if index >= 0 and self._agrees(call(above, SELECTION, "SelectChild", "i", index)):
                return Done("selection")
        return self.press()

    def expand(self) -> Done:
        """Open it: a menu, a combo box, a row of a tree."""
        if "expanded" in self._record.states:
            return Done("already")
        return self._act(_EXPANDS) or self._pixel()

    def _act(self, wanted: Sequence[str]) -> Done | None:
        names = [name.casefold() for name in self._record.actions]
        for name in wanted:
            if name in names:
                question = call(self._record, ACTION, "DoAction", "i", names.index(name))
                return Done("action", name) if self._agrees(question) else None
        return None

    def _set_value(self, number: float) -> bool:
        record = self._record
        self._ask(call(record, PROPERTIES, "Set", "ssv", VALUE, "CurrentValue", ("d", number)))
        return bool(records.first(self._ask(get(record, VALUE, "CurrentValue"))) == number)

    def _set_text(self, text: str) -> bool:
        record = self._record
        self._ask(call(record, EDITABLE, "SetTextContents", "s", text))
        beyond = max(len(text), TEXT_CHARACTERS) + 1
        answer = self._ask(call(record, TEXT, "GetText", "ii", 0, beyond))
        return records.text(answer, beyond) == text

    def _agrees(self, question: Call) -> bool:
        answer = self._ask(question)
        agreed: object = records.first(answer)
        return has_failed(answer, "silent") or agreed is True

    def _check_still_there(self) -> None:
        """A window that closed since leaves objects that answer, and pixels of something else."""
        answer = self._bus.all([STATES(self._record)])[0]
        if has_failed(answer, "silent"):
            raise NotFound(f"{self._what()} cannot be used: its application does not answer")
        was, now = self._record.bits, records.bits(answer)
        if isinstance(answer, Failure) or now >> DEFUNCT & 1 or was & ~now & _SHOWN:
            raise NotFound(f"{self._what()} has gone since the tree was read")

    def _ask(self, question: Call) -> Any:
        return self._bus.all([question])[0]

    def _pixel(self) -> Done:
        box = self._record.box
        if box is None or 0 in box[2:]:
            raise NotFound(f"{self._what()} has no box on the screen: it cannot be clicked")
        return Done("pixel", "", (box[0] + box[2] // 2, box[1] + box[3] // 2))

    def _what(self) -> str:
        return f"{self._record.role} {self._record.name!r}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
