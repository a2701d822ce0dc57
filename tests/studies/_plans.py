"""Plans and hand-made results of RoboRecover for the tests; runs nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from clew.core import Cause
from clew.run.executor import Done
from clew.run.units import Result, Unit
from clew.studies.roborecover import RoboRecover, study

FILE = Path("plan.toml")
#: Keys of states, whose short names differ.
KEYS = [f"{n:012x}".ljust(64, "0") for n in range(40)]


def plan(**changed: Any) -> dict[str, Any]:
    """A small plan as a TOML file gives it."""
    base: dict[str, Any] = {
        "study": "roborecover", "name": "small", "environment": "tabletop",
        "tasks": ["pick-place", "stack"],
        "policies": [
            {"name": "expert", "policy": "tabletop/expert"},
            {"name": "dropper", "policy": "tabletop/dropper"},
        ],
        "sources": [
            {"kind": "natural", "policies": ["dropper"], "episodes": 3},
            {"kind": "perturbed", "policies": ["dropper", "expert"], "episodes": 2, "sigma": 1.0},
        ],
        "screening": {"policies": ["expert", "dropper"], "trials": 4, "least": 1, "most": 3},
        "initial": {"episodes": 2}, "validation": {"replays": 2}, "split": {"test": 0.5},
        "evaluation": {"trials": 2}, "statistics": {"draws": 200},
    }  # fmt: skip
    return {**base, **changed}


def toml(data: dict[str, Any]) -> str:
    """Plain data as TOML; enough for plans."""
    lines = [f"{k} = {json.dumps(v)}" for k, v in data.items() if not _is_table(v)]
    for name, value in data.items():
        if isinstance(value, dict):
            lines += [f"[{name}]", *(f"{k} = {json.dumps(v)}" for k, v in value.items())]
        elif _is_table(value):
            for each in value:
                lines += [f"[[{name}]]", *(f"{k} = {json.dumps(v)}" for k, v in each.items())]
    return "\n".join(lines) + "\n"


def _is_table(value: Any) -> bool:
    listed = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    return isinstance(value, dict) or listed


def made(**changed: Any) -> RoboRecover:
    return study(plan(**changed), FILE)


def void(unit: Unit, kind: str = "worker_died") -> Result:
    return Result(unit.digest, "void", {}, Cause("environment", kind, "signal 9"))


def finish(one: RoboRecover, choose: Any) -> Done:
    """Every stage with the result that `choose(stage, unit)` gives each unit."""
    done = Done()
    for stage in one.stages():
        units = list(stage.units(done))
        done.add(stage.name, [(unit, choose(stage.name, unit)) for unit in units])
    return done
