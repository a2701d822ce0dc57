"""The funnel adds up, the split leaks nothing, and tables hide no void, whatever the results are."""

from __future__ import annotations

import itertools
import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from clew.core import Cause
from clew.run.units import Result
from clew.studies.roborecover.funnel import funnel
from clew.studies.roborecover.tables import tables

from ._plans import KEYS, finish, made, plan, void


def results(draw):
    """A function that gives each unit a result that a worker could have given."""

    def choose(stage: str, unit) -> Result:
        kind = draw(st.sampled_from(["pass", "pass", "fail", "fail", "void"]))
        if kind == "void":
            return void(unit, draw(st.sampled_from(["deadline", "diverged"])))
        if stage == "rollouts" and kind == "fail":
            if draw(st.integers(0, 4)) == 0:
                cause = Cause("policy", "invalid_action", "too wide")
                return Result(unit.digest, "fail", {}, cause)
            point = draw(st.none() | st.integers(5, 40))
            values = {"point": point, "actions": 100, "stop": "actions"}
            if point is not None:
                values["key"] = draw(st.sampled_from(KEYS[:8]))
            return Result(unit.digest, "fail", values)
        if stage == "scenarios":
            solved = draw(st.integers(0, 5)) == 0
            values = {"solved": solved, "framed": False, "actions": 20, "key": "k"}
            return Result(unit.digest, "pass", values)
        return Result(unit.digest, kind, {"actions": 10, "stop": "actions"})

    return choose


_chosen = st.composite(results)()


@settings(max_examples=60, deadline=None)
@given(_chosen)
def test_the_funnel_never_leaks(choose):
    study = made()
    done = finish(study, choose)
    rows = funnel(study, done)
    for row in rows:
        assert row["entered"] == row["left"] + sum(row["dropped"].values())
        assert all(n > 0 for n in row["dropped"].values())
    for before, after in itertools.pairwise(rows):
        assert before["left"] == after["entered"]
    assert rows[0]["entered"] == len(study.sourced())
    assert rows[-1]["left"] == len(study.test(done))


@settings(max_examples=60, deadline=None)
@given(_chosen)
def test_no_episode_is_in_both_splits_and_every_valid_scenario_in_one(choose):
    study = made()
    done = finish(study, choose)
    test = {c.name for c in study.test(done)}
    episodes: dict[tuple, set[bool]] = {}
    for candidate in study.valid(done):
        episodes.setdefault((candidate.task, candidate.episode), set()).add(candidate.name in test)
    assert all(len(sides) == 1 for sides in episodes.values())


@settings(max_examples=40, deadline=None)
@given(_chosen)
def test_tables_count_every_void_and_can_be_written(choose):
    study = made()
    done = finish(study, choose)
    found = tables(study, done)
    json.dumps(found, allow_nan=False)
    study.text(found)
    voids = sum(r.outcome == "void" for stage in done for _, r in done[stage])
    assert sum(row["units"] for row in found["voids"]) == voids
    for name, scheduled in (("initial", 8), ("recovery", None)):
        for row in found[name]["rates"]:
            total = scheduled // 2 if scheduled else 2 * found[name]["scenarios"]
            assert row["passed"] + row["failed"] + row["void"] == row["scheduled"] == total
            low, high = row["trial_rates"]["void_failed"], row["trial_rates"]["void_passed"]
            assert low <= (row["trial_rates"]["void_left_out"] or low) <= high or row["void"] == 0
            assert row["rate"] <= 1


def all_fail(stage, unit):
    if stage == "rollouts":
        key = unit.digest.rjust(64, "0")[::-1]
        return Result(unit.digest, "fail", {"point": 9, "key": key, "actions": 50})
    if stage == "scenarios":
        return Result(
            unit.digest, "pass", {"solved": False, "framed": False, "actions": 9, "key": "k"}
        )
    if stage == "validation":
        return Result(unit.digest, "pass", {})
    if stage == "screening":
        outcome = "pass" if unit.arguments["trial"] % 2 else "fail"
        return Result(unit.digest, outcome, {})
    return Result(unit.digest, "fail", {})


def test_a_void_is_never_a_zero_nor_dropped():
    """Half of the evaluation trials void, the others pass: the three rates say .5, 1 and 1."""
    study = made(split={"test": 0.999})

    def choose(stage, unit):
        if stage == "evaluation":
            return Result(unit.digest, "pass", {}) if unit.arguments["trial"] else void(unit)
        return all_fail(stage, unit)

    found = tables(study, finish(study, choose))
    for row in found["recovery"]["rates"]:
        assert row["trial_rates"] == {"void_failed": 0.5, "void_left_out": 1.0, "void_passed": 1.0}
        assert row["void"] == row["passed"] == found["recovery"]["scenarios"]
        assert row["rate"] == 0.5
    (voids,) = found["voids"]
    assert (voids["stage"], voids["kind"]) == ("evaluation", "worker_died")
    assert "void = 0 / out / 1" in study.text(found)


