"""An episode: a session and its trajectory, inseparable. It acts and records; it judges nothing itself."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from clew.core import (  # isort: skip
    NOTHING, UNSEEN, Action, Actor, Brief, Budget, Cause, Channels, ClewError, Decision, Diverged,
    Environment, Evidence, Expects, Judged, Judgement, Match, Moment, Observation, Oracle, Policy,
    Probed, Recalls, Refused, Session, SessionSpent, Sink, Start, Step, Trajectory, Trouble, boundary,
)  # fmt: skip
from clew.core.actions import KINDS
from clew.core.canonical import plain
from clew.core.errors import attributed
from clew.match import compare

#: The moment at which nothing was looked at: one for all, as most control steps end in it.
_UNSEEN = Moment()
#: Makes a step without the call in Python that `Step(...)` is.
_tuple = tuple.__new__


class Episode:
    """A session and its trajectory; a context manager that closes the session.

    `see` names the channels recorded at every moment, `probe` records the privileged state there
    too. `path` is the evidence of the moments compared on the way here, `snapshot` the name of the
    snapshot that it was restored from (empty: replayed or begun cold).
    """

    def __init__(
        self, session: Session, start: Start, steps: Iterable[Step] = (), *,
        see: Channels = NOTHING, probe: bool = False, sink: Sink | None = None,
    ) -> None:  # fmt: skip
        self.session, self.start, self.see, self.probe = session, start, see, probe
        self.path: tuple[Evidence, ...] = ()
        self.snapshot = ""
        self._sink = sink
        self._steps: list[Step] = list(steps)
        self._now = Moment()
        self._decisions = 0
        # By its method alone: isinstance of a protocol costs as much as ten acts' bookkeeping.
        self._probed = cast("Probed", session) if hasattr(session, "probe") else None
        self._real = start.clock == "real"
        self._idle_since = time.monotonic() if self._real else 0.0
        self._over = ""
        self._not_taken: Refused | None = None

    @property
    def trajectory(self) -> Trajectory:
        """What has been done so far."""
        return Trajectory(self.start, tuple(self._steps), self._now)

    @property
    def now(self) -> Moment:
        """The moment after the last action."""
        return self._now

    def __len__(self) -> int:
        return len(self._steps)

    def look(self, see: Channels, probe: bool) -> Moment:
        """Observe the present moment, without acting, and record it."""
        with boundary("environment"):
            seen: Observation = self.session.observe(see) if see else UNSEEN
        self._now = Moment(seen, self._privileged(probe))
        return self._now

    def compare(self, match: Match, recorded: Moment) -> Evidence:
        """The present moment against a recorded one. Raises `Trouble` of the judge."""
        with boundary("judge", "match"):
            return compare(match, recorded, self._now)

    def began(self) -> None:
        """Tell the sink that the session is open; called once, after the first look."""
        if self._sink is not None:
            self._sink.began(self.start, self._now)

    def act(
        self, action: Action, *, decision: int = -1, see: Channels | None = None,
        probe: bool | None = None, gap_s: float | None = None,
    ) -> Observation:  # fmt: skip
        """One step. Self-driving (MCP) agents call this.

        `see` and `probe` default to the episode's. `gap_s` is the least time since the last act,
        in seconds, that a replay on a real clock keeps. Raises `Refused` for an action that the
        session does not take, `Trouble` of the environment for anything else that it raises, and
        `SessionSpent` after a final judgement.
        """
        if self._over:
            raise SessionSpent(f"the session cannot act: {self._over}")
        waited_s = self._waited(gap_s) if self._real else 0.0
        step = _tuple(Step, (self._now, action, decision, waited_s))
        sink, t = self._sink, len(self._steps)
        if sink is not None:
            sink.acting(t, step)
        self._steps.append(step)
        try:
            seen = self.session.act(action, self.see if see is None else see)
        except Refused as error:
            self._not_taken = error
            self._steps.pop()
            raise
        except Exception as error:
            self._now = Moment()
            if isinstance(error, ClewError):
                raise
            raise attributed(error, "environment", "crash") from error
        if self._real:
            self._idle_since = time.monotonic()
        self._now = _UNSEEN if seen is UNSEEN else Moment(seen)
        if self.probe if probe is None else probe:
            self._now = Moment(seen, self._privileged(True))
        if sink is not None:
            sink.acted(t, self._now)
        return seen

    def rollout(
        self, policy: Policy, brief: Brief, budget: Budget, until: Oracle | None = None,
        recorded: Sequence[Decision] = (), broken: Trajectory | None = None,
        match: Match | None = None,
    ) -> str:  # fmt: skip
        """Run `policy` until something stops it; return what: `done`, `give_up`, `ended`,
        `until`, `actions`, `decisions`, `policy_s` or `usd`.

        `until` is asked before the first decision's actions and after every action. `recorded`
        are the decisions of the `broken` attempt: they are carried out, with its gaps, instead of
        asking the actor, which is rebuilt from them (`Recalls`, or by deciding the same again).
        The moments they were made on are compared with `match`; `Diverged` when one differs.
        Raises `Trouble` of the policy for an action that is refused, or is none.
        """
        actor, sees = _begun(policy, brief)
        meter = _Meter(budget)
        if until is not None and self._asked(until):
            return "until"
        if self._now.seen.ended:
            return "ended"
        stop = self._carry_out(brief.pending, -1, sees, meter, until, broken)
        while not stop and not (stop := meter.reached()):
            number, seen = self._decisions, self._seen(sees)
            if meter.decisions < len(recorded):
                decision = recorded[meter.decisions]
                if match is not None and broken is not None:
                    self._must_meet(match, broken, number)
                _rebuild(actor, seen, decision)
            else:
                decision = _decided(actor, seen)
            self._decisions += 1
            meter.count(decision)
            if self._sink is not None:
                self._sink.decided(number, decision)
            stop = self._carry_out(decision.actions, number, sees, meter, until, broken)
            stop = stop or decision.stop
        return stop

    def graft(
        self, actions: Iterable[Action], like: Trajectory | None = None, match: Match | None = None
    ) -> tuple[Evidence, ...]:
        """Run given actions; compare each moment with the last ones of `like`; raise nothing
        for a difference. Returns one evidence per action (none without `like` and `match`)."""
        actions = tuple(actions)
        found: list[Evidence] = []
        for i, action in enumerate(actions):
            if like is None or match is None:
                self.act(action)
                continue
            self.act(action, see=self.see | match.sees, probe=True)
            found.append(self.compare(match, like.moment(len(like) - len(actions) + i + 1)))
        return tuple(found)

    def judge(self, oracle: Oracle | None = None) -> Judgement:
        """The oracle's word on the present state. If it is final, every later act raises
        `SessionSpent`. Raises `Trouble` of the judge, `Refused` when there is no oracle."""
        session = self.session
        if self._over:
            raise SessionSpent(f"the session cannot be judged: {self._over}")
        if oracle is not None:
            with boundary("judge"):
                return oracle(session)
        if not isinstance(session, Judged):
            raise Refused(
                f"{self.start.environment!r} has no oracle of its own for {self.start.task!r}: pass one"
            )
        if session.judging == "final":
            self._over = "its final judgement was given"
        with boundary("judge"):
            return session.judge()

    def close(self) -> None:
        """End the episode; closing twice does nothing."""
        if self._over != "it is closed":
            self._over = "it is closed"
            with boundary("environment", "close"):
                self.session.close()

    def __enter__(self) -> Episode:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.close_after(error)

    def close_after(self, error: BaseException | None) -> None:
        """Close; what broke may not close either, and then `error` is the one to tell."""
        try:
            self.close()
        except Trouble:
            if error is None:
                raise

    def _carry_out(
        self, actions: Sequence[Action], number: int, sees: Channels, meter: _Meter,
        until: Oracle | None, broken: Trajectory | None,
    ) -> str:  # fmt: skip
        for i, action in enumerate(actions):
            if meter.actions == meter.budget.actions:
                return "actions"
            see = self.see | sees if i == len(actions) - 1 else self.see
            t = len(self._steps)
            gap_s = None
            if broken is not None and t < len(broken):
                gap_s = broken.steps[t].gap_s
                expect(self.session, broken.moment(t + 1))
            try:
                seen = self.act(action, decision=number, see=see, gap_s=gap_s)
            except Refused as error:
                if error is not self._not_taken:  # a sink's: the disk is full
                    raise
                raise _invalid_action(error) from error
            meter.actions += 1
            if until is not None and self._asked(until):
                return "until"
            if seen.ended:
                return "ended"
        return ""

    def _asked(self, until: Oracle) -> bool:
        with boundary("judge"):
            return until(self.session).passed

    def _seen(self, sees: Channels) -> Observation:
        if not all(channel in self._now.seen for channel in sees):
            with boundary("environment"):
                seen = self.session.observe(self.see | sees)
            self._now = Moment(seen, self._now.probe)
        return self._now.seen

    def _must_meet(self, match: Match, broken: Trajectory, number: int) -> None:
        """The moment on which decision `number` was made, if the broken attempt acted on it."""
        t = len(self._steps)
        if t >= len(broken) or broken.steps[t].decision != number:
            return
        recorded = broken.moment(t)
        if recorded.probe is not None and self._now.probe is None:
            self._now = Moment(self._now.seen, self._privileged(True))
        evidence = self.compare(match, recorded)
        if not evidence.same:
            raise Diverged(t, evidence)

    def _privileged(self, wanted: bool) -> Any:
        if not wanted or self._probed is None:
            return None
        with boundary("environment", "probe"):
            return self._probed.probe()

    def _waited(self, gap_s: float | None) -> float:
        left = (gap_s or 0.0) - (time.monotonic() - self._idle_since)
        if left > 0:
            time.sleep(left)
        return time.monotonic() - self._idle_since


def expect(session: Session, moment: Moment, pace: float = 1.0) -> None:
    """Tell a session on a real clock what its next act showed when it was recorded."""
    if hasattr(session, "expect"):  # by its method alone, as for `probe`: this runs at every step
        with boundary("environment", "expect"):
            cast("Expects", session).expect(moment.seen, pace)


class _Meter:
    """What a rollout has used of its budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.actions = self.decisions = 0
        self.policy_s = self.usd = 0.0

    def count(self, decision: Decision) -> None:
        self.decisions += 1
        self.policy_s += decision.policy_s
        self.usd += decision.usd

    def reached(self) -> str:
        for name in ("actions", "decisions", "policy_s", "usd"):
            limit = getattr(self.budget, name)
            if limit is not None and getattr(self, name) >= limit:
                return name
        return ""


