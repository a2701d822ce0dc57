"""What an unreliable world does to attempts: its crashes are carried on, a policy's own are fails."""

from __future__ import annotations

import os

import pytest

from clew.core import Control, Moment, Start, Step, Text, Trajectory, Wait
from clew.run.control import CONTROLS, REPRODUCED, Blame, other_actions
from clew.run.units import Unit
from clew.store import Loaded, Reader
from clew.store import attempts as attempts_in

from ._help import HERE, Told, execute, marked, new_mark, none_left

LUCKY = "_work:Lucky"
DECISION = "its decision after 3 actions broke the attempt"


@pytest.fixture
def luck(tmp_path, monkeypatch):
    """Sessions are counted in a folder of this test."""
    (tmp_path / "luck").mkdir()
    monkeypatch.setenv("CLEW_TEST_LUCK", str(tmp_path / "luck"))


def attempts(count: int, **options) -> list[Unit]:
    """Nothing but decisions and actions is recorded of every second one."""
    return [
        Unit(
            "_work:attempt", LUCKY,
            {"environment": LUCKY, "seed": s, "options": options, "probe": s % 2 == 0},
        )
        for s in range(count)
    ]  # fmt: skip


def by_policy(policy: str, **options) -> Unit:
    arguments = {"seed": 1, "policy": f"_work:{policy}", "options": options}
    return Unit("_work:attempt", "unreliable", arguments)


def outcomes(results) -> list[tuple]:
    return [(r.outcome, dict(r.values), r.cause) for r in results.values()]


@pytest.mark.parametrize(
    ("hazard", "kind", "count"),
    [
        (0.03, "raise", 24),
        pytest.param(0.01, "raise", 400, marks=pytest.mark.slow),
        pytest.param(0.03, "raise", 400, marks=pytest.mark.slow),
        pytest.param(0.01, "exit", 100, marks=pytest.mark.slow),
        pytest.param(0.03, "exit", 60, marks=pytest.mark.slow),
    ],
)
def test_the_true_outcomes_are_recovered_under_a_crash_hazard(tmp_path, luck, hazard, kind, count):
    plain = execute(tmp_path / "plain", attempts(count))
    assert {r.outcome for r in plain.values()} == {"pass", "fail"}
    broken = execute(tmp_path / "broken", attempts(count, crash=hazard, crash_as=kind))
    assert outcomes(broken) == outcomes(plain)
    assert any(r.about.get("carried_on", 0) > 1 for r in broken.values()), "nothing crashed"


def test_a_crash_that_the_action_causes_is_a_fail_of_the_policy(tmp_path):
    units = [by_policy("seven", crash_on=7, crash_as=kind) for kind in ("raise", "exit")]
    for result in execute(tmp_path, units).values():
        assert (result.outcome, result.cause.party) == ("fail", "policy")
        assert result.cause.kind == "reproduced_crash"
        times = f"{REPRODUCED} times of {REPRODUCED}"
        assert result.cause.detail == (
            f"its last action after 4 actions broke the attempt {times};"
            " 2 of 2 replays with another action in its place survived"
        )


@pytest.mark.parametrize(("kind", "policy"), [("raise", "seven"), ("exit", "unreliable/coin")])
def test_a_world_that_breaks_at_a_step_whatever_is_done_is_the_environments_void(
    tmp_path, kind, policy
):
    """The third act is the policy's 1 like the two before it, so the control stands still (0)."""
    name = policy if "/" in policy else f"_work:{policy}"
    options = {"dies_at_step": 3, "crash_as": kind}
    unit = Unit("_work:attempt", "unreliable", {"seed": 1, "policy": name, "options": options})
    (result,) = execute(tmp_path, [unit]).values()
    assert (result.outcome, result.cause.party) == ("void", "environment")
    assert result.cause.kind == "breaks_anyway"
    assert result.cause.detail == (
        f"its last action after 3 actions broke the attempt {REPRODUCED} times of {REPRODUCED},"
        " but 0 of 2 replays with another action in its place survived"
    )
    assert len(tried(tmp_path)) == REPRODUCED + CONTROLS // 2 + 1, "it is not tried for ever"


def tried(folder) -> list:
    """Every attempt of the run's segments, controls among them."""
    reader = Reader(folder)
    return [each for name in reader.segments() for each in attempts_in(reader, name)]


@pytest.mark.parametrize("kind", ["raise", "exit"])
def test_a_world_that_breaks_when_it_is_looked_at_is_never_the_policys_fault(tmp_path, kind):
    """Nothing was decided yet: what breaks is the first look, before any action."""
    unit = by_policy("seven", blind=True, crash_as=kind)
    results = execute(tmp_path, [unit], retries=8)
    assert [(r.outcome, r.cause.party) for r in results.values()] == [("void", "environment")]


def test_a_control_that_breaks_on_its_way_says_nothing(tmp_path):
    """Golden: a blamed decision after 2 actions; what broke while they were replayed is no sign."""
    blamed = Blame("policy", 2, REPRODUCED)
    on_the_way, at_it = control(2, "act"), control(2, "policy")
    short, fine, refused = control(1, "act"), control(2, "survived"), control(2, "not_taken")
    assert blamed.verdict([on_the_way, short, refused] * 9) is None
    assert blamed.verdict([at_it, on_the_way, fine]) is None
    assert blamed.verdict([at_it, fine, at_it]).party == "environment"
    assert blamed.verdict([fine, short, at_it, fine]).party == "policy"
    assert blamed.verdict([control(2, "survived", of=1)] * 9) is None, "of another place"


