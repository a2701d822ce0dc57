"""Tabletop and its sessions: physics, looking, saving and judging. Tasks and scene are elsewhere.

Two rules keep it exact. All state is the simulator's own (`mjSTATE_INTEGRATION`: positions,
velocities, the commanded targets in `ctrl`, the zones' mocap poses, the solver's warm start), so
nothing hidden in Python needs saving. And whatever looks at bodies (probe, frame) works on a
second `MjData` of its own, so looking cannot touch the session.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clew.core import (
    UNSEEN,
    Action,
    Channels,
    Control,
    Fingerprint,
    Judgement,
    Refused,
    Seen,
    SessionSpent,
    Start,
    nearest,
)
from clew.environments.tabletop import gl
from clew.environments.tabletop.gl import mujoco
from clew.environments.tabletop.scene import CAMERAS, FINGER_TRAVEL_M, WORKSPACE_M
from clew.environments.tabletop.tasks import (
    LEASH_M,
    REACH_M,
    REVISION,
    SUBSTEPS,
    TASKS,
    Task,
    World,
)

NAME = "tabletop"
CHANNELS: Channels = frozenset({"vector", "frame"})
ROBOT = ("hand", "finger_left", "finger_right")
MAX_FRAME_PX = 1024
_DEFAULTS: Mapping[str, Any] = {
    "clock": "stepped",
    "frames": {"width": 128, "height": 128},
    "camera": "front",
}
_STATE_HEAD = b"clew tabletop 1\n"
#: CPU features that mathematical libraries choose their code by.
_CPU_FEATURES = ("avx", "avx2", "fma", "avx512f", "asimd", "sve")
_mj_step = mujoco.mj_step
_ROOM_X, _ROOM_Y, _ROOM_Z = WORKSPACE_M


class Bench:
    """One compiled task with the spare simulations and renderers that its sessions share."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.definition = task.definition()
        self.model = mujoco.MjModel.from_xml_string(task.mjcf())
        self.spec = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        self.state_size = int(mujoco.mj_stateSize(self.model, self.spec))
        self.state_head = _STATE_HEAD + bytes.fromhex(self.definition)
        self.bodies = tuple(self.model.body(i).name for i in range(1, self.model.nbody))
        self._mirror = mujoco.MjData(self.model)
        self._spare: list[tuple[Any, World]] = []
        self._renderers: dict[tuple[int, int], gl.Renderer] = {}

    def take(self) -> tuple[Any, World]:
        """A simulation in any state, used before or not."""
        if self._spare:
            return self._spare.pop()
        data = mujoco.MjData(self.model)
        return data, World(self.task, self.model, data)

    def give_back(self, data: Any, world: World) -> None:
        self._spare.append((data, world))

    def mirror(self, world: World) -> Any:
        """Poses of all bodies for the state in `world`, in an `MjData` that no session steps."""
        mirror = self._mirror
        mirror.qpos[:] = world.qpos
        mirror.mocap_pos[:] = world.mocap
        mujoco.mj_kinematics(self.model, mirror)
        return mirror

    def render(self, world: World, width: int, height: int, camera: str) -> Any:
        """A frame, uint8 (height, width, 3), RGB."""
        renderer = self._renderers.get((width, height))
        if renderer is None:
            renderer = gl.Renderer(self.model, width, height)
            self._renderers[width, height] = renderer
        mirror = self.mirror(world)
        mujoco.mj_camlight(self.model, mirror)
        return renderer.render(mirror, CAMERAS.index(camera))

    def close(self) -> None:
        for renderer in self._renderers.values():
            renderer.close()
        self._renderers.clear()
        self._spare.clear()


@dataclass(frozen=True)
class _View:
    width: int
    height: int
    camera: str