def test_what_moves_a_terminals_cursor_in_a_name_is_shown_as_a_sign():
    names = [{**p, "name": f"\x1b[31m{p['name']}\n\r"} for p in plan()["policies"]]
    other = made(
        policies=names,
        screening={"policies": [n["name"] for n in names], "trials": 4, "least": 1, "most": 3},
        sources=[{"kind": "natural", "policies": [names[1]["name"]], "episodes": 3}],
    )
    shown = other.text(tables(other, finish(other, all_fail)))
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "\N{REPLACEMENT CHARACTER}[31mexpert\N{REPLACEMENT CHARACTER}" in shown


def test_counts_of_one_are_singular():
    study = made(sources=[{"kind": "natural", "policies": ["dropper"], "episodes": 1}])
    shown = study.text(tables(study, finish(study, all_fail)))
    assert " 1 scenarios" not in shown
    assert not re.search(r"\b1 (scenarios|episodes|draws)", shown)


def test_a_run_of_several_codes_or_fingerprints_says_so():
    study = made()
    found = tables(study, finish(study, all_fail))
    run = {
        "mixed": True, "mixed_code": ["engine"], "code": {"engine": ["a1", "b2"]}, "after_void": 1,
    }  # fmt: skip
    shown = study.text({**found, "run": run})
    assert "note: this run mixes fingerprints: versions or machines differ" in shown
    assert "note: this run mixes code: its results were made by engine a1 and b2" in shown
    assert "note: 1 result came from a later try, after the unit had stayed void" in shown
    assert "mixes" not in study.text(found)


def test_the_split_depends_on_the_episode_and_the_seed_alone():
    """The first share of the episodes in the order of SHA-256 of 'seed task episode'."""
    import hashlib

    study = made(seed=3, split={"test": 0.4})
    done = finish(study, all_fail)
    episodes = {(c.task, c.episode) for c in study.valid(done)}
    assert len(episodes) > 4
    order = sorted(episodes, key=lambda e: hashlib.sha256(f"3 {e[0]} {e[1]}".encode()).hexdigest())
    chosen = set(order[: round(0.4 * len(order))])
    assert {(c.task, c.episode) for c in study.test(done)} == chosen
    other = made(seed=3, split={"test": 0.4}, name="renamed", evaluation={"trials": 5})
    names = [c.name for c in study.test(done)]
    assert [c.name for c in other.test(finish(other, all_fail))] == names


def test_stages_are_pure_functions_of_what_earlier_stages_gave():
    study = made()
    one, other = finish(study, all_fail), finish(made(), all_fail)
    for stage in one:
        assert [u.digest for u, _ in one[stage]] == [u.digest for u, _ in other[stage]]


def test_renaming_a_policy_changes_no_unit():
    renamed = plan()["policies"]
    renamed = [{**renamed[0], "name": "master"}, renamed[1]]
    other = made(
        policies=renamed, screening={"policies": ["master", "dropper"], "trials": 4, "least": 1, "most": 3},
        sources=[
            {"kind": "natural", "policies": ["dropper"], "episodes": 3},
            {"kind": "perturbed", "policies": ["dropper", "master"], "episodes": 2, "sigma": 1.0},
        ],
    )  # fmt: skip
    one, two = finish(made(), all_fail), finish(other, all_fail)
    for stage in one:
        assert [u.digest for u, _ in one[stage]] == [u.digest for u, _ in two[stage]]


def test_a_plan_never_has_more_units_than_it_says():
    study = made()
    done = finish(study, all_fail)
    for stage, most in study.most().items():
        assert len(done[stage]) <= most
    assert len(done["initial"]) == study.most()["initial"]


def test_equal_states_are_kept_once():
    study = made()

    def choose(stage, unit):
        result = all_fail(stage, unit)
        if stage == "rollouts":
            return Result(unit.digest, "fail", {**result.values, "key": KEYS[0]})
        return result

    done = finish(study, choose)
    assert len(study.candidates(done)) == 1
    rollouts = len(study.sourced())
    assert funnel(study, done)[0]["dropped"] == {"same state as another": rollouts - 1}
