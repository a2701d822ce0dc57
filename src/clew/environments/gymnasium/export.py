"""A clew environment as a `gymnasium.Env`, for training and for other people's tools.

It records nothing. The reward is the task's own oracle: 1.0 in a state that it passes, else 0.0.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from clew.core import (
    Channels,
    Control,
    Described,
    Environment,
    Judged,
    Observation,
    Refused,
    Session,
)

_SEEDS = 1 << 31


def as_gymnasium(
    environment: Environment,
    task: str,
    action_space: spaces.Space[Any],
    *,
    see: tuple[str, ...] = ("vector",),
    render_mode: str | None = None,
    **options: Any,
) -> ClewEnv:
    """`task` of `environment` as a `gymnasium.Env`; closing it leaves `environment` open.

    `action_space` is a Box (its dtype is the control vector's) or a Discrete (one int64). `see`
    are the channels to observe, arrays all: one gives a Box, several a Dict. `render_mode` may be
    `rgb_array` (the channel `frame`). `options` are those of the start. `reset(seed)` opens the
    start of that seed; without one, of a drawn seed. An episode is truncated at the task's budget
    and terminated where the session ends; passing does not terminate it. `info["is_success"]`
    holds the judgement. Oracles that are not pure are never asked: the reward stays 0.0. Raises
    `Refused` for an environment that is not `Described`, another space or another channel.
    """
    return ClewEnv(environment, task, action_space, see, render_mode, options)


class ClewEnv(gymnasium.Env[Any, Any]):  # type: ignore[misc]
    """What `as_gymnasium` returns."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012 (Gymnasium's form)

    def __init__(
        self,
        environment: Environment,
        task: str,
        action_space: spaces.Space[Any],
        see: tuple[str, ...],
        render_mode: str | None,
        options: dict[str, Any],
    ) -> None:
        if not isinstance(environment, Described):
            raise Refused("the environment does not describe its tasks: it cannot make a start")
        if not isinstance(action_space, (spaces.Box, spaces.Discrete)):
            raise Refused(f"action_space is {action_space}: it must be a Box or a Discrete")
        if render_mode not in (None, "rgb_array"):
            raise Refused(f"render_mode is {render_mode!r}: it must be None or 'rgb_array'")
        if not see:
            raise Refused("see is empty: name at least one channel to observe")
        self._environment, self._described, self._task = environment, environment, task
        self._see: Channels = frozenset(see)
        self._options = options
        self._budget = environment.budget(task)
        self._session: Session | None = None
        self._steps = 0
        self.render_mode = render_mode
        self.action_space = action_space
        self.observation_space = self._observed_space()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(_SEEDS)) if seed is None else seed
        self.close()
        self._session = self._opened(drawn, options or {})
        self._steps = 0
        return self._value(self._session.observe(self._see)), {"is_success": self._passed()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        seen = self._running.act(self._control(action), self._see)
        self._steps += 1
        passed = self._passed()
        truncated = self._steps >= self._budget
        return self._value(seen), float(passed), seen.ended, truncated, {"is_success": passed}

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        return self._running.observe(frozenset({"frame"}))["frame"]

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    @property
    def _running(self) -> Session:
        if self._session is None:
            raise Refused("this environment was not reset: call reset() first")
        return self._session

    def _opened(self, seed: int, options: dict[str, Any]) -> Session:
        start = self._described.start(self._task, seed, **{**self._options, **options})
        return self._environment.open(start)

    def _observed_space(self) -> spaces.Space[Any]:
        """The space of what is seen, learnt from one session."""
        session = self._opened(0, {})
        seen = session.observe(self._see)
        found = {name: _box(name, seen[name]) for name in sorted(self._see)}
        session.close()
        return next(iter(found.values())) if len(found) == 1 else spaces.Dict(found)

    def _value(self, seen: Observation) -> Any:
        values = {name: np.asarray(seen[name]) for name in sorted(self._see)}
        return next(iter(values.values())) if len(values) == 1 else values

    def _control(self, action: Any) -> Control:
        if isinstance(self.action_space, spaces.Discrete):
            return Control((int(action),), "int64")
        dtype = str(self.action_space.dtype)
        return Control(tuple(np.asarray(action, dtype=dtype).ravel().tolist()), dtype)

    def _passed(self) -> bool:
        session = self._running
        pure = isinstance(session, Judged) and session.judging == "pure"
        return bool(pure and session.judge().passed)  # type: ignore[attr-defined]


def _box(name: str, value: Any) -> spaces.Box:
    if not isinstance(value, np.ndarray):
        raise Refused(f"channel {name!r} is a {type(value).__name__}: only arrays can be observed")
    if value.dtype == np.uint8:
        return spaces.Box(0, 255, value.shape, np.uint8)
    return spaces.Box(-np.inf, np.inf, value.shape, value.dtype.type)
