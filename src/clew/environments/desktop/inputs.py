"""Pointer and keys through XTEST, and text typed exactly by a keymap of its own. No settling.

Characters that the keyboard has no key for are put on spare key codes, each kept there as long as
the codes last: an application translates a press by the map it finds when it handles it, so a code
is given another character only when every earlier press has been handled (`rest`).
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from Xlib import XK, X
from Xlib.ext import xtest

from clew.core import Keys, Pointer, Refused, Scroll

#: Named keys → X keysym names.
_KEYSYMS: Mapping[str, str] = {
    "enter": "Return", "tab": "Tab", "escape": "Escape", "backspace": "BackSpace",
    "delete": "Delete", "insert": "Insert", "home": "Home", "end": "End", "pageup": "Prior",
    "pagedown": "Next", "up": "Up", "down": "Down", "left": "Left", "right": "Right",
    "space": "space", "ctrl": "Control_L", "shift": "Shift_L", "alt": "Alt_L",
    "altgr": "ISO_Level3_Shift", "super": "Super_L", "capslock": "Caps_Lock",
    "numlock": "Num_Lock", "scrolllock": "Scroll_Lock", "printscreen": "Print", "pause": "Pause",
    "menu": "Menu", **{f"f{n}": f"F{n}" for n in range(1, 25)},
}  # fmt: skip
#: Keysyms that python-xlib does not load by itself.
_MORE_KEYSYMS: Mapping[str, int] = {"ISO_Level3_Shift": 0xFE03}
_BUTTONS: Mapping[str, int] = {"left": 1, "middle": 2, "right": 3, "back": 8, "forward": 9}
_UP, _DOWN, _LEFT, _RIGHT = 4, 5, 6, 7
_TYPED_KEYS: Mapping[str, str] = {"\n": "enter", "\t": "tab"}
#: X requests between two round trips, so that the server's queue of events never overflows.
_BURST = 48

Rest = Callable[[], None]


#: Keys that an application may carry out later than the characters behind them (LibreOffice does).
_OVERTAKEN = frozenset({"enter", "tab"})
#: Characters beyond this one (emoji) may be carried out sooner than the spaces before them (there too).
_OVERTAKES = 0xFFFF


class Inputs:
    """The pointer and the keyboard of one display. `x` is an `Xlib.display.Display`."""

    def __init__(self, x: Any) -> None:
        self._x = x
        # A key that is held for as long as a slow machine takes must not repeat.
        x.change_keyboard_control(auto_repeat_mode=X.AutoRepeatModeOff)
        self._codes, self._shifted, self._spare = _layout(x)
        for name in [each for each in _KEYSYMS if each not in self._codes]:
            self._codes[name] = self._spare.pop()
            x.change_keyboard_mapping(self._codes[name], [[_number(name)] * 2])
        #: Characters on spare codes, the one that was needed longest ago first.
        self._placed: dict[str, int] = {}
        self._sent = 0

    def park(self, x: int, y: int) -> None:
        """Move the pointer away, and make XTEST's the keyboard that applications find."""
        self._move(x, y)
        self._press([self._codes["shift"]])
        self._x.sync()

    def pointer(self, action: Pointer, rest: Rest) -> None:
        """Carry out a pointer act; `rest` lets applications catch up on the way of a drag."""
        button = _BUTTONS[action.button]
        with self._held(action.modifiers):
            self._move(*action.path[0])
            if action.verb == "click":
                for _ in range(action.count):
                    self._fake(X.ButtonPress, button)
                    self._fake(X.ButtonRelease, button)
            elif action.verb == "down":
                self._fake(X.ButtonPress, button)
            elif action.verb == "up":
                self._fake(X.ButtonRelease, button)
            elif action.verb == "drag":
                self._drag(action.path, button, rest)
        self._x.sync()

    def scroll(self, action: Scroll) -> None:
        """Turn the wheels: buttons 4 to 7, one click a notch."""
        across = (_RIGHT if action.dx > 0 else _LEFT, abs(action.dx))
        down = (_DOWN if action.dy > 0 else _UP, abs(action.dy))
        with self._held(action.modifiers):
            self._move(action.x, action.y)
            for button, notches in (down, across):
                for _ in range(notches):
                    self._fake(X.ButtonPress, button)
                    self._fake(X.ButtonRelease, button)
        self._x.sync()

    def keys(self, action: Keys, rest: Rest) -> None:
        """Press keys together, in order, or hold or release them.

        A character that needs shift brings it along.
        """
        names = list(action.keys)
        strange = [name for name in names if name not in self._codes]
        if strange:
            self._place(strange, rest)
        if any(name in self._shifted for name in names) and "shift" not in names:
            names.insert(0, "shift")
        codes = [self._codes.get(name) or self._placed[name] for name in names]
        if action.verb == "press":
            self._press(codes)
        else:
            event = X.KeyPress if action.verb == "down" else X.KeyRelease
            for code in codes if action.verb == "down" else reversed(codes):
                self._fake(event, code)
        self._x.sync()

    def type(self, text: str, rest: Rest) -> None:
        """Type text; line breaks are enter, tabs are tab. `check_typed` says what cannot be."""
        for piece in self._pieces(text):
            strange = dict.fromkeys(each for each in piece if _key(each) not in self._codes)
            if strange:
                self._place(list(strange), rest)
            for each in piece:
                if ord(each) > _OVERTAKES:
                    self._x.sync()
                    rest()
                key = _key(each)
                code = self._codes.get(key) or self._placed[key]
                shift = [self._codes["shift"]] if key in self._shifted else []
                self._press([*shift, code])
                if key in _OVERTAKEN:
                    self._x.sync()
                    rest()
            self._x.sync()

    def _pieces(self, text: str) -> Iterator[str]:
        """Parts of the text with no more strange characters each than there are spare codes."""
        began, strange = 0, set[str]()
        for i, each in enumerate(text):
            if _key(each) in self._codes or each in strange:
                continue
            if len(strange) == len(self._spare):
                yield text[began:i]
                began, strange = i, set()
            strange.add(each)
        yield text[began:]

    def _place(self, characters: Sequence[str], rest: Rest) -> None:
        """Put characters on spare key codes, those first that were never used."""
        new = []
        for each in characters:
            if each in self._placed:
                self._placed[each] = self._placed.pop(each)
            else:
                new.append(each)
        taken = set(self._placed.values())
        free = [code for code in self._spare if code not in taken]
        if len(new) > len(free):
            rest()
            oldest = [each for each in self._placed if each not in characters]
            free += [self._placed.pop(each) for each in oldest[: len(new) - len(free)]]
        given = sorted(zip(free, new))
        for code, each in given:
            self._placed[each] = code
        for first, run in _runs(given):
            symbols = [[_keysym(each)] * 2 for each in run]
            self._x.change_keyboard_mapping(first, symbols)
        self._x.sync()

    def _drag(self, path: Sequence[tuple[int, int]], button: int, rest: Rest) -> None:
        """Press at the first point, release at the last; the way is walked in small steps, as a
        hand does it: toolkits begin a drag only after some pixels."""
        self._fake(X.ButtonPress, button)
        self._x.sync()
        rest()
        for (x0, y0), (x1, y1) in itertools.pairwise(path):
            steps = max(1, max(abs(x1 - x0), abs(y1 - y0)) // 8)
            for step in range(1, steps + 1):
                x, y = x0 + (x1 - x0) * step // steps, y0 + (y1 - y0) * step // steps
                self._move(x, y)
            self._x.sync()
            rest()
        self._fake(X.ButtonRelease, button)

    @contextlib.contextmanager
    def _held(self, modifiers: Sequence[str]) -> Iterator[None]:
        codes = [self._codes[name] for name in modifiers]
        for code in codes:
            self._fake(X.KeyPress, code)
        yield
        for code in reversed(codes):
            self._fake(X.KeyRelease, code)

    def _press(self, codes: Sequence[int]) -> None:
        for code in codes:
            self._fake(X.KeyPress, code)
        for code in reversed(codes):
            self._fake(X.KeyRelease, code)

    def _move(self, x: int, y: int) -> None:
        self._fake(X.MotionNotify, x=x, y=y)

    def _fake(self, event: int, detail: int = 0, x: int = 0, y: int = 0) -> None:
        xtest.fake_input(self._x, event, detail, x=x, y=y)
        self._sent += 1
        if self._sent % _BURST == 0:
            self._x.sync()


def check_typed(text: str) -> None:
    """Raises `Refused` for a character that no key can type."""
    for i, each in enumerate(text):
        if each not in _TYPED_KEYS and (ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0):
            raise Refused(
                f"typed text has U+{ord(each):04X} at position {i}: no key types it; "
                "use line breaks, tabs and printable characters, and Keys for the rest"
            )


def secret(name: str) -> str:
    """The value of a secret: an environment variable of that name. Raises `Refused` if unset."""
    value = os.environ.get(name)
    if value is None:
        raise Refused(f"the secret {name!r} is not in the environment: set the variable {name}")
    return value


def _key(character: str) -> str:
    return "space" if character == " " else _TYPED_KEYS.get(character, character)


def _number(name: str) -> int:
    """The keysym of a named key."""
    symbol = _KEYSYMS[name]
    return _MORE_KEYSYMS.get(symbol) or int(XK.string_to_keysym(symbol))


def _keysym(character: str) -> int:
    code = ord(character)
    latin_1 = 0x20 <= code < 0x7F or 0xA0 <= code < 0x100
    return code if latin_1 else 0x0100_0000 | code


def _layout(x: Any) -> tuple[dict[str, int], set[str], list[int]]:
    """Key → code, the keys that need shift, and the codes that are spare, of the server's map."""
    first = x.display.info.min_keycode
    rows = x.get_keyboard_mapping(first, x.display.info.max_keycode - first + 1)
    plain: dict[int, int] = {}
    shifted: dict[int, int] = {}
    for code, row in enumerate(rows, first):
        plain.setdefault(row[0], code)
        shifted.setdefault(row[1], code)
    codes: dict[str, int] = {}
    with_shift: set[str] = set()
    for name in _KEYSYMS:
        if (number := _number(name)) in plain:
            codes[name] = plain[number]
    for each in map(chr, range(0x21, 0x7F)):
        number = _keysym(each)
        if number in plain:
            codes[each] = plain[number]
        elif number in shifted:
            codes[each] = shifted[number]
            with_shift.add(each)
    used = set(codes.values()) | {code for row in x.get_modifier_mapping() for code in row}
    spare = [code for code, _ in enumerate(rows, first) if code not in used]
    return codes, with_shift, spare


def _runs(given: Sequence[tuple[int, str]]) -> Iterator[tuple[int, list[str]]]:
    """Neighbouring key codes together: one change of the map each."""
    first, run = -1, list[str]()
    for code, each in given:
        if run and code == first + len(run):
            run.append(each)
            continue
        if run:
            yield first, run
        first, run = code, [each]
    if run:
        yield first, run
