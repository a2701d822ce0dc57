"""The funnel: how many deviations were dropped, at which stage, and why. Counts only."""

from __future__ import annotations

from collections import Counter
from typing import Any

from clew.run.executor import Done
from clew.studies.roborecover.stages import RoboRecover


def funnel(study: RoboRecover, done: Done) -> list[dict[str, Any]]:
    """One row per stage: `entered`, `left`, and `dropped` by reason; entered = left + dropped."""
    rebuilt, kept, valid = study.rebuilt(done), study.kept(done), study.valid(done)
    candidates, test = study.candidates(done), study.test(done)
    return [
        _row("rollouts", len(done["rollouts"]), len(candidates), _rollouts(study, done)),
        _row("rebuilding", len(candidates), len(rebuilt), _scenarios(done)),
        _row("screening", len(rebuilt), len(kept), _screening(study, done)),
        _row("validation", len(kept), len(valid), _validation(study, done)),
        _row("test split", len(valid), len(test), Counter(train=len(valid) - len(test))),
    ]


def _row(stage: str, entered: int, left: int, dropped: Counter[str]) -> dict[str, Any]:
    dropped = Counter({reason: n for reason, n in dropped.items() if n})
    if entered - left != sum(dropped.values()):
        raise AssertionError(f"the funnel leaks at {stage}: {entered} in, {left} out, {dropped}")
    return {
        "stage": stage,
        "entered": entered,
        "left": left,
        "dropped": dict(sorted(dropped.items())),
    }


def _rollouts(study: RoboRecover, done: Done) -> Counter[str]:
    found: Counter[str] = Counter()
    points = 0
    for _, result in done["rollouts"]:
        if result.values.get("solved"):
            found["already solved"] += 1
        elif result.outcome == "pass":
            found["succeeded"] += 1
        elif result.outcome == "void":
            found["void"] += 1
        elif result.values.get("point") is None:
            found[result.cause.kind if result.cause else "no stable deviation"] += 1
        else:
            points += 1
    found["same state as another"] = points - len(study.candidates(done))
    return found


def _scenarios(done: Done) -> Counter[str]:
    found: Counter[str] = Counter()
    for _, result in done["scenarios"]:
        if result.outcome != "pass":
            found[result.cause.kind if result.cause else "void"] += 1
        elif result.values["solved"]:
            found["already solved"] += 1
    return found


def _screening(study: RoboRecover, done: Done) -> Counter[str]:
    found: Counter[str] = Counter()
    rule = study.plan.screening
    for _, successes, voids in study.screened(done):
        if voids:
            found["void"] += 1
        elif successes < rule.least:
            found[f"under {rule.least} of {rule.trials} successes"] += 1
        elif successes > rule.most:
            found[f"over {rule.most} of {rule.trials} successes"] += 1
    return found


def _validation(study: RoboRecover, done: Done) -> Counter[str]:
    results = {unit.digest: result for unit, result in done["validation"]}
    found: Counter[str] = Counter()
    for candidate in study.kept(done):
        outcomes = {results[u.digest].outcome for u in study.validation_units(candidate)}
        if outcomes != {"pass"}:
            found["replay differs" if "fail" in outcomes else "void"] += 1
    return found
