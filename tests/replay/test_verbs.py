"""Reconstruct, certify, resume and value: they measure what a replay reaches, and say so."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clew.core import (
    Brief,
    Budget,
    Decision,
    Diverged,
    Evidence,
    Moment,
    Refused,
    Seen,
    Start,
    Step,
    Trajectory,
    Trouble,
    Wait,
)
from clew.match import Exact, preset
from clew.replay import Snapshots, begin, certify, own_oracle, reconstruct, resume, value
from clew.stats import wilson
from clew.testing.unreliable import Coin, Unreliable

from ._worlds import VECTOR, Adds, Breaks, Broken, Says, Tape, World, cause_of, count, raising

STATE = preset("state")


def unreliable(luck: int = 0) -> Unreliable:
    return Unreliable(np.random.default_rng(luck))


def recorded(environment, values: Sequence[int], start=None, gap_s=None, **options) -> Trajectory:
    """What an environment did, seen and probed at every moment."""
    start = start or environment.start("count", **options)
    with begin(environment, start, see=VECTOR, probe=True) as episode:
        for number in values:
            episode.act(count(number), gap_s=gap_s)
        return episode.trajectory


def world_recorded(values, seed=0) -> Trajectory:
    world = World()
    return recorded(world, values, world.start(seed))


# --- reconstruct


@given(st.lists(st.integers(-3, 3), max_size=15))
def test_the_end_of_a_trajectory_is_reached_by_its_own_actions(values):
    trajectory = recorded(unreliable(), values)
    with reconstruct(unreliable(1), trajectory, STATE) as episode:
        assert episode.trajectory.key() == trajectory.key()
        assert episode.now.probe["number"][0] == trajectory.last.probe["number"][0]
        assert [evidence.same for evidence in episode.path] == [True]


def test_where_there_are_no_actions_the_first_moment_is_the_target():
    for check in ("target", "every"):
        with reconstruct(World(), world_recorded([]), STATE, check=check) as episode:
            assert len(episode) == 0
            assert len(episode.path) == 1
    moved = replace(world_recorded([]), last=world_recorded([1]).last)
    with pytest.raises(Diverged, match="after 0 actions"):
        reconstruct(World(), moved, STATE)


def altered_at(trajectory: Trajectory, t: int) -> Trajectory:
    """The same actions, but moment t was recorded otherwise."""
    steps = list(trajectory.steps)
    wrong = Moment(probe={"number": np.array([-1.0, -1.0, -1.0])})
    steps[t] = steps[t]._replace(before=wrong)
    return replace(trajectory, steps=tuple(steps))


def test_the_target_decides_and_earlier_mismatches_are_evidence():
    trajectory = altered_at(world_recorded([1, 2, 3, 4]), 2)
    with reconstruct(World(), trajectory, STATE, check="every") as episode:
        assert [evidence.same for evidence in episode.path] == [True, True, False, True, True]
    with reconstruct(World(), trajectory, STATE) as episode:
        assert [evidence.same for evidence in episode.path] == [True]


def test_on_the_way_only_recorded_moments_are_looked_at():
    looks = []
    world = World(lambda session, place: looks.append(place))
    trajectory = world_recorded([1, 2, 3])
    blind = trajectory.rebase(trajectory.start)
    some = replace(blind, steps=(*blind.steps[:2], trajectory.steps[2]), last=trajectory.last)
    with reconstruct(world, some, STATE, check="every") as episode:
        assert [evidence.same for evidence in episode.path] == [True, True]
    assert looks.count("probe") == 2
    looks.clear()
    reconstruct(world, some, STATE).close()
    assert looks.count("probe") == 1


def test_a_miss_names_the_step_and_carries_every_bounded_attempt():
    world, trajectory = World(), world_recorded([1, 2])
    elsewhere = replace(trajectory, last=world_recorded([1, 3]).last)
    with pytest.raises(Diverged, match="after 2 actions") as diverged:
        reconstruct(world, elsewhere, STATE, attempts=3)
    assert diverged.value.step == 2
    assert len(diverged.value.attempts) == 3
    assert diverged.value.evidence == diverged.value.attempts[-1]
    assert diverged.value.evidence.rungs["state.number"] == 1.0
    assert (len(world.sessions), world.left_open) == (3, 0)


def test_a_retry_that_reaches_the_state_is_enough():
    def drops_once(session, place):
        if place == "act" and len(world.sessions) == 1:
            session.number -= 1

    world = World(drops_once)
    with reconstruct(world, world_recorded([1, 2]), STATE, attempts=2) as episode:
        assert episode.now.probe["number"][0] == 3
    assert (len(world.sessions), world.left_open) == (2, 0)


def test_no_attempt_is_refused():
    with pytest.raises(Refused, match="0 attempts"):
        reconstruct(World(), world_recorded([1]), STATE, attempts=0)


@pytest.mark.parametrize("place", ["act", "observe", "probe"])
@pytest.mark.parametrize("after", [0, 1])
def test_a_replay_that_breaks_leaves_no_session_open(place, after):
    world = World(raising(place, after))
    with pytest.raises(Trouble):
        reconstruct(world, world_recorded([1, 2]), STATE, check="every")
    assert len(world.sessions) == 1
    assert world.left_open == 0


def test_a_matcher_that_breaks_is_the_judges_doing_and_leaves_no_session_open():
    class Match:
        sees = VECTOR

        def __call__(self, recorded, reached):
            raise ZeroDivisionError

    for check in ("target", "every"):
        world = World()
        with pytest.raises(Trouble) as trouble:
            reconstruct(world, world_recorded([1]), Match(), check=check)
        assert cause_of(trouble) == ("judge", "match")
        assert world.left_open == 0


@pytest.mark.parametrize("values", [[], [1, 2]])
def test_from_the_target_on_the_episode_records_what_was_asked(values):
    world = World()
    asked = frozenset({"vector", "frame"})
    with reconstruct(world, world_recorded(values), STATE, see=asked, probe=True) as episode:
        episode.act(count(1))
        found = episode.trajectory
    for moment in (found.moment(len(values)), found.last):
        assert set(moment.seen) == asked
        assert moment.probe is not None


def test_a_rebased_trajectory_is_the_same_actions_from_another_start_and_nothing_seen():
    trajectory = world_recorded([1, 2])
    moved = trajectory.rebase(World().start(seed=10))
    assert moved.actions() == trajectory.actions()
    assert moved.key() != trajectory.key()
    assert moved.last == Moment()
    with reconstruct(World(), moved, preset("unchecked")) as episode:
        assert episode.now.probe["number"][0] == 13


def test_a_hidden_delay_is_survived_because_recorded_gaps_are_kept():
    trajectory = recorded(unreliable(), [1, 2, 4], arm_ms=15, gap_s=0.02)
    assert trajectory.last.probe["number"][0] == 7
    with reconstruct(unreliable(), trajectory, STATE) as episode:
        assert episode.now.probe["number"][0] == 7
    with pytest.raises(Diverged):
        reconstruct(unreliable(), trajectory, STATE, pace=0)


# --- certify


def test_a_faithful_environment_is_certified_every_time():
    trajectory = recorded(unreliable(), [1, 2, 3])
    certificate = certify(unreliable, trajectory, STATE, 4)
    assert (certificate.passed, certificate.replays) == (4, 4)
    assert certificate.key == trajectory.key()
    assert certificate.fingerprint == unreliable().fingerprint()
    assert certificate.troubles == (None,) * 4
    assert [len(path) for path in certificate.paths] == [4] * 4


@pytest.mark.parametrize(("fault", "chance"), [("drop", 0.1), ("drop", 0.02), ("delay", 0.1)])
def test_certification_passes_in_the_expected_proportion(fault, chance):
    # 100 replays of 5 actions. A drop anywhere is seen for good; a delay is made up for by the
    # next act, so only one on the last action shows at the target.
    trajectory = recorded(unreliable(), [1, 1, 2, 1, 2], **{fault: 0.0})
    faulty = replace(trajectory, start=replace(trajectory.start, options={fault: chance}))
    luck = np.random.default_rng(20)
    certificate = certify(lambda: Unreliable(luck), faulty, STATE, 100)
    expected = (1 - chance) ** (5 if fault == "drop" else 1)
    spread = (expected * (1 - expected) / 100) ** 0.5
    assert abs(certificate.passed / 100 - expected) <= 3 * spread
    assert 0 < certificate.passed < 100
    assert certificate.interval == wilson(certificate.passed, 100)
    ends = [path[-1].same for path in certificate.paths]
    assert ends.count(True) == certificate.passed


def test_a_crash_counts_as_not_reproduced_and_is_named():
    start = unreliable().start("count", crash=0.2, crash_as="raise")
    trajectory = replace(recorded(unreliable(), [1, 1, 1]), start=start)
    luck = np.random.default_rng(0)
    certificate = certify(lambda: Unreliable(luck), trajectory, STATE, 40)
    named = [trouble for trouble in certificate.troubles if trouble is not None]
    assert len(named) == 40 - certificate.passed
    assert 0 < certificate.passed < 40
    assert all("environment: crash: RuntimeError: the simulator broke" in t for t in named)
    assert [path == () for path in certificate.paths] == [
        t is not None for t in certificate.troubles
    ]


def test_a_new_environment_is_made_for_each_replay_and_closed_whatever_happens():
    made = []

    def fresh():
        world = World(raising("act") if len(made) % 2 else raising("nowhere"))
        made.append(world)
        return world

    certificate = certify(fresh, world_recorded([1]), STATE, 4)
    assert certificate.passed == 2
    assert [world.closed for world in made] == [1, 1, 1, 1]
    assert sum(world.left_open for world in made) == 0


def test_an_environment_that_cannot_be_made_is_not_reproduced():
    def fresh():
        raise OSError("no display")

    certificate = certify(fresh, world_recorded([1]), STATE, 2)
    assert certificate.passed == 0
    assert all("environment: error: OSError: no display" in t for t in certificate.troubles)


def test_a_matcher_that_breaks_says_nothing_about_reproduction():
    class Match:
        sees = VECTOR

        def __call__(self, recorded, reached):
            raise ZeroDivisionError

    world = World()
    with pytest.raises(Trouble) as trouble:
        certify(lambda: world, world_recorded([1]), Match())
    assert cause_of(trouble) == ("judge", "match")
    assert (world.closed, world.left_open) == (1, 0)


def test_the_pace_is_part_of_the_certificate():
    trajectory = recorded(unreliable(), [1, 2], arm_ms=15, gap_s=0.02)
    kept = certify(unreliable, trajectory, STATE, 2)
    hurried = certify(unreliable, trajectory, STATE, 2, pace=0.0)
    assert (kept.passed, kept.pace) == (2, 1.0)
    assert (hurried.passed, hurried.pace) == (0, 0.0)


def test_no_replay_is_refused():
    with pytest.raises(Refused, match="0 replays"):
        certify(World, world_recorded([1]), STATE, 0)


# --- resume


def attempt(policy, brief, budget, sink, prefix=()):
    """An attempt by `policy` after a prefix, as a run makes it; (trajectory, decisions, stop)."""
    world = World()
    if prefix:
        given_prefix = world_recorded(prefix)
        episode = reconstruct(world, given_prefix, STATE, see=VECTOR, probe=True, sink=sink)
    else:
        episode = begin(world, world.start(), see=VECTOR, probe=True, sink=sink)
    with episode:
        return episode.rollout(policy, brief, budget)


POLICIES = {
    "decides again": lambda: Adds(),
    "recalls": lambda: Adds(recalls=True),
    "recalls dice": lambda: Adds(np.random.default_rng(3), recalls=True),
}


@pytest.mark.parametrize("kind", POLICIES)
@pytest.mark.parametrize("prefix", [(), (1, -2, 3)])
@settings(max_examples=60, deadline=None)
@given(left=st.integers(1, 60), seed=st.integers(0, 5), pending=st.integers(0, 2))
def test_a_resumed_attempt_equals_the_undisturbed_one(kind, prefix, left, seed, pending):
    assume(left >= 2 * len(prefix))  # otherwise it was broken before the attempt began
    brief = Brief(seed=seed, pending=(count(2),) * pending)
    budget = Budget(actions=14, decisions=20)
    whole, part, again = Tape(), Breaks(left), Tape()
    stop = attempt(POLICIES[kind](), brief, budget, whole, prefix)
    with suppress(Broken):
        attempt(POLICIES[kind](), brief, budget, part, prefix)
    policy, decisions = POLICIES[kind](), part.decisions()
    if kind == "recalls dice":  # the dice go on from where they were
        policy.luck.integers(100, size=len(decisions))
    episode, stopped = resume(
        World(), part.trajectory(), decisions, policy, brief, budget, STATE,
        since=len(prefix), see=VECTOR, probe=True, sink=again,
    )  # fmt: skip
    episode.close()
    assert stopped == stop
    assert episode.trajectory.key() == whole.trajectory().key()
    steps = episode.trajectory.steps
    assert [s.decision for s in steps] == [s.decision for s in whole.trajectory().steps]
    assert [d.actions for d in again.decisions()] == [d.actions for d in whole.decisions()]
    if policy.recalls:
        assert policy.asked == len(whole.decisions()) - len(decisions)


def test_an_actor_that_decides_otherwise_and_cannot_recall_is_not_resumable():
    brief, budget, tape = Brief(), Budget(decisions=6), Tape()
    attempt(Adds(np.random.default_rng(0)), brief, budget, tape)
    world = World()
    with pytest.raises(Trouble) as trouble:
        resume(
            world, tape.trajectory(), tape.decisions(), Adds(np.random.default_rng(1)), brief,
            budget, STATE, see=VECTOR, probe=True,
        )  # fmt: skip
    assert cause_of(trouble) == ("harness", "not_resumable")
    assert world.left_open == 0


CHUNKS = (Decision((count(1), count(2))), Decision((count(3),)), Decision((count(4),)))


def broken_attempt(prefix=()) -> Tape:
    tape = Tape()
    attempt(Says(*CHUNKS), Brief(), Budget(decisions=3), tape, prefix)
    return tape


@pytest.mark.parametrize("since", [0, 3])
def test_a_decision_that_meets_another_moment_diverges(since):
    prefix = (5, 6, 7)[:since]
    tape = broken_attempt(prefix)
    trajectory = altered_at(tape.trajectory(), since + 2)
    world = World()
    with pytest.raises(Diverged) as diverged:
        resume(
            world, trajectory, tape.decisions(), Says(*CHUNKS), Brief(), Budget(), STATE,
            since=since, see=VECTOR, probe=True,
        )  # fmt: skip
    assert diverged.value.step == since + 2
    assert world.left_open == 0


def test_a_prefix_with_decisions_of_its_own_does_not_hide_a_moment_that_differs():
    tape = broken_attempt((5, 6, 7))
    trajectory = altered_at(tape.trajectory(), 5)
    theirs = tuple(s._replace(decision=n) for n, s in enumerate(trajectory.steps[:3]))
    trajectory = replace(trajectory, steps=(*theirs, *trajectory.steps[3:]))
    with pytest.raises(Diverged):
        resume(
            World(), trajectory, tape.decisions(), Says(*CHUNKS), Brief(), Budget(), STATE,
            since=3, see=VECTOR, probe=True,
        )  # fmt: skip


def test_a_moment_within_a_chunk_is_not_compared():
    tape = broken_attempt()
    trajectory = altered_at(tape.trajectory(), 1)
    episode, stop = resume(
        World(), trajectory, tape.decisions(), Says(*CHUNKS), Brief(), Budget(), STATE,
        see=VECTOR, probe=True,
    )  # fmt: skip
    episode.close()
    assert stop == "give_up"


def test_a_prefix_that_is_not_reached_diverges():
    tape = broken_attempt((5, 6))
    with pytest.raises(Diverged) as diverged:
        resume(
            World(), altered_at(tape.trajectory(), 2), tape.decisions(), Says(*CHUNKS), Brief(),
            Budget(), STATE, since=2,
        )  # fmt: skip
    assert diverged.value.step == 2


def test_what_was_spent_before_the_break_still_counts():
    policy = Says(*[Decision((count(1),), usd=1.0)] * 9)
    tape = Tape()
    attempt(policy, Brief(), Budget(decisions=3), tape)
    episode, stop = resume(
        World(), tape.trajectory(), tape.decisions(), policy, Brief(), Budget(usd=4.0), STATE
    )
    episode.close()
    assert (stop, len(episode)) == ("usd", 4)


def test_a_resumed_attempt_keeps_the_gaps_of_the_broken_one():
    class Thinks:
        """Acts at the pace that the hidden timer needs, since its actor takes its time."""

        sees = VECTOR

        def begin(self, brief):
            return self

        def decide(self, seen):
            raise AssertionError("the model is called again")

        def recall(self, seen, decision):
            return None

    trajectory = recorded(unreliable(), [1, 2, 4], arm_ms=15, gap_s=0.02)
    steps = tuple(step._replace(decision=n) for n, step in enumerate(trajectory.steps))
    decisions = tuple(Decision((step.action,)) for step in steps)
    episode, stop = resume(
        unreliable(), replace(trajectory, steps=steps), decisions, Thinks(), Brief(),
        Budget(decisions=3), STATE, see=VECTOR, probe=True,
    )  # fmt: skip
    with episode:
        assert stop == "decisions"
        assert episode.now.seen["vector"][0] == 7


# --- what resuming is for


def scored(environment, start, brief, budget) -> tuple[bool, int]:
    """An attempt that is carried on until it has a score; (passed, crashes)."""
    policy, tape, crashes = Coin(0.5), Tape(), 0
    furthest: Tape | None = None
    while True:
        tape = Tape()
        try:
            if furthest is None:
                episode = begin(environment, start, see=VECTOR, sink=tape)
                episode.rollout(policy, brief, budget, own_oracle)
            else:
                episode, _ = resume(
                    environment, furthest.trajectory(), furthest.decisions(), policy, brief,
                    budget, preset("unchecked"), until=own_oracle, see=VECTOR, sink=tape,
                )  # fmt: skip
            return episode.judge().passed, crashes
        except Trouble as trouble:
            if trouble.cause.kind != "crash":
                raise
            crashes += 1
            if furthest is None or len(tape.trajectory()) > len(furthest.trajectory()):
                furthest = tape


def dropped_and_retried(environment, start, seeds, budget, trials: int) -> int:
    """Successes among the first `trials` attempts that happened not to crash."""
    passed = done = 0
    while done < trials:
        with begin(environment, start, see=VECTOR) as episode:
            try:
                episode.rollout(Coin(0.5), Brief(seed=next(seeds)), budget, own_oracle)
            except Trouble:
                continue
            passed += episode.judge().passed
            done += 1
    return passed


@pytest.mark.parametrize("hazard", [0.01, 0.03])
def test_resuming_recovers_the_true_rate_where_dropping_and_retrying_flatters(hazard):
    seeds, budget = range(1000, 1100), Budget(actions=60)
    clean = unreliable()
    true = []
    for seed in seeds:
        with begin(clean, clean.start("count"), see=VECTOR) as episode:
            episode.rollout(Coin(0.5), Brief(seed=seed), budget, own_oracle)
            true.append(episode.judge().passed)
    low, high = wilson(sum(true), len(true))
    assert low <= 0.5 <= high

    environment = unreliable(7)
    start = environment.start("count", crash=hazard, crash_as="raise")
    found = [scored(environment, start, Brief(seed=seed), budget) for seed in seeds]
    assert [passed for passed, _ in found] == true
    # The mean attempt has 40 acts, each of which may break it, and each replay may break again.
    assert sum(crashes for _, crashes in found) > 0.8 * 40 * hazard * len(seeds)

    flattered = dropped_and_retried(environment, start, iter(range(2000, 10**6)), budget, 300)
    low, high = wilson(flattered, 300)
    assert low > 0.5
    # Successes take 20 acts and failures 60, so few failures survive to be counted.
    assert low <= 1 / (1 + (1 - hazard) ** 40) <= high


# --- value


def test_value_counts_the_successes_of_a_policy_that_takes_over():
    environment = unreliable()
    trajectory = recorded(environment, [1] * 10 + [-9] * 3)
    at, brief, budget = (0, 10, 13), Brief(seed=100), Budget(actions=30)
    found = value(
        environment, trajectory, Coin(0.5), at, 40, match=STATE, brief=brief, budget=budget
    )
    heads = sum(np.random.default_rng(100 + i).random() < 0.5 for i in range(40))
    # From 0 and 10 every head arrives within the budget; 13 leaves it too far to go.
    assert found == {0: (heads, 40), 10: (heads, 40), 13: (0, 40)}


def test_value_tells_each_trial_its_own_seed_and_leaves_no_session_open():
    world, policy = World(), Says(Decision((count(1),), "done"))
    trajectory = world_recorded([3, 1])
    value(world, trajectory, policy, [0, 2], 3, match=STATE, brief=Brief(seed=5), budget=Budget())
    assert [brief.seed for brief in policy.briefs] == [5, 6, 7] * 2
    assert (len(world.sessions), world.left_open) == (6, 0)


def test_value_at_a_state_that_is_not_reached_diverges():
    trajectory = altered_at(world_recorded([3, 1]), 1)
    with pytest.raises(Diverged):
        value(World(), trajectory, Says(), [1], 1, match=STATE, brief=Brief(), budget=Budget())


def test_a_snapshot_that_misses_is_replayed_cold_before_anything_is_said():
    bad = [False]

    def breaks(session, place):
        if place == "load" and bad[0]:
            session.number += 1

    world, trajectory = World(breaks), world_recorded([1, 2])
    snapshots = Snapshots(world, audit=0.0)
    assert snapshots.offer(world, trajectory, STATE)
    bad[0] = True
    with reconstruct(world, trajectory, STATE, snapshots=snapshots) as episode:
        assert episode.snapshot == ""
        assert episode.now.probe["number"][0] == 3
    assert world.left_open == 0


def test_evidence_of_a_cold_miss_is_not_that_of_a_snapshot():
    world, trajectory = World(), world_recorded([1, 2])
    snapshots = Snapshots(world, audit=0.0)
    assert snapshots.offer(world, trajectory, STATE)
    elsewhere = replace(trajectory, last=world_recorded([1, 3]).last)
    with pytest.raises(Diverged) as diverged:
        reconstruct(world, elsewhere, STATE, snapshots=snapshots, attempts=2)
    assert len(diverged.value.attempts) == 2
    assert all(isinstance(evidence, Evidence) for evidence in diverged.value.attempts)
    assert world.left_open == 0


def test_steps_of_a_replay_are_nobodys_decision():
    trajectory = world_recorded([1, 2])
    chosen = tuple(step._replace(decision=n) for n, step in enumerate(trajectory.steps))
    with reconstruct(World(), replace(trajectory, steps=chosen), STATE) as episode:
        assert [step.decision for step in episode.trajectory.steps] == [-1, -1]
        assert isinstance(episode.trajectory.steps[0], Step)


class Expecting:
    """A session that notes what it was told to expect before each act."""

    def __init__(self) -> None:
        self.told: list[tuple[object, float]] = []
        self.at = 0

    def observe(self, see):
        return Seen(dict.fromkeys(see, self.at))

    def expect(self, seen, pace):
        self.told.append((seen["text"], pace))

    def act(self, action, see):
        self.at += 1
        return self.observe(see)

    def close(self):
        pass


class Clocked:
    """An environment of `Expecting` sessions."""

    def __init__(self) -> None:
        self.session = Expecting()

    def open(self, start):
        self.session = Expecting()
        return self.session

    def fingerprint(self):
        return {}

    def close(self):
        pass


def test_a_replayed_session_is_told_before_each_act_what_it_showed_when_recorded():
    environment, start = Clocked(), Start("clocked", "t", options={"clock": "real"})
    with begin(environment, start, see=frozenset({"text"})) as episode:
        for _ in range(3):
            episode.act(Wait(1))
        recorded = episode.trajectory
    assert environment.session.told == []
    with reconstruct(environment, recorded, Exact(frozenset({"text"})), pace=0.5):
        assert environment.session.told == [(1, 0.5), (2, 0.5), (3, 0.5)]
