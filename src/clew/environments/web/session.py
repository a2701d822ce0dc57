"""One running web session: observe, act, settle, probe, judge. How pages are asked is in `world`."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from playwright.async_api import Error

from clew.core import (
    Action,
    Channels,
    Judgement,
    Observation,
    Refused,
    Seen,
    SessionSpent,
    Tool,
    Wait,
    nearest,
)
from clew.environments.gui import Node, Settle, channel, check_on_screen, settled
from clew.environments.web import hands, state
from clew.environments.web.frames import Frame, capture
from clew.environments.web.oracles import Check, judged
from clew.environments.web.tree import Tree, read_tree
from clew.environments.web.world import Held, View, World

CHANNELS: Channels = frozenset({"frame", "tree", "url", "title"})
MAX_TITLE = 1_000
EMPTY_CLIPBOARD = {
    "userGesture": True,
    "expression": """
        document.addEventListener("copy", (event) => {
          event.clipboardData.setData("text/plain", "");
          event.preventDefault();
        }, { once: true });
        document.execCommand("copy")""",
}
#: How much longer an act may take for each character that it types.
TYPING_S = 0.05
#: Before time passes on the page's clock, what the act set off has this long to show itself.
CALM = Settle("quiet", quiet_ms=20, cap_ms=5_000)


class WebSession:
    """One session of a task: `Probed`, `Judged` (pure), `Expects`."""

    judging: Literal["pure", "final"] = "pure"

    def __init__(
        self, world: World, checks: tuple[Check, ...], settle: Settle, scratch: Path
    ) -> None:
        self._world, self._checks, self._settle = world, checks, settle
        self._scratch, self._files = scratch, scratch / "files"
        self._expected: tuple[Frame | None, float] = (None, 0.0)
        self._open = True
        self._settled_after(self._begin)
        world.browser.make_ahead(world.options)

    def observe(self, see: Channels) -> Seen:
        """Look without touching. Raises `Refused` for a channel that cannot be shown."""
        self._check_open()
        _check_channels(see)
        self._world.allow_time()
        return self._look(see, {})

    def act(self, action: Action, see: Channels) -> Seen:
        """Act, let the page's clock advance, wait until the page has settled, then show `see`.

        An action that meets nothing (no such element) does nothing else and says so in the notes.
        Raises `Refused`, before anything moves, for one that no session takes.
        """
        self._check_open()
        _check_channels(see)
        hands.check(action, self._files)
        check_on_screen(action, self._world.view.width, self._world.view.height)
        notes: dict[str, Any] = {}
        settle = self._settled_after(lambda: self._perform(action, notes), action)
        return self._look(see, {**notes, "settle": settle})

    def expect(self, seen: Observation, pace: float) -> None:
        """The next act also waits, within its cap, until the recorded frame shows, and not less
        than the recorded settling time times `pace`."""
        frame = np.asarray(seen["frame"], np.uint8) if "frame" in seen else None
        recorded = seen.notes.get("settle", {})
        ms = recorded.get("ms", 0.0) if isinstance(recorded, Mapping) else 0.0
        self._expected = (frame, float(ms) * pace)

    def probe(self) -> Mapping[str, Any]:
        """Storage, downloads, console errors, requests, dialogs and pages; see `state`.

        Changes nothing.
        """
        self._check_open()
        self._world.allow_time()
        return state.probe(self._world)

    def judge(self) -> Judgement:
        """The task's checks on the present state; the score is the share that holds."""
        self._check_open()
        if not self._checks:
            raise Refused("this task has no oracle of its own: pass one")
        self._world.allow_time()
        return judged(self._checks, state.Reader(self._world, self._tree))

    def close(self) -> None:
        """End the session and remove its files; closing twice does nothing."""
        if self._open:
            self._open = False
            self._world.close()
            self._world.origin.close()
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _begin(self) -> None:
        world = self._world
        # Before the first page, whose loading is watched from its beginning. The clipboard is the
        # browser's, and an earlier session may have filled it.
        world.do(world.cdp().send("Runtime.evaluate", EMPTY_CLIPBOARD))
        self._goto(world.origin.start)

    def _settled_after(self, work: Callable[[], None], action: Action | None = None) -> Any:
        """Do something, let time pass, settle; says why and when it settled."""
        world, (frame, at_least_ms) = self._world, self._expected
        self._expected = (None, 0.0)
        world.begin_act(self._settle.cap_ms / 1e3 + len(getattr(action, "text", "")) * TYPING_S)
        try:
            changed = _Changes(lambda: world.changes)
            work()
            self._follow()
            world.caught_up()
            if world.busy:
                settled(CALM, _Changes(lambda: world.changes), self._is_busy, poll_s=0.004)
            self._pass_time(action)
            shows = None if frame is None else lambda: np.array_equal(self._frame(), frame)
            world.caught_up()
            return settled(self._settle, changed, self._is_busy, shows, at_least_ms)
        except Held:
            return {"reason": "dialog", "ms": 0.0, "last_change_ms": 0.0, "changes": 0}

    def _pass_time(self, action: Action | None) -> None:
        world = self._world
        if not isinstance(action, Wait):
            world.advance(world.view.advance_ms)
        elif world.view.virtual:
            world.allow_time(action.ms / 1e3)
            world.advance(action.ms)
        else:
            time.sleep(action.ms / 1e3)

    def _is_busy(self) -> bool:
        """Also follows the page in front, when another one has come meanwhile."""
        if self._world.dialog is not None:
            raise Held
        self._follow()
        return self._world.busy

    def _follow(self) -> None:
        if self._world.pages:
            self._world.cdp()

    def _perform(self, action: Action, notes: dict[str, Any]) -> None:
        world, view = self._world, self._world.view
        if world.dialog is not None:
            answer = world.dialog.answer(action)
            if not answer:
                raise Held
            notes["dialog_answered"] = answer
            world.answer_dialog(answer == "accept")
        elif isinstance(action, Tool):
            notes.update(self._use(action))
        elif not isinstance(action, Wait):
            here = hands.Hands(
                world.page, world.activity(), view.width, view.height, self._files, world.tick
            )
            world.do(hands.perform(here, action, notes))

    def _use(self, tool: Tool) -> dict[str, Any]:
        world, given = self._world, tool.parsed()
        if tool.name == "navigate":
            base = f"{world.origin.base}/"
            url = given["url"] if "://" in given["url"] else base + given["url"].lstrip("/")
            return self._goto(url)
        if tool.name in ("back", "forward", "reload"):
            move = {"back": world.page.go_back, "forward": world.page.go_forward}
            turn = move.get(tool.name, world.page.reload)
            return self._navigated(lambda: world.do(turn(wait_until="commit")))
        if tool.name == "tab":
            pages = world.context.pages
            if not 0 <= given["index"] < len(pages):
                return {"not_found": f"tab {given['index']} of {len(pages)}"}
            world.bring_to_front(pages[given["index"]])
        elif tool.name == "close_tab":
            if len(world.pages) < 2:
                return {"not_found": "another tab: the last one stays open"}
            world.do(world.page.close())
        elif tool.name == "upload":
            chooser, world.chooser = world.chooser, None
            if chooser is None:
                return {"not_found": "a file chooser"}
            world.do(chooser.set_files([self._files / name for name in given["files"]]))
        return {}

    def _goto(self, url: str) -> dict[str, Any]:
        return self._navigated(
            lambda: self._world.do(self._world.page.goto(url, wait_until="commit"))
        )

    def _navigated(self, go: Callable[[], Any]) -> dict[str, Any]:
        try:
            go()
        except Error as error:
            if not self._world.browser.alive:
                raise
            return {"navigation": error.message.splitlines()[0][:200]}
        return {}

    def _look(self, see: Channels, notes: dict[str, Any]) -> Seen:
        world = self._world
        shown: dict[str, Any] = {}
        if "frame" in see:
            shown["frame"] = self._frame()
        if "tree" in see:
            tree = self._tree()
            shown["tree"] = channel(tree.nodes)
            if tree.cut:
                notes["tree_cut"] = tree.cut
        if "url" in see:
            shown["url"] = world.origin.shown(world.page.url)
        if "title" in see:
            shown["title"] = self._title()
        if world.dialog is not None:
            notes["dialog"] = world.dialog.json()
        if world.chooser is not None:
            notes["file_chooser"] = "waits for the tool 'upload'"
        if len(world.pages) > 1:
            notes["tabs"] = len(world.pages)
        if world.pages_refused:
            notes["pages_refused"] = world.pages_refused
        return Seen(shown, notes=notes)

    def _frame(self) -> Frame:
        world = self._world
        if world.dialog is None:
            try:
                return world.do(capture(world.cdp()))
            except Held:
                pass
        dialog, view = world.dialog, world.view
        assert dialog is not None
        context = world.browser.context(
            viewport={"width": view.width, "height": view.height}, java_script_enabled=False,
            device_scale_factor=1,
        )  # fmt: skip
        return world.browser.driver.do(dialog.picture(context), 20.0)

    def _tree(self) -> Tree:
        world, view = self._world, self._world.view
        if world.dialog is None:
            try:
                return world.do(read_tree(world.cdp(), view.width, view.height))
            except Held:
                pass
        assert world.dialog is not None
        nodes: tuple[Node, ...] = world.dialog.nodes()
        return Tree(nodes, (-1,) * len(nodes))

    def _title(self) -> str:
        if self._world.dialog is None:
            try:
                return self._world.do(self._world.page.title())[:MAX_TITLE]
            except Held:
                pass
        return ""

    def _check_open(self) -> None:
        if not self._open:
            raise SessionSpent("the web session was closed: open the start again")


