"""Scripted policies for the tabletop: one closed-loop controller, and faults that spoil it.

They see the `vector` channel only, import no simulator, and decide afresh from every observation,
so they can start in the middle of a task with no history. An *attempt* is one try at moving one
block; at its start the policy draws a `Fault` from the brief's seed, and the policies differ only
in which faults they draw and how often. `Expert` draws none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clew.core import Brief, Channels, Control, Decision, Observation, Refused

Point = tuple[float, float, float]

#: The controller's own numbers, in metres; `REACH_M` is the environment's move per unit of action.
REACH_M = 0.015
HOME_M = (0.0, -0.08, 0.16)
VECTOR_WIDTH = 25
GAIN = 0.4
ALIGNED_M = 0.006
LEVEL_M = 0.006
CLEAR_ABOVE_M = 0.045
HELD_GAP_M = (0.034, 0.058)
HELD_BESIDE_M = 0.034
HELD_BELOW_M = 0.032
PLACED_M = 0.018
IN_DRAWER_M = 0.06
BLOCKED_M = 0.05
LOWEST_M = 0.016
#: How far a finger reaches from the hand (x), and how far it must stay from a block (y).
FINGER_REACH_M = 0.08
FINGER_ROOM_M = 0.04
ASIDE_M = 0.02
STALLED_ACTS = 6
STUCK_ACTS = 20
OPEN, CLOSED = -1.0, 1.0

NO_DRAWER = -1.0
HANDLE_HEIGHT_M = 0.035
HANDLE_BAR_M = 0.111
HANDLE_HOOK_M = 0.089
PUSH_FROM_M = 0.15
DRAWER_SHUT_M = 0.005
DRAWER_ENOUGH_M = 0.115
DRAWER_WIDE_M = 0.138


@dataclass(frozen=True)
class Reading:
    """The vector channel by name, and which block this attempt is about."""

    hand: Point
    gap: float
    object: Point
    distractor: Point
    goal: Point
    decoy: Point
    drawer: float

    @classmethod
    def of(cls, vector: Any) -> Reading:
        """Read a `vector` of shape (25,); raises `Refused` for another shape."""
        if vector.shape != (VECTOR_WIDTH,):
            raise Refused(
                f"the vector has shape {vector.shape}, not ({VECTOR_WIDTH},): these policies are "
                "for the environment 'tabletop'"
            )
        v = vector.tolist()
        return cls(
            (v[0], v[1], v[2]), v[3], (v[4], v[5], v[6]), (v[11], v[12], v[13]),
            (v[18], v[19], v[20]), (v[21], v[22], v[23]),
            max(v[24], 0.0) if v[24] > -0.5 else NO_DRAWER,
        )  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """What goes wrong in one attempt; the default is nothing.

    `grasp_m` is how far beside and above the block it closes, `grip` its strength (1 full),
    `drop_after` the number of acts after which it opens in transport, `early_m` the distance
    from the goal at which it already lets go, `late_acts` for how long it moves on from the goal
    with the block in hand.
    """

    wrong_block: bool = False
    wrong_place: bool = False
    grasp_m: Point = (0.0, 0.0, 0.0)
    grip: float = CLOSED
    drop_after: int | None = None
    early_m: float = 0.0
    late_acts: int = 0


SOUND = Fault()


@dataclass(frozen=True)
class Scripted:
    """A policy of the controller and its faults.

    `routine` is the chance of a fault in an attempt that begins where a task begins, with the
    hand open at home; `astray` that in any other. Their difference is how much worse the policy
    is at recovering than at repeating. `slow_acts` is the longest that it does not notice that the
    block left its hand in the wrong place. `chunk` is the number of actions per decision.
    """

    routine: float = 0.0
    astray: float = 0.0
    slow_acts: int = 0
    chunk: int = 1

    def __post_init__(self) -> None:
        for name in ("routine", "astray"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise Refused(f"{name} is {getattr(self, name)}: a chance is from 0 to 1")
        if self.slow_acts < 0:
            raise Refused(f"slow_acts is {self.slow_acts}: it must be 0 or more")
        if not 1 <= self.chunk <= 50:
            raise Refused(f"chunk is {self.chunk}: it must be from 1 to 50 actions")

    @property
    def sees(self) -> Channels:
        return frozenset({"vector"})

    def begin(self, brief: Brief) -> TabletopActor:
        """A fresh actor whose choices follow from `brief.seed` and what it observes."""
        return TabletopActor(self, np.random.default_rng(brief.seed))

    def fault(self, rng: np.random.Generator) -> Fault:
        """The fault of an attempt that has one."""
        return SOUND


class Expert(Scripted):
    """No faults: reaches, lifts, carries, lowers, lets go; tries again when that did not work."""


@dataclass(frozen=True)
class WrongTarget(Scripted):
    """Sometimes takes the distractor, or heads for the decoy with the right block."""

    routine: float = 0.25
    astray: float = 0.7
    slow_acts: int = 30

    def fault(self, rng: np.random.Generator) -> Fault:
        block = rng.random() < 0.6
        return Fault(wrong_block=block, wrong_place=not block)


@dataclass(frozen=True)
class Dropper(Scripted):
    """Grips weakly, or opens in the middle of the transport."""

    routine: float = 0.3
    astray: float = 0.85
    slow_acts: int = 80

    def fault(self, rng: np.random.Generator) -> Fault:
        if rng.random() < 0.35:
            return Fault(grip=0.03 * rng.random())
        return Fault(drop_after=int(rng.integers(4, 28)))


@dataclass(frozen=True)
class BadPose(Scripted):
    """Closes beside or above where it should."""

    routine: float = 0.3
    astray: float = 0.9
    slow_acts: int = 40

    def fault(self, rng: np.random.Generator) -> Fault:
        angle, far = 2 * math.pi * rng.random(), 0.02 + 0.014 * rng.random()
        beside = (far * math.cos(angle), far * math.sin(angle), 0.03 * rng.random())
        return Fault(grasp_m=beside)


@dataclass(frozen=True)
class EarlyRelease(Scripted):
    """Lets go before it has arrived."""

    routine: float = 0.3
    astray: float = 0.85
    slow_acts: int = 40

    def fault(self, rng: np.random.Generator) -> Fault:
        return Fault(early_m=0.13 + 0.1 * rng.random())


@dataclass(frozen=True)
class LateRelease(Scripted):
    """Leaves the goal with the block still in hand, and lets go on the way."""

    routine: float = 0.3
    astray: float = 0.75
    slow_acts: int = 30

    def fault(self, rng: np.random.Generator) -> Fault:
        return Fault(late_acts=int(rng.integers(4, 14)))


class TabletopActor:
    """The controller at work in one attempt of a policy; all memory is here."""

    def __init__(self, policy: Scripted, rng: np.random.Generator) -> None:
        self._policy, self._rng = policy, rng
        self._speed = 0.8 + 0.2 * rng.random()
        self._travel_m = 0.115 + 0.025 * rng.random()
        self._drift = 2 * math.pi * rng.random()
        self._fault = SOUND
        self._clearing: Point | None = None
        self._fresh = True
        self._held_for = 0
        self._leaving = 0
        self._unaware = 0
        self._stalled = 0
        self._last = (0.0, 0.0, 0.0)

    def decide(self, seen: Observation) -> Decision:
        """One decision of `chunk` actions; needs the channel `vector`."""
        reading = Reading.of(seen["vector"])
        target, grip = self._next(reading)
        self._last = reading.hand
        return Decision(self._towards(reading.hand, target, grip))

    def _towards(self, hand: Point, target: Point, grip: float) -> tuple[Control, ...]:
        left = [t - h for t, h in zip(target, hand)]
        actions = []
        for _ in range(self._policy.chunk):
            move = [_within(GAIN * m / REACH_M, self._speed) for m in left]
            left = [m - REACH_M * a for m, a in zip(left, move)]
            actions.append(Control((*move, grip)))
        return tuple(actions)

    def _next(self, now: Reading) -> tuple[Point, float]:
        """The next waypoint and grip: the whole controller, phase by phase."""
        self._stalled = self._stalled + 1 if math.dist(now.hand, self._last) < 0.0008 else 0
        holding = self._holding(now)
        if self._fresh:
            self._begin_attempt(now)
        block, place = self._roles(now)
        if holding:
            self._held_for += 1
            return self._carry(now, block, place)
        if self._held_for:
            self._held_for, self._leaving, self._fresh = 0, 0, True
            self._unaware = int(self._rng.integers(0, self._policy.slow_acts + 1))
        done = self._placed(now.object, now.goal, now.drawer)
        if self._unaware and not done:
            self._unaware -= 1
            return (place[0], place[1], self._travel_m), CLOSED
        if self._placed(block, place, now.drawer):
            return self._finish(now, block)
        if 0.0 <= now.drawer < DRAWER_ENOUGH_M or self._hooked(now):
            return self._pull(now)
        return self._reach(now, block)

    def _begin_attempt(self, now: Reading) -> None:
        """Draw this attempt's fault, or clear the goal first if the distractor is in the way."""
        self._fresh, self._fault, self._clearing = False, SOUND, None
        if self._placed(now.object, now.goal, now.drawer):
            return
        routine = math.dist(now.hand, HOME_M) < 0.02 and now.gap > 0.07
        chance = self._policy.routine if routine else self._policy.astray
        if self._rng.random() < chance:
            self._fault = self._policy.fault(self._rng)
        blocked = _beside(now.distractor, now.goal) < BLOCKED_M
        sound = not (self._fault.wrong_block or self._fault.wrong_place)
        if blocked and sound:
            self._clearing = _free_place(now)

    def _roles(self, now: Reading) -> tuple[Point, Point]:
        """The block that this attempt moves, and where to."""
        if self._clearing is not None:
            return now.distractor, self._clearing
        block = now.distractor if self._fault.wrong_block else now.object
        return block, now.decoy if self._fault.wrong_place else now.goal

    def _holding(self, now: Reading) -> bool:
        """Some block is between fingers that are neither wide open nor shut."""
        narrow, wide = HELD_GAP_M
        return narrow < now.gap < wide and any(
            _beside(now.hand, block) < HELD_BESIDE_M and abs(now.hand[2] - block[2]) < HELD_BELOW_M
            for block in (now.object, now.distractor)
        )

    def _placed(self, block: Point, place: Point, drawer: float) -> bool:
        if drawer >= 0.0 and self._clearing is None and not self._fault.wrong_place:
            far = max(abs(block[0] - place[0]), abs(block[1] - place[1]))
            return far < IN_DRAWER_M and block[2] < place[2] + 0.02
        return _beside(block, place) < PLACED_M and abs(block[2] - place[2]) < 0.01

    def _carry(self, now: Reading, block: Point, place: Point) -> tuple[Point, float]:
        fault = self._fault
        if _beside(now.hand, block) > HELD_BESIDE_M:
            return now.hand, OPEN  # the other block is in hand: let it go
        if fault.drop_after is not None and self._held_for > fault.drop_after:
            return now.hand, OPEN
        aim = tuple(h + p - b for h, p, b in zip(now.hand, place, block))
        away = _beside(block, place)
        high = max(self._travel_m, place[2] + 0.05)
        if fault.early_m and away < fault.early_m and now.hand[2] > 0.06:
            return now.hand, OPEN
        if self._leaving:
            return self._leave(now, aim)
        if away > ALIGNED_M:
            lifted = now.hand[2] > high - 0.02 or (away < 0.012 and block[2] > place[2] - 0.005)
            x, y = (aim[0], aim[1]) if lifted else now.hand[:2]
            low = now.hand[2] if away < 0.012 and lifted else high
            return (x, y, low), fault.grip
        if block[2] - place[2] > LEVEL_M and self._stalled < STALLED_ACTS:
            return (aim[0], aim[1], now.hand[2] - (block[2] - place[2]) + 0.002), fault.grip
        return self._leave(now, aim)

    def _leave(self, now: Reading, aim: Sequence[float]) -> tuple[Point, float]:
        """At the goal: open, or (late) move on with the block and open on the way."""
        if self._leaving >= self._fault.late_acts:
            return now.hand, OPEN
        self._leaving += 1
        x, y = aim[0] + 0.1 * math.cos(self._drift), aim[1] + 0.1 * math.sin(self._drift)
        return (x, y, self._travel_m), self._fault.grip

    def _reach(self, now: Reading, block: Point) -> tuple[Point, float]:
        if self._stalled > STUCK_ACTS:
            # Whatever it is, it does not give way: try another pose.
            x, y = (0.03 * (self._rng.random(2) - 0.5)).tolist()
            self._fault, self._stalled = replace(self._fault, grasp_m=(x, y, 0.0)), 0
        off_x, off_y, off_z = self._fault.grasp_m
        over = (block[0] + off_x, block[1] + off_y + _aside(block, now), block[2] + off_z)
        away = _beside(now.hand, over)
        if away > ALIGNED_M and not (away < 0.012 and now.gap > 0.07):
            clear = now.hand[2] > block[2] + CLEAR_ABOVE_M
            x, y = (over[0], over[1]) if clear else now.hand[:2]
            return (x, y, self._travel_m), OPEN
        level = max(over[2], LOWEST_M)
        if now.hand[2] - level > LEVEL_M and self._stalled < STALLED_ACTS:
            if now.gap < 0.07:
                return _above(now.hand, max(now.hand[2], block[2] + CLEAR_ABOVE_M)), OPEN
            return (over[0], over[1], level), OPEN
        if now.gap < HELD_GAP_M[0]:
            self._fresh = True  # closed on nothing: lift, and try again
            return _above(now.hand, self._travel_m), OPEN
        return (over[0], over[1], level), self._fault.grip

    def _finish(self, now: Reading, block: Point) -> tuple[Point, float]:
        if self._clearing is not None or self._fault is not SOUND:
            self._fresh = True
        if now.drawer > DRAWER_SHUT_M and self._clearing is None:
            return self._push(now)
        return _above(now.hand, self._travel_m), OPEN

    def _push(self, now: Reading) -> tuple[Point, float]:
        """Shut the drawer: from in front of the handle, low, with closed fingers."""
        front = (now.goal[0], now.goal[1] - PUSH_FROM_M, HANDLE_HEIGHT_M)
        before = now.hand[1] < now.goal[1] - HANDLE_BAR_M - 0.012
        if before and abs(now.hand[0] - front[0]) < 0.02 and now.hand[2] < HANDLE_HEIGHT_M + 0.012:
            return (front[0], now.hand[1] + 0.05, HANDLE_HEIGHT_M), CLOSED
        return self._visit(now, front)

    def _hooked(self, now: Reading) -> bool:
        at = abs(now.hand[1] - (now.goal[1] - HANDLE_HOOK_M)) < 0.014
        low = now.hand[2] < HANDLE_HEIGHT_M + 0.012
        return at and low and abs(now.hand[0] - now.goal[0]) < 0.02 and now.drawer < DRAWER_WIDE_M

    def _pull(self, now: Reading) -> tuple[Point, float]:
        """Open the drawer: closed fingers behind the handle's bar, then towards the front."""
        if self._hooked(now):
            return (now.goal[0], now.hand[1] - 0.05, HANDLE_HEIGHT_M), CLOSED
        return self._visit(now, (now.goal[0], now.goal[1] - HANDLE_HOOK_M, HANDLE_HEIGHT_M))

    def _visit(self, now: Reading, spot: Point) -> tuple[Point, float]:
        """Up, over, and down to `spot` with closed fingers."""
        if _beside(now.hand, spot) < ALIGNED_M:
            return spot, CLOSED
        clear = now.hand[2] > 0.085
        x, y = spot[:2] if clear else now.hand[:2]
        return (x, y, self._travel_m), CLOSED if clear else OPEN


def _within(value: float, most: float) -> float:
    return min(max(value, -most), most)


def _beside(one: Sequence[float], other: Sequence[float]) -> float:
    return math.hypot(one[0] - other[0], one[1] - other[1])


def _above(hand: Point, height: float) -> Point:
    return hand[0], hand[1], height


def _aside(block: Point, now: Reading) -> float:
    """How far to grasp beside the block's middle (y) so that no finger comes down on the other."""
    other = now.distractor if block == now.object else now.object
    x, y, z = (b - o for b, o in zip(block, other))
    if abs(x) > FINGER_REACH_M or abs(y) > FINGER_ROOM_M or abs(z) > ASIDE_M:
        return 0.0
    return math.copysign(min(FINGER_ROOM_M - abs(y), ASIDE_M), y)


def _free_place(now: Reading) -> Point:
    """A place on the table away from everything that matters."""
    spots = [(x, y, 0.02) for y in (-0.08, 0.06, 0.14) for x in (-0.02, -0.14, -0.2)]
    others = (now.object, now.goal, now.decoy)
    return max(spots, key=lambda spot: min(0.12, *(_beside(spot, other) for other in others)))