class TabletopSession:
    """One running tabletop: `Probed`, `Saved` (exact) and `Judged` (pure)."""

    exact: bool = True
    judging: Literal["pure", "final"] = "pure"

    def __init__(self, bench: Bench, seed: int, view: _View) -> None:
        self._bench, self._view = bench, view
        self._model = bench.model
        self._data, self._world = bench.take()
        self._qpos, self._ctrl = self._world.qpos, self._world.ctrl
        self._open, self._laid_out, self._seed = True, False, seed

    def act(self, action: Action, see: Channels) -> Seen:
        """Move for ten substeps of 2 ms, then show `see`.

        `action` is a float32 Control (dx, dy, dz, grip). The commanded tool centre moves by
        `REACH_M` times (dx, dy, dz), kept in the workspace and within `LEASH_M` of the hand; grip
        −1 is open, +1 closed with full force, between them a gap in proportion. Coordinates
        beyond [−1, 1] are executed as −1 or 1. Raises `Refused`, before anything moves, for
        another kind, width or dtype, or a channel that cannot be shown.
        """
        if (
            type(action) is not Control
            or len(action.values) != 4
            or action.dtype != "float32"
            or not self._laid_out
            or see
        ):
            self._check(action, see)
        dx, dy, dz, grip = action.values  # type: ignore[union-attr]
        here, commanded = self._qpos.item, self._ctrl.item
        finger = (
            FINGER_TRAVEL_M * (1.0 - (-1.0 if grip < -1.0 else 1.0 if grip > 1.0 else grip)) / 2
        )
        self._ctrl[:] = (
            _commanded(dx, commanded(0), here(0), _ROOM_X),
            _commanded(dy, commanded(1), here(1), _ROOM_Y),
            _commanded(dz, commanded(2), here(2), _ROOM_Z),
            finger,
            finger,
        )
        _mj_step(self._model, self._data, SUBSTEPS)
        return self._look(see) if see else UNSEEN

    def observe(self, see: Channels) -> Seen:
        """Look without touching. Raises `Refused` for a channel that cannot be shown."""
        self._check_open()
        self._check_channels(see)
        return self._look(see)

    def probe(self) -> Mapping[str, Any]:
        """Poses of all bodies (see `clew.core.Moment`), `qpos` and `qvel`; float64 copies."""
        self._check_open()
        mirror = self._bench.mirror(self._world)
        return {
            "bodies": self._bench.bodies,
            "position_m": mirror.xpos[1:].copy(),
            "quaternion_wxyz": mirror.xquat[1:].copy(),
            "robot": ROBOT,
            "qpos": self._qpos.copy(),
            "qvel": self._world.qvel.copy(),
        }

    def save(self) -> bytes:
        """The whole state: a head naming the task's definition, then little-endian float64."""
        self._check_open()
        state = np.empty(self._bench.state_size)
        mujoco.mj_getState(self._model, self._data, state, self._bench.spec)
        return self._bench.state_head + state.astype("<f8", copy=False).tobytes()

    def load(self, state: bytes) -> None:
        """Back to a saved state. Raises `Refused` for bytes of another task, version or length."""
        self._check_open(lay_out=False)
        head, size = self._bench.state_head, self._bench.state_size
        if not state.startswith(head):
            what = (
                "of another task or scene" if state.startswith(_STATE_HEAD) else "not of tabletop"
            )
            raise Refused(
                f"the saved state is {what}: load it into a session of the start it was saved from"
            )
        if len(state) != len(head) + 8 * size:
            raise Refused(
                f"the saved state has {len(state)} bytes, a state of {self._bench.task.name!r} "
                f"{len(head) + 8 * size}: it is damaged or of another mujoco version; replay instead"
            )
        numbers = np.frombuffer(state, "<f8", offset=len(head)).astype(np.float64)
        mujoco.mj_setState(self._model, self._data, numbers, self._bench.spec)
        self._laid_out = True

    def judge(self) -> Judgement:
        """The task's oracle on the present state; score is the share of its parts that hold."""
        self._check_open()
        parts = self._bench.task.judge(self._world)
        score = sum(parts.values()) / len(parts)
        return Judgement(all(parts.values()), score, {k: float(v) for k, v in parts.items()})

    def close(self) -> None:
        """Hand the simulation to the next session; closing twice does nothing."""
        if self._open:
            self._open = self._laid_out = False
            self._bench.give_back(self._data, self._world)

    def _look(self, see: Channels) -> Seen:
        channels: dict[str, Any] = {}
        if "vector" in see:
            channels["vector"] = self._bench.task.vector(self._world)
        if "frame" in see:
            view = self._view
            channels["frame"] = self._bench.render(
                self._world, view.width, view.height, view.camera
            )
        return Seen(channels)

    def _check(self, action: Action, see: Channels) -> None:
        self._check_open()
        if type(action) is not Control:
            raise Refused(
                f"tabletop cannot execute a {type(action).__name__}: it takes a Control of 4 "
                "float32 values (dx, dy, dz, grip)"
            )
        if len(action.values) != 4 or action.dtype != "float32":
            raise Refused(
                f"tabletop takes a Control of 4 float32 values (dx, dy, dz, grip), not "
                f"{len(action.values)} of {action.dtype}"
            )
        self._check_channels(see)

    def _check_channels(self, see: Channels) -> None:
        for channel in see:
            if channel not in CHANNELS:
                raise Refused(f"tabletop has no channel {channel!r}; {nearest(channel, CHANNELS)}")
        if "frame" in see and not gl.frames_available():
            raise Refused(gl.frames_off())

    def _check_open(self, lay_out: bool = True) -> None:
        if not self._open:
            raise SessionSpent("the tabletop session was closed: open the start again")
        if lay_out and not self._laid_out:  # at first use: a snapshot that is loaded needs none
            mujoco.mj_resetData(self._model, self._data)
            self._bench.task.lay_out(self._world, np.random.default_rng(self._seed))
            self._laid_out = True


