"""Reads PyAutoGUI code that a model wrote into actions. It parses, and never executes, the code.

Allowed are calls of `pyautogui` functions and `time.sleep` with literal arguments, their imports,
`with pyautogui.hold(…)`, and assignments to `pyautogui.PAUSE` and `FAILSAFE`. Everything else is
refused with the offending source. Durations, intervals and tweens are accepted and not kept: the
environment's settle rule decides when an act is over.
"""

from __future__ import annotations

import ast
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clew.core import Action, Keys, Pointer, Refused, Scroll, Text, Wait, nearest

#: Whole replies that are no code: OSWorld's three words.
WORDS: Mapping[str, Literal["", "done", "give_up"]] = {
    "WAIT": "", "DONE": "done", "FAIL": "give_up",
}  # fmt: skip
#: How long `WAIT` waits, in milliseconds.
WAIT_MS = 1_000
LONGEST_SOURCE = 100_000
MOST_ACTIONS = 1_000
_BUTTONS = {
    "left": "left", "primary": "left", 1: "left", "middle": "middle", 2: "middle",
    "right": "right", "secondary": "right", 3: "right",
}  # fmt: skip


def read(
    source: str, screen: tuple[int, int], pointer: tuple[int, int] | None = None
) -> tuple[tuple[Action, ...], Literal["", "done", "give_up"]]:
    """The actions of one step, in order, and the wish to stop.

    `screen` is (width, height) in pixels, put in for `{SCREEN_WIDTH}`, `{SCREEN_HEIGHT}` and their
    `_HALF` forms before anything is parsed. `pointer` is where the pointer is, for calls that name
    no position. Raises `Refused`, quoting the source, for anything outside the allow-list.
    """
    if len(source) > LONGEST_SOURCE:
        raise Refused(f"the code has {len(source)} characters: at most {LONGEST_SOURCE} are read")
    if source.strip() in WORDS:
        waits = (Wait(WAIT_MS),) if source.strip() == "WAIT" else ()
        return waits, WORDS[source.strip()]
    source = substituted(source, screen)
    reader = _Reader(source, pointer)
    for statement in _parsed(source).body:
        reader.statement(statement)
    return tuple(reader.actions), reader.stop


def substituted(source: str, screen: tuple[int, int]) -> str:
    """The source with the screen's placeholders replaced by numbers."""
    width, height = screen
    values = {
        "SCREEN_WIDTH": width, "SCREEN_HEIGHT": height,
        "SCREEN_WIDTH_HALF": width // 2, "SCREEN_HEIGHT_HALF": height // 2,
    }  # fmt: skip
    return re.sub(
        r"\{(" + "|".join(values) + r")\}", lambda found: str(values[found.group(1)]), source
    )


