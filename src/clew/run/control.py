"""Whose doing a break is that comes again and again: what is counted, and what else is tried there.

An attempt that broke is carried on by replay. When every try that reached an action broke there,
either the action did it or the world breaks at that point whatever is done. A *control* tells the
two apart: the same prefix is replayed cold, another action is performed in the place of the blamed
one (for a decision: none), and the state is looked at and judged as the attempt would. This module
only counts and chooses; `clew.run.bench` runs the controls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.core import Action, Cause, Control, Wait
from clew.store import Loaded, Locator

#: A crash is its action's doing when every one of at least this many attempts that reached the
#: action crashed there. With a random hazard of 3 % per step, a crash is followed by four more in
#: its place once in 1.2 million times (by two more: once in 1,100, which a large study would see).
REPRODUCED = 5
#: Most of this many controls that reached the place must survive it, or the world is to blame. A
#: random hazard of 3 % per step makes two of three break there once in 370 times.
CONTROLS = 3
#: The phases in which a break that reproduces is blamed on the policy, the last one first.
BLAMED: Mapping[str, str] = {
    "policy": "its decision", "after": "looking at the state", "act": "its last action",
}  # fmt: skip
#: What became of a control that did not break.
SURVIVED, NOT_TAKEN = "survived", "not_taken"
#: The kind of the environment's void when controls broke as well.
BREAKS_ANYWAY = "breaks_anyway"
#: How long the other action waits where actions are not control vectors, in milliseconds.
WAIT_MS = 100


@dataclass(frozen=True)
class Broken:
    """An attempt of this unit that did not finish, and what its worker was doing then."""

    locator: Locator
    phase: str

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Broken:
        return cls(Locator.of(data["locator"]), str(data["phase"]))


@dataclass(frozen=True)
class Blame:
    """`times` tries broke in `phase` after `actions` actions of the attempt, and none got past."""

    phase: str
    actions: int
    times: int

    @property
    def replayed(self) -> int:
        """The attempt's actions that a control replays: all, or all but the blamed one."""
        return self.actions - (self.phase != "policy")

    def verdict(self, controls: Sequence[tuple[Loaded, str]]) -> Cause | None:
        """Whose doing it is, or None: another control is needed."""
        reached = [phase for one, phase in controls if self._reached(one, phase)]
        survived, most = reached.count(SURVIVED), CONTROLS // 2 + 1
        what = f"{BLAMED[self.phase]} after {self.actions} actions broke the attempt"
        times = f"{self.times} times of {self.times}"
        other = "not to decide" if self.phase == "policy" else "another action in its place"
        counted = f"{survived} of {len(reached)} replays with {other} survived"
        if survived >= most:
            return Cause("policy", "reproduced_crash", f"{what} {times}; {counted}")
        if len(reached) - survived >= most:
            return Cause("environment", BREAKS_ANYWAY, f"{what} {times}, but {counted}")
        return None

    def _reached(self, one: Loaded, phase: str) -> bool:
        """Whether a control came to the place in question, and did not break on the way there."""
        if one.about["control"] != self.actions or len(one.trajectory) < self.actions:
            return False
        # The replayed actions end in phase `act` where no action of its own follows.
        on_the_way = (phase, self.phase) == ("act", "policy")
        return phase == SURVIVED or (phase in BLAMED and not on_the_way)


def blame(tries: Sequence[tuple[Loaded, str]]) -> Blame | None:
    """What is to blame, if every one of enough tries that came furthest broke in the same phase."""
    furthest = max(len(one.trajectory) for one, _ in tries)
    phases = Counter(phase for one, phase in tries if len(one.trajectory) == furthest)
    # One that broke in a later phase had survived the earlier one.
    for phase in BLAMED:
        if phases[phase] >= REPRODUCED and (furthest or phase == "policy"):
            return Blame(phase, furthest, phases[phase])
        if phases[phase]:
            break
    return None


def other_actions(actions: Sequence[Action]) -> list[Action]:
    """Actions to perform in the place of the last one, each different from it and from each other.

    The latest earlier action of the trajectory that differs, then standing still (a control vector
    of zeros, a wait), then the trajectory's first action. They were taken earlier, or do nothing.
    """
    blamed, earlier = actions[-1], actions[:-1]
    still: Action = Wait(WAIT_MS)
    if isinstance(blamed, Control):
        still = Control((0,) * len(blamed.values), blamed.dtype)
    latest = [action for action in reversed(earlier) if action != blamed][:1]
    found = dict.fromkeys([*latest, still, *earlier[:1]])
    return [action for action in found if action != blamed]