def control(actions: int, phase: str, of: int = 2) -> tuple[Loaded, str]:
    steps = (Step(Moment(), Wait(1)),) * actions
    begun = Trajectory(Start("unreliable", "count"), steps)
    return Loaded(begun, {}, {"control": of}, None), phase


def test_the_action_of_a_control_differs_and_comes_from_the_trajectory_where_it_can():
    one, two, zero = (Control((n, n), "int64") for n in (1, 2, 0))
    assert other_actions([two, one, two, one]) == [two, zero]
    assert other_actions([one, one]) == [zero]
    assert other_actions([two, zero, one]) == [zero, two]
    assert other_actions([zero, zero]) == []
    assert other_actions([Text("a"), Wait(5), Text("a")]) == [Wait(5), Wait(100)]
    assert other_actions([Text("a")]) == [Wait(100)]


def test_where_there_is_nothing_else_to_try_it_is_void(tmp_path):
    unit = Unit(
        "_work:attempt", "unreliable",
        {"seed": 1, "policy": "_work:still", "options": {"dies_at_step": 2, "crash_as": "raise"}},
    )  # fmt: skip
    (result,) = execute(tmp_path, [unit]).values()
    assert (result.outcome, result.cause.kind) == ("void", "breaks_anyway")
    assert "no other action to try" in result.cause.detail


@pytest.mark.slow
def test_a_hang_that_the_action_causes_ends_at_its_deadline_and_is_a_fail(tmp_path, monkeypatch):
    environment = new_mark()
    for name, value in environment.items():
        monkeypatch.setitem(os.environ, name, value)
    told = Told()
    (result,) = execute(
        tmp_path, [by_policy("seven", hang_on=7)], told, deadlines={"act": 0.2}
    ).values()
    assert (result.outcome, result.cause.kind) == ("fail", "reproduced_crash")
    assert len(told.notes) == REPRODUCED
    assert all(note.startswith("deadline: act lasted over") for note in told.notes)
    assert not marked(environment, "warden.py"), "workers or wardens are left"
    assert not marked(environment, "clew.run.worker")


def test_random_hangs_are_carried_on(tmp_path, luck):
    plain = execute(tmp_path / "plain", attempts(3))
    hung = execute(tmp_path / "hung", attempts(3, hang=0.01), deadlines={"act": 0.2})
    assert outcomes(hung) == outcomes(plain)


def test_leaked_children_end_with_the_run(tmp_path, monkeypatch):
    environment = new_mark()
    for name, value in environment.items():
        monkeypatch.setitem(os.environ, name, value)
    units = [
        Unit("_work:attempt", "unreliable", {"seed": s, "options": {"leak": True}}) for s in (0, 1)
    ]
    execute(tmp_path, units)
    assert not marked(environment, "sleep")
    monkeypatch.undo()
    none_left(environment)


def test_what_a_simulator_prints_harms_nothing_and_its_tail_is_in_the_cause(tmp_path):
    good = Unit("_work:attempt", "unreliable", {"seed": 2, "options": {"prints": True}})
    options = {"prints": True, "crash": 0.999}
    bad = Unit("_work:attempt", "unreliable", {"seed": 2, "options": options})
    results = execute(tmp_path, [good, bad], retries=1)
    assert results[good.digest].outcome in ("pass", "fail")
    cause = results[bad.digest].cause
    assert (results[bad.digest].outcome, cause.kind) == ("void", "worker_died")
    assert cause.detail.startswith("signal 9 during act: act ")


@pytest.mark.parametrize(
    ("policy", "kind", "words"),
    [
        ("wide", "invalid_action", "one int64"),
        ("nan", "invalid_action", "nan"),
        ("error", "error", "LookupError: no such weight"),
        pytest.param("killed", "reproduced_crash", DECISION, marks=pytest.mark.slow),
        pytest.param("exits", "reproduced_crash", DECISION, marks=pytest.mark.slow),
    ],
)
def test_what_a_policy_breaks_it_fails(tmp_path, monkeypatch, policy, kind, words):
    monkeypatch.syspath_prepend(str(HERE))
    here = kind != "reproduced_crash"  # which would end this process
    (result,) = execute(tmp_path, [by_policy(policy)], here=here).values()
    assert (result.outcome, result.cause.party, result.cause.kind) == ("fail", "policy", kind)
    assert words in result.cause.detail


def test_what_stays_unresolved_is_void_after_its_retries_and_in_the_log_once(tmp_path):
    from ._help import log_of

    told = Told()
    unit = Unit("_work:attempt", "unreliable", {"seed": 0, "options": {"crash": 0.999}})
    results = execute(tmp_path, [unit, *attempts_of(3)], told, retries=1)
    assert results[unit.digest].outcome == "void"
    assert results[unit.digest].values == {}
    assert len(told.notes) == 2
    assert [r["outcome"] for r in log_of(tmp_path) if r["unit"] == unit.digest] == ["void"]
    assert {r.outcome for d, r in results.items() if d != unit.digest} <= {"pass", "fail"}


def attempts_of(count: int) -> list[Unit]:
    return [Unit("_work:attempt", "unreliable", {"seed": seed}) for seed in range(count)]
