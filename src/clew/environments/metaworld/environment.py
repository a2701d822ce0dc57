"""The `metaworld` environment and its sessions. Tasks and oracles are Meta-World's, unmodified.

A seed means what a fresh goal-observable environment of Meta-World with that seed means, whatever
was opened before. Success is of the current state; a study that counts success at any step, as
published, latches it. The published limit of 500 steps is `budget`, not a wall: a session goes on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.core import (
    NOTHING,
    Action,
    Channels,
    Control,
    Fingerprint,
    Refused,
    Seen,
    Start,
    digest,
    nearest,
)
from clew.environments.metaworld.frames import CAMERAS
from clew.environments.metaworld.tasks import INSTRUCTIONS
from clew.environments.offscreen import choose_gl, machine
from clew.environments.worlds import WorldSession

if TYPE_CHECKING:
    from clew.environments.metaworld.world import World

NAME = "metaworld"
#: Raised when equal actions come to mean another state.
REVISION = 1
#: Meta-World's `max_path_length`.
BUDGET = 500
CHANNELS = frozenset({"vector", "frame"})
OPTIONS: Mapping[str, Any] = {"clock": "stepped", "camera": "corner2", "width": 128, "height": 128}
_PACKAGES = ("metaworld", "mujoco", "numpy", "scipy", "gymnasium")
#: About 20 MB a built task, and 130 MB once it has drawn a frame.
_IDLE_WORLDS = 6
_KEPT_STATES = 1024


class MetaWorld:
    """Meta-World's fifty tasks.

    Sessions take a `Control` of 4 float32 (dx, dy, dz, gripper; executed as given, Meta-World
    itself clips to [−1, 1]) and show `vector`, float64 (39,), as Meta-World returns it, and
    `frame`, uint8 RGB (height, width, 3). Options: `camera` (one of Meta-World's), `width` and
    `height` of the frame in pixels. Built worlds are kept for later sessions, and initial states
    by task and seed, so that opening again costs a restore.
    """

    def __init__(self) -> None:
        choose_gl()  # MuJoCo reads it once, when it is first imported.
        self._idle: list[World] = []
        self._states: OrderedDict[tuple[str, int], bytes] = OrderedDict()

    def tasks(self) -> tuple[str, ...]:
        return tuple(INSTRUCTIONS)

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        from clew.environments.metaworld.world import definition

        _known(task)
        given = {**OPTIONS, **options}
        start = Start(NAME, task, seed, digest(definition(task).encode()), REVISION, given)
        _check(start)
        return start

    def instruction(self, task: str) -> str:
        return INSTRUCTIONS[_known(task)]

    def budget(self, task: str) -> int:
        """500 for every task: Meta-World's `max_path_length`."""
        _known(task)
        return BUDGET

    def open(self, start: Start) -> MetaWorldSession:
        _check(start)
        world = self._world(start.task)
        state = self._states.get((start.task, start.seed))
        if state is None:
            state = self._first_state(world, start.seed)
        self._states.move_to_end((start.task, start.seed))
        return MetaWorldSession(world, state, {**OPTIONS, **start.options}, self._idle_again)

    def fingerprint(self) -> Fingerprint:
        facts = {name: version(name) for name in _PACKAGES}
        return {**facts, **machine()}

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
        self._states.clear()

    def _world(self, task: str) -> World:
        from clew.environments.metaworld.world import World

        for i, world in enumerate(self._idle):
            if world.task == task:
                return self._idle.pop(i)
        return World(task)

    def _idle_again(self, world: World) -> None:
        self._idle.append(world)
        if len(self._idle) > _IDLE_WORLDS:
            self._idle.pop(0).close()

    def _first_state(self, world: World, seed: int) -> bytes:
        """The initial state of a seed, kept once a restore of it has given the same bytes."""
        world.seed(seed)
        state = world.save()
        world.load(state)
        if world.save() != state:
            raise RuntimeError(f"the initial state of {world.task!r}, seed {seed}, is not exact")
        self._states[world.task, seed] = state
        if len(self._states) > _KEPT_STATES:
            self._states.popitem(last=False)
        return state


class MetaWorldSession(WorldSession["World"]):
    """One episode of a Meta-World task, until it is closed."""

    name = NAME

    def __init__(
        self,
        world: World,
        state: bytes,
        options: Mapping[str, Any],
        give_back: Callable[[World], None],
    ) -> None:
        super().__init__(world, state, give_back)
        self._view = (options["camera"], options["width"], options["height"])

    def observe(self, see: Channels = NOTHING) -> Seen:
        _check_channels(see)
        world, shown = self._world, {}
        if "vector" in see:
            shown["vector"] = world.vector.copy()
        if "frame" in see:
            shown["frame"] = world.frame(self._view)
        return Seen(shown)

    def act(self, action: Action, see: Channels = NOTHING) -> Seen:
        _check_channels(see)
        if not isinstance(action, Control):
            raise Refused(f"metaworld takes a control vector, not a {type(action).__name__}")
        if action.dtype != "float32" or len(action.values) != 4:
            raise Refused(
                f"metaworld takes 4 numbers of float32 (dx, dy, dz, gripper), not "
                f"{len(action.values)} of {action.dtype}"
            )
        self._world.step(np.asarray(action.values, dtype=np.float32))
        return self.observe(see)


def _known(task: str) -> str:
    if task not in INSTRUCTIONS:
        raise Refused(f"metaworld has no task {task!r}; {nearest(task, INSTRUCTIONS)}")
    return task


def _check(start: Start) -> None:
    """Refuse a start that this environment cannot mean."""
    if start.environment != NAME:
        raise Refused(f"the start is one of {start.environment!r}, not of {NAME!r}")
    _known(start.task)
    if start.revision != REVISION:
        raise Refused(f"the start has revision {start.revision}; this metaworld has {REVISION}")
    if start.seed >= 1 << 32:
        raise Refused(f"seed {start.seed} of {start.task!r} is too large; Meta-World takes < 2**32")
    if start.clock != "stepped":
        raise Refused(f"metaworld has the clock 'stepped' only, not {start.clock!r}")
    for name in start.options:
        if name not in OPTIONS:
            raise Refused(f"metaworld has no option {name!r}; {nearest(name, OPTIONS)}")
    camera = start.options.get("camera", OPTIONS["camera"])
    if camera not in CAMERAS:
        raise Refused(f"metaworld has no camera {camera!r}; {nearest(camera, CAMERAS)}")
    for name in ("width", "height"):
        size = start.options.get(name, OPTIONS[name])
        if type(size) is not int or not 16 <= size <= 4096:
            raise Refused(f"option {name} is {size!r}: it must be a whole number from 16 to 4096")


def _check_channels(see: Channels) -> None:
    for name in see:
        if name not in CHANNELS:
            raise Refused(f"metaworld has no channel {name!r}; {nearest(name, CHANNELS)}")
