"""One built Meta-World environment and its whole state. Not a session: it checks no input.

Meta-World keeps state in five places, all of them here: MuJoCo's integration state (which holds
the mocap body, controls and warm start), positions that a reset writes into the model, plain
attributes of the environment object (previous observation, goal, initial poses, …), the
observation that was returned last, and whether that step was a success.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import mujoco
import numpy as np
from gymnasium.spaces import Space
from metaworld.env_dict import ENV_CLS_MAP

from clew.core import Refused
from clew.environments.metaworld.frames import Camera
from clew.environments.metaworld.state import LIVE, Live, decode, encode

Array = np.ndarray[Any, np.dtype[Any]]

_PHYSICS = mujoco.mjtState.mjSTATE_INTEGRATION
#: Model arrays that the tasks' resets write.
_MODEL = ("body_pos", "site_pos")
#: Attributes that are not state: built once, or a random generator that no step draws from.
_FIXED = frozenset({
    "model", "data", "mujoco_renderer", "fullpath", "max_path_length", "_np_random",
    "_ezpickle_args", "_ezpickle_kwargs",
})  # fmt: skip
_NO_LIMIT = 1 << 62


class World:
    """A Meta-World environment of one task, with the goal observable, at any of its states."""

    def __init__(self, task: str) -> None:
        self.task = task
        self.env: Any = ENV_CLS_MAP[task]()
        # What Meta-World's own goal-observable classes do between construction and reset.
        self.env._partially_observable = False
        del self.env.sawyer_observation_space
        self.env._set_task_called = True
        # The time limit is the rollout's (`MetaWorld.budget`): a recovery has the full budget
        # after a prefix, and Meta-World raises when it is stepped past its own limit.
        self.env.max_path_length = _NO_LIMIT
        self.vector: Array = np.zeros(39)
        self.success = False
        self._live: dict[str, Array] = {}
        self._camera: Camera | None = None
        self._physics = np.empty(mujoco.mj_stateSize(self.env.model, _PHYSICS))
        self._unseeded = self.save()
        # A first reset makes the live arrays known, so that any state can be restored.
        self.seed(0)

    def seed(self, seed: int) -> None:
        """To the state of a fresh goal-observable environment of this seed after its `reset`."""
        self.load(self._unseeded)
        global_random = np.random.get_state()
        np.random.seed(seed)
        try:
            self.env._freeze_rand_vec = False
            self.env.reset()
            self.env._freeze_rand_vec = True
        finally:
            np.random.set_state(global_random)
        self.vector, _ = self.env.reset()
        # The oracle is asked with everything computed from the state, and may set attributes.
        unasked = self.save()
        self.load(unasked)
        success = self._evaluated()
        self.load(unasked)
        self.success = success

    def step(self, action: Array) -> None:
        """One step of Meta-World; `action` is float32 of shape (4,)."""
        self.vector, _, _, _, info = self.env.step(action)
        self.success = bool(info["success"])

    def save(self) -> bytes:
        """The whole state; equal states give equal bytes."""
        model, data = self.env.model, self.env.data
        mujoco.mj_getState(model, data, self._physics, _PHYSICS)
        return encode({
            "task": self.task,
            "physics": self._physics,
            "model": {name: getattr(model, name) for name in _MODEL},
            "attributes": {name: self._marked(name, value) for name, value in self._attributes()},
            "vector": self.vector,
            "success": self.success,
        })  # fmt: skip

    def load(self, state: bytes) -> None:
        """Back to a saved state of the same task, whichever world saved it."""
        values = decode(state)
        if values.pop("task", None) != self.task:
            raise Refused(f"the saved state is not one of {self.task!r}: open its own task")
        try:
            self._put(values)
        except (KeyError, ValueError, TypeError) as error:
            raise Refused(f"the saved state does not fit {self.task!r}: {error}") from None

    def probe(self) -> dict[str, Any]:
        """Body poses (m, wxyz), robot names, qpos, qvel and the goal (m); copies."""
        model, data = self.env.model, self.env.data
        names = [model.body(i).name or f"body{i}" for i in range(model.nbody)]
        roots = {model.body("base").id, model.body("mocap").id}
        return {
            "bodies": names,
            "position_m": data.xpos.copy(),
            "quaternion_wxyz": data.xquat.copy(),
            "robot": [name for name, root in zip(names, model.body_rootid) if int(root) in roots],
            "qpos": data.qpos.copy(),
            "qvel": data.qvel.copy(),
            "goal_m": np.array(self.env._target_pos, dtype=np.float64),
        }

    def frame(self, view: tuple[str, int, int]) -> Array:
        """The picture of `view` (camera, width, height)."""
        if self._camera is None or self._camera.view != view:
            self._close_camera()
            self._camera = Camera(self.env.model, *view)
        return self._camera.frame(self.env.data)

    def close(self) -> None:
        self._close_camera()
        self.env.close()

    def _close_camera(self) -> None:
        if self._camera is not None:
            self._camera.close()
            self._camera = None

    def _evaluated(self) -> bool:
        """The oracle's answer before any step; no task's success depends on the action.

        Asked about the state itself: what `reset` returns may be older (the window of
        window-close is set after the bodies were last computed, and would count as closed).
        """
        space = self.env.sawyer_observation_space
        current = np.clip(self.env._get_obs(), space.low, space.high)
        _, info = self.env.evaluate_state(current, np.zeros(4, dtype=np.float32))
        return bool(info["success"])

    def _attributes(self) -> list[tuple[str, Any]]:
        return [
            (name, value)
            for name, value in self.env.__dict__.items()
            if name not in _FIXED and not isinstance(value, Space)
        ]

    def _put(self, values: Mapping[str, Any]) -> None:
        model, data = self.env.model, self.env.data
        for name in _MODEL:
            getattr(model, name)[:] = values["model"][name]
        self._put_attributes(values["attributes"])
        mujoco.mj_setState(model, data, values["physics"], _PHYSICS)
        mujoco.mj_forward(model, data)
        # `mj_forward` replaces the warm start of the next step.
        mujoco.mj_setState(model, data, values["physics"], _PHYSICS)
        self.vector, self.success = values["vector"], values["success"]

    def _put_attributes(self, attributes: Mapping[str, Any]) -> None:
        held = self.env.__dict__
        for name, _ in self._attributes():
            if name not in attributes:
                del held[name]
        for name, value in attributes.items():
            held[name] = self._live[name] if isinstance(value, Live) else value

    def _marked(self, name: str, value: Any) -> Any:
        """`value`, or LIVE for a view of the simulator's own memory (Meta-World keeps some)."""
        if not isinstance(value, np.ndarray):
            return value
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner.base is None:
            return value
        self._live[name] = value
        return LIVE


def definition(task: str) -> str:
    """The MJCF text that defines a task, without building it."""
    path = object.__new__(ENV_CLS_MAP[task]).model_name
    with open(os.fspath(path), encoding="utf-8") as file:
        return file.read()
