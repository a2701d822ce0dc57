"""What every environment promises, as tests that fail in sentences.

    class TestMine(clew.testing.EnvironmentConformance):
        def environment(self):
            return Mine()

        def starts(self, environment):
            return [environment.start("task", seed) for seed in (0, 1)]

        def actions(self, start):
            return [Control((0.1, 0.0), "float32")] * 20

Two starts or more, of different seeds where the environment has seeds. Override `refused` with
more actions that must not be taken, and `golden` with state digests that pin today's behaviour.

Two moments are the same where their exact snapshots are (of sessions that have them) and `match`
says so of what was looked at and probed. On a real clock or a real screen, give `match` what still
counts as the same, `gap_s` the pace at which your actions are certain, and, where opening is dear,
fewer `repeats`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clew.core import (
    NOTHING,
    Action,
    Channels,
    Control,
    Environment,
    Evidence,
    Fingerprint,
    Judged,
    Judgement,
    Match,
    Moment,
    Observation,
    Probed,
    Refused,
    Saved,
    Session,
    Start,
    Text,
    digest,
    value_digest,
)
from clew.core.canonical import canonical_json
from clew.match import Exact, compare
from clew.testing.promise import promise

EXACT = Exact()


class EnvironmentConformance:
    """Inherit, name the environment, its starts and its actions; pytest runs the rest."""

    #: Channels to compare; frames too, where the environment can draw them.
    channels: Channels = frozenset({"vector"})
    #: Which moments are the same.
    match: Match = EXACT
    #: Environments opened and closed to look for leaks, and at most so many snapshots to continue.
    repeats: int = 3
    #: Least time between two acts, in seconds, for worlds on a real clock.
    gap_s: float = 0.0

    def environment(self) -> Environment:
        """A new environment."""
        raise NotImplementedError("conformance: say which environment to test")

    def starts(self, environment: Environment) -> Sequence[Start]:
        """At least two starts, of different seeds where there are seeds."""
        raise NotImplementedError("conformance: say which starts to test")

    def actions(self, start: Start) -> Sequence[Action]:
        """At least two actions that change something from this start."""
        raise NotImplementedError("conformance: say which actions to test")

    def refused(self, start: Start) -> Sequence[Action]:
        """Actions of a wrong width or kind, which must be `Refused` before anything moves."""
        controls = [a for a in self.actions(start) if isinstance(a, Control)]
        if not controls:
            return (Control((0.0,)),)
        return wrong_widths(len(controls[0].values), controls[0].dtype)

    def golden(self) -> Mapping[int, str]:
        """Index of a start → the state digest after all its actions, on this fingerprint."""
        return {}

    @promise
    def test_equal_starts_give_equal_sessions_whatever_ran_before(self) -> None:
        """Equal starts and actions lead to the same moments, also in a used environment."""
        with self._opened() as (fresh, starts):
            alone = self._run(fresh, starts[0])
        with self._opened() as (used, starts):
            for other in (*starts[1:], starts[0], *starts[1:]):
                self._run(used, other)
            after = self._run(used, starts[0])
        self._must_be(
            after, alone, "a session depends on what ran before it in the same environment"
        )

    @promise
    def test_a_session_left_in_the_middle_does_not_touch_the_next_one(self) -> None:
        """A session that is closed early leaves nothing in its environment."""
        with self._opened() as (environment, starts):
            whole = self._run(environment, starts[0])
            with self._session(environment, starts[1]) as broken_off:
                self._act(broken_off, self.actions(starts[1])[0], NOTHING)
            again = self._run(environment, starts[0])
        self._must_be(again, whole, "an unfinished session left something")

    @promise
    def test_another_seed_gives_another_session(self) -> None:
        """Starts that differ in their seed alone show, hold or save something different."""
        with self._opened() as (environment, starts):
            one, other = starts[:2]
            if replace(one, seed=other.seed) == other and one.seed != other.seed:
                first, second = (self._first(environment, start) for start in (one, other))
                assert self._apart(first, second, EXACT), "the seed changes nothing"

    @promise
    def test_different_actions_give_different_states(self) -> None:
        """The given actions change something, without which no other test could fail."""
        with self._opened() as (environment, starts):
            with self._session(environment, starts[0]) as session:
                before = self._now(session)
                for action in self.actions(starts[0]):
                    self._act(session, action, NOTHING)
                after = self._now(session)
        assert self._apart(before, after, EXACT), (
            "the given actions move nothing: the other tests could not fail"
        )

    @promise
    def test_looking_changes_nothing(self) -> None:
        """`observe` touches nothing, and an act leads to the same state whatever it shows."""
        with self._opened() as (environment, starts):
            blind = self._end(environment, starts[0], see=NOTHING)
            with self._session(environment, starts[0]) as session:
                for action in self.actions(starts[0]):
                    before = self._now(session)
                    first = self._look(session)
                    self._must_be(
                        [replace(self._now(session), looked=self._look(session))],
                        [replace(before, looked=first)], "observe changes the state",
                    )  # fmt: skip
                    self._act(session, action, self.channels)
                looking = self._now(session)
        self._must_be([looking], [blind], "the state depends on which channels were looked at")

    @promise
    def test_an_act_shows_what_was_asked_and_nothing_else(self) -> None:
        """`act` shows exactly the channels that were named before it."""
        with self._opened() as (environment, starts):
            with self._session(environment, starts[0]) as session:
                action, *others = self.actions(starts[0])
                asked = self._act(session, action, self.channels)
                unasked = self._act(session, others[0] if others else action, NOTHING)
        assert set(asked) == set(self.channels), "an act does not show the channels asked for"
        assert not set(unasked), "an act shows channels nobody asked for"

    @promise
    def test_an_unknown_channel_is_refused(self) -> None:
        """`observe` and `act` raise `Refused`, in one sentence, for a channel that is not there;
        then the act did not happen."""
        unknown = frozenset({"no such channel"})
        with self._opened() as (environment, starts):
            with self._session(environment, starts[0]) as session:
                before = self._now(session)
                _must_refuse(partial(session.observe, unknown), "an unknown channel")
                action = self.actions(starts[0])[0]
                _must_refuse(partial(session.act, action, unknown), "an unknown channel of an act")
                self._must_be(
                    [self._now(session)], [before], "an act refused for its channel moved something"
                )

    @promise
    def test_probing_changes_nothing(self) -> None:
        """Two probes of one state are the same, and probed sessions go the way of others."""
        with self._opened() as (environment, starts):
            with self._session(environment, starts[0]) as session:
                probed = isinstance(session, Probed)
            if not probed:
                return

            def twice(session: Session) -> None:
                assert isinstance(session, Probed)
                looked = self._look(session)
                first, second = (_Point(looked, _probed(session)) for _ in range(2))
                self._must_be([second], [first], "two probes of one state differ")

            found = self._end(environment, starts[0], twice)
            plain = self._end(environment, starts[0], self._look)
        self._must_be([found], [plain], "probe changes the state")

    @promise
    def test_a_pure_oracle_changes_nothing(self) -> None:
        """Two judgements of one state are equal, and judged sessions go the way of others."""
        with self._opened() as (environment, starts):
            with self._session(environment, starts[0]) as session:
                pure = isinstance(session, Judged) and session.judging == "pure"
            if not pure:
                return

            def twice(session: Session) -> None:
                assert isinstance(session, Judged)
                first, second = _judged(session), _judged(session)
                assert first == second, "two judgements of one state differ"
                assert 0.0 <= first.score <= 1.0, "a score lies outside [0, 1]"

            found = self._end(environment, starts[0], twice)
            plain = self._end(environment, starts[0])
        self._must_be([found], [plain], "judge changes the state")

    @promise
    def test_a_snapshot_continues_exactly_in_a_used_session_of_another_seed(self) -> None:
        """What an exact session saved leads on, in a used session of another start, as it would
        have led on where it was saved."""
        with self._opened() as (environment, starts):
            actions = self.actions(starts[0])
            moments = sorted({1, len(actions) // 2, len(actions) - 1})
            for t in moments[: self.repeats]:
                with self._session(environment, starts[0]) as session:
                    if not isinstance(session, Saved) or not session.exact:
                        return
                    for action in actions[:t]:
                        self._act(session, action, NOTHING)
                    state = _saved(session)
                    truth = [self._step(session, a) for a in actions[t:]]
                with self._session(environment, starts[1]) as used:
                    assert isinstance(used, Saved)
                    self._act(used, self.actions(starts[1])[0], NOTHING)
                    used.load(state)
                    same = _saved(used) == state
                    assert same, f"saving after a load gives other bytes (step {t})"
                    found = [self._step(used, a) for a in actions[t:]]
                self._must_be(found, truth, f"a session restored at step {t} goes another way")

    @promise
    def test_damaged_snapshots_are_refused(self) -> None:
        """`load` raises `Refused`, in one sentence, for bytes that `save` did not write (none, cut
        off, a pickle), and then the session is where it was."""
        with self._opened() as (environment, starts):
            with self._session(environment, starts[0]) as session:
                if not isinstance(session, Saved):
                    return
                whole, before = _saved(session), self._now(session)
                for damaged in (b"", whole[:-1], b"\x80\x04N."):
                    _must_refuse(partial(session.load, damaged), "a damaged snapshot")
                    self._must_be(
                        [self._now(session)], [before], "a refused snapshot moved something"
                    )

    @promise
    def test_wrong_actions_are_refused_before_anything_moves(self) -> None:
        """`act` raises `Refused`, in one sentence, for an action that the session does not take;
        then nothing has moved."""
        with self._opened() as (environment, starts):
            with self._session(environment, starts[0]) as session:
                before = self._now(session)
                for action in self.refused(starts[0]):
                    _must_refuse(partial(session.act, action, NOTHING), f"{action}")
                    self._must_be(
                        [self._now(session)], [before], f"the refused {action} moved something"
                    )

    @promise
    def test_two_environments_side_by_side_do_not_touch_each_other(self) -> None:
        """Sessions of two environments, acting in turn, go the ways that they go alone."""
        with self._opened() as (one, starts), self._opened() as (two, _):
            alone = [self._run(one, start) for start in starts[:2]]
            plans = [self.actions(start) for start in starts[:2]]
            with self._session(one, starts[0]) as first, self._session(two, starts[1]) as second:
                sessions = (first, second)
                found = [[self._now(session)] for session in sessions]
                for pair in zip(*plans):
                    for session, points, action in zip(sessions, found, pair):
                        points.append(self._step(session, action))
        for points, expected in zip(found, alone):
            self._must_be(points, expected[: len(points)], "two environments share something")

    @promise
    def test_closing_frees_everything(self) -> None:
        """`close` of an environment leaves no file, thread or process behind."""
        with self._opened() as (environment, starts):
            self._run(environment, starts[0])  # whatever is loaded once is loaded now
        before = _held()
        for _ in range(self.repeats):
            with self._opened() as (environment, starts):
                self._run(environment, starts[0])
        files, threads, children = (now - then for now, then in zip(_held(), before))
        who = f"{self.repeats} closed environments left"
        assert files < self.repeats, f"{who} {files} open files"
        assert threads < self.repeats, f"{who} {threads} threads"
        assert children == 0, f"{who} {children} processes"

    @promise
    def test_closing_a_session_twice_does_nothing(self) -> None:
        """`close` of a session may be called again."""
        with self._opened() as (environment, starts):
            session = environment.open(starts[0])
            session.close()
            session.close()

    @promise
    def test_the_fingerprint_is_plain_text_and_does_not_change(self) -> None:
        """`fingerprint` names facts as text, at least one, the same before and after use."""
        with self._opened() as (environment, starts):
            before = _facts(environment)
            self._run(environment, starts[0])
            assert _facts(environment) == before, "the fingerprint changes with use"
            assert before, "the fingerprint is empty"
            assert all(isinstance(v, str) for v in before.values()), "a fact is not text"
            canonical_json(before)

    @promise
    def test_golden_states_are_reached(self) -> None:
        """Today's behaviour is that of the day on which `golden` was written down."""
        with self._opened() as (environment, starts):
            for i, expected in self.golden().items():
                points = self._run(environment, starts[i])
                found = digest("".join(point.text() for point in points).encode())
                assert found == expected, f"start {i} no longer leads to its golden states"

    @contextmanager
    def _opened(self) -> Iterator[tuple[Environment, list[Start]]]:
        environment = self.environment()
        try:
            starts = list(self.starts(environment))
            assert len(starts) >= 2, "conformance needs at least two starts"
            assert all(len(self.actions(s)) >= 2 for s in starts), (
                "conformance needs at least two actions from every start"
            )
            yield environment, starts
        finally:
            environment.close()

    @contextmanager
    def _session(self, environment: Environment, start: Start) -> Iterator[Session]:
        session = environment.open(start)
        try:
            yield session
        finally:
            session.close()

    def _first(self, environment: Environment, start: Start) -> _Point:
        with self._session(environment, start) as session:
            return replace(self._now(session), looked=self._look(session))

    def _run(self, environment: Environment, start: Start) -> list[_Point]:
        """The first point and that after each action."""
        with self._session(environment, start) as session:
            found = [self._now(session)]
            for action in self.actions(start):
                found.append(self._step(session, action))
        return found

    def _end(
        self, environment: Environment, start: Start,
        between: Callable[[Session], object] = lambda session: None, see: Channels | None = None,
    ) -> _Point:  # fmt: skip
        """The point after all actions, with `between` called before each."""
        with self._session(environment, start) as session:
            for action in self.actions(start):
                between(session)
                self._act(session, action, self.channels if see is None else see)
            return self._now(session)

    def _step(self, session: Session, action: Action) -> _Point:
        """The point after an act, which shows all channels."""
        seen = self._act(session, action, self.channels)
        return replace(self._now(session, seen), looked=seen)

    def _act(self, session: Session, action: Action, see: Channels) -> Observation:
        if self.gap_s:
            time.sleep(self.gap_s)
        return _shown(session.act(action, see), "act")

    def _look(self, session: Session) -> Observation:
        return _shown(session.observe(self.channels), "observe")

    def _now(self, session: Session, seen: Observation | None = None) -> _Point:
        """The present: an exact snapshot alone where there is one, else all that can be seen."""
        if isinstance(session, Saved) and session.exact:
            return _Point(None, None, digest(_saved(session)))
        probe = _probed(session) if isinstance(session, Probed) else None
        return _Point(self._look(session) if seen is None else seen, probe)

    def _must_be(self, found: list[_Point], expected: list[_Point], sentence: str) -> None:
        for t, (point, other) in enumerate(zip(found, expected)):
            why = self._apart(other, point, self.match)
            place = f" {t} actions in:" if len(found) > 1 else ""
            assert not why, f"{sentence}\n{place} {why}"

    def _apart(self, one: _Point, other: _Point, match: Match) -> str:
        """What tells two points apart, empty if they are the same."""
        if one.saved != other.saved:
            return "the snapshots differ"
        if one.looked is None or other.looked is None:
            return ""
        evidence: Evidence = compare(match, one.moment(), other.moment())
        return "" if evidence.same else evidence.why()


