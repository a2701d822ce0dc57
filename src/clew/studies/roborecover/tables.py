"""The tables of a RoboRecover study, computed from accepted results alone. Prints nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from clew.core import Outcome
from clew.run.executor import Done
from clew.run.units import Result, Unit
from clew.stats import (
    Bootstrap,
    Contrast,
    Estimate,
    Table,
    contrasts,
    oracle,
    tabulate,
    void_rates,
    wilson,
)
from clew.studies.roborecover.funnel import funnel
from clew.studies.roborecover.plan import PolicySpec, Statistics
from clew.studies.roborecover.stages import Candidate, RoboRecover

Outcomes = Mapping[str, Sequence[Outcome]]


def tables(study: RoboRecover, done: Done) -> dict[str, Any]:
    """Every table as plain data. Headline: an unresolved trial counts as failed (as published)."""
    plan = study.plan
    initial, recovery = _initial(study, done), _recovery(study, done)
    episodes = {name: name for rows in initial.values() for name in rows}
    episodes |= {c.name: f"{c.task}/{c.episode}" for c in study.test(done)}
    method = "bootstrap over complete episodes, percentile"
    return {
        "study": "roborecover", "name": plan.name, "environment": plan.environment,
        "tasks": list(plan.tasks), "frames": _framed(done),
        "statistics": {**asdict(plan.statistics), "method": method},
        "funnel": funnel(study, done),
        "initial": _compared(initial, episodes, plan.statistics),
        "recovery": _compared(recovery, episodes, plan.statistics),
        "recovery_by_task": _by(study, done, lambda c: c.task),
        "recovery_by_source": _by(study, done, lambda c: c.source),
        "scenarios": _scenarios(study, done),
        "screening": _screening_policies(study),
        "solved_starts": sorted(solved_starts(study, done)),
        "voids": _voids(done),
        "faults": _faults(done),
    }  # fmt: skip


def _initial(study: RoboRecover, done: Done) -> dict[str, Outcomes]:
    results = iter(done["initial"])
    found: dict[str, dict[str, list[Outcome]]] = {}
    for policy in study.plan.policies:
        rows = found.setdefault(policy.name, {})
        for task in study.plan.tasks:
            for i in range(study.plan.initial.episodes):
                seed = study.plan.initial.first_seed + i
                for _ in range(study.plan.initial.trials):
                    rows.setdefault(f"{task}/{seed}", []).append(next(results)[1].outcome)
    solved = solved_starts(study, done)
    return {
        name: {s: o for s, o in rows.items() if s not in solved} for name, rows in found.items()
    }


def solved_starts(study: RoboRecover, done: Done) -> set[str]:
    """Initial states that satisfy the task before anyone acts: ineligible, not passes."""
    return {
        f"{unit.arguments['task']}/{unit.arguments['seed']}"
        for unit, result in done["initial"]
        if result.values.get("solved")
    }


def _recovery(study: RoboRecover, done: Done) -> dict[str, Outcomes]:
    results = {unit.digest: result for unit, result in done["evaluation"]}
    return {
        policy.name: {c.name: _outcomes(study, c, policy, results) for c in study.test(done)}
        for policy in study.plan.policies
    }


def _outcomes(
    study: RoboRecover, candidate: Candidate, policy: PolicySpec, results: Mapping[str, Result]
) -> list[Outcome]:
    return [results[u.digest].outcome for u in study.trials(candidate, policy)]


def _compared(
    outcomes: Mapping[str, Outcomes], episodes: Mapping[str, str], statistics: Statistics
) -> dict[str, Any]:
    """Rates, paired contrasts and the retrospective oracle. Complete episodes are resampled, as
    several scenarios may come from one; without two of them there is nothing to resample."""
    scenarios = list(next(iter(outcomes.values())))
    clusters = {name: episodes[name] for name in scenarios}
    if len(set(clusters.values())) < 2:
        return {
            "scenarios": 0,
            "too_few": len(scenarios),
            "rates": [],
            "contrasts": [],
            "oracle": None,
        }
    bootstrap = Bootstrap(statistics.seed, clusters, statistics.draws, statistics.confidence)
    rated: dict[str, Table] = {n: tabulate(o, void="failed") for n, o in outcomes.items()}
    found = contrasts(rated, bootstrap)
    return {
        "scenarios": len(scenarios), "too_few": 0,
        "episodes": len(set(clusters.values())),
        "rates": [
            {"policy": name, **_estimate(found.rates[name]), **_counts(rows),
             "wilson": list(_wilson(found.rates[name], statistics.confidence))}
            for name, rows in outcomes.items()
        ],
        "contrasts": [_contrast(pair) for pair in found.pairs],
        "oracle": _estimate(oracle(rated, bootstrap)),
    }  # fmt: skip


def _wilson(estimate: Estimate, confidence: float) -> tuple[float, float]:
    """Over scenarios, for where they are all alike and a bootstrap's interval has no width."""
    return wilson(estimate.value * estimate.n, estimate.n, confidence)


