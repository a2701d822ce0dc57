"""Carries out actions on a page: pointer, keys, text, wheel, located elements. It waits for nothing.

An act that cannot be done (no such element) does nothing and says so; what no session could ever
do is refused by `check`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Error, Page

from clew.core import Action, Control, Element, Keys, Pointer, Refused, Scroll, Text, Tool
from clew.core.actions import reveal, secrets_in
from clew.core.errors import nearest
from clew.environments.gui import ROLES, NotFound, find
from clew.environments.web.activity import Activity
from clew.environments.web.roles import OPERABLE, native_role, role_of, text_of
from clew.environments.web.tree import read_tree

#: Tool → its arguments. `tab` counts from 0, in the order in which pages were opened.
TOOLS: Mapping[str, Mapping[str, type]] = {
    "navigate": {"url": str}, "back": {}, "forward": {}, "reload": {}, "tab": {"index": int},
    "close_tab": {}, "upload": {"files": list},
}  # fmt: skip
BUTTONS = frozenset({"left", "middle", "right"})
NOTCH_PX = 100
DRAG_STEPS = 8
#: Time passes after each of the first keys of a text, and after every so many from then on.
TICKING_KEYS = 8
KEY_NAMES: Mapping[str, str] = {
    "enter": "Enter", "tab": "Tab", "escape": "Escape", "backspace": "Backspace",
    "delete": "Delete", "insert": "Insert", "home": "Home", "end": "End", "pageup": "PageUp",
    "pagedown": "PageDown", "up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft",
    "right": "ArrowRight", "space": "Space", "ctrl": "Control", "shift": "Shift", "alt": "Alt",
    "altgr": "AltGraph", "super": "Meta", "capslock": "CapsLock", "numlock": "NumLock",
    "scrolllock": "ScrollLock", "printscreen": "PrintScreen", "pause": "Pause",
    "menu": "ContextMenu",
}  # fmt: skip

#: Focuses an element for an act, and says what kind of thing it is.
_READY = """function (verb, text) {
  const tag = this.tagName;
  if (tag === 'SELECT') {
    const option = [...this.options].find((o) => o.label.trim() === text.trim());
    if (!option) return 'no option';
    this.focus();
    option.selected = true;
    this.dispatchEvent(new Event('input', {bubbles: true}));
    this.dispatchEvent(new Event('change', {bubbles: true}));
    return 'done';
  }
  if (verb === 'select') return 'not a list of options';
  if (tag === 'INPUT' && this.type === 'file') return 'file';
  const typed = /^(text|search|url|tel|email|password|number)$/;
  if (tag === 'INPUT' && !typed.test(this.type)) {
    const proto = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
    this.focus();
    proto.set.call(this, text);
    this.dispatchEvent(new Event('input', {bubbles: true}));
    this.dispatchEvent(new Event('change', {bubbles: true}));
    return 'done';
  }
  this.focus();
  if (this.select) this.select();
  else if (this.isContentEditable) getSelection().selectAllChildren(this);
  else return 'not editable';
  return 'selected';
}"""


@dataclass(frozen=True)
class Hands:
    """A page to act on, what it is at, its screen, and the files that may be uploaded.

    `tick` lets the page's clock go on a little, as it does under slower hands.
    """

    page: Page
    activity: Activity
    width: int
    height: int
    files: Path
    tick: Callable[[], Awaitable[None]]

    @property
    def cdp(self) -> Any:
        return self.activity.cdp

    async def move(self, x: float, y: float) -> None:
        """Move the pointer; pages are told of it with their next frame, which is waited for."""
        await self.page.mouse.move(x, y)
        await self.activity.next_frame()

    async def type(self, text: str) -> None:
        """Type, exactly. Time passes between the keys: pages take up an act in timers, too."""
        for number, character in enumerate(text):
            await self.page.keyboard.type(character)
            if number < TICKING_KEYS or number % TICKING_KEYS == 0:
                await self.tick()


def check(action: Action, files: Path) -> None:
    """Raise `Refused` for an action that no session can take, before anything moves."""
    if getattr(action, "seat", ""):
        raise Refused(f"web has no seat {action.seat!r}: leave it empty")  # type: ignore[union-attr]
    for name in secrets_in(action):
        secret(name)
    if isinstance(action, Control):
        raise Refused("web cannot execute a Control: it takes pointer, keys, text and the like")
    if isinstance(action, Pointer) and action.button not in BUTTONS:
        raise Refused(f"pointer button {action.button!r}: use the tool 'back' or 'forward'")
    if isinstance(action, Element) and action.role not in ROLES:
        raise Refused(f"element role {action.role!r} is unknown; {nearest(action.role, ROLES)}")
    if isinstance(action, Tool):
        _check_tool(action, files)


def _check_tool(tool: Tool, files: Path) -> None:
    takes, given = TOOLS.get(tool.name), tool.parsed()
    if takes is None:
        raise Refused(f"web has no tool {tool.name!r}; {nearest(tool.name, TOOLS)}")
    if set(given) != set(takes):
        raise Refused(f"tool {tool.name!r} takes {sorted(takes) or 'nothing'}, not {sorted(given)}")
    for name, kind in takes.items():
        if type(given[name]) is not kind:
            raise Refused(f"tool {tool.name!r}: {name} must be {kind.__name__}")
    if tool.name == "navigate" and not _goes_by_http(given["url"]):
        raise Refused(f"tool 'navigate' goes to http and https alone, not {given['url']!r}")
    if tool.name == "upload":
        for name in given["files"]:
            fixture(files, name)


def _goes_by_http(url: str) -> bool:
    """Whether it is a path of the application, or a URL of the two schemes."""
    scheme = urlsplit(url).scheme
    return scheme in ("http", "https") or not scheme


def key_name(key: str) -> str:
    """Playwright's name of a key."""
    if len(key) > 1 and key[0] == "f" and key[1:].isdigit():
        return key.upper()
    return KEY_NAMES.get(key, key)