@dataclass(frozen=True)
class _Point:
    """Where a session is: what was seen and probed, and the digest of its exact snapshot."""

    looked: Observation | None
    probe: Mapping[str, Any] | None
    saved: str = ""

    def moment(self) -> Moment:
        assert self.looked is not None
        return Moment(self.looked, self.probe)

    def text(self) -> str:
        """For golden digests: the snapshot or the probe, and what was seen."""
        probe = "" if self.probe is None else _probe_digest(self.probe)
        return self.saved + probe + ("" if self.looked is None else _digest(self.looked))


def wrong_widths(width: int, dtype: str = "float32") -> list[Action]:
    """Control vectors of other widths and another dtype, for `refused`."""
    other = "float64" if dtype == "float32" else "float32"
    return [
        Control((0,) * (width + 1), dtype),
        Control((0,) * max(width - 1, 1), dtype) if width > 1 else Text("x"),
        Control((0,) * width, other),
        Text("not a control vector"),
    ]


def _must_refuse(call: Callable[[], object], what: str) -> None:
    try:
        call()
    except Refused as error:
        sentence = str(error)
    else:
        raise AssertionError(f"{what} was not refused")
    assert "\n" not in sentence, "a refusal is one sentence"


def _shown(seen: Observation, method: str) -> Observation:
    found = f"{method} returned a {type(seen).__name__}: it must be an observation (clew.core.Seen)"
    assert isinstance(seen, Observation), found
    return seen


