"""The four tabletop tasks: what lies where, and the oracle of each. It steps no physics.

A task names the roles that a policy's vector has slots for: the `object` to move, the
`distractor` that looks like it, the `goal` where the object's centre belongs, and the `decoy`
where a mistaken policy would put it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clew.core import canonical_json, digest
from clew.environments.tabletop.scene import (
    BLOCK_M,
    DRAWER_CLOSED_Y_M,
    DRAWER_FLOOR_M,
    DRAWER_INSIDE_M,
    DRAWER_TRAVEL_M,
    DRAWER_X_M,
    FINGER_TRAVEL_M,
    HOME_M,
    WORKSPACE_M,
    mjcf,
)

#: Slots of the `vector` channel, float32 (25,): metres, unit quaternions (w, x, y, z).
LAYOUT: Mapping[str, slice] = {
    "hand": slice(0, 3),
    "gap": slice(3, 4),
    "object": slice(4, 7),
    "object_quaternion": slice(7, 11),
    "distractor": slice(11, 14),
    "distractor_quaternion": slice(14, 18),
    "goal": slice(18, 21),
    "decoy": slice(21, 24),
    "drawer": slice(24, 25),
}
#: What the drawer slot holds where there is no drawer.
NO_DRAWER = -1.0

REVISION = 1
SUBSTEPS = 10
REACH_M = 0.015
LEASH_M = 0.03

ZONE_TOLERANCE_M = 0.035
STACK_TOLERANCE_M = 0.02
HEIGHT_TOLERANCE_M = 0.006
REST_M_S = 0.03
CLEAR_GAP_M = 0.052
CLEAR_HAND_M = 0.06
DRAWER_SHUT_M = 0.012

Spot = tuple[float, float]
Area = tuple[Spot, Spot]


class World:
    """Named reading and placing of one simulation's own state arrays; it never steps them."""

    def __init__(self, task: Task, model: Any, data: Any) -> None:
        self.qpos, self.qvel, self.ctrl = data.qpos, data.qvel, data.ctrl
        self.mocap = data.mocap_pos
        joints = {model.joint(i).name: i for i in range(model.njnt)}
        self._at = {b: int(model.jnt_qposadr[joints[f"{b}_block"]]) for b in task.blocks}
        self._rate = {b: int(model.jnt_dofadr[joints[f"{b}_block"]]) for b in task.blocks}
        self._drawer = int(model.jnt_qposadr[joints["drawer"]]) if task.drawer else -1
        self._zone = {z: int(model.body(f"{z}_zone").mocapid[0]) for z in task.zones}

    def pose(self, block: str) -> Any:
        """Position (m) and quaternion (w, x, y, z) of a block, shape (7,)."""
        at = self._at[block]
        return self.qpos[at : at + 7]

    def speed(self, block: str) -> float:
        """Linear speed of a block in m/s."""
        at = self._rate[block]
        return math.hypot(*self.qvel[at : at + 3].tolist())

    def opening(self) -> float:
        """How far the drawer is open, in metres; `NO_DRAWER` where there is none."""
        return NO_DRAWER if self._drawer < 0 else float(self.qpos[self._drawer])

    def gap(self) -> float:
        """The gap between the fingers in metres."""
        return float(self.qpos[3] + self.qpos[4])

    def place(self, where: str) -> tuple[float, float, float]:
        """Where a block's centre belongs: on a zone, on a block, or in the drawer."""
        kind, _, name = where.partition(" ")
        if kind == "zone":
            x, y, _ = self.mocap[self._zone[name]].tolist()
            return x, y, BLOCK_M / 2
        if kind == "on":
            x, y, z = self.pose(name)[:3].tolist()
            return x, y, z + BLOCK_M
        y = DRAWER_CLOSED_Y_M - self.opening()
        return DRAWER_X_M, y, DRAWER_FLOOR_M + BLOCK_M / 2

    def put_hand(self) -> None:
        self.qpos[:3] = self.ctrl[:3] = HOME_M
        self.qpos[3:5] = self.ctrl[3:5] = FINGER_TRAVEL_M

    def put_block(self, block: str, spot: Spot, yaw: float) -> None:
        turn = (math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2))
        self.pose(block)[:] = (*spot, BLOCK_M / 2, *turn)

    def put_zone(self, zone: str, spot: Spot) -> None:
        self.mocap[self._zone[zone]] = (*spot, 0.0008)

    def put_drawer(self, opening: float) -> None:
        self.qpos[self._drawer] = opening


