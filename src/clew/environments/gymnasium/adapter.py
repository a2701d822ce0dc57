"""Any `gymnasium.Env` as a clew environment. Replay only: it cannot save a foreign state.

Each session is a fresh `gymnasium.make` and one `reset(seed)`, so that equal starts give equal
sessions as far as the environment draws from its own seeded generator alone. How an environment
is made is part of the start, under the option `make`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from clew.core import (
    NOTHING,
    Action,
    Channels,
    Control,
    Fingerprint,
    Judgement,
    Refused,
    Seen,
    SessionSpent,
    Start,
    digest,
    nearest,
)
from clew.core.canonical import canonical_json

NAME = "gymnasium"
#: Raised when equal actions come to mean another state.
REVISION = 1
#: Keys under which environments report success in `info`.
SUCCESS = ("is_success", "success")
OPTIONS = ("clock", "make")
_PACKAGES = ("gymnasium", "numpy", "mujoco", "box2d", "pygame", "ale-py", "gymnasium-robotics")


class GymnasiumEnvironment:
    """The environments that Gymnasium knows; with an `id`, that one, made with `make`.

    Actions are a `Control`: one int64 for Discrete; for MultiDiscrete, MultiBinary and Box the
    space's dtype, flattened. Channels: `vector` for array observations (others are flattened by
    Gymnasium), `frame` for uint8 pictures (H, W, 3) and for `render_mode="rgb_array"`, `text` for
    text. After its end an episode stays as it is: an act is not executed, and its notes say so.
    """

    def __init__(self, id: str = "", **make: Any) -> None:
        self._id, self._make = id, make
        self._success: dict[str, str] = {}
        if id:
            _spec(id)

    def tasks(self) -> tuple[str, ...]:
        return (self._id,) if self._id else tuple(sorted(gymnasium.registry))

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        given = {"clock": "stepped", "make": self._make, **options}
        start = Start(NAME, task, seed, _definition(task), REVISION, given)
        _check(start)
        return start

    def instruction(self, task: str) -> str:
        """The task's name: Gymnasium has no instructions."""
        return f"Act in {_spec(task).id}."

    def budget(self, task: str) -> int:
        """The registered `max_episode_steps`. Raises `Refused` where there is none."""
        limit = _spec(task).max_episode_steps
        if limit is None:
            raise Refused(f"{task!r} has no max_episode_steps: give a budget of actions")
        return int(limit)

    def open(self, start: Start) -> GymnasiumSession:
        _check(start)
        made = _made(start)
        key = self._success_key(start)
        return JudgedGymnasiumSession(made, start, key) if key else GymnasiumSession(made, start)

    def fingerprint(self) -> Fingerprint:
        facts = {}
        for name in _PACKAGES:
            try:
                facts[name] = version(name)
            except PackageNotFoundError:
                facts[name] = "absent"
        return facts

    def close(self) -> None:
        self._success.clear()

    def _success_key(self, start: Start) -> str:
        """The `info` key that reports success, or "": seen in a throw-away reset and step."""
        about = start.key()
        if about not in self._success:
            env = _made(start)
            _, first = env.reset(seed=start.seed)
            env.action_space.seed(0)
            _, _, _, _, second = env.step(env.action_space.sample())
            env.close()
            self._success[about] = next((k for k in SUCCESS if k in {**first, **second}), "")
        return self._success[about]


class GymnasiumSession:
    """One episode of a Gymnasium environment."""

    def __init__(self, env: gymnasium.Env[Any, Any], start: Start) -> None:
        self._env: gymnasium.Env[Any, Any] | None = env
        self._task = start.task
        self._observation_channel = _channel(env.observation_space)
        self._channels = {self._observation_channel}
        if env.render_mode == "rgb_array":
            self._channels.add("frame")
        _dtype(env.action_space)
        self._observation, self._info = env.reset(seed=start.seed)
        self._ended = False

    def observe(self, see: Channels = NOTHING) -> Seen:
        self._check_channels(see)
        return Seen({name: self._channel_value(name) for name in sorted(see)}, self._ended)

    def act(self, action: Action, see: Channels = NOTHING) -> Seen:
        self._check_channels(see)
        value = _value(self._open.action_space, action, self._task)
        if self._ended:
            shown = self.observe(see).channels
            return Seen(shown, True, {"not_executed": "the episode had ended"})
        self._observation, _, terminated, truncated, self._info = self._open.step(value)
        self._ended = bool(terminated or truncated)
        return self.observe(see)

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None

    @property
    def _open(self) -> gymnasium.Env[Any, Any]:
        if self._env is None:
            raise SessionSpent(f"this session of {self._task!r} is closed")
        return self._env

    def _check_channels(self, see: Channels) -> None:
        for name in see:
            if name not in self._channels:
                raise Refused(
                    f"{self._task!r} has no channel {name!r}; {nearest(name, self._channels)}"
                )

    def _channel_value(self, name: str) -> Any:
        if name != self._observation_channel:
            return np.array(self._open.render())
        if name == "text":
            return str(self._observation)
        space = self._open.observation_space
        if isinstance(space, spaces.Box):
            return np.array(self._observation)
        return np.array(spaces.flatten(space, self._observation))


