"""A plan is checked once, as a whole; what is wrong is said in one sentence that names the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.core import Refused
from clew.studies import catalog

from ._plans import FILE, made, plan, toml

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))


def with_first_policy(**changed) -> dict:
    first, *rest = plan()["policies"]
    return plan(policies=[{**first, **changed}, *rest])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (plan(envronment="x"), "unknown key 'envronment'; did you mean 'environment'?"),
        (plan(screening={**plan()["screening"], "trails": 3}),
         "unknown key 'screening.trails'; did you mean 'trials'?"),
        (with_first_policy(polcy="x"), "unknown key 'policies[0].polcy'; did you mean 'policy'?"),
        (with_first_policy(policy=3), "'policies[0].policy' is 3: it must be str"),
        (with_first_policy(noise=[1]), "'policies[0].noise' is [1]: it must be a table"),
        (plan(tasks="stack"), "'tasks' must be a list of names, at least one"),
        (plan(tasks=[]), "'tasks' must be a list of names, at least one"),
        (plan(tasks=["stack", "stack"]), "'tasks' names something twice"),
        (plan(seed=1.5), "'seed' is 1.5: it must be int"),
        (plan(seed=True), "'seed' is True: it must be int"),
        (plan(frames=1), "'frames' is 1: it must be bool"),
        (plan(seed=-1), "'seed' is -1: it must be a number and not negative"),
        (plan(point={"still_mm": float("nan")}), "'point.still_mm' is nan: it must be a number"),
        (plan(point={"still_mm": float("inf")}), "'point.still_mm' is inf: it must be a number"),
        (plan(point={"window": 0}), "'point.window' must be at least 1"),
        (plan(sources=[]), "'sources' must be a list of tables, at least one"),
        (plan(sources=["natural"]), "'sources' must be a list of tables, at least one"),
        (plan(policies={"name": "x"}), "'policies' must be a list of tables"),
        (plan(policies=plan()["policies"] * 2), "two policies have the same name"),
        (plan(sources=[{"kind": "natural", "policies": ["droper"]}]),
         "'sources[0].policies' names the policy 'droper'; did you mean 'dropper'?"),
        (plan(sources=[{"kind": "natural", "policies": ["dropper", "dropper"]}]),
         "'sources[0].policies' names something twice"),
        (plan(sources=[{"kind": "a", "policies": ["dropper"]}] * 2), "two sources have the same kind"),
        (plan(screening={"policies": ["exprt"]}),
         "'screening.policies' names the policy 'exprt'; did you mean 'expert'?"),
        (plan(screening={"policies": ["expert"], "trials": 3}), "least ≤ most ≤ trials must hold"),
        (plan(split={"test": 1}), "'split.test' is 1: it must lie between 0 and 1"),
        (plan(statistics={"confidence": 1}), "'statistics.confidence' must lie between 0 and 1"),
        (plan(statistics={"draws": 0}), "'statistics.draws' must be at least 1"),
        (plan(validation={"replays": 0}), "'validation.replays' must be at least 1"),
        (plan(validation=3), "validation must be a table"),
        ({k: v for k, v in plan().items() if k != "screening"}, "'screening' is missing"),
        ({k: v for k, v in plan().items() if k != "environment"}, "'environment' is missing"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_plan_is_named(data, says):
    with pytest.raises(Refused) as refused:
        catalog.made(data, FILE)
    assert str(refused.value).startswith("plan.toml: ")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "'study' is missing; valid: roborecover"),
        ({"study": "roborecver"}, "there is no study 'roborecver'; did you mean 'roborecover'?"),
        ({"study": ["x"]}, "there is no study ['x']"),
        ({"study": 5}, "there is no study 5"),
    ],
)
def test_an_unknown_study_is_named(data, says):
    with pytest.raises(Refused) as refused:
        catalog.made(data, FILE)
    assert says in str(refused.value)


def test_files_that_are_no_plans_are_refused(tmp_path):
    with pytest.raises(Refused, match="there is no plan"):
        catalog.read(tmp_path / "none.toml")
    with pytest.raises(Refused, match="cannot be read"):
        catalog.read(tmp_path)
    (tmp_path / "bad.toml").write_text("study = ")
    with pytest.raises(Refused, match="is not TOML"):
        catalog.read(tmp_path / "bad.toml")
    (tmp_path / "latin.toml").write_bytes(b'study = "\xe9"')
    with pytest.raises(Refused, match="cannot be read"):
        catalog.read(tmp_path / "latin.toml")


def test_a_plan_file_gives_the_plan_that_was_written(tmp_path):
    (tmp_path / "plan.toml").write_text(toml(plan()))
    assert catalog.read(tmp_path / "plan.toml").data == plan()
    assert made().plan.evaluation.trials == 2
    assert made().plan.point.window == 10


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_examples_are_plans(file):
    study = catalog.read(file)
    assert study.name == "roborecover"
    assert all(count >= 0 for count in study.most().values())