def fixture(files: Path, name: Any) -> Path:
    """A file that the task laid out. Raises `Refused` for any other."""
    there = sorted(p.name for p in files.iterdir())
    if name not in there:
        raise Refused(f"the task has no file {name!r}; {nearest(name, there)}")
    return files / str(name)


async def perform(hands: Hands, action: Action, told: dict[str, Any]) -> None:
    """Carry out one action (tools and `Wait` are the session's).

    What it meets goes into `told`, the step's notes, before it acts: a dialog may hold it there.
    """
    if isinstance(action, Pointer):
        await _point(hands, action, told)
    elif isinstance(action, Keys):
        await _keys(hands.page, action, told)
    elif isinstance(action, Text):
        await hands.type(reveal(action.text, secret))
    elif isinstance(action, Scroll):
        async with _held(hands.page, action.modifiers):
            await hands.move(action.x, action.y)
            await hands.page.mouse.wheel(action.dx * NOTCH_PX, action.dy * NOTCH_PX)
    elif isinstance(action, Element):
        await _on_element(hands, action, told)


async def _point(hands: Hands, action: Pointer, told: dict[str, Any]) -> None:
    mouse, (x, y) = hands.page.mouse, action.path[0]
    if action.verb != "move":
        told["hit"] = await element_at(hands, x, y)
    async with _held(hands.page, action.modifiers):
        await hands.move(x, y)
        if action.verb == "click":
            for count in range(1, action.count + 1):
                await mouse.down(button=_button(action), click_count=count)
                await mouse.up(button=_button(action), click_count=count)
                await hands.tick()
        elif action.verb == "drag":
            await mouse.down(button=_button(action))
            for here, there in zip(action.path, action.path[1:]):
                for point in _between(here, there):
                    await hands.move(*point)
                    await hands.tick()
            await mouse.up(button=_button(action))
        elif action.verb == "down":
            await mouse.down(button=_button(action), click_count=action.count)
        elif action.verb == "up":
            await mouse.up(button=_button(action), click_count=action.count)


def _between(here: tuple[int, int], there: tuple[int, int]) -> Iterator[tuple[float, float]]:
    """The points at which a drag is seen on its way."""
    for step in range(1, DRAG_STEPS + 1):
        part = step / DRAG_STEPS
        yield here[0] + (there[0] - here[0]) * part, here[1] + (there[1] - here[1]) * part


def _button(action: Pointer) -> Any:
    return action.button


async def _keys(page: Page, action: Keys, told: dict[str, Any]) -> None:
    """Keys that no American keyboard has cannot be held; pressed, they insert their character."""
    pressed: list[str] = []
    for name in [key_name(key) for key in action.keys]:
        try:
            if action.verb == "up":
                await page.keyboard.up(name)
            else:
                await page.keyboard.down(name)
                pressed.append(name)
        except Error as error:
            if "Unknown key" not in error.message:
                raise
            if action.verb == "press" and len(name) == 1:
                await page.keyboard.insert_text(name)
            told.setdefault("no_key", []).append(name)
    if action.verb == "press":
        for name in reversed(pressed):
            await page.keyboard.up(name)


@asynccontextmanager
async def _held(page: Page, modifiers: tuple[str, ...]) -> AsyncIterator[None]:
    for key in modifiers:
        await page.keyboard.down(KEY_NAMES[key])
    yield
    for key in reversed(modifiers):
        await page.keyboard.up(KEY_NAMES[key])


