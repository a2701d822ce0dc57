"""The stages of a RoboRecover study, each a pure function of what earlier stages gave.

rollouts → scenarios → screening → validation → (split) → evaluation, with initial evaluation beside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from clew.core.canonical import digest
from clew.run.executor import Done, Stage
from clew.run.units import Result, Unit
from clew.studies.roborecover.plan import Plan, PolicySpec, Source

_UNITS = "clew.studies.roborecover.units:"


@dataclass(frozen=True)
class Candidate:
    """A deviation on its way through the funnel. `scenario` is the unit that rebuilt it."""

    source: str
    policy: str
    task: str
    episode: int
    rollout: Unit
    result: Result
    scenario: Unit

    @property
    def name(self) -> str:
        """Short and stable: the first characters of the state's key."""
        return str(self.result.values["key"])[:12]


class RoboRecover:
    """The study of one plan; `data` is the plan as it was written."""

    name = "roborecover"

    def __init__(self, plan: Plan, data: Mapping[str, Any]) -> None:
        self.plan, self.data = plan, data

    def environments(self) -> Mapping[str, str]:
        return {self.plan.environment: "environment"}

    def policies(self) -> Mapping[str, str]:
        return {p.policy: f"policies[{i}].policy" for i, p in enumerate(self.plan.policies)}

    def tables(self, done: Done) -> dict[str, Any]:
        """Every table as plain data."""
        from clew.studies.roborecover.tables import tables

        return tables(self, done)

    def text(self, tables: Mapping[str, Any]) -> str:
        """The tables for a terminal."""
        from clew.studies.roborecover.text import text

        return text(tables)

    def most(self) -> Mapping[str, int]:
        """Stage → the most units that it can have; what earlier stages drop makes it fewer."""
        rollouts = len(self.sourced())
        plan = self.plan
        return {
            "initial": len(plan.policies)
            * len(plan.tasks)
            * plan.initial.episodes
            * plan.initial.trials,
            "rollouts": rollouts,
            "scenarios": rollouts,
            "screening": rollouts * plan.screening.trials,
            "validation": rollouts * plan.validation.replays,
            "evaluation": rollouts * len(plan.policies) * plan.evaluation.trials,
        }

    def fresh(self) -> Sequence[str]:
        return ("validation",)

    def stages(self) -> Sequence[Stage]:
        return (
            Stage("initial", self._initial),
            Stage("rollouts", self._rollouts),
            Stage("scenarios", self._scenarios),
            Stage("screening", self._screening),
            Stage("validation", self._validation),
            Stage("evaluation", self._evaluation),
        )

    def _initial(self, done: Done) -> list[Unit]:
        plan, initial = self.plan, self.plan.initial
        seeds = range(initial.first_seed, initial.first_seed + initial.episodes)
        return [
            self._attempt(policy, task, seed, None, {"trial": trial})
            for policy in plan.policies
            for task in plan.tasks
            for seed in seeds
            for trial in range(initial.trials)
        ]

    def _rollouts(self, done: Done) -> list[Unit]:
        return [unit for _, unit in self.sourced()]

    def sourced(self) -> list[tuple[tuple[str, str, str, int], Unit]]:
        """((source, policy, task, episode), unit) of every rollout that may deviate."""
        point = asdict(self.plan.point)
        found = []
        for source in self.plan.sources:
            for name in source.policies:
                spec = _perturbed(self.plan.policy(name), source)
                for task in self.plan.tasks:
                    for seed in range(source.first_seed, source.first_seed + source.episodes):
                        unit = self._attempt(spec, task, seed, point, {"source": source.kind})
                        found.append(((source.kind, name, task, seed), unit))
        return found

    def _attempt(
        self, policy: PolicySpec, task: str, seed: int, point: Any, extra: Mapping[str, Any]
    ) -> Unit:
        arguments = {
            "environment": self.plan.environment, "task": task, "seed": seed,
            "options": dict(self.plan.options), "policy": _spec(policy), "point": point,
            "study_seed": self.plan.seed, **extra,
        }  # fmt: skip
        return Unit(_UNITS + "rollout", self.plan.environment, arguments)

    def candidates(self, done: Done) -> list[Candidate]:
        """Failed rollouts with a recovery point; equal states are kept once, the first."""
        results = {unit.digest: result for unit, result in done["rollouts"]}
        found: dict[str, Candidate] = {}
        for (source, policy, task, seed), unit in self.sourced():
            result = results[unit.digest]
            if result.values.get("point") is not None:
                made = self._scenario_unit(unit, result)
                one = Candidate(source, policy, task, seed, unit, result, made)
                found.setdefault(one.name, one)
        return list(found.values())

    def _scenario_unit(self, unit: Unit, result: Result) -> Unit:
        arguments = {
            "environment": self.plan.environment, "point": result.values["point"],
            "frames": self.plan.frames,
        }  # fmt: skip
        return Unit(_UNITS + "scenario", self.plan.environment, arguments, (unit.digest,))

    def _scenarios(self, done: Done) -> list[Unit]:
        return [candidate.scenario for candidate in self.candidates(done)]

    def rebuilt(self, done: Done) -> list[Candidate]:
        """Candidates whose state was rebuilt and does not already satisfy the task."""
        good = {
            unit.digest
            for unit, result in done["scenarios"]
            if result.outcome == "pass" and not result.values["solved"]
        }
        return [c for c in self.candidates(done) if c.scenario.digest in good]

    def _screening(self, done: Done) -> list[Unit]:
        return [u for c in self.rebuilt(done) for u in self.screening_units(c)]

    def screening_units(self, candidate: Candidate) -> list[Unit]:
        names = self.plan.screening.policies
        return [
            self._trial(candidate, self.plan.policy(names[i % len(names)]), "screening", i)
            for i in range(self.plan.screening.trials)
        ]

    def screened(self, done: Done) -> list[tuple[Candidate, int, int]]:
        """(candidate, successes, voids) of every screened candidate."""
        results = {unit.digest: result for unit, result in done["screening"]}
        found = []
        for candidate in self.rebuilt(done):
            outcomes = [results[u.digest].outcome for u in self.screening_units(candidate)]
            found.append((candidate, outcomes.count("pass"), outcomes.count("void")))
        return found

    def kept(self, done: Done) -> list[Candidate]:
        """Candidates of intermediate difficulty, every screening trial of which was scored."""
        rule = self.plan.screening
        return [
            c for c, n, void in self.screened(done) if rule.least <= n <= rule.most and not void
        ]

    def _validation(self, done: Done) -> list[Unit]:
        return [u for c in self.kept(done) for u in self.validation_units(c)]

    def validation_units(self, candidate: Candidate) -> list[Unit]:
        return [
            Unit(
                _UNITS + "validate", self.plan.environment,
                {"environment": self.plan.environment, "frames": self.plan.frames, "replay": i},
                (candidate.scenario.digest,), fresh=True,
            )
            for i in range(self.plan.validation.replays)
        ]  # fmt: skip

    def valid(self, done: Done) -> list[Candidate]:
        """Candidates of which every cold replay matched."""
        results = {unit.digest: result for unit, result in done["validation"]}
        return [
            c for c in self.kept(done)
            if all(results[u.digest].outcome == "pass" for u in self.validation_units(c))
        ]  # fmt: skip

    def test(self, done: Done) -> list[Candidate]:
        """The test split: all scenarios of a share of the episodes (task and initial state).

        Episodes are taken in the order of their hash, at least one is left to either split where
        there are two, and none, so no scenario of it, is in both.
        """
        valid = self.valid(done)
        episodes = sorted({(c.task, c.episode) for c in valid}, key=self._drawn)
        share = round(self.plan.split.test * len(episodes))
        test = set(episodes[: min(max(share, 1), max(len(episodes) - 1, 1))])
        return [c for c in valid if (c.task, c.episode) in test]

    def _drawn(self, episode: tuple[str, int]) -> str:
        return digest(f"{self.plan.seed} {episode[0]} {episode[1]}".encode())

    def _evaluation(self, done: Done) -> list[Unit]:
        return [u for c in self.test(done) for p in self.plan.policies for u in self.trials(c, p)]

    def trials(self, candidate: Candidate, policy: PolicySpec) -> list[Unit]:
        count = self.plan.evaluation.trials
        return [self._trial(candidate, policy, "evaluation", i) for i in range(count)]

    def _trial(self, candidate: Candidate, policy: PolicySpec, purpose: str, i: int) -> Unit:
        arguments = {"policy": _spec(policy), "purpose": purpose, "trial": i}
        return Unit(
            _UNITS + "trial", self.plan.environment, arguments,
            (candidate.scenario.digest,), affinity=candidate.scenario.digest,
        )  # fmt: skip


def _spec(policy: PolicySpec) -> dict[str, Any]:
    """What identifies a policy; its name in tables does not."""
    return {
        "policy": policy.policy, "arguments": dict(policy.arguments), "noise": dict(policy.noise),
    }  # fmt: skip


def _perturbed(policy: PolicySpec, source: Source) -> PolicySpec:
    if not source.sigma:
        return policy
    noise = {"sigma": source.sigma, "steps": source.steps, "coordinates": source.coordinates}
    return PolicySpec(policy.name, policy.policy, policy.arguments, noise)