def _begun(policy: Policy, brief: Brief) -> tuple[Actor, Channels]:
    try:
        with boundary("policy"):
            return policy.begin(brief), frozenset(policy.sees)
    except ClewError as error:
        raise _policys(error) from error


def _decided(actor: Actor, seen: Observation) -> Decision:
    """One decision, its fields checked: whatever is wrong with it is the policy's doing."""
    began = time.perf_counter()
    try:
        with boundary("policy"):
            decision = actor.decide(seen)
            actions = tuple(decision.actions)
            for action in actions:
                if type(action) not in KINDS.values():
                    raise Refused(f"the policy decided {action!r}, which is not an action")
            if decision.stop not in ("", "done", "give_up"):
                raise Refused(f"the policy's stop is {decision.stop!r}: '', 'done' or 'give_up'")
            usd = float(plain(float(decision.usd), "usd"))
            spent = time.perf_counter() - began
            return Decision(actions, decision.stop, _recordable(decision.raw), usd, spent)
    except ClewError as error:
        raise _policys(error) from error


def _recordable(raw: Any) -> Any:
    """A raw reply as plain data; what is not (NaN, arrays, deep nesting) is kept as text."""
    try:
        return plain(raw, "raw")
    except (Refused, RecursionError):
        return {"as_text": repr(raw)[:100_000].encode("utf-8", "replace").decode()}


