"""The frozen data of the engine: what is meant, what was seen, what was done, what was judged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NewType

from clew.core.actions import Action, canonical
from clew.core.canonical import canonical_json, check_text
from clew.core.errors import Refused, nearest

if TYPE_CHECKING:
    from clew.core.protocols import Observation

Key = NewType("Key", str)
Channels = frozenset[str]
Fingerprint = Mapping[str, str]
NOTHING: Channels = frozenset()

CLOCKS = frozenset({"stepped", "virtual", "real"})


@dataclass(frozen=True)
class Start:
    """s_0 as meant; nothing about the machine or versions that run it.

    `definition` is a digest of the task's files and initial state. `revision` is raised by an
    environment's author when equal actions mean another state. `options` is plain JSON data
    (screen, clock, settle rule, control mode); `options["clock"]` is one of `CLOCKS`.
    """

    environment: str
    task: str
    seed: int = 0
    definition: str = ""
    revision: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_text(self.environment, "environment"), check_text(self.task, "task")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise Refused(f"seed {self.seed!r} of {self.task!r} is not a whole number from 0 on")
        if self.clock not in CLOCKS:
            raise Refused(f"clock {self.clock!r} is unknown; {nearest(self.clock, CLOCKS)}")

    @property
    def clock(self) -> str:
        return str(self.options.get("clock", "stepped"))

    def json(self) -> dict[str, Any]:
        return {
            "environment": self.environment, "task": self.task, "seed": self.seed,
            "definition": self.definition, "revision": self.revision,
            "options": dict(self.options),
        }  # fmt: skip

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Start:
        """The start that `json` wrote. Raises `Refused` for unknown or missing fields."""
        known = set(cls.__dataclass_fields__)
        for name in data:
            if name not in known:
                raise Refused(f"start has the field {name!r}; {nearest(name, known)}")
        try:
            return cls(**data)
        except TypeError as error:
            raise Refused(f"start is incomplete: {error}") from None

    def key(self) -> Key:
        """`H(start)`, the head of the Merkle chain."""
        return Key(
            hashlib.sha256(b"clew start 1\n" + canonical_json(self.json(), "start")).hexdigest()
        )


def next_key(key: Key, action: Action) -> Key:
    """`key_{t+1} = H(key_t, canonical(a_t))`."""
    return Key(hashlib.sha256(bytes.fromhex(key) + canonical(action)).hexdigest())


@dataclass(frozen=True, slots=True)
class Seen:
    """An observation held in memory.

    `channels` maps a name to an array, text or plain data: `frame` is uint8 of shape (H, W, 3),
    RGB; `vector` a float array of shape (n,). `ended` says that the environment ended the
    episode. `notes` is plain data about how it was seen (settle reason and time, the element that
    was hit): evidence, never part of a key.
    """

    channels: Mapping[str, Any] = field(default_factory=dict)
    ended: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, channel: str) -> Any:
        try:
            return self.channels[channel]
        except KeyError:
            raise Refused(
                f"channel {channel!r} was not looked at; seen: {', '.join(self.channels) or 'none'}"
            ) from None

    def __contains__(self, channel: object) -> bool:
        return channel in self.channels

    def __iter__(self) -> Iterator[str]:
        return iter(self.channels)


UNSEEN = Seen()


@dataclass(frozen=True, slots=True)
class Moment:
    """What was seen and, for matchers and oracles only, the probe (privileged state).

    Probes of physical worlds share these names, which `clew.match` compares in mm and rad:
    `bodies` (n names), `position_m` (n, 3) float64, `quaternion_wxyz` (n, 4) float64, and
    `robot` (the names that belong to the robot). Any other numeric array is compared by its
    largest absolute difference.
    """

    seen: Observation = UNSEEN
    probe: Mapping[str, Any] | None = None


class Step(NamedTuple):
    """One action, the moment before it, the decision that chose it (−1: replayed or scripted).

    `gap_s` is the time between the end of the previous act and this one, in seconds on a real
    clock; 0 where the clock is stepped or virtual.
    """

    before: Moment
    action: Action
    decision: int = -1
    gap_s: float = 0.0


@dataclass(frozen=True)
class Trajectory:
    """T steps and T + 1 moments, any of which may be unseen."""

    start: Start
    steps: Sequence[Step] = ()
    last: Moment = Moment()
    _keys: list[Key] = field(default_factory=list, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.steps)

    def key(self, t: int | None = None) -> Key:
        """Merkle key after `t` actions (default: all)."""
        t = self._within(len(self.steps) if t is None else t)
        keys = self._keys
        if not keys:
            keys.append(self.start.key())
        while len(keys) <= t:
            keys.append(next_key(keys[-1], self.steps[len(keys) - 1].action))
        return keys[t]

    def prefix(self, t: int) -> Trajectory:
        """The first `t` steps."""
        t = self._within(t)
        return Trajectory(self.start, tuple(self.steps[:t]), self.moment(t), self._keys[: t + 1])

    def moment(self, t: int) -> Moment:
        """The moment before action `t`; `last` for t = T."""
        t = self._within(t)
        return self.last if t == len(self.steps) else self.steps[t].before

    def actions(self, t: int = 0) -> tuple[Action, ...]:
        """The actions from `t` on."""
        return tuple(step.action for step in self.steps[self._within(t) :])

    def rebase(self, start: Start) -> Trajectory:
        """The same actions (and gaps) from another start; nothing seen."""
        steps = tuple(Step(Moment(), s.action, s.decision, s.gap_s) for s in self.steps)
        return Trajectory(start, steps)

    def _within(self, t: int) -> int:
        if not 0 <= t <= len(self.steps):
            raise Refused(f"step {t} is outside the trajectory: it has {len(self.steps)} actions")
        return t


@dataclass(frozen=True)
class Brief:
    """All a policy is told, its only memory."""

    instruction: str = ""
    history: Trajectory | None = None
    target: Observation | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    pending: tuple[Action, ...] = ()


@dataclass(frozen=True)
class Decision:
    """One model call: actions in order (perhaps none), a wish to stop, the raw reply, its price.

    `raw` is plain JSON data, kept beside the decision and never executed. `policy_s` is the
    thinking time in seconds; the engine measures it.
    """

    actions: tuple[Action, ...]
    stop: Literal["", "done", "give_up"] = ""
    raw: Any = None
    usd: float = 0.0
    policy_s: float = 0.0


@dataclass(frozen=True)
class Budget:
    """Limits on the policy; reaching one stops the rollout, and the state is still judged."""

    actions: int | None = None
    decisions: int | None = None
    policy_s: float | None = None
    usd: float | None = None


@dataclass(frozen=True)
class Judgement:
    """What an oracle says of a state; `score` and `parts` are in [0, 1]."""

    passed: bool
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """One comparison: the answer, every rung's figure, and what the figures are made of."""

    same: bool
    rungs: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    def why(self) -> str:
        """The rungs and notes in one line, for messages and reports."""
        figures = [f"{name} {value:.6g}" for name, value in self.rungs.items()]
        words = [f"{name} {value}" for name, value in self.notes.items()]
        return ", ".join(figures + words) or "nothing was compared"

    def json(self) -> dict[str, Any]:
        return {"same": self.same, "rungs": dict(self.rungs), "notes": dict(self.notes)}


@dataclass(frozen=True)
class Certificate:
    """`passed` of `replays` cold replays, where, at which pace, by which paths.

    `interval` is the 95 % Wilson interval of the reproduction rate. `paths[i]` holds the
    evidence of replay i; `troubles[i]` the cause that broke it off, or None.
    """

    key: Key
    fingerprint: Fingerprint
    passed: int
    replays: int
    paths: tuple[tuple[Evidence, ...], ...]
    interval: tuple[float, float]
    pace: float = 1.0
    troubles: tuple[str | None, ...] = ()
