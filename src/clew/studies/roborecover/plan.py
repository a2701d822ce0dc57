"""The plan of a RoboRecover study: a TOML file, validated once, unknown keys refused. Data only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from clew.core import Refused, nearest

#: Perturbation of the translational coordinates in the first steps (paper §4.2: first 150 steps).
PERTURBED_STEPS = 150
#: Difficulty screening: 20 trials, 2 to 18 successes are kept (paper §4.4).
SCREENING_TRIALS, KEPT = 20, (2, 18)
#: Replay validation: three replays (paper §A.2).
REPLAYS = 3
#: Trials per scenario on LIBERO (paper §5.1).
TRIALS = 5
#: Bootstrap draws (paper, appendix B).
DRAWS = 10_000

T = TypeVar("T")


@dataclass(frozen=True)
class PolicySpec:
    """A policy under the name that tables show. `policy` is a registry name or `module:function`;
    `noise` (sigma, steps, coordinates) wraps it in `noisy`."""

    name: str
    policy: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    noise: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Initial:
    """Evaluation from initial states: seeds `first_seed` … per task, `trials` each."""

    episodes: int = 10
    first_seed: int = 1000
    trials: int = 1


@dataclass(frozen=True)
class Source:
    """Where deviations come from: `policies` act from `episodes` initial states per task. With
    `sigma` > 0 their first `steps` actions are perturbed on `coordinates` translational ones."""

    kind: str
    policies: tuple[str, ...]
    episodes: int = 10
    first_seed: int = 0
    sigma: float = 0.0
    steps: int = PERTURBED_STEPS
    coordinates: int = 3


@dataclass(frozen=True)
class Point:
    """How a recovery point is picked in a failed attempt; see `clew.studies.roborecover.point`."""

    still_mm: float = 1.0
    moved_mm_least: float = 5.0
    window: int = 10
    earliest: int = 5
    latest: int = 400


@dataclass(frozen=True)
class Screening:
    """`trials` per candidate, by `policies` in turn; kept with `least` to `most` successes."""

    policies: tuple[str, ...]
    trials: int = SCREENING_TRIALS
    least: int = KEPT[0]
    most: int = KEPT[1]


@dataclass(frozen=True)
class Validation:
    """Cold replays, each in a new process, all of which must match."""

    replays: int = REPLAYS


@dataclass(frozen=True)
class Split:
    """`test` is the share of complete episodes (task and initial state) that test scenarios use."""

    test: float = 0.2


@dataclass(frozen=True)
class Evaluation:
    """`trials` per policy and test scenario, each with the task's full budget of new actions."""

    trials: int = TRIALS


@dataclass(frozen=True)
class Statistics:
    """Bootstrap of the tables."""

    draws: int = DRAWS
    confidence: float = 0.95
    seed: int = 0


@dataclass(frozen=True)
class Plan:
    """Everything that a run of the study depends on."""

    name: str
    environment: str
    tasks: tuple[str, ...]
    policies: tuple[PolicySpec, ...]
    sources: tuple[Source, ...]
    screening: Screening
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    frames: bool = True
    initial: Initial = Initial()
    point: Point = Point()
    validation: Validation = Validation()
    split: Split = Split()
    evaluation: Evaluation = Evaluation()
    statistics: Statistics = Statistics()

    def policy(self, name: str) -> PolicySpec:
        return next(p for p in self.policies if p.name == name)


_NESTED: Mapping[str, type] = {
    "screening": Screening, "initial": Initial, "point": Point, "validation": Validation,
    "split": Split, "evaluation": Evaluation, "statistics": Statistics,
}  # fmt: skip
_LISTED: Mapping[str, type] = {"policies": PolicySpec, "sources": Source}


def parse(data: Mapping[str, Any], file: Path) -> Plan:
    """The plan in `data`, which `file` held. Raises `Refused`, naming the file and the field."""
    try:
        plan = _made(Plan, {k: v for k, v in data.items() if k != "study"}, "")
        _check(plan)
    except Refused as error:
        raise Refused(f"{file}: {error}") from None
    return plan