@dataclass(frozen=True)
class Task:
    """One task. `areas` says where each block and zone may lie, at least `apart_m` from others."""

    name: str
    instruction: str
    actions: int
    blocks: tuple[str, ...]
    zones: tuple[str, ...]
    drawer: bool
    object: str
    distractor: str
    goal: str
    decoy: str
    areas: Mapping[str, Area]
    judge: Callable[[World], dict[str, bool]]
    apart_m: float = 0.1

    def mjcf(self) -> str:
        return mjcf(self.blocks, self.zones, self.drawer)

    def definition(self) -> str:
        """Digest of the scene and of every number that makes the task what it is."""
        numbers = {
            "name": self.name, "areas": {k: list(v) for k, v in self.areas.items()},
            "apart_m": self.apart_m, "object": self.object, "goal": self.goal,
            "home": HOME_M, "workspace": WORKSPACE_M, "substeps": SUBSTEPS, "reach": REACH_M,
            "leash": LEASH_M, "zone": ZONE_TOLERANCE_M, "stack": STACK_TOLERANCE_M,
            "height": HEIGHT_TOLERANCE_M, "rest": REST_M_S, "clear": (CLEAR_GAP_M, CLEAR_HAND_M),
            "shut": DRAWER_SHUT_M,
        }  # fmt: skip
        return digest(self.mjcf().encode() + canonical_json(numbers))

    def lay_out(self, world: World, rng: Any) -> None:
        """Place everything; all that varies is drawn from `rng` in a fixed order."""
        world.put_hand()
        taken: list[Spot] = []
        for name, area in self.areas.items():
            spot = _free_spot(area, taken, self.apart_m, rng)
            taken.append(spot)
            kind, _, colour = name.partition(" ")
            if kind == "zone":
                world.put_zone(colour, spot)
            else:
                world.put_block(colour, spot, (rng.random() - 0.5) * 0.6)
        if self.drawer:
            world.put_drawer(DRAWER_TRAVEL_M - 0.015 * rng.random())

    def vector(self, world: World) -> Any:
        """The `vector` channel, float32 (25,), laid out as `LAYOUT` says."""
        qpos = world.qpos.tolist()
        return np.array(
            (
                *qpos[:3],
                qpos[3] + qpos[4],
                *world.pose(self.object).tolist(),
                *world.pose(self.distractor).tolist(),
                *world.place(self.goal),
                *world.place(self.decoy),
                world.opening(),
            ),
            np.float32,
        )


def _free_spot(area: Area, taken: list[Spot], apart_m: float, rng: Any) -> Spot:
    (x0, x1), (y0, y1) = area
    while True:
        spot = (x0 + (x1 - x0) * rng.random(), y0 + (y1 - y0) * rng.random())
        if all(math.dist(spot, other) >= apart_m for other in taken):
            return spot


def _let_go(world: World, block: str) -> bool:
    """The fingers are wider than the block, or the hand is away from it."""
    away = math.dist(world.qpos[:3].tolist(), world.pose(block)[:3].tolist())
    return world.gap() > CLEAR_GAP_M or away > CLEAR_HAND_M


def _rests_at(world: World, block: str, where: str, tolerance_m: float) -> dict[str, bool]:
    x, y, z = world.place(where)
    bx, by, bz = world.pose(block)[:3].tolist()
    there = math.hypot(bx - x, by - y) <= tolerance_m
    return {
        "there": there,
        "resting": there and abs(bz - z) <= HEIGHT_TOLERANCE_M and world.speed(block) <= REST_M_S,
        "released": there and _let_go(world, block),
    }


def _judge_pick_place(world: World) -> dict[str, bool]:
    return _rests_at(world, "red", "zone green", ZONE_TOLERANCE_M)


def _judge_stack(world: World) -> dict[str, bool]:
    return _rests_at(world, "red", "on blue", STACK_TOLERANCE_M)


def _judge_sort(world: World) -> dict[str, bool]:
    x, y, _ = world.place("zone red")
    bx, by, _ = world.pose("blue")[:3].tolist()
    stray = math.hypot(bx - x, by - y) <= ZONE_TOLERANCE_M
    return {**_rests_at(world, "red", "zone red", ZONE_TOLERANCE_M), "unmixed": not stray}


def _judge_drawer(world: World) -> dict[str, bool]:
    x, y, z = world.place("in drawer")
    bx, by, bz = world.pose("red")[:3].tolist()
    half_x, half_y = DRAWER_INSIDE_M
    inside = abs(bx - x) <= half_x and abs(by - y) <= half_y and bz <= z + BLOCK_M / 2
    return {
        "inside": inside,
        "released": inside and _let_go(world, "red"),
        "shut": inside and world.opening() <= DRAWER_SHUT_M,
    }


_LEFT: Area = ((-0.21, -0.05), (-0.14, 0.15))
_RIGHT: Area = ((0.07, 0.21), (-0.12, 0.15))
_ANYWHERE: Area = ((-0.2, 0.2), (-0.14, 0.15))

TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="pick-place", instruction="Put the red block on the green disc.", actions=160,
            blocks=("red", "blue"), zones=("green",), drawer=False, object="red",
            distractor="blue", goal="zone green", decoy="on blue",
            areas={"zone green": _RIGHT, "block red": _LEFT, "block blue": _LEFT},
            judge=_judge_pick_place,
        ),
        Task(
            name="stack", instruction="Stack the red block on the blue block.", actions=160,
            blocks=("red", "blue", "green"), zones=(), drawer=False, object="red",
            distractor="green", goal="on blue", decoy="on green",
            areas={"block blue": _RIGHT, "block red": _LEFT, "block green": _ANYWHERE},
            judge=_judge_stack,
        ),
        Task(
            name="drawer", instruction="Put the red block in the drawer and close it.",
            actions=200, blocks=("red", "blue"), zones=(), drawer=True, object="red",
            distractor="blue", goal="in drawer", decoy="on blue",
            areas={"block red": _LEFT, "block blue": _LEFT}, judge=_judge_drawer,
        ),
        Task(
            name="sort", instruction="Put the red block on the red disc; leave the blue block.",
            actions=160, blocks=("red", "blue"), zones=("red", "blue"), drawer=False,
            object="red", distractor="blue", goal="zone red", decoy="zone blue",
            areas={
                "zone red": _RIGHT, "zone blue": _RIGHT, "block red": _LEFT, "block blue": _LEFT,
            },
            judge=_judge_sort, apart_m=0.11,
        ),
    )
}  # fmt: skip
