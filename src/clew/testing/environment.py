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
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from clew.core import (
    NOTHING,
    Action,
    Control,
    Environment,
    Judged,
    Observation,
    Probed,
    Refused,
    Saved,
    Session,
    Start,
    digest,
    value_digest,
)
from clew.core.canonical import canonical_json


class EnvironmentConformance:
    """Inherit, name the environment, its starts and its actions; pytest runs the rest."""

    #: Channels to compare; frames too, where the environment can draw them.
    channels: frozenset[str] = frozenset({"vector"})

    def environment(self) -> Environment:
        """A new environment."""
        raise NotImplementedError("conformance: say which environment to test")

    def starts(self, environment: Environment) -> Sequence[Start]:
        """At least two starts, of different seeds where there are seeds."""
        raise NotImplementedError("conformance: say which starts to test")

    def actions(self, start: Start) -> Sequence[Action]:
        """At least four actions that move something from this start."""
        raise NotImplementedError("conformance: say which actions to test")

    def refused(self, start: Start) -> Sequence[Action]:
        """Actions of a wrong width or kind, which must be `Refused` before anything moves."""
        first = self.actions(start)[0]
        return wrong_widths(len(first.values), first.dtype) if isinstance(first, Control) else ()

    def golden(self) -> Mapping[int, str]:
        """Index of a start → the state digest after all its actions, on this fingerprint."""
        return {}

    @contextmanager
    def _opened(self) -> Iterator[tuple[Environment, list[Start]]]:
        environment = self.environment()
        try:
            starts = list(self.starts(environment))
            assert len(starts) >= 2, "conformance needs at least two starts"
            yield environment, starts
        finally:
            environment.close()

    def test_equal_starts_give_equal_sessions_whatever_ran_before(self) -> None:
        with self._opened() as (fresh, starts):
            alone = self._run(fresh, starts[0])
        with self._opened() as (used, starts):
            for other in (*starts[1:], starts[0], *starts[1:]):
                self._run(used, other)
            after = self._run(used, starts[0])
        assert after == alone, "a session depends on what ran before it in the same environment"

    def test_a_session_left_in_the_middle_does_not_touch_the_next_one(self) -> None:
        with self._opened() as (environment, starts):
            whole = self._run(environment, starts[0])
            broken_off = environment.open(starts[1])
            broken_off.act(self.actions(starts[1])[0], NOTHING)
            broken_off.close()
            assert self._run(environment, starts[0]) == whole, (
                "an unfinished session left something"
            )

    def test_another_seed_gives_another_session(self) -> None:
        with self._opened() as (environment, starts):
            one, other = starts[:2]
            if replace(one, seed=other.seed) == other and one.seed != other.seed:
                first, second = (self._first(environment, start) for start in (one, other))
                assert first != second, "the seed changes nothing"

    def test_different_actions_give_different_states(self) -> None:
        with self._opened() as (environment, starts):
            session = environment.open(starts[0])
            before = self._state(session)
            for action in self.actions(starts[0]):
                session.act(action, NOTHING)
            after = self._state(session)
            session.close()
        assert before != after, "the given actions move nothing: the other tests could not fail"

    def test_looking_changes_nothing(self) -> None:
        with self._opened() as (environment, starts):
            blind = self._run(environment, starts[0], see=NOTHING)[-1]
            session = environment.open(starts[0])
            for action in self.actions(starts[0]):
                before = self._state(session)
                session.observe(self.channels)
                session.observe(self.channels)
                assert self._state(session) == before, "observe changes the state"
                session.act(action, self.channels)
            looking = self._state(session)
            session.close()
        assert looking == blind, "the state depends on which channels were looked at"

    def test_an_act_shows_what_was_asked_and_nothing_else(self) -> None:
        with self._opened() as (environment, starts):
            session = environment.open(starts[0])
            action = self.actions(starts[0])[0]
            asked = session.act(action, self.channels)
            assert set(asked) == set(self.channels), "an act does not show the channels asked for"
            assert not set(session.act(action, NOTHING)), "an act shows channels nobody asked for"
            session.close()

    def test_an_unknown_channel_is_refused(self) -> None:
        with self._opened() as (environment, starts):
            session = environment.open(starts[0])
            _must_refuse(
                lambda: session.observe(frozenset({"no such channel"})), "an unknown channel"
            )
            session.close()

    def test_probing_changes_nothing(self) -> None:
        with self._opened() as (environment, starts):
            unprobed = self._run(environment, starts[0])[-1]
            session = environment.open(starts[0])
            if isinstance(session, Probed):
                for action in self.actions(starts[0]):
                    first, second = _probe_digest(session), _probe_digest(session)
                    assert first == second, "two probes of one state differ"
                    last = self._step(session, action)
                assert last == unprobed, "probe changes the state"
            session.close()

    def test_a_pure_oracle_changes_nothing(self) -> None:
        with self._opened() as (environment, starts):
            unjudged = self._run(environment, starts[0])[-1]
            session = environment.open(starts[0])
            if isinstance(session, Judged) and session.judging == "pure":
                for action in self.actions(starts[0]):
                    first, second = session.judge(), session.judge()
                    assert first == second, "two judgements of one state differ"
                    assert 0.0 <= first.score <= 1.0, "a score lies outside [0, 1]"
                    last = self._step(session, action)
                assert last == unjudged, "judge changes the state"
            session.close()

    def test_a_snapshot_continues_exactly_in_a_used_session_of_another_seed(self) -> None:
        with self._opened() as (environment, starts):
            actions = self.actions(starts[0])
            for t in sorted({1, len(actions) // 2, len(actions) - 1}):
                session = environment.open(starts[0])
                if not isinstance(session, Saved) or not session.exact:
                    session.close()
                    return
                for action in actions[:t]:
                    session.act(action, NOTHING)
                state = session.save()
                truth = [self._step(session, a) for a in actions[t:]]
                session.close()
                used = environment.open(starts[1])
                assert isinstance(used, Saved)
                used.act(self.actions(starts[1])[0], NOTHING)
                used.load(state)
                assert used.save() == state, f"saving after a load gives other bytes (step {t})"
                found = [self._step(used, a) for a in actions[t:]]
                used.close()
                assert found == truth, f"a session restored at step {t} goes another way"

    def test_damaged_snapshots_are_refused(self) -> None:
        with self._opened() as (environment, starts):
            session = environment.open(starts[0])
            if isinstance(session, Saved):
                whole = session.save()
                for damaged in (b"", whole[:-1], b"\x80\x04N."):
                    _must_refuse(lambda d=damaged: session.load(d), "a damaged snapshot")
                    assert session.save() == whole, "a refused snapshot moved something"
            session.close()

    def test_wrong_actions_are_refused_before_anything_moves(self) -> None:
        with self._opened() as (environment, starts):
            session = environment.open(starts[0])
            before = self._state(session)
            for action in self.refused(starts[0]):
                _must_refuse(lambda a=action: session.act(a, NOTHING), f"{action}")
                assert self._state(session) == before, f"the refused {action} moved something"
            session.close()

    def test_two_environments_side_by_side_do_not_touch_each_other(self) -> None:
        with self._opened() as (one, starts), self._opened() as (two, _):
            alone = [self._run(one, start) for start in starts[:2]]
            sessions = [one.open(starts[0]), two.open(starts[1])]
            found: list[list[str]] = [[self._state(s)] for s in sessions]
            plans = [self.actions(start) for start in starts[:2]]
            for pair in zip(*plans):
                for session, states, action in zip(sessions, found, pair):
                    states.append(self._step(session, action))
            for session in sessions:
                session.close()
        short = min(map(len, plans)) + 1
        assert found == [a[:short] for a in alone], "two environments share something"

    def test_closing_frees_everything(self) -> None:
        with self._opened() as (environment, starts):
            self._run(environment, starts[0])  # whatever is loaded once is loaded now
        before = _held()
        for _ in range(3):
            with self._opened() as (environment, starts):
                self._run(environment, starts[0])
        files, threads, children = (now - then for now, then in zip(_held(), before))
        assert files <= 2, f"three closed environments left {files} open files"
        assert threads <= 2, f"three closed environments left {threads} threads"
        assert children == 0, f"three closed environments left {children} processes"

    def test_closing_a_session_twice_does_nothing(self) -> None:
        with self._opened() as (environment, starts):
            session = environment.open(starts[0])
            session.close()
            session.close()

    def test_the_fingerprint_is_plain_text_and_does_not_change(self) -> None:
        with self._opened() as (environment, starts):
            before = dict(environment.fingerprint())
            self._run(environment, starts[0])
            assert dict(environment.fingerprint()) == before, "the fingerprint changes with use"
            assert before, "the fingerprint is empty"
            assert all(isinstance(v, str) for v in before.values()), "a fact is not text"
            canonical_json(before)

    def test_golden_states_are_reached(self) -> None:
        with self._opened() as (environment, starts):
            for i, expected in self.golden().items():
                found = digest("".join(self._run(environment, starts[i])).encode())
                assert found == expected, f"start {i} no longer leads to its golden states"

    def _run(
        self, environment: Environment, start: Start, see: frozenset[str] | None = None
    ) -> list[str]:
        """A digest of the first state and of each later one."""
        session = environment.open(start)
        found = [self._state(session)]
        for action in self.actions(start):
            found.append(self._step(session, action, see))
        session.close()
        return found

    def _first(self, environment: Environment, start: Start) -> str:
        session = environment.open(start)
        found = self._state(session) + _digest(session.observe(self.channels))
        session.close()
        return found

    def _step(self, session: Session, action: Action, see: frozenset[str] | None = None) -> str:
        seen = session.act(action, self.channels if see is None else see)
        return self._state(session) if see == NOTHING else self._state(session) + _digest(seen)

    def _state(self, session: Session) -> str:
        if isinstance(session, Saved):
            return digest(session.save())
        if isinstance(session, Probed):
            return _probe_digest(session)
        return _digest(session.observe(self.channels))


def wrong_widths(width: int, dtype: str = "float32") -> list[Action]:
    """Control vectors of other widths and another dtype, for `refused`."""
    from clew.core import Text

    other = "float64" if dtype == "float32" else "float32"
    return [
        Control((0,) * (width + 1), dtype),
        Control((0,) * max(width - 1, 1), dtype) if width > 1 else Text("x"),
        Control((0,) * width, other),
        Text("not a control vector"),
    ]


def _must_refuse(call: object, what: str) -> None:
    assert callable(call)
    try:
        call()
    except Refused as error:
        sentence = str(error)
    else:
        raise AssertionError(f"{what} was not refused")
    assert "\n" not in sentence, "a refusal is one sentence"


def _digest(seen: Observation) -> str:
    return "".join(
        value_digest(np.asarray(seen[c]) if not isinstance(seen[c], (str, dict, list)) else seen[c])
        for c in sorted(seen)
    )


def _probe_digest(session: Probed) -> str:
    probe = session.probe()
    return digest("".join(n + value_digest(probe[n]) for n in sorted(probe)).encode())


def _held() -> tuple[int, int, int]:
    """Open files, threads and child processes of this process."""
    fds = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    children = 0
    for task in Path("/proc/self/task").glob("*/children"):
        children += len(task.read_text().split())
    return fds, threading.active_count(), children
