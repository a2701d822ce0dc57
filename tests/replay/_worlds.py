"""Small worlds, actors and sinks that the tests of the verbs are made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clew.core import (
    Brief,
    Control,
    Decision,
    Judgement,
    Moment,
    Refused,
    Seen,
    Start,
    Step,
    Trajectory,
    Trouble,
)

VECTOR = frozenset({"vector"})


def count(value: int) -> Control:
    """An action of `unreliable` and of `World`."""
    return Control((value,), "int64")


class World:
    """A number, to which actions are added.

    `breaks` is called with the session and a place ("open", "observe", "act", "probe", "judge",
    "save", "load", "close"), before what happens there (after it for "load"), and may raise or
    change something.
    """

    def __init__(
        self,
        breaks: Callable[[WorldSession, str], None] = lambda session, place: None,
        *,
        ends_at: int = 1000,
        goal: int = 5,
        judging: str = "pure",
    ) -> None:
        self.breaks, self.ends_at, self.goal, self.judging = breaks, ends_at, goal, judging
        self.sessions: list[WorldSession] = []
        self.closed = 0

    def start(self, seed: int = 0, **options: Any) -> Start:
        return Start("world", "number", seed, "number 1", 1, options)

    def open(self, start: Start) -> WorldSession:
        session = WorldSession(self, start)
        self.breaks(session, "open")
        self.sessions.append(session)
        return session

    @property
    def left_open(self) -> int:
        return sum(session.is_open for session in self.sessions)

    def fingerprint(self) -> Mapping[str, str]:
        return {"world": "1"}

    def close(self) -> None:
        self.closed += 1


class WorldSession:
    exact = True

    def __init__(self, world: World, start: Start) -> None:
        self.world, self.is_open = world, True
        self.number, self.acts, self.hidden = float(start.seed), 0, 0.0
        self.received: list[Control] = []

    @property
    def judging(self) -> Any:
        return self.world.judging

    def observe(self, see):
        self.world.breaks(self, "observe")
        ended = self.acts >= self.world.ends_at
        return Seen({name: np.array([self.number]) for name in see}, ended)

    def act(self, action, see):
        if not isinstance(action, Control) or len(action.values) != 1:
            raise Refused(f"world takes one number, not {action}")
        self.world.breaks(self, "act")
        self.received.append(action)
        self.number += action.values[0]
        self.acts += 1
        return self.observe(see)

    def probe(self):
        self.world.breaks(self, "probe")
        return {"number": np.array([self.number, self.acts, self.hidden])}

    def save(self):
        self.world.breaks(self, "save")
        return json.dumps([self.number, self.acts, self.hidden]).encode()

    def load(self, state):
        self.number, self.acts, self.hidden = json.loads(state)
        self.world.breaks(self, "load")

    def judge(self):
        self.world.breaks(self, "judge")
        return Judgement(self.number >= self.world.goal, min(max(self.number / 100, 0.0), 1.0))

    def close(self):
        self.world.breaks(self, "close")
        self.is_open = False


class Says:
    """A policy whose actors make the given decisions, one after another; then give up."""

    def __init__(self, *decisions: Decision, sees=VECTOR) -> None:
        self.decisions, self.sees = decisions, sees
        self.briefs: list[Brief] = []
        self.asked = 0

    def begin(self, brief):
        self.briefs.append(brief)
        return _Saying(self)


class _Saying:
    def __init__(self, policy: Says) -> None:
        self._policy, self._left = policy, list(policy.decisions)

    def decide(self, seen):
        self._policy.asked += 1
        return self._left.pop(0) if self._left else Decision((), "give_up")


class Adds:
    """Decides by what it sees and remembers: chunks of unlike lengths, some of them empty.

    With `recalls` its actors have `recall`; with `luck` they decide by dice of the machine, so
    that only a recall can rebuild them. `asked` counts the model calls.
    """

    sees = VECTOR

    def __init__(self, luck: np.random.Generator | None = None, recalls: bool = False) -> None:
        self.luck, self.recalls, self.asked = luck, recalls, 0

    def begin(self, brief):
        return (_Recalling if self.recalls else _Adding)(self, brief)


class _Adding:
    def __init__(self, policy: Adds, brief: Brief) -> None:
        self._policy, self._turn, self._sum = policy, 0, float(brief.seed)

    def decide(self, seen):
        policy = self._policy
        policy.asked += 1
        dice = int(policy.luck.integers(100)) if policy.luck is not None else 0
        mixed = int(self._sum) + self._turn * 3 + dice
        actions = tuple(count((mixed + i) % 4 - 1) for i in range(mixed % 4))
        decision = Decision(actions, raw={"turn": self._turn, "sum": self._sum})
        self._remember(seen)
        return decision

    def _remember(self, seen):
        self._turn += 1
        self._sum += float(seen["vector"][0])


class _Recalling(_Adding):
    def recall(self, seen, decision):
        assert decision.raw["turn"] == self._turn
        self._remember(seen)


class Tape:
    """A sink that keeps everything in order, and rebuilds what a broken attempt left behind."""

    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []

    def began(self, start, moment):
        self.lines = [("began", start, moment)]

    def decided(self, number, decision):
        self.lines.append(("decided", number, decision))

    def acting(self, t, step):
        self.lines.append(("acting", t, step))

    def acted(self, t, moment):
        self.lines.append(("acted", t, moment))

    def trajectory(self) -> Trajectory:
        steps: list[Step] = []
        last = self.lines[0][2]
        for name, _, what in self.lines[1:]:
            if name == "acting":
                steps.append(what)
                last = Moment()
            elif name == "acted":
                last = what
        return Trajectory(self.lines[0][1], tuple(steps), last)

    def decisions(self) -> tuple[Decision, ...]:
        return tuple(what for name, _, what in self.lines if name == "decided")


class Breaks(Tape):
    """A tape that breaks the harness when `left` more lines have been written."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    def decided(self, number, decision):
        super().decided(number, decision)
        self._count()

    def acting(self, t, step):
        super().acting(t, step)
        self._count()

    def acted(self, t, moment):
        super().acted(t, moment)
        self._count()

    def _count(self):
        self.left -= 1
        if self.left == 0:
            raise Broken


class Broken(Exception):
    """The machine went down."""


def raising(place: str, after: int = 0) -> Callable[[WorldSession, str], None]:
    """Raise a plain error at `place`, after it was passed `after` times."""
    passed = [0]

    def breaks(session, here):
        if here == place:
            passed[0] += 1
            if passed[0] > after:
                raise ValueError(f"broken at {place}")

    return breaks


def cause_of(trouble) -> tuple[str, str]:
    assert isinstance(trouble.value, Trouble)
    return trouble.value.cause.party, trouble.value.cause.kind
