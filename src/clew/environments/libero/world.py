"""One built LIBERO task and its whole state. Not a session: it checks no input.

LIBERO keeps state in six places, all of them here: MuJoCo's integration state; the poses of
fixtures and the visibility of sites, which resets and steps write into the model; the gripper's
current action; every number of the controller; the clock of the environment; and the timer of its
observables with what they sampled last.

What LIBERO shows after an action was sampled within it, so it is older than the state: the sampled
pose is kept, and a picture of it can be drawn at any time.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import lru_cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from clew.core import Refused
from clew.environments.libero.frames import CAMERAS, Canvas
from clew.environments.libero.state import decode, encode
from clew.environments.libero.tasks import Task

Array = np.ndarray[Any, np.dtype[Any]]

_PHYSICS = mujoco.mjtState.mjSTATE_INTEGRATION
#: Model arrays that LIBERO's resets and steps write.
_MODEL = ("body_pos", "body_quat", "site_rgba")
#: Attributes of the controller that are not state: set once, or no numbers.
_FIXED = frozenset({
    "sim", "eef_name", "joint_index", "qpos_index", "qvel_index", "impedance_mode", "name_suffix",
    "interpolator_pos", "interpolator_ori",
})  # fmt: skip
#: What LIBERO's policies are shown of the robot, in this order.
_SENSORS = ("robot0_eef_pos", "robot0_eef_quat", "robot0_gripper_qpos")


class World:
    """A LIBERO environment of one task, at any of its states, built once and never hard reset."""

    def __init__(self, task: Task) -> None:
        self.task = task.name
        self.success = False
        self._init_states = task.init_states()
        self._compiled: dict[str, Array] = {}
        self._env = self._built(str(task.bddl))
        self._model, self._data = self._env.sim.model._model, self._env.sim.data._data
        self._aside = mujoco.MjData(self._model)
        self._physics = np.empty(mujoco.mj_stateSize(self._model, _PHYSICS))
        self._openings = list(self._env.object_property_initializers)
        self._gripper = self._env.robots[0].gripper
        self._fixtures = [self._env.obj_body_id[name] for name in self._env.fixtures_dict]
        self._names = [self._model.body(i).name or f"body{i}" for i in range(self._model.nbody)]
        self._canvas: Canvas | None = None
        self._posed = self._data.qpos.copy()
        self._seen_qpos, self._seen_alpha = self._posed, self._alpha.copy()
        self._sampler = self._sampling()
        # robosuite compiles on its first step (25 s once after an installation): not in an act's
        # time, which has a shorter deadline.
        self.step(np.zeros(7))
        self.begin(0, 0)
        self._shapes = {name: np.shape(value) for name, value in self._fixed_size().items()}
        self._parts = decode(self.save()).keys()

    def begin(self, init: int, seed: int) -> None:
        """To the state of a fresh LIBERO environment after its published opening.

        That is: construct, `seed(seed)`, one `reset()`, `set_init_state(init_states[init])`.
        """
        env = self._env
        with redirect_stdout(sys.stderr), _global_random(seed):
            self._reset()
            env.sim.set_state_from_flattened(self._init_states[init])
            env.sim.forward()
            self.success = bool(env._check_success())
            env._post_process()
            self._sample()

    def step(self, action: Array) -> None:
        """One step of LIBERO; `action` is float64 of shape (7,)."""
        with redirect_stdout(sys.stderr):
            _, _, done, _ = self._env.step(action)
        self.success = bool(done)

    def save(self) -> bytes:
        """The whole state; equal states give equal bytes."""
        env, controller = self._env, vars(self._controller)
        return encode({
            "task": self.task,
            "success": self.success,
            **self._fixed_size(),
            "gripper": self._gripper.current_action,
            "timestep": env.timestep, "cur_time": env.cur_time, "done": env.done,
            "sampler.time": self._sampler._time_since_last_sample,
            "sampler.sampled": self._sampler._sampled,
            "sampler.value": self._sampler._current_observed_value,
            **{f"controller.{name}": controller[name] for name in controller.keys() - _FIXED},
        })  # fmt: skip

    def load(self, state: bytes) -> None:
        """Back to a saved state of the same task, whichever world saved it.

        MuJoCo computes everything else from it when the next step begins, so nothing is computed
        here that would replace the warm start.
        """
        values = decode(state)
        if values.get("task") != self.task:
            raise Refused(f"the saved state is not one of {self.task!r}: open its own task")
        shapes = {name: np.shape(values.get(name, ())) for name in self._shapes}
        if shapes != self._shapes or values.keys() != self._parts:
            raise Refused(f"the saved state of {self.task!r} is one of another version of it")
        env, model, controller = self._env, self._model, vars(self._controller)
        mujoco.mj_setState(model, self._data, values["physics"], _PHYSICS)
        model.body_pos[self._fixtures] = values["fixtures.pos"]
        model.body_quat[self._fixtures] = values["fixtures.quat"]
        self._alpha[:] = values["alpha"]
        self._seen_qpos, self._seen_alpha = values["seen.qpos"], values["seen.alpha"]
        self._gripper.current_action = values["gripper"]
        env.timestep, env.cur_time = values["timestep"], values["cur_time"]
        env.done = values["done"]
        self._sampler._time_since_last_sample = values["sampler.time"]
        self._sampler._sampled = values["sampler.sampled"]
        self._sampler._current_observed_value = values["sampler.value"]
        for name in controller.keys() - _FIXED:
            controller[name] = values[f"controller.{name}"]
        self.success = values["success"]

    def seen(self) -> Array:
        """What LIBERO sampled last: float64 (9,), eef_pos, eef_quat as xyzw, gripper_qpos."""
        return np.array(self._sampler._current_observed_value)

    def frame(self, channel: str, size: tuple[int, int]) -> Array:
        """The picture that LIBERO sampled last (or would have, had it been asked)."""
        if self._canvas is None or self._canvas.size != size:
            self.close_canvas()
            self._canvas = Canvas(self._model, *size)
        self._pose_aside(self._seen_qpos)
        mujoco.mj_comPos(self._model, self._aside)
        mujoco.mj_camlight(self._model, self._aside)
        now = self._alpha.copy()
        self._alpha[:] = self._seen_alpha
        pixels = self._canvas.frame(self._aside, CAMERAS[channel])
        self._alpha[:] = now
        return pixels

    def probe(self) -> dict[str, Any]:
        """Body poses now (m, wxyz), the robot's names, qpos, qvel; copies.

        Computed aside: between steps the bodies in the simulation are one substep old.
        """
        self._pose_aside(self._data.qpos)
        robot = ("robot0_", "gripper0_", "mount0_")
        return {
            "bodies": list(self._names),
            "position_m": self._aside.xpos.copy(),
            "quaternion_wxyz": self._aside.xquat.copy(),
            "robot": [name for name in self._names if name.startswith(robot)],
            "qpos": self._data.qpos.copy(),
            "qvel": self._data.qvel.copy(),
        }

    def close_canvas(self) -> None:
        """Free what pictures need (300 to 500 MB), until the next one is drawn."""
        if self._canvas is not None:
            self._canvas.close()
            self._canvas = None

    def close(self) -> None:
        self.close_canvas()
        self._env.close()
        # Not left to the garbage collector, which sees one small object and waits: 250 MB.
        del self._model, self._data, self._aside

    @property
    def _controller(self) -> Any:
        return self._env.robots[0].controller

    @property
    def _alpha(self) -> Array:
        """How visible each site is: steps hide and show a stove's burner."""
        alpha: Array = self._model.site_rgba[:, 3]
        return alpha

    def _fixed_size(self) -> dict[str, Array]:
        """The arrays whose size the task decides."""
        mujoco.mj_getState(self._model, self._data, self._physics, _PHYSICS)
        return {
            "physics": self._physics,
            "fixtures.pos": self._model.body_pos[self._fixtures],
            "fixtures.quat": self._model.body_quat[self._fixtures],
            "alpha": self._alpha,
            "seen.qpos": self._seen_qpos,
            "seen.alpha": self._seen_alpha,
        }

    def _built(self, bddl: str) -> Any:
        """LIBERO's environment as its own `ControlEnv` builds it, without cameras and horizon."""
        with redirect_stdout(sys.stderr), _global_random(0):
            kinds, problem, controller = _libero()
            for seed in count():
                np.random.seed(seed)
                env: Any = object.__new__(kinds[problem(bddl)["problem_name"]])
                self._remember(env)
                try:
                    env.__init__(
                        bddl, robots=["Panda"],
                        controller_configs=controller(default_controller="OSC_POSE"),
                        initialization_noise=None, use_camera_obs=False,
                        has_offscreen_renderer=False, ignore_done=True,
                    )  # fmt: skip
                except _placement_error():
                    continue
                return env

    def _remember(self, env: Any) -> None:
        """Have `env` note its model as compiled, and the pose from which each substep starts."""
        initialize, pre_action = env._initialize_sim, env._pre_action

        def initialize_sim(xml_string: str | None = None) -> None:
            initialize(xml_string)
            self._compiled = {name: getattr(env.sim.model, name).copy() for name in _MODEL}

        def before_substep(action: Array, policy_step: bool = False) -> None:
            self._posed = self._data.qpos.copy()
            pre_action(action, policy_step)

        env._initialize_sim, env._pre_action = initialize_sim, before_substep

    def _sampling(self) -> Any:
        """One observable in place of LIBERO's many, sampled exactly when they are."""
        from robosuite.utils.observables import (  # type: ignore[import-not-found]
            Observable,
            sensor,
        )

        sensors = [self._env._observables[name]._sensor for name in _SENSORS]

        @sensor(modality="clew")  # type: ignore[untyped-decorator, unused-ignore]
        def sample(cache: Any) -> Array:
            # Bodies are where they were when the substep started, numbers of joints are not.
            self._seen_qpos, self._seen_alpha = self._posed, self._alpha.copy()
            return np.concatenate([each(cache) for each in sensors])

        sampler = Observable("clew", sample, sampling_rate=self._env.control_freq)
        self._env._observables = OrderedDict(clew=sampler)
        return sampler

    def _reset(self) -> None:
        """What a hard `reset()` does, on the model that is already compiled.

        LIBERO's own reset loads the model once more, each time adding its samplers of opened and
        closed joints to a list that already holds them. So they draw once per load, before the
        fixtures are placed: a first reset is the second load, and one more for each placement
        that failed.
        """
        env = self._env
        for loads in count(2):
            env.object_property_initializers = self._openings * loads
            for name, array in self._compiled.items():
                getattr(self._model, name)[:] = array
            env.sim.reset()
            env.sim.forward()
            self._gripper.current_action = np.zeros(self._gripper.dof)
            self._sampler._sampled = False
            try:
                env._reset_internal()
            except _placement_error():
                continue
            break
        env.sim.forward()
        env.visualize(vis_settings=dict.fromkeys(env._visualizations, False))
        self._sample()

    def _sample(self) -> None:
        """Sample now, as LIBERO does after a reset and after setting an initial state."""
        self._posed = self._data.qpos.copy()
        self._env._update_observables(force=True)

    def _pose_aside(self, qpos: Array) -> None:
        self._aside.qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._aside)