class _Changes:
    """Whether a figure differs from the last time."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read, self._last = read, read()

    def __call__(self) -> bool:
        now, last = self._read(), self._last
        self._last = now
        return bool(now != last)


def _check_channels(see: Channels) -> None:
    for name in see:
        if name not in CHANNELS:
            raise Refused(f"web has no channel {name!r}; {nearest(name, CHANNELS)}")


def start_view(options: Mapping[str, Any]) -> View:
    """The view that a start's options ask for, or `Refused`."""
    if options["clock"] not in ("virtual", "real"):
        raise Refused(f"option clock is {options['clock']!r}: web has 'virtual' and 'real'")
    screen = options["screen"]
    if not isinstance(screen, Mapping) or set(screen) != {"width", "height"}:
        raise Refused(f'option screen is {screen!r}: it must be {{"width": …, "height": …}}')
    for name, pixels in screen.items():
        if type(pixels) is not int or not 200 <= pixels <= 4096:
            raise Refused(f"option screen.{name} is {pixels!r}: whole pixels from 200 to 4096")
    advance = options["advance_ms"]
    if type(advance) is not int or not 0 <= advance <= 60_000:
        raise Refused(f"option advance_ms is {advance!r}: a whole number from 0 to 60000")
    allow = options["allow"]
    if not isinstance(allow, (list, tuple)) or not all(
        isinstance(a, str) and a.startswith(("http://", "https://")) for a in allow
    ):
        raise Refused(f"option allow is {allow!r}: a list of origins like 'https://example.org'")
    virtual = options["clock"] == "virtual"
    return View(screen["width"], screen["height"], virtual, advance, tuple(allow))