class Tabletop:
    """The embedded environment: four tasks at a table. Implements Environment and Described."""

    def __init__(self) -> None:
        self._benches: dict[str, Bench] = {}

    def tasks(self) -> tuple[str, ...]:
        """The task names."""
        return tuple(TASKS)

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        """The start of `task`; options are `clock`, `frames` {"width", "height"} and `camera`."""
        bench = self._bench(task)
        filled = {**_DEFAULTS, **options}
        _view_of(filled)
        return Start(NAME, task, seed, bench.definition, REVISION, filled)

    def instruction(self, task: str) -> str:
        """What a policy is told to do."""
        return self._bench(task).task.instruction

    def budget(self, task: str) -> int:
        """The task's full number of actions."""
        return self._bench(task).task.actions

    def open(self, start: Start) -> TabletopSession:
        """A session of `start`. Raises `Refused` if it is not a start of this very tabletop."""
        if start.environment != NAME:
            raise Refused(f"a start of {start.environment!r} cannot be opened by {NAME!r}")
        bench = self._bench(start.task)
        if start.definition != bench.definition or start.revision != REVISION:
            raise Refused(
                f"the start of {start.task!r} has definition {start.definition[:12]!r}, revision "
                f"{start.revision}; this tabletop has {bench.definition[:12]!r}, {REVISION}: make "
                "the start again, or use the version of clew that made it"
            )
        return TabletopSession(bench, start.seed, _view_of({**_DEFAULTS, **start.options}))

    def fingerprint(self) -> Fingerprint:
        """Versions, the C library, CPU features and the GL renderer (`off` without one)."""
        return {
            "mujoco": str(mujoco.__version__),
            "numpy": np.__version__,
            "machine": platform.machine(),
            "libc": " ".join(platform.libc_ver()).strip() or platform.system(),
            "cpu": _cpu_features(),
            "renderer": gl.renderer(),
        }

    def close(self) -> None:
        """Free renderers and compiled scenes; the environment can be used again afterwards."""
        for bench in self._benches.values():
            bench.close()
        self._benches.clear()

    def _bench(self, task: str) -> Bench:
        bench = self._benches.get(task)
        if bench is None:
            if task not in TASKS:
                raise Refused(f"tabletop has no task {task!r}; {nearest(task, TASKS)}")
            bench = self._benches[task] = Bench(TASKS[task])
        return bench


def _commanded(move: float, commanded: float, here: float, room: tuple[float, float]) -> float:
    """One coordinate of the next command."""
    # Comparisons and no min or max: an act without looking is to cost what its physics costs.
    target = commanded + REACH_M * (-1.0 if move < -1.0 else 1.0 if move > 1.0 else move)
    if target > here + LEASH_M:
        target = here + LEASH_M
    elif target < here - LEASH_M:
        target = here - LEASH_M
    low, high = room
    return low if target < low else high if target > high else target


def _view_of(options: Mapping[str, Any]) -> _View:
    """The camera and size that `options` ask for, or `Refused`."""
    for name in options:
        if name not in _DEFAULTS:
            raise Refused(f"tabletop has no option {name!r}; {nearest(name, _DEFAULTS)}")
    if options["clock"] != "stepped":
        raise Refused(f"option clock is {options['clock']!r}: tabletop is always 'stepped'")
    if options["camera"] not in CAMERAS:
        raise Refused(
            f"option camera is {options['camera']!r}; {nearest(options['camera'], CAMERAS)}"
        )
    frames = options["frames"]
    if not isinstance(frames, Mapping) or set(frames) != {"width", "height"}:
        raise Refused(f'option frames is {frames!r}: it must be {{"width": …, "height": …}}')
    for name, pixels in frames.items():
        if type(pixels) is not int or not 16 <= pixels <= MAX_FRAME_PX:
            raise Refused(
                f"option frames.{name} is {pixels!r}: it must be a whole number of pixels from 16 "
                f"to {MAX_FRAME_PX}"
            )
    return _View(frames["width"], frames["height"], options["camera"])


@lru_cache(maxsize=1)
def _cpu_features() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    for line in lines:
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "Features"):
            have = set(words.split())
            return " ".join(feature for feature in _CPU_FEATURES if feature in have)
    return "unknown"