def _policys(error: ClewError) -> Trouble:
    """What was raised inside a policy is the policy's, also an error of ours."""
    if isinstance(error, Trouble) and error.cause.party == "policy":
        return error
    if isinstance(error, Refused):
        return _invalid_action(error)
    return Trouble(Cause("policy", "error", f"{type(error).__name__}: {error}"[:500]))


def _invalid_action(error: Refused) -> Trouble:
    return Trouble(Cause("policy", "invalid_action", str(error)))


def _rebuild(actor: Actor, seen: Observation, decision: Decision) -> None:
    """Give the actor the memory that it had after `decision`."""
    if isinstance(actor, Recalls):
        with boundary("policy"):
            actor.recall(seen, decision)
    elif _decided(actor, seen).actions != decision.actions:
        raise Trouble(
            Cause("harness", "not_resumable", "the policy decided differently on the same moment;"
                  " give its actor a `recall` method")
        )  # fmt: skip


def begin(
    environment: Environment, start: Start, *,
    see: Channels = NOTHING, probe: bool = False, sink: Sink | None = None,
) -> Episode:  # fmt: skip
    """An episode at s_0, with its first moment seen."""
    with closed_on_failure(opened(environment, start, see=see, probe=probe, sink=sink)) as episode:
        episode.look(see, probe)
        episode.began()
    return episode


def opened(environment: Environment, start: Start, **options: Any) -> Episode:
    """An episode of which nothing has been seen, and whose sink has not been told."""
    with boundary("environment", "open"):
        session = environment.open(start)
    return Episode(session, start, **options)


@contextmanager
def closed_on_failure(episode: Episode) -> Iterator[Episode]:
    """Close the episode if what is inside fails; hand it on open if not."""
    try:
        yield episode
    except BaseException as error:
        episode.close_after(error)
        raise