def _parsed(source: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a model's odd escapes are no business of the user's
            return ast.parse(source)
    except SyntaxError as error:
        line = (error.text or "").strip()[:120]
        raise Refused(f"line {error.lineno or 1} is not Python ({error.msg}): {line!r}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"the code cannot be parsed: {error}") from None


@dataclass
class _Reader:
    """The actions read so far; the methods named in `CALLS` have PyAutoGUI's own parameters."""

    source: str
    pointer: tuple[int, int] | None
    actions: list[Action] = field(default_factory=list)
    stop: Literal["", "done", "give_up"] = ""

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import) and all(
            a.name in ("pyautogui", "time") and a.asname in (None, a.name) for a in node.names
        ):
            return
        if isinstance(node, ast.Pass) or self._is_setting(node):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self.call(node.value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Name):
            self.word(node.value)
        elif (
            isinstance(node, ast.With) and len(node.items) == 1 and not node.items[0].optional_vars
        ):
            self.hold(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a comment written as a string
        else:
            raise self.refused(node, f"{_kind(node)} is not allowed; write plain calls")

    def word(self, node: ast.Name) -> None:
        """`DONE` and the like as the last line of some code."""
        if node.id not in WORDS:
            raise self.refused(node, nearest(node.id, WORDS))
        self.stop = WORDS[node.id]
        if node.id == "WAIT":
            self._add(node, lambda: [Wait(WAIT_MS)])

    def hold(self, node: ast.With) -> None:
        """`with pyautogui.hold(keys):` as keys down, the body, keys up."""
        call = node.items[0].context_expr
        if not isinstance(call, ast.Call) or self._name(call) != "pyautogui.hold":
            raise self.refused(node, "only `with pyautogui.hold(…)` is allowed")
        arguments, named = self._literals(call)
        if named or len(arguments) != 1:
            raise self.refused(call, "hold takes one key or a list of keys")
        names = _listed(arguments[0])
        self._add(call, lambda: [Keys("down", names)])
        for statement in node.body:
            self.statement(statement)
        self._add(call, lambda: [Keys("up", names[::-1])])

    def call(self, node: ast.Call) -> None:
        name = self._name(node)
        method = CALLS.get(name)
        if method is None:
            raise self.refused(node, f"{name} is not allowed; {nearest(name, CALLS)}")
        arguments, named = self._literals(node)
        try:
            bound = inspect.signature(method).bind(self, *arguments, **named)
        except TypeError as error:
            raise self.refused(node, str(error)) from None
        self._add(node, lambda: method(*bound.args, **bound.kwargs))

    def refused(self, node: ast.stmt | ast.expr, why: str) -> Refused:
        segment = ast.get_source_segment(self.source, node) or ""
        quoted = segment if len(segment) <= 200 else segment[:197] + "..."
        return Refused(f"line {node.lineno} of the code, {quoted!r}: {why}")

    def click(
        self, x: Any = None, y: Any = None, clicks: int = 1, interval: float = 0.0,
        button: Any = "left", duration: float = 0.0, tween: Any = None,
        logScreenshot: Any = None, _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        # More than three clicks in a row are no gesture of their own: the rest begin anew.
        if type(clicks) is not int or not 1 <= clicks <= MOST_ACTIONS:
            raise Refused(f"clicks is {clicks!r}: a whole number from 1 on is needed")
        at, which = self._at(x, y), _button(button)
        counts = [3] * (clicks // 3) + ([clicks % 3] if clicks % 3 else [])
        return [Pointer("click", (at,), which, count) for count in counts]

    def doubleClick(
        self, x: Any = None, y: Any = None, interval: float = 0.0, button: Any = "left",
        duration: float = 0.0, tween: Any = None, logScreenshot: Any = None, _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        return [Pointer("click", (self._at(x, y),), _button(button), 2)]

    def tripleClick(
        self, x: Any = None, y: Any = None, interval: float = 0.0, button: Any = "left",
        duration: float = 0.0, tween: Any = None, logScreenshot: Any = None, _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        return [Pointer("click", (self._at(x, y),), _button(button), 3)]

    def rightClick(
        self, x: Any = None, y: Any = None, interval: float = 0.0, duration: float = 0.0,
        tween: Any = None, logScreenshot: Any = None, _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        return [Pointer("click", (self._at(x, y),), "right")]

    def middleClick(
        self, x: Any = None, y: Any = None, interval: float = 0.0, duration: float = 0.0,
        tween: Any = None, logScreenshot: Any = None, _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        return [Pointer("click", (self._at(x, y),), "middle")]

    def moveTo(
        self, x: Any = None, y: Any = None, duration: float = 0.0, tween: Any = None,
        logScreenshot: Any = None, _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        return [Pointer("move", (self._at(x, y),))]

    def moveRel(
        self, xOffset: Any = 0, yOffset: Any = 0, duration: float = 0.0, tween: Any = None,
        logScreenshot: Any = None, _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        return [Pointer("move", (self._from(xOffset, yOffset),))]

    def dragTo(
        self, x: Any = None, y: Any = None, duration: float = 0.0, tween: Any = None,
        button: Any = "left", logScreenshot: Any = None, _pause: bool = True,
        mouseDownUp: bool = True,
    ) -> list[Action]:  # fmt: skip
        start = self._at(None, None)
        return self._dragged(start, self._at(x, y), button, mouseDownUp)

    def dragRel(
        self, xOffset: Any = 0, yOffset: Any = 0, duration: float = 0.0, tween: Any = None,
        button: Any = "left", logScreenshot: Any = None, _pause: bool = True,
        mouseDownUp: bool = True,
    ) -> list[Action]:  # fmt: skip
        start = self._at(None, None)
        return self._dragged(start, self._from(xOffset, yOffset), button, mouseDownUp)

    def mouseDown(
        self, x: Any = None, y: Any = None, button: Any = "left", duration: float = 0.0,
        tween: Any = None, logScreenshot: Any = None, _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        return [Pointer("down", (self._at(x, y),), _button(button))]

    def mouseUp(
        self, x: Any = None, y: Any = None, button: Any = "left", duration: float = 0.0,
        tween: Any = None, logScreenshot: Any = None, _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        return [Pointer("up", (self._at(x, y),), _button(button))]

    def scroll(
        self, clicks: Any, x: Any = None, y: Any = None, logScreenshot: Any = None,
        _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        # PyAutoGUI counts upwards as positive.
        return [Scroll(*self._at(x, y), dy=-_whole(clicks, "clicks"))]

    def hscroll(
        self, clicks: Any, x: Any = None, y: Any = None, logScreenshot: Any = None,
        _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        return [Scroll(*self._at(x, y), dx=_whole(clicks, "clicks"))]

    def press(
        self, keys: Any, presses: int = 1, interval: float = 0.0, logScreenshot: Any = None,
        _pause: bool = True,
    ) -> list[Action]:  # fmt: skip
        if type(presses) is not int or not 0 <= presses <= MOST_ACTIONS:
            raise Refused(f"presses is {presses!r}: a whole number from 0 to {MOST_ACTIONS}")
        return [Keys("press", (key,)) for _ in range(presses) for key in _listed(keys)]

    def keyDown(self, key: str, logScreenshot: Any = None, _pause: bool = True) -> list[Action]:
        return [Keys("down", (key,))]

    def keyUp(self, key: str, logScreenshot: Any = None, _pause: bool = True) -> list[Action]:
        return [Keys("up", (key,))]

    def hotkey(self, *keys: Any, interval: float = 0.0, **_: Any) -> list[Action]:
        return [Keys("press", _listed(keys[0]) if len(keys) == 1 else keys)]

    def write(
        self, message: Any, interval: float = 0.0, logScreenshot: Any = None, _pause: bool = True
    ) -> list[Action]:
        if isinstance(message, str):
            return [Text(message)]
        return [Keys("press", (key,)) for key in _listed(message)]

    def sleep(self, seconds: Any) -> list[Action]:
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            raise Refused(f"a sleep of {seconds!r}: a number of seconds is needed")
        return [Wait(round(min(seconds, 1e9) * 1000))]

    def _dragged(
        self, start: tuple[int, int], end: tuple[int, int], button: Any, presses: bool
    ) -> list[Action]:
        if not presses:
            return [Pointer("move", (end,))]
        return [Pointer("drag", (start, end), _button(button))]

    def _at(self, x: Any, y: Any) -> tuple[int, int]:
        """A position, or where the pointer is; the pointer is there from now on."""
        if isinstance(x, (tuple, list)) and y is None and len(x) == 2:
            x, y = x
        unknown = self.pointer or (None, None)
        given = (unknown[0] if x is None else x, unknown[1] if y is None else y)
        if None in given:
            raise Refused("no position is given and none is known: give x and y")
        at = (_whole(given[0], "x"), _whole(given[1], "y"))
        self.pointer = at
        return at

    def _from(self, dx: Any, dy: Any) -> tuple[int, int]:
        if isinstance(dx, (tuple, list)) and len(dx) == 2:
            dx, dy = dx
        x, y = self._at(None, None)
        return self._at(x + _whole(dx, "xOffset"), y + _whole(dy, "yOffset"))

    def _name(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            return f"{function.value.id}.{function.attr}"
        return ast.get_source_segment(self.source, function) or "this call"

    def _literals(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        arguments = [self._literal(one) for one in node.args]
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.refused(node, "arguments cannot be unpacked with **")
            named[keyword.arg] = self._literal(keyword.value)
        return arguments, named

    def _literal(self, node: ast.expr) -> Any:
        # A tween is a function of PyAutoGUI's; it changes nothing that is kept.
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "pyautogui" and node.attr.startswith("ease"):
                return None
            if node.value.id == "pyautogui" and node.attr in ("LEFT", "MIDDLE", "RIGHT"):
                return node.attr.lower()
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            raise self.refused(node, "only literal arguments are read") from None
        if not _is_plain(value):
            raise self.refused(node, "only numbers, text and lists of them are read")
        return value

    def _add(self, node: ast.expr, made: Callable[[], list[Action]]) -> None:
        try:
            self.actions += made()
        except (Refused, TypeError, ValueError, OverflowError) as error:
            raise self.refused(node, str(error)) from None
        if len(self.actions) > MOST_ACTIONS:
            raise self.refused(node, f"one step has more than {MOST_ACTIONS} actions")

    def _is_setting(self, node: ast.stmt) -> bool:
        return (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(target := node.targets[0], ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == "pyautogui"
            and target.attr in ("PAUSE", "FAILSAFE")
            and isinstance(node.value, ast.Constant)
        )


CALLS: Mapping[str, Callable[..., list[Action]]] = {
    **{
        f"pyautogui.{name}": getattr(_Reader, name)
        for name in (
            "click", "doubleClick", "tripleClick", "rightClick", "middleClick", "moveTo",
            "moveRel", "dragTo", "dragRel", "mouseDown", "mouseUp", "scroll", "hscroll", "press",
            "keyDown", "keyUp", "hotkey", "write", "sleep",
        )
    },
    "pyautogui.leftClick": _Reader.click,
    "pyautogui.move": _Reader.moveRel,
    "pyautogui.drag": _Reader.dragRel,
    "pyautogui.vscroll": _Reader.scroll,
    "pyautogui.typewrite": _Reader.write,
    "time.sleep": _Reader.sleep,
}  # fmt: skip


def _whole(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(f"{what} is {value!r}: a number is needed")
    return round(value)


def _button(button: Any) -> str:
    known = _BUTTONS.get(button.lower() if isinstance(button, str) else button)
    if known is None:
        raise Refused(f"button {button!r} is unknown; {nearest(str(button), map(str, _BUTTONS))}")
    return known


def _listed(keys: Any) -> tuple[str, ...]:
    return tuple(keys) if isinstance(keys, (list, tuple)) else (keys,)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(one) for one in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _kind(node: ast.stmt) -> str:
    return f"a statement of the kind {type(node).__name__}"