def _probed(session: Probed) -> Mapping[str, Any]:
    probe = session.probe()
    assert isinstance(probe, Mapping), f"probe returned a {type(probe).__name__}, not a mapping"
    return probe


def _judged(session: Judged) -> Judgement:
    found = session.judge()
    assert isinstance(found, Judgement), f"judge returned a {type(found).__name__}, not a Judgement"
    return found


def _saved(session: Saved) -> bytes:
    state = session.save()
    assert isinstance(state, bytes), f"save returned a {type(state).__name__}, not bytes"
    return state


def _facts(environment: Environment) -> dict[str, str]:
    facts: Fingerprint = environment.fingerprint()
    kind = type(facts).__name__
    assert isinstance(facts, Mapping), f"fingerprint returned a {kind}, not a mapping"
    return dict(facts)


def _digest(seen: Observation) -> str:
    return "".join(
        value_digest(np.asarray(seen[c]) if not isinstance(seen[c], (str, dict, list)) else seen[c])
        for c in sorted(seen)
    )


def _probe_digest(probe: Mapping[str, Any]) -> str:
    return digest("".join(n + value_digest(probe[n]) for n in sorted(probe)).encode())


def _held() -> tuple[int, int, int]:
    """Open files, threads and child processes of this process."""
    fds = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    children = 0
    for task in Path("/proc/self/task").glob("*/children"):
        children += len(task.read_text().split())
    return fds, threading.active_count(), children