class JudgedGymnasiumSession(GymnasiumSession):
    """One episode of an environment whose `info` reports success: its own oracle."""

    judging: Literal["pure"] = "pure"

    def __init__(self, env: gymnasium.Env[Any, Any], start: Start, key: str) -> None:
        super().__init__(env, start)
        self._key = key

    def judge(self) -> Judgement:
        """What the last `info` said; not passed while it has said nothing."""
        passed = bool(self._info.get(self._key, False))
        return Judgement(passed, float(passed))


def _made(start: Start) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(start.task, disable_env_checker=True, **start.options.get("make", {}))


def _spec(task: str) -> Any:
    try:
        return gymnasium.spec(task)
    except gymnasium.error.Error:
        raise Refused(f"Gymnasium has no {task!r}; {nearest(task, gymnasium.registry)}") from None


def _definition(task: str) -> str:
    """A digest of what Gymnasium registers under the id: entry point, limit and arguments."""
    spec = _spec(task)
    entry = spec.entry_point
    named = entry if isinstance(entry, str) else f"{entry.__module__}:{entry.__qualname__}"
    arguments = {name: repr(value) for name, value in spec.kwargs.items()}
    return digest(canonical_json([spec.id, named, spec.max_episode_steps, arguments]))


def _check(start: Start) -> None:
    """Refuse a start that this environment cannot mean."""
    if start.environment != NAME:
        raise Refused(f"the start is one of {start.environment!r}, not of {NAME!r}")
    _spec(start.task)
    if start.revision != REVISION:
        raise Refused(f"the start has revision {start.revision}; this gymnasium has {REVISION}")
    if start.clock != "stepped":
        raise Refused(f"gymnasium has the clock 'stepped' only, not {start.clock!r}")
    for name in start.options:
        if name not in OPTIONS:
            raise Refused(f"gymnasium has no option {name!r}; {nearest(name, OPTIONS)}")
    if not isinstance(start.options.get("make", {}), Mapping):
        raise Refused("option make is not an object: it holds the arguments of gymnasium.make")


def _channel(space: spaces.Space[Any]) -> str:
    """The channel that shows observations of a space."""
    if isinstance(space, spaces.Text):
        return "text"
    if isinstance(space, spaces.Box) and space.dtype == np.uint8 and space.shape[2:] == (3,):
        return "frame"
    if isinstance(space, spaces.Box) or space.is_np_flattenable:
        return "vector"
    raise Refused(f"observations of {space} cannot be shown: they have no fixed size")


def _dtype(space: spaces.Space[Any]) -> str:
    """The dtype of the control vector that means an action of a space."""
    if isinstance(space, spaces.Discrete):
        return "int64"
    if isinstance(space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)):
        return str(space.dtype)
    raise Refused(f"actions of {space} are no control vector: wrap the environment first")


def _value(space: spaces.Space[Any], action: Action, task: str) -> Any:
    """The action as its space has it. Raises `Refused` for the wrong kind, width, dtype or number."""
    if not isinstance(action, Control):
        raise Refused(f"{task!r} takes a control vector, not a {type(action).__name__}")
    shape, dtype = space.shape or (), _dtype(space)
    width = int(np.prod(shape, dtype=np.int64))
    if action.dtype != dtype or len(action.values) != width:
        raise Refused(
            f"{task!r} takes {width} of {dtype}, not {len(action.values)} of {action.dtype}"
        )
    value = np.array(action.values, dtype=dtype).reshape(shape)
    if isinstance(space, spaces.Discrete):
        value = value[()]
    # Bounds of a Box are left to the environment: many clip, and none is bound to refuse.
    if not isinstance(space, spaces.Box) and not space.contains(value):
        raise Refused(f"{task!r} has no action {list(action.values)}: it must be in {space}")
    return value