def _counts(rows: Outcomes) -> dict[str, Any]:
    counted = Counter(outcome for row in rows.values() for outcome in row)
    rates = void_rates(counted["pass"], counted["fail"], counted["void"])
    return {
        "passed": counted["pass"], "failed": counted["fail"], "void": counted["void"],
        "scheduled": rates.scheduled,
        "trial_rates": {
            "void_failed": rates.failed, "void_left_out": _number(rates.left_out),
            "void_passed": rates.passed,
        },
    }  # fmt: skip


def _number(value: float) -> float | None:
    return None if value != value else value


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return {"rate": estimate.value, "low": estimate.low, "high": estimate.high}


def _contrast(pair: Contrast) -> dict[str, Any]:
    return {
        "a": pair.a, "b": pair.b, "difference": pair.difference.value,
        "low": pair.difference.low, "high": pair.difference.high,
        "detectable": _number(pair.detectable),
    }  # fmt: skip


def _by(study: RoboRecover, done: Done, group: Callable[[Candidate], str]) -> list[dict[str, Any]]:
    """Scenario-first recovery rate of every policy in every group of test scenarios."""
    recovery = _recovery(study, done)
    members: dict[str, list[str]] = {}
    for candidate in study.test(done):
        members.setdefault(group(candidate), []).append(candidate.name)
    return [
        {
            "group": name, "scenarios": len(names),
            "rates": {p: _mean([_rate(rows[n]) for n in names]) for p, rows in recovery.items()},
        }
        for name, names in sorted(members.items())
    ]  # fmt: skip


def _rate(outcomes: Sequence[Outcome]) -> float:
    return outcomes.count("pass") / len(outcomes)


def _mean(rates: Sequence[float]) -> float:
    return sum(rates) / len(rates)


def _scenarios(study: RoboRecover, done: Done) -> list[dict[str, Any]]:
    """Every valid scenario with what is known of it; `attempt` finds its frame in the store."""
    screened = {c.name: n for c, n, _ in study.screened(done)}
    rebuilt = {unit.digest: result for unit, result in done["scenarios"]}
    results = {unit.digest: result for unit, result in done["evaluation"]}
    test = {c.name for c in study.test(done)}
    found = []
    for c in study.valid(done):
        split = "test" if c.name in test else "train"
        rates = (
            {p.name: _rate(_outcomes(study, c, p, results)) for p in study.plan.policies}
            if split == "test"
            else {}
        )
        found.append({
            "name": c.name, "task": c.task, "episode": c.episode, "source": c.source,
            "policy": c.policy, "actions": rebuilt[c.scenario.digest].values["actions"],
            "screening": screened[c.name], "others_recovered": _others(study, done, c),
            "split": split, "rates": rates, "unit": c.scenario.digest,
        })  # fmt: skip
    return found


def _others(study: RoboRecover, done: Done, candidate: Candidate) -> int:
    """Screening successes by policies other than the one that deviated (paper §3: recoverable)."""
    results = {unit.digest: result for unit, result in done["screening"]}
    names = study.plan.screening.policies
    return sum(
        results[unit.digest].outcome == "pass"
        for i, unit in enumerate(study.screening_units(candidate))
        if names[i % len(names)] != candidate.policy
    )


def _screening_policies(study: RoboRecover) -> dict[str, Any]:
    """Who screened, and who is evaluated on what it screened."""
    plan = study.plan
    evaluated = [p.name for p in plan.policies]
    return {
        "policies": list(plan.screening.policies), "trials": plan.screening.trials,
        "least": plan.screening.least, "most": plan.screening.most,
        "also_evaluated": [n for n in plan.screening.policies if n in evaluated],
    }  # fmt: skip


def _voids(done: Done) -> list[dict[str, Any]]:
    """Voids that stayed void, by stage and cause."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for stage in done:
        for _, result in _void(done[stage]):
            cause = result.cause
            counted[stage, cause.party if cause else "", cause.kind if cause else ""] += 1
    return [
        {"stage": s, "party": p, "kind": k, "units": n} for (s, p, k), n in sorted(counted.items())
    ]


def _faults(done: Done) -> list[dict[str, Any]]:
    """Failures that are not the oracle's word but somebody's error, by stage and what it said."""
    counted: Counter[tuple[str, str, str, str]] = Counter()
    for stage in done:
        for _, result in done[stage]:
            if result.outcome == "fail" and result.cause is not None:
                cause = result.cause
                counted[stage, cause.party, cause.kind, cause.detail[:160]] += 1
    return [
        {"stage": s, "party": p, "kind": k, "detail": d, "units": n}
        for (s, p, k, d), n in sorted(counted.items())
    ]


def _framed(done: Done) -> bool:
    """Whether every rebuilt scenario has its frame; otherwise states alone were compared."""
    rebuilt = [r for _, r in done["scenarios"] if r.outcome == "pass"]
    return bool(rebuilt) and all(r.values["framed"] for r in rebuilt)


def _void(pairs: Sequence[tuple[Unit, Result]]) -> list[tuple[Unit, Result]]:
    return [(unit, result) for unit, result in pairs if result.outcome == "void"]
