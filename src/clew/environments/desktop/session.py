"""One desktop session of a task: observe, act, settle, probe, judge. The desktop is in `display`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from clew.core import (
    Action,
    Channels,
    Element,
    Judgement,
    Keys,
    Observation,
    Pointer,
    Refused,
    Scroll,
    Seen,
    SessionSpent,
    Text,
    Tool,
    Wait,
    nearest,
)
from clew.core.actions import reveal, secrets_in
from clew.environments.desktop.applications import Application, application
from clew.environments.desktop.atspi import Accessibility, Done, x_windows
from clew.environments.desktop.display import ApplicationCrashed, Display, DisplayGone
from clew.environments.desktop.home import Home
from clew.environments.desktop.inputs import check_typed, secret
from clew.environments.desktop.kept import keep, kept
from clew.environments.desktop.options import Options
from clew.environments.desktop.tasks import Task
from clew.environments.desktop.x11 import Window
from clew.environments.gui import (
    Node,
    NotFound,
    Settle,
    channel,
    check_on_screen,
    find,
    hit,
    hit_notes,
    settled,
)

CHANNELS: Channels = frozenset({"frame", "tree", "windows"})
#: Tool → its arguments.
TOOLS: Mapping[str, Mapping[str, type]] = {
    "launch": {"application": str}, "focus_window": {"title": str},
}  # fmt: skip
#: Until an application's first window is there and its screen quiet.
APPEAR_S = 90.0
#: In the middle of an act (a drag, a change of the keymap) applications get this long to catch up.
REST = Settle("quiet", quiet_ms=30, timers_ms=0, cap_ms=1_000)
#: Before a session is handed out its screen has been quiet, whatever the start's rule is for acts.
PRISTINE = Settle("quiet", quiet_ms=150, cap_ms=30_000)


class DesktopSession:
    """One session of a task: `Probed`, `Judged` (pure), `Expects`.

    `display` is the running desktop. Raises what `Display` raises, `TimeoutError` when the
    application's window does not appear, and `ApplicationCrashed` when it fails before that.
    """

    judging: Literal["pure", "final"] = "pure"

    def __init__(self, task: Task, options: Options) -> None:
        self._task, self._options = task, options
        self._expected: tuple[np.ndarray[Any, Any] | None, float] = (None, 0.0)
        self._accessibility: Accessibility | None = None
        #: The tree as it was last read, until the next act.
        self._nodes: tuple[Node, ...] | None = None
        self._open = True
        self.display = Display(options.screen, options.date)
        with contextlib.ExitStack() as broken:
            broken.callback(self.close)
            for path, content in task.files.items():
                self.display.put(path, content)
            launched = task.launched()
            if launched is not None:
                for path, content in kept(launched).items():
                    self.display.put(path, content)
                self._launch(launched)
            self._wait(PRISTINE)
            self.display.check()
            if launched is not None:
                keep(launched, self.home)
            broken.pop_all()

    @property
    def home(self) -> Home:
        """The home folder, to read from."""
        return self.display.home

    def windows(self) -> list[Window]:
        """The windows, the lowest first."""
        return self.display.windows()

    def nodes(self) -> tuple[Node, ...]:
        """The accessibility tree, as it was last read since the last act."""
        if self._nodes is None:
            if self._accessibility is None:
                display = self.display
                self._accessibility = Accessibility(
                    display.bus_address, lambda: x_windows(display.x), display.accessibility_address
                )
            self._nodes = self._accessibility.tree().nodes
        return self._nodes

    @property
    def is_open(self) -> bool:
        """Whether it has not been closed yet."""
        return self._open

    def pristine(self) -> bool:
        """Whether an untouched session is still as it was handed out: running and unchanged."""
        try:
            self.display.check()
        except (ApplicationCrashed, DisplayGone):
            return False
        return not self.display.frame.changed()

    def observe(self, see: Channels) -> Seen:
        """Look without touching. Raises `Refused` for a channel that is not there."""
        self._check_open()
        _check_channels(see)
        self.display.check()
        with self.display.answering():
            return self._look(see, {})

    def act(self, action: Action, see: Channels) -> Seen:
        """Move the wall clock on, act, wait until the screen has settled, then show `see`.

        An action that meets nothing (no such element or window) does nothing and says so in the
        notes. Raises `Refused`, before anything moves, for one that no session takes;
        `ApplicationCrashed` or `DisplayGone` when something of the session fails.
        """
        self._check_open()
        _check_channels(see)
        self._check(action)
        display = self.display
        display.check()
        notes: dict[str, Any] = {}
        if "tree" in see and isinstance(action, (Pointer, Scroll)):
            with display.answering():
                notes["hit"] = self._hit(action)
        wait_ms = action.ms if isinstance(action, Wait) else 0
        display.advance(self._options.advance_ms + wait_ms)
        with display.answering():
            notes.update(self._perform(action))
            self._nodes = None
            notes["settle"] = self._settle()
            display.check()
            return self._look(see, notes)

    def expect(self, seen: Observation, pace: float) -> None:
        """The next act also waits, within its cap, until the recorded frame shows, and not less
        than the recorded settling time times `pace`."""
        frame = np.asarray(seen["frame"], np.uint8) if "frame" in seen else None
        recorded = seen.notes.get("settle", {})
        ms = recorded.get("ms", 0.0) if isinstance(recorded, Mapping) else 0.0
        self._expected = (frame, float(ms) * pace)

    def probe(self) -> Mapping[str, Any]:
        """`files`: path → SHA-256 of what lies in the home (hidden files left out), and `windows`
        as in the channel. Changes nothing."""
        self._check_open()
        return {
            "files": self.home.digests(),
            "windows": [window.json() for window in self.windows()],
        }

    def judge(self) -> Judgement:
        """The task's oracle on the present state; the score is the share of its parts that hold."""
        self._check_open()
        self._nodes = None
        parts = self._task.oracle(self)
        score = sum(parts.values()) / len(parts)
        return Judgement(all(parts.values()), score, {k: float(v) for k, v in parts.items()})

    def close(self) -> None:
        """End every process of the session; closing twice does nothing."""
        if self._open:
            self._open = False
            if self._accessibility is not None:
                self._accessibility.close()
            self.display.close()

    def _look(self, see: Channels, notes: dict[str, Any]) -> Seen:
        shown: dict[str, Any] = {}
        if "frame" in see:
            shown["frame"] = self.display.frame.rgb()
        if "windows" in see:
            shown["windows"] = [window.json() for window in self.windows()]
        if "tree" in see:
            self._nodes = None
            shown["tree"] = channel(self.nodes())
        return Seen(shown, notes=notes)

    def _settle(self) -> dict[str, Any]:
        (frame, least_ms), self._expected = self._expected, (None, 0.0)
        display = self.display
        shows = None if frame is None else lambda: np.array_equal(display.frame.rgb(), frame)
        return self._wait(self._options.settle, shows, least_ms)

    def _wait(
        self, rule: Settle, shows: Callable[[], bool] | None = None, least_ms: float = 0.0
    ) -> dict[str, Any]:
        display = self.display
        return settled(
            rule, display.frame.changed, display.busy, shows, least_ms, display.timer_due
        )

    def _rest(self) -> None:
        self._wait(REST)

    def _perform(self, action: Action) -> dict[str, Any]:
        inputs = self.display.inputs
        if isinstance(action, Pointer):
            inputs.pointer(action, self._rest)
        elif isinstance(action, Scroll):
            inputs.scroll(action)
        elif isinstance(action, Keys):
            inputs.keys(action, self._rest)
        elif isinstance(action, Text):
            inputs.type(reveal(action.text, secret), self._rest)
        elif isinstance(action, Element):
            return self._on_element(action)
        elif isinstance(action, Tool):
            return self._use(action.name, action.parsed())
        elif isinstance(action, Wait):
            time.sleep(action.ms / 1e3)
        return {}

    def _on_element(self, action: Element) -> dict[str, Any]:
        try:
            found = find(action, self.nodes())
            text = reveal(action.text, secret)
            done = self._by_accessibility(action.verb, found.node.id, text)
        except NotFound as error:
            return {"not_found": str(error)}
        if done.pixel is not None:
            self.display.inputs.pointer(Pointer("click", (done.pixel,)), self._rest)
        if done.types is not None:
            self._rest()
            if done.replaces:
                self.display.inputs.keys(Keys("press", ("ctrl", "a")), self._rest)
            self.display.inputs.type(done.types, self._rest)
        elif action.verb == "type":
            self._rest()
            self.display.inputs.type(text, self._rest)
        return {"element": {**found.notes(), **done.notes()}}

    def _by_accessibility(self, verb: str, node: int, text: str) -> Done:
        tree = self._accessibility
        assert tree is not None
        if verb == "set":
            return tree.set(node, text)
        verbs = {"press": tree.press, "select": tree.select, "expand": tree.expand}
        return verbs.get(verb, tree.focus)(node)

    def _use(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        if name == "launch":
            try:
                self._launch(application(given["application"]))
            except TimeoutError as error:
                return {"not_found": str(error)}
            return {}
        titled = [window for window in self.windows() if window.title == given["title"]]
        if not titled:
            return {"not_found": f"no window has the title {given['title']!r}"}
        self.display.activate(titled[-1])
        return {}

    def _launch(self, declared: Application) -> None:
        """Start an application and wait until a new window of it is there and active."""
        name, display = declared.name, self.display
        before = {window.id for window in display.windows()}
        log = display.launch(declared)

        def appeared() -> bool:
            there = [w for w in display.windows() if w.name == declared.window]
            if any(window.id not in before and window.active for window in there):
                return True
            # One that runs already may open its window from there, and the new process ends.
            if log in display.room.exits and not there:
                raise TimeoutError(f"{name} ended without a window: {display.room.log(log)}")
            return log in display.room.exits and any(window.active for window in there)

        def what() -> str:
            shown = ", ".join(repr(window.title) for window in display.windows()) or "none"
            return (
                f"the window of {name} did not appear in {APPEAR_S:.0f} s (windows: {shown}): "
                f"{display.room.log(log)}"
            )

        display.until(appeared, time.monotonic() + APPEAR_S, what)

    def _hit(self, action: Pointer | Scroll) -> dict[str, Any] | None:
        x, y = action.path[0] if isinstance(action, Pointer) else (action.x, action.y)
        node = hit(x, y, self.nodes())
        return hit_notes(node) if node is not None else None

    def _check(self, action: Action) -> None:
        """Refuse, before anything moves, what this session cannot carry out."""
        for name in secrets_in(action):
            secret(name)
        if isinstance(action, (Pointer, Scroll)):
            check_on_screen(action, self._options.screen.width, self._options.screen.height)
        elif isinstance(action, (Text, Element)):
            check_typed(reveal(action.text, secret))
        elif isinstance(action, Tool):
            _check_tool(action)
        elif not isinstance(action, (Keys, Wait)):
            raise Refused(
                f"desktop cannot execute a {type(action).__name__}: it takes Pointer, Keys, Text, "
                "Scroll, Wait, Element and Tool"
            )
        if not isinstance(action, Wait) and action.seat:
            raise Refused(f"desktop has no seat {action.seat!r}: leave it empty")

    def _check_open(self) -> None:
        if not self._open:
            raise SessionSpent("the desktop session was closed: open the start again")


def _check_channels(see: Channels) -> None:
    for name in see:
        if name not in CHANNELS:
            raise Refused(f"desktop has no channel {name!r}; {nearest(name, CHANNELS)}")


def _check_tool(tool: Tool) -> None:
    if tool.name not in TOOLS:
        raise Refused(f"desktop has no tool {tool.name!r}; {nearest(tool.name, TOOLS)}")
    wanted, given = TOOLS[tool.name], tool.parsed()
    if set(given) != set(wanted) or not all(isinstance(given[n], k) for n, k in wanted.items()):
        names = ", ".join(f"{name} ({kind.__name__})" for name, kind in wanted.items())
        raise Refused(f"tool {tool.name!r} takes {names}, not {tool.arguments}")
    if tool.name == "launch":
        application(given["application"])
