"""An episode acts and records; a rollout stops for exactly one reason; faults find their party."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core import (
    Brief,
    Budget,
    Control,
    Decision,
    Evidence,
    Judgement,
    Moment,
    Refused,
    SessionSpent,
    Start,
    Step,
    Text,
    Trajectory,
    Trouble,
    canonical,
)
from clew.match import preset
from clew.replay import begin, own_oracle, reconstruct
from clew.testing.unreliable import Unreliable

from ._worlds import VECTOR, Adds, Breaks, Broken, Says, Tape, World, cause_of, count, raising

STATE = preset("state")
FREE = Budget()


def one(value: int, **rest) -> Decision:
    return Decision((count(value),), **rest)


def rolled(world, policy, budget=FREE, brief=Brief(), until=None, **options):  # noqa: B008
    with begin(world, world.start(), **options) as episode:
        return episode.rollout(policy, brief, budget, until), episode


@given(st.lists(st.integers(-9, 9), max_size=12))
def test_a_trajectory_grows_by_one_step_per_action_and_its_key_is_that_of_its_actions(values):
    world = World()
    with begin(world, world.start(), see=VECTOR, probe=True) as episode:
        for value in values:
            episode.act(count(value))
        found = episode.trajectory
    meant = Trajectory(world.start(), [Step(Moment(), count(v)) for v in values])
    assert len(episode) == len(found) == len(values)
    assert found.key() == meant.key()
    for t in range(len(values) + 1):
        assert found.prefix(t).key() == meant.key(t)
        assert found.moment(t).seen["vector"] == sum(values[:t])
        assert found.moment(t).probe["number"][1] == t


def test_a_trajectory_once_taken_does_not_grow():
    world = World()
    with begin(world, world.start(), see=VECTOR) as episode:
        episode.act(count(1))
        before = episode.trajectory
        episode.act(count(2))
    assert len(before) == 1
    assert before.last.seen["vector"] == 1


@given(st.floats(-1e6, 1e6), st.sampled_from(["float16", "float32", "float64"]))
def test_what_the_session_received_is_what_was_hashed(value, dtype):
    try:
        action = Control((value / 100,), dtype)
    except Refused:
        return
    world = World()
    with begin(world, world.start()) as episode:
        episode.act(action)
        (received,) = world.sessions[0].received
        assert canonical(received) == canonical(episode.trajectory.steps[0].action)
    rounded = float(np.dtype(dtype).type(value / 100))
    assert world.sessions[0].number == rounded
    same = Trajectory(world.start(), [Step(Moment(), Control((rounded,), dtype))])
    assert episode.trajectory.key() == same.key()


def test_channels_are_named_before_acting_and_nothing_is_looked_at_afterwards():
    looks = []
    world = World(lambda session, place: looks.append(place))
    with begin(world, world.start()) as episode:
        seen = episode.act(count(1), see=VECTOR)
        assert list(seen) == ["vector"]
        assert not list(episode.act(count(1)))
    assert looks == ["open", "act", "observe", "act", "observe", "close"]


def test_a_policys_channels_are_shown_with_the_last_action_of_a_chunk_only():
    shown = []

    class Watched(World):
        def open(self, start):
            session = super().open(start)
            act = session.act
            session.act = lambda action, see: (shown.append(sorted(see)), act(action, see))[1]
            return session

    policy = Says(Decision((count(1), count(1))), one(1))
    _, episode = rolled(Watched(), policy, see=frozenset({"frame"}))
    assert shown == [["frame"], ["frame", "vector"], ["frame", "vector"]]
    assert [sorted(s.before.seen) for s in episode.trajectory.steps] == [
        ["frame", "vector"], ["frame"], ["frame", "vector"],
    ]  # fmt: skip


def test_the_sink_has_an_action_before_the_session_acts():
    tape = Tape()

    def check(session, place):
        if place == "act":
            name, t, step = tape.lines[-1]
            assert (name, t) == ("acting", session.acts)
            assert step.action == count(session.acts + 1)

    world = World(check)
    with begin(world, world.start(), see=VECTOR, sink=tape) as episode:
        for value in (1, 2, 3):
            episode.act(count(value))
    assert [line[0] for line in tape.lines] == ["began"] + ["acting", "acted"] * 3
    assert tape.trajectory().key() == episode.trajectory.key()


def test_the_sink_has_a_decision_before_its_actions():
    tape = Tape()
    rolled(World(), Says(Decision((count(1), count(2)), raw={"why": "so"})), sink=tape)
    names = [line[0] for line in tape.lines]
    assert names == ["began", "decided", "acting", "acted", "acting", "acted", "decided"]
    assert tape.decisions()[0].raw == {"why": "so"}


def test_a_sink_that_refuses_leaves_the_trajectory_and_the_session_unchanged():
    class Full(Tape):
        def acting(self, t, step):
            raise Refused("the disk is full")

    world = World()
    with begin(world, world.start(), sink=Full()) as episode:
        with pytest.raises(Refused, match="the disk is full"):
            episode.act(count(1))
        assert len(episode.trajectory) == 0
        assert world.sessions[0].acts == 0


@pytest.mark.parametrize("place", ["decided", "acting", "acted"])
def test_a_full_disk_is_not_the_policys_doing(place):
    class Full(Tape):
        pass

    def full(self, number, what):
        raise Refused("the disk is full")

    setattr(Full, place, full)
    with pytest.raises(Refused, match="the disk is full"):
        rolled(World(), Says(one(1)), sink=Full())


def test_an_action_that_the_session_refuses_leaves_the_trajectory_unchanged():
    environment = Unreliable()
    tape = Tape()
    with begin(environment, environment.start("count"), see=VECTOR, sink=tape) as episode:
        episode.act(count(1))
        before = episode.trajectory
        for wrong in (Control((1, 2), "int64"), Control((1.0,)), Text("one")):
            with pytest.raises(Refused):
                episode.act(wrong)
        assert episode.trajectory == before
        episode.act(count(2))
        assert episode.trajectory.actions() == (count(1), count(2))
        assert episode.now.seen["vector"][0] == 3


@pytest.mark.parametrize(
    "decide",
    [
        lambda seen: Decision((Control((1.0, 2.0)),)),
        lambda seen: Decision((Control((float("nan"),)),)),
        lambda seen: Decision((Text("one"),)),
        lambda seen: Decision(("up",)),
    ],
    ids=["wrong width", "not finite", "wrong kind", "no action"],
)
def test_an_invalid_action_in_a_rollout_is_the_policys_doing(decide):
    class Policy:
        sees = VECTOR

        def begin(self, brief):
            return self

        def decide(self, seen):
            return decide(seen)

    world = World()
    with begin(world, world.start(), sink=Tape()) as episode:
        with pytest.raises(Trouble) as trouble:
            episode.rollout(Policy(), Brief(), FREE)
        assert len(episode.trajectory) == 0
    assert cause_of(trouble) == ("policy", "invalid_action")


@pytest.mark.parametrize("wrong", [None, 7, "up"])
def test_what_is_no_decision_is_the_policys_doing(wrong):
    with pytest.raises(Trouble) as trouble:
        rolled(World(), Says(wrong))
    assert cause_of(trouble) == ("policy", "error")


@pytest.mark.parametrize(
    ("place", "party", "kind"),
    [
        ("open", "environment", "open"), ("observe", "environment", "error"),
        ("act", "environment", "crash"), ("probe", "environment", "probe"),
        ("judge", "judge", "error"), ("close", "environment", "close"),
    ],
)  # fmt: skip
def test_a_plain_error_is_attributed_to_the_party_whose_code_ran(place, party, kind):
    world = World(raising(place))

    def all_of_it():
        with begin(world, world.start(), see=VECTOR, probe=True) as episode:
            episode.act(count(1))
            episode.judge()

    with pytest.raises(Trouble, match=f"broken at {place}") as trouble:
        all_of_it()
    assert cause_of(trouble) == (party, kind)


def test_a_probe_that_breaks_after_an_act_is_the_environments_doing():
    world = World(raising("probe", after=1))
    with begin(world, world.start(), probe=True) as episode:
        with pytest.raises(Trouble) as trouble:
            episode.act(count(1))
    assert cause_of(trouble) == ("environment", "probe")


@pytest.mark.parametrize("place", ["begin", "decide"])
def test_a_plain_error_of_a_policy_is_its_own(place):
    class Policy:
        sees = VECTOR

        def begin(self, brief):
            assert place != "begin", "no weights"
            return self

        def decide(self, seen):
            raise KeyError("no such token")

    with pytest.raises(Trouble) as trouble:
        rolled(World(), Policy())
    assert cause_of(trouble) == ("policy", "error")


def test_a_plain_error_of_an_oracle_or_a_matcher_is_the_judges():
    def oracle(session):
        raise ZeroDivisionError

    class Match:
        sees = VECTOR

        def __call__(self, recorded, reached):
            raise ZeroDivisionError

    with pytest.raises(Trouble) as trouble:
        rolled(World(), Says(one(1)), until=oracle)
    assert cause_of(trouble) == ("judge", "error")
    world = World()
    with begin(world, world.start(), see=VECTOR) as episode:
        with pytest.raises(Trouble) as trouble:
            episode.judge(oracle)
        assert cause_of(trouble) == ("judge", "error")
        with pytest.raises(Trouble) as trouble:
            episode.graft([count(1)], like=episode.trajectory, match=Match())
    assert cause_of(trouble) == ("judge", "match")


@pytest.mark.parametrize("error", [ValueError("gone"), Trouble.__new__(Trouble)])
def test_after_an_act_that_broke_nothing_is_claimed_to_be_seen(error):
    def breaks(session, place):
        if place == "act" and session.acts == 1:
            raise error

    world = World(breaks)
    with begin(world, world.start(), see=VECTOR) as episode:
        episode.act(count(1))
        with pytest.raises(Trouble):
            episode.act(count(2))
        assert episode.trajectory.actions() == (count(1), count(2))
        assert episode.trajectory.last == Moment()


def test_opening_that_fails_after_the_session_was_open_closes_it():
    world = World(raising("observe"))
    with pytest.raises(Trouble):
        begin(world, world.start(), see=VECTOR)
    assert len(world.sessions) == 1
    assert world.left_open == 0


def test_what_broke_an_episode_is_told_although_closing_breaks_too():
    def breaks(session, place):
        if place in ("act", "close"):
            raise ValueError(f"broken at {place}")

    world = World(breaks)

    def acts_within():
        with begin(world, world.start()) as episode:
            episode.act(count(1))

    with pytest.raises(Trouble, match="broken at act"):
        acts_within()
    start, step = world.start(), Step(Moment(), count(1))
    with pytest.raises(Trouble, match="broken at act"):
        reconstruct(world, Trajectory(start, [step]), STATE)


def test_a_final_judgement_spends_the_session():
    world = World(judging="final")
    with begin(world, world.start()) as episode:
        episode.act(count(9))
        assert episode.judge().passed
        with pytest.raises(SessionSpent, match="final judgement"):
            episode.act(count(1))
        with pytest.raises(SessionSpent, match="final judgement"):
            episode.judge()
        assert len(episode.trajectory) == 1


def test_a_pure_judgement_spends_nothing():
    world = World()
    with begin(world, world.start()) as episode:
        assert not episode.judge().passed
        episode.act(count(9))
        assert episode.judge().passed


def test_a_closed_episode_acts_and_judges_no_more_and_closes_once():
    world = World()
    with begin(world, world.start()) as episode:
        pass
    episode.close()
    with pytest.raises(SessionSpent, match="closed"):
        episode.act(count(1))
    with pytest.raises(SessionSpent, match="closed"):
        episode.judge()
    assert world.left_open == 0


def test_a_session_without_an_oracle_asks_for_one():
    class Bare:
        def open(self, start):
            session = World().open(start)
            bare = type("Bare", (), {})()
            bare.observe, bare.act, bare.close = session.observe, session.act, session.close
            return bare

    with begin(Bare(), Start("bare", "none")) as episode:
        with pytest.raises(Refused, match="no oracle of its own for 'none'"):
            episode.judge()
        with pytest.raises(Refused, match="no pure oracle"):
            own_oracle(episode.session)
        assert episode.judge(lambda session: Judgement(True, 1.0)).passed


def test_a_final_oracle_is_not_asked_at_every_step():
    with pytest.raises(Refused, match="no pure oracle"):
        rolled(World(judging="final"), Says(one(1)), until=own_oracle)


@pytest.mark.parametrize("stop", ["done", "give_up"])
def test_a_rollout_stops_when_the_policy_wishes_after_the_decisions_actions(stop):
    found, episode = rolled(World(), Says(one(1), Decision((count(2), count(3)), stop), one(4)))
    assert found == stop
    assert episode.trajectory.actions() == (count(1), count(2), count(3))


def test_a_rollout_stops_in_mid_chunk_when_the_environment_ends_the_episode():
    found, episode = rolled(World(ends_at=2), Says(Decision((count(1),) * 5, "done")))
    assert found == "ended"
    assert len(episode) == 2


def test_a_policy_is_not_asked_in_an_episode_that_has_ended():
    world, policy = World(ends_at=1), Says(one(1))
    with begin(world, world.start()) as episode:
        episode.act(count(1))
        assert episode.rollout(policy, Brief(), FREE) == "ended"
    assert policy.asked == 0


def test_a_rollout_stops_in_mid_chunk_when_the_oracle_is_satisfied():
    found, episode = rolled(World(goal=2), Says(Decision((count(1),) * 5)), until=own_oracle)
    assert found == "until"
    assert len(episode) == 2


def test_an_oracle_that_is_satisfied_at_once_lets_the_policy_do_nothing():
    policy = Says(one(1))
    brief = Brief(pending=(count(1),))
    found, episode = rolled(World(goal=0), policy, brief=brief, until=own_oracle)
    assert found == "until"
    assert (len(episode), policy.asked) == (0, 0)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(0, 15))
def test_a_budget_of_actions_is_kept_in_mid_chunk(sizes, limit):
    policy = Says(*[Decision((count(1),) * n) for n in sizes])
    found, episode = rolled(World(), policy, Budget(actions=limit))
    assert len(episode) == min(limit, sum(sizes))
    assert found == ("actions" if limit <= sum(sizes) else "give_up")


def test_a_wish_to_stop_within_the_budget_is_not_a_budget_reached():
    found, _ = rolled(World(), Says(Decision((count(1),) * 2, "done")), Budget(actions=2))
    assert found == "done"
    found, _ = rolled(World(), Says(Decision((count(1),) * 3, "done")), Budget(actions=2))
    assert found == "actions"


def test_a_budget_of_decisions_counts_those_without_actions():
    policy = Says(Decision(()), one(1), Decision(()), one(1))
    found, episode = rolled(World(), policy, Budget(decisions=3))
    assert found == "decisions"
    assert (len(episode), policy.asked) == (1, 3)


def test_a_budget_of_dollars_stops_after_the_decision_that_reached_it():
    found, episode = rolled(World(), Says(*[one(1, usd=0.25)] * 9), Budget(usd=0.5))
    assert found == "usd"
    assert len(episode) == 2


def test_a_budget_of_thinking_time_is_measured_by_the_engine():
    tape = Tape()
    found, _ = rolled(World(), Says(*[one(1, policy_s=99)] * 9), Budget(policy_s=98), sink=tape)
    assert found == "give_up"
    assert all(0 < decision.policy_s < 98 for decision in tape.decisions())
    found, episode = rolled(World(), Says(*[one(1)] * 9), Budget(policy_s=1e-9))
    assert (found, len(episode)) == ("policy_s", 1)


def test_the_pending_chunk_comes_first_and_is_nobodys_decision():
    policy = Says(one(3))
    found, episode = rolled(World(), policy, brief=Brief(pending=(count(1), count(2))))
    assert found == "give_up"
    steps = episode.trajectory.steps
    assert [(s.action, s.decision) for s in steps] == [
        (count(1), -1),
        (count(2), -1),
        (count(3), 0),
    ]
    found, episode = rolled(World(), policy, Budget(actions=1), Brief(pending=(count(1), count(2))))
    assert (found, len(episode)) == ("actions", 1)


def test_decisions_are_numbered_through_the_whole_episode():
    world, tape = World(), Tape()
    with begin(world, world.start(), sink=tape) as episode:
        episode.rollout(Says(Decision((count(1),) * 2), Decision((), "done")), Brief(), FREE)
        episode.act(count(5))
        episode.rollout(Says(one(1, stop="done")), Brief(), FREE)
    assert [s.decision for s in episode.trajectory.steps] == [0, 0, -1, 2]
    assert [n for name, n, _ in tape.lines if name == "decided"] == [0, 1, 2]


def test_a_policy_is_told_its_brief_and_nothing_else():
    policy, brief = Says(one(1, stop="done")), Brief("count", seed=7)
    rolled(World(), policy, brief=brief)
    assert policy.briefs == [brief]


def test_a_policy_never_sees_the_probe():
    seen = []

    class Policy:
        sees = VECTOR

        def begin(self, brief):
            return self

        def decide(self, observation):
            seen.append(observation)
            return Decision((count(1),), "done")

    rolled(World(), Policy(), see=VECTOR, probe=True)
    assert list(seen[0]) == ["vector"]


def test_a_graft_gives_one_evidence_per_action_and_raises_nothing_for_a_difference():
    world = World()
    with begin(world, world.start(), see=VECTOR, probe=True) as like:
        for value in (1, 2, 3):
            like.act(count(value))
    with begin(world, world.start()) as episode:
        episode.act(count(1))
        found = episode.graft(like.trajectory.actions(1), like.trajectory, STATE)
    assert [evidence.same for evidence in found] == [True, True]
    with begin(world, world.start()) as episode:
        episode.act(count(4))
        found = episode.graft(like.trajectory.actions(1), like.trajectory, STATE)
    assert [evidence.rungs["state.number"] for evidence in found] == [3.0, 3.0]
    assert not any(evidence.same for evidence in found)


def test_a_graft_without_anything_to_compare_with_only_acts():
    world = World()
    with begin(world, world.start()) as episode:
        assert episode.graft([count(1), count(2)]) == ()
        assert len(episode) == 2


def test_comparing_does_not_look_again():
    looks = []
    world = World(lambda session, place: looks.append(place))

    class Match:
        sees = VECTOR

        def __call__(self, recorded, reached):
            return Evidence(True)

    with begin(world, world.start(), see=VECTOR) as episode:
        before = list(looks)
        assert episode.compare(Match(), Moment()).same
        assert looks == before


def test_a_gap_is_recorded_on_a_real_clock_and_only_there():
    world = World()
    with begin(world, world.start()) as episode:
        episode.act(count(1), gap_s=5.0)
    assert episode.trajectory.steps[0].gap_s == 0.0
    with begin(world, world.start(clock="real")) as episode:
        episode.act(count(1), gap_s=0.02)
        episode.act(count(1))
    first, second = (step.gap_s for step in episode.trajectory.steps)
    assert first >= 0.02
    assert 0 <= second < 0.02


@given(st.integers(1, 40), st.integers(0, 3))
def test_a_tape_of_a_broken_rollout_is_a_prefix_of_the_whole_one(left, seed):
    brief, budget = Brief(seed=seed), Budget(decisions=12)
    whole, part = Tape(), Breaks(left)
    rolled(World(), Adds(), budget, brief, sink=whole)
    try:
        rolled(World(), Adds(), budget, brief, sink=part)
    except Broken:
        assert len(part.lines) == left + 1
    short, n = part.trajectory(), len(part.trajectory())
    assert short.key() == whole.trajectory().key(n)