def _made(kind: type[T], data: Any, where: str) -> T:
    if not isinstance(data, Mapping):
        raise Refused(f"{where or 'the plan'} must be a table")
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for name in data:
        if name not in known:
            raise Refused(f"unknown key {_dotted(where, name)!r}; {nearest(name, known)}")
    for name, f in known.items():
        if name not in data and f.default is MISSING and f.default_factory is MISSING:
            raise Refused(f"{_dotted(where, name)!r} is missing")
    values = {n: _value(n, v, known[n].type, _dotted(where, n)) for n, v in data.items()}
    return kind(**values)


def _value(name: str, value: Any, annotation: Any, where: str) -> Any:
    if name in _NESTED:
        return _made(_NESTED[name], value, where)
    if name in _LISTED and isinstance(value, list) and not all(isinstance(v, str) for v in value):
        return tuple(_made(_LISTED[name], v, f"{where}[{i}]") for i, v in enumerate(value))
    wanted = str(annotation)
    if wanted.startswith("tuple[str"):
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            return tuple(value)
        raise Refused(f"{where!r} must be a list of names, at least one")
    if wanted.startswith("tuple["):
        raise Refused(f"{where!r} must be a list of tables, at least one")
    kinds: dict[str, tuple[type, ...]] = {
        "int": (int,), "float": (int, float), "str": (str,), "bool": (bool,),
    }  # fmt: skip
    allowed = kinds.get(wanted, (Mapping,))
    if not isinstance(value, allowed) or (isinstance(value, bool) and wanted != "bool"):
        raise Refused(
            f"{where!r} is {value!r}: it must be {'a table' if allowed == (Mapping,) else wanted}"
        )
    if isinstance(value, (int, float)) and not 0 <= value < math.inf:
        raise Refused(f"{where!r} is {value!r}: it must be a number and not negative")
    return value


def _check(plan: Plan) -> None:
    names = [p.name for p in plan.policies]
    if len(set(names)) != len(names):
        raise Refused("two policies have the same name: tables could not tell them apart")
    used = [(n, f"sources[{i}].policies") for i, s in enumerate(plan.sources) for n in s.policies]
    used += [(n, "screening.policies") for n in plan.screening.policies]
    for name, where in used:
        if name not in names:
            raise Refused(f"{where!r} names the policy {name!r}; {nearest(name, names)}")
    lists = {"tasks": plan.tasks, "screening.policies": plan.screening.policies}
    lists |= {f"sources[{i}].policies": s.policies for i, s in enumerate(plan.sources)}
    for where, listed in lists.items():
        if len(set(listed)) != len(listed):
            raise Refused(f"{where!r} names something twice: it would count double")
    counts = {"initial.episodes": plan.initial.episodes}
    counts |= {f"sources[{i}].episodes": s.episodes for i, s in enumerate(plan.sources)}
    for where, count in counts.items():
        if count < 1:
            raise Refused(f"{where!r} is {count}: it must be at least 1")
    kinds = [s.kind for s in plan.sources]
    if len(set(kinds)) != len(kinds):
        raise Refused("two sources have the same kind: give each its own")
    if not plan.screening.least <= plan.screening.most <= plan.screening.trials:
        raise Refused("'screening' keeps least..most of trials: least ≤ most ≤ trials must hold")
    if not 0 < plan.split.test < 1:
        raise Refused(f"'split.test' is {plan.split.test}: it must lie between 0 and 1")
    if not 0 < plan.statistics.confidence < 1:
        raise Refused("'statistics.confidence' must lie between 0 and 1")
    for name in (
        "validation.replays", "evaluation.trials", "initial.trials", "statistics.draws",
        "point.window",
    ):  # fmt: skip
        first, second = name.split(".")
        if getattr(getattr(plan, first), second) < 1:
            raise Refused(f"{name!r} must be at least 1")


def _dotted(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
