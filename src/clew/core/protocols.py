"""What environments, sessions, policies and matchers promise. Structural: nothing to inherit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from clew.core.actions import Action

from clew.core.data import (  # isort: skip
    Brief, Channels, Decision, Evidence, Fingerprint, Judgement, Moment, Start, Step,
)  # fmt: skip


@runtime_checkable
class Observation(Protocol):
    """Some channels of one moment, each loaded when it is read."""

    @property
    def ended(self) -> bool: ...
    @property
    def notes(self) -> Mapping[str, Any]: ...
    def __getitem__(self, channel: str) -> Any: ...
    def __contains__(self, channel: object) -> bool: ...
    def __iter__(self) -> Any: ...


class Session(Protocol):
    """One episode's running world. Not thread-safe; one at a time acts."""

    def observe(self, see: Channels) -> Observation:
        """Look without touching. Raises `Refused` for a channel that is not there."""
        ...

    def act(self, action: Action, see: Channels) -> Observation:
        """Act, settle, and show the channels that were asked for beforehand.

        Raises `Refused` for an action of the wrong kind, width or dtype, and for a channel that is
        not there, before anything moves.
        """
        ...

    def close(self) -> None:
        """End the episode; closing twice does nothing."""
        ...


class Environment(Protocol):
    """Heavy; one per worker, reused for many sessions."""

    def open(self, start: Start) -> Session:
        """Equal starts give equal sessions, whatever ran before."""
        ...

    def fingerprint(self) -> Fingerprint:
        """Named facts that may move a state: versions, assets, renderer, CPU features."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...


@runtime_checkable
class Described(Protocol):
    """An environment that can say what it holds."""

    def tasks(self) -> tuple[str, ...]:
        """The task names."""
        ...

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        """The start of a task, definition digest and revision filled in; `Refused` if unknown."""
        ...

    def instruction(self, task: str) -> str:
        """What a policy is told to do."""
        ...

    def budget(self, task: str) -> int:
        """The task's full number of actions."""
        ...


@runtime_checkable
class Probed(Protocol):
    """A session whose privileged state can be read."""

    def probe(self) -> Mapping[str, Any]:
        """The privileged state (names in `clew.core.data.Moment`); changes nothing."""
        ...


@runtime_checkable
class Expects(Protocol):
    """A session on a real clock that can wait for what a replayed act showed when recorded."""

    def expect(self, seen: Observation, pace: float) -> None:
        """The next act also waits, as long as its own cap allows, until `seen` shows.

        It waits the recorded settling time, times `pace`, in any case. An extra condition, never
        a shortcut, and no promise: the comparison is made afterwards.
        """
        ...


@runtime_checkable
class Saved(Protocol):
    """A session that can be stored and restored."""

    @property
    def exact(self) -> bool:
        """True when a restored session continues bit for bit."""
        ...

    def save(self) -> bytes:
        """The whole state; never a pickle. Equal states give equal bytes."""
        ...

    def load(self, state: bytes) -> None:
        """Back to it, also in a used session of another seed.

        Raises `Refused` for bytes that `save` did not write (cut off, damaged, another format);
        the session then stays as it was.
        """
        ...


@runtime_checkable
class Judged(Protocol):
    """A session that carries its task's own oracle."""

    @property
    def judging(self) -> Literal["pure", "final"]:
        """`pure` changes nothing; `final` spends the session."""
        ...

    def judge(self) -> Judgement:
        """The task's own oracle."""
        ...


class Policy(Protocol):
    """Chooses actions; holds no memory itself."""

    @property
    def sees(self) -> Channels: ...
    def begin(self, brief: Brief) -> Actor:
        """A fresh actor that holds all memory; the brief is all it is told."""
        ...


class Actor(Protocol):
    """One policy at work in one attempt."""

    def decide(self, seen: Observation) -> Decision:
        """One model call."""
        ...


@runtime_checkable
class Recalls(Protocol):
    """An actor that can be rebuilt from recorded decisions without calling its model."""

    def recall(self, seen: Observation, decision: Decision) -> None:
        """Remember that this was seen and that this was decided."""
        ...


class Match(Protocol):
    """Is this state that state?"""

    @property
    def sees(self) -> Channels: ...
    def __call__(self, recorded: Moment, reached: Moment) -> Evidence: ...


class Sink(Protocol):
    """Where an episode writes; each call returns when the fact will survive this process."""

    def began(self, start: Start, moment: Moment) -> None:
        """The session is open."""
        ...

    def decided(self, number: int, decision: Decision) -> None:
        """Decision `number` (0, 1, …) was made."""
        ...

    def acting(self, t: int, step: Step) -> None:
        """Action `t` is about to run."""
        ...

    def acted(self, t: int, moment: Moment) -> None:
        """Action `t` has run; `moment` is what is there after it."""
        ...


Oracle = Callable[[Session], Judgement]