@contextmanager
def _global_random(seed: int) -> Iterator[None]:
    """numpy's global generator, from which LIBERO draws, seeded for a while."""
    before = np.random.get_state()
    np.random.seed(seed)
    try:
        yield
    finally:
        np.random.set_state(before)


@lru_cache(maxsize=1)
def _libero() -> tuple[Mapping[str, type], Callable[..., Any], Callable[..., Any]]:
    """LIBERO's environments by problem, its reader of a problem, robosuite's controllers."""
    _set_macros()
    from libero.libero.envs import TASK_MAPPING  # type: ignore[import-not-found]
    from libero.libero.envs.bddl_utils import get_problem_info  # type: ignore[import-not-found]
    from robosuite import load_controller_config  # type: ignore[import-not-found]

    return TASK_MAPPING, get_problem_info, load_controller_config


def _set_macros() -> None:
    """robosuite's settings, made before it is imported: then it opens no log file in /tmp."""
    package = find_spec("robosuite")
    if package is None or package.origin is None or "robosuite" in sys.modules:
        return
    place = Path(package.origin).with_name("macros.py")
    spec = spec_from_file_location("robosuite.macros", place)
    assert spec is not None
    assert spec.loader is not None
    macros = module_from_spec(spec)
    spec.loader.exec_module(macros)
    vars(macros).update(
        FILE_LOGGING_LEVEL=None, CONSOLE_LOGGING_LEVEL="ERROR", MUJOCO_GPU_RENDERING=False
    )
    sys.modules["robosuite.macros"] = macros


def _placement_error() -> type[Exception]:
    from robosuite.utils.errors import RandomizationError  # type: ignore[import-not-found]

    error: type[Exception] = RandomizationError
    return error
