"""Scripted policies: experts succeed, also from the middle of a task; the others fail otherwise."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from clew.core import NOTHING, Brief, Control, Refused, Seen

pytest.importorskip("mujoco")

from clew.environments.tabletop import Tabletop, scene
from clew.environments.tabletop.tasks import LAYOUT, REACH_M, TASKS
from clew.policies import tabletop as policies
from clew.policies.tabletop import (
    BadPose,
    Dropper,
    EarlyRelease,
    Expert,
    LateRelease,
    Reading,
    Scripted,
    WrongTarget,
)

VECTOR = frozenset({"vector"})
WEAK = (WrongTarget, Dropper, BadPose, EarlyRelease, LateRelease)


@pytest.fixture(scope="module")
def tabletop():
    environment = Tabletop()
    yield environment
    environment.close()


def succeeds(session, policy, seed, budget):
    """True if the task is solved at any step within `budget` actions."""
    actor, seen, acted = policy.begin(Brief(seed=seed)), session.observe(VECTOR), 0
    while acted < budget:
        for action in actor.decide(seen).actions:
            seen = session.act(action, VECTOR)
            acted += 1
            if session.judge().passed:
                return True
    return False


def successes(tabletop, task, policy, seeds):
    won = 0
    for seed in seeds:
        session = tabletop.open(tabletop.start(task, seed))
        won += succeeds(session, policy, seed + 1000, tabletop.budget(task))
        session.close()
    return won


@pytest.mark.parametrize("task", TASKS)
def test_the_expert_solves_every_task(tabletop, task):
    assert successes(tabletop, task, Expert(), range(4)) == 4


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_the_expert_succeeds_on_95_percent_of_50_seeds(tabletop, task):
    assert successes(tabletop, task, Expert(), range(50)) >= 48


@pytest.mark.parametrize("task", TASKS)
def test_the_expert_recovers_with_no_history_from_an_object_dropped_on_the_way(tabletop, task):
    session = tabletop.open(tabletop.start(task, 2))
    actor, seen = Expert().begin(Brief(seed=1)), session.observe(VECTOR)
    while seen["vector"][LAYOUT["object"]][2] < 0.08:
        seen = session.act(actor.decide(seen).actions[0], VECTOR)
    for _ in range(20):
        session.act(Control((-0.7, 0.7, 0.3, -1.0)), NOTHING)
    assert not session.judge().passed
    assert succeeds(session, Expert(), 9, tabletop.budget(task))
    session.close()


def test_the_expert_opens_a_drawer_that_was_shut_too_soon(tabletop):
    session = tabletop.open(tabletop.start("drawer", 4))
    actor = Expert().begin(Brief(seed=3))
    empty = session.observe(VECTOR)["vector"].copy()
    while empty[LAYOUT["drawer"]][0] > 0.02:
        # Told that the block is in the drawer already, it goes and shuts it.
        empty[LAYOUT["object"]] = empty[LAYOUT["goal"]]
        action = actor.decide(Seen({"vector": empty})).actions[0]
        empty = session.act(action, VECTOR)["vector"].copy()
    assert succeeds(session, Expert(), 5, 2 * tabletop.budget("drawer"))
    session.close()


@pytest.mark.parametrize(
    "policy", [Expert(), *(weak() for weak in WEAK)], ids=lambda p: type(p).__name__
)
def test_the_same_brief_and_observations_give_the_same_decisions(tabletop, policy):
    session = tabletop.open(tabletop.start("sort", 6))
    one, two = policy.begin(Brief(seed=11)), policy.begin(Brief(seed=11))
    other, differed, seen = policy.begin(Brief(seed=12)), False, session.observe(VECTOR)
    for _ in range(70):
        decision = one.decide(seen)
        assert decision == two.decide(seen)
        differed |= decision != other.decide(seen)
        seen = session.act(decision.actions[0], VECTOR)
    assert differed
    session.close()


@pytest.mark.slow
@pytest.mark.parametrize("weak", WEAK)
def test_a_weaker_policy_usually_starts_well_and_recovers_badly(tabletop, weak):
    """At home most attempts are sound; from where its own fault left the block most are not."""
    at_home = successes(tabletop, "stack", weak(), range(20))
    astray = 0
    for seed in range(20):
        session = tabletop.open(tabletop.start("stack", seed))
        for _ in range(8):
            session.act(Control((0.9, 0.5, 0.0, -1.0)), NOTHING)
        astray += succeeds(session, weak(), seed + 1000, tabletop.budget("stack"))
        session.close()
    assert at_home >= 12
    assert 2 <= astray <= 18
    assert astray < at_home


@pytest.mark.parametrize(
    ("weak", "differs"),
    [
        (WrongTarget, lambda f: f.wrong_block or f.wrong_place),
        (Dropper, lambda f: f.drop_after is not None or f.grip < 0.1),
        (BadPose, lambda f: 0.02 <= np.hypot(*f.grasp_m[:2]) <= 0.034),
        (EarlyRelease, lambda f: f.early_m > 0.1),
        (LateRelease, lambda f: f.late_acts >= 4),
    ],
)
def test_each_weaker_policy_has_a_fault_of_its_own(weak, differs):
    rng = np.random.default_rng(0)
    assert all(differs(weak().fault(rng)) for _ in range(50))


def test_a_chunk_is_that_many_actions_towards_one_waypoint(tabletop):
    session = tabletop.open(tabletop.start("pick-place", 1))
    decision = Expert(chunk=5).begin(Brief()).decide(session.observe(VECTOR))
    assert len(decision.actions) == 5
    assert len({action.values[3] for action in decision.actions}) == 1
    session.close()
    assert successes(tabletop, "pick-place", Expert(chunk=3), range(3)) == 3


def test_settings_out_of_range_and_another_environments_vector_are_refused():
    for settings, why in (
        ({"chunk": 0}, "chunk"), ({"routine": 1.5}, "routine"), ({"astray": -0.1}, "astray"),
        ({"slow_acts": -1}, "slow_acts"),
    ):  # fmt: skip
        with pytest.raises(Refused, match=why):
            Scripted(**settings)
    with pytest.raises(Refused, match="for the environment 'tabletop'"):
        Expert().begin(Brief()).decide(Seen({"vector": np.zeros(39)}))


def test_the_policies_read_the_vector_as_the_environment_lays_it_out():
    vector = np.arange(25, dtype=np.float32)
    reading = Reading.of(vector)
    for name in ("hand", "object", "distractor", "goal", "decoy"):
        assert getattr(reading, name) == tuple(vector[LAYOUT[name]])
    assert (reading.gap, reading.drawer) == (vector[LAYOUT["gap"]], vector[LAYOUT["drawer"]])
    assert (policies.REACH_M, policies.HOME_M) == (REACH_M, scene.HOME_M)


def test_the_policies_import_no_environment():
    assert "clew.environments" not in inspect.getsource(policies)