async def element_at(hands: Hands, x: int, y: int) -> dict[str, Any] | None:
    """The element that a pixel act hits: the nearest operable one around what is drawn there."""
    if not (0 <= x < hands.width and 0 <= y < hands.height):
        return None
    where = {"x": x, "y": y, "ignorePointerEventsNone": True}
    try:
        backend = (await hands.cdp.send("DOM.getNodeForLocation", where))["backendNodeId"]
        here = {"backendNodeId": backend}
        raws = (await hands.cdp.send("Accessibility.getPartialAXTree", here))["nodes"]
    except Error as error:  # a page that is just being replaced
        return {"unknown": error.message.splitlines()[0][:200]}
    named = [raw for raw in _upwards(raws, backend) if not raw.get("ignored")]
    chosen = next((raw for raw in named if role_of(raw) in OPERABLE), named[0] if named else None)
    if chosen is None:
        return None
    box = await _box(hands.cdp, int(chosen.get("backendDOMNodeId", -1)))
    return {
        "role": role_of(chosen), "native_role": native_role(chosen),
        "name": text_of(chosen, "name")[:500], "box": None if box is None else list(box),
    }  # fmt: skip


def _upwards(raws: Sequence[Mapping[str, Any]], backend: int) -> Iterator[Mapping[str, Any]]:
    """A DOM node's raw node and those around it, the innermost first."""
    by_id = {raw["nodeId"]: raw for raw in raws}
    at = next((raw for raw in raws if raw.get("backendDOMNodeId") == backend), None)
    while at is not None:
        yield at
        at = by_id.get(at.get("parentId", ""))


async def _on_element(hands: Hands, action: Element, told: dict[str, Any]) -> None:
    tree = await read_tree(hands.cdp, hands.width, hands.height)
    try:
        found = find(action, tree.nodes)
    except NotFound as error:
        told["not_found"] = str(error)
        return
    told["element"] = found.notes()
    backend, text = tree.backend[found.node.id], reveal(action.text, secret)
    if action.verb == "expand" and "expanded" in found.node.states:
        why = "it is expanded already"
    elif action.verb in ("press", "expand"):
        why = await _press(hands, backend)
    elif action.verb in ("focus", "type"):
        why = await _tried(hands.cdp.send("DOM.focus", {"backendNodeId": backend}))
        if action.verb == "type" and not why:
            await hands.type(text)
    else:
        why = await _fill(hands, backend, action.verb, text)
    if why:
        told["not_done"] = why


async def _press(hands: Hands, backend: int) -> str:
    """Click the middle of an element, scrolled into view. Returns why not, or nothing."""
    why = await _tried(hands.cdp.send("DOM.scrollIntoViewIfNeeded", {"backendNodeId": backend}))
    box = None if why else await _box(hands.cdp, backend)
    if box is None or box[2] <= 0 or box[3] <= 0:
        return why or "it has no box on the screen"
    await hands.move(box[0] + box[2] // 2, box[1] + box[3] // 2)
    await hands.page.mouse.down()
    await hands.page.mouse.up()
    return ""


async def _fill(hands: Hands, backend: int, verb: str, text: str) -> str:
    """Replace an element's value. Returns why not, or nothing."""
    resolved = await hands.cdp.send("DOM.resolveNode", {"backendNodeId": backend})
    answer = await hands.cdp.send(
        "Runtime.callFunctionOn",
        {
            "objectId": resolved["object"]["objectId"], "functionDeclaration": _READY,
            "arguments": [{"value": verb}, {"value": text}], "returnByValue": True,
        },
    )  # fmt: skip
    outcome = str(answer["result"].get("value", "it raised an error"))
    if outcome == "file":
        try:
            path = fixture(hands.files, text)
        except Refused as error:
            return str(error)
        files = {"files": [str(path)], "backendNodeId": backend}
        return await _tried(hands.cdp.send("DOM.setFileInputFiles", files))
    if outcome == "selected":
        if text:
            await hands.page.keyboard.insert_text(text)
        else:
            await hands.page.keyboard.press("Delete")
        return ""
    return "" if outcome == "done" else outcome


async def _box(cdp: Any, backend: int) -> tuple[int, int, int, int] | None:
    try:
        quad = (await cdp.send("DOM.getBoxModel", {"backendNodeId": backend}))["model"]["border"]
    except Error:  # not drawn
        return None
    left, top = round(min(quad[::2])), round(min(quad[1::2]))
    return left, top, round(max(quad[::2])) - left, round(max(quad[1::2])) - top


async def _tried(command: Any) -> str:
    """Carry out a command of the protocol; returns why it could not be done, or nothing."""
    try:
        await command
    except Error as error:
        return error.message.splitlines()[0][:200]
    return ""


def secret(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise Refused(f"the secret {name!r} is not in the environment: set the variable {name}")
    return value
