"""A finished study by hand: its tables, as a run would give them, and a run folder with frames."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from clew.core import Control, Moment, Seen, Start, Step
from clew.run.folder import RunFolder
from clew.store import Recorder, Writer

HOSTILE = "<script>alert(1)</script>"
QUOTED = "\"'><img src=x onerror=alert(2)>&amp;\u202e\x00"
POLICIES = ("expert", "dropper", HOSTILE, QUOTED)
TASKS = ("pick-place", "drawer", "sort")
TRIALS = 5


@dataclass(frozen=True)
class Plan:
    name: str = "by hand"


@dataclass(frozen=True)
class Study:
    name: str = "roborecover"
    plan: Plan = field(default_factory=Plan)


def unit(i: int) -> str:
    return f"{i:032x}"


def scenarios(number: int = 18) -> list[dict[str, Any]]:
    """Scenarios of three tasks and two sources, one in six of them for training."""
    rng = random.Random(7)
    found = []
    for i in range(number):
        split = "train" if i % 6 == 5 else "test"
        rates = {p: rng.randrange(TRIALS + 1) / TRIALS for p in POLICIES} if split == "test" else {}
        found.append({
            "name": f"{i:04x}deadbeef", "task": TASKS[i * i % 3], "episode": i,
            "source": "perturbed" if i % 4 == 3 else "natural", "policy": POLICIES[i % 4],
            "actions": 30 + i, "screening": 2 + i % 17, "others_recovered": i % 3, "split": split,
            "rates": rates, "unit": unit(i),
        })  # fmt: skip
    return found


def _compared(rates: dict[str, float], trials: int, number: int, void: int) -> dict[str, Any]:
    rows = []
    for policy, rate in rates.items():
        passed = round(rate * trials)
        rows.append({
            "policy": policy, "rate": rate, "low": max(0.0, rate - 0.1234),
            "high": min(1.0, rate + 0.1111), "passed": passed, "failed": trials - passed - void,
            "void": void, "scheduled": trials, "wilson": [rate * 0.9, rate * 0.9 + 0.1],
            "trial_rates": {
                "void_failed": passed / trials, "void_left_out": passed / (trials - void),
                "void_passed": (passed + void) / trials,
            },
        })  # fmt: skip
    names = list(rates)
    pairs = [
        {
            "a": a, "b": b, "difference": rates[a] - rates[b], "low": rates[a] - rates[b] - 0.21,
            "high": rates[a] - rates[b] + 0.19, "detectable": 0.287,
        }
        for i, a in enumerate(names) for b in names[i + 1 :]
    ]  # fmt: skip
    oracle = {"rate": 0.9111, "low": 0.8222, "high": 0.9777}
    return {"scenarios": number, "rates": rows, "contrasts": pairs, "oracle": oracle}


def _groups(found: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    rows = []
    for group in sorted({s[name] for s in found if s["rates"]}):
        members = [s for s in found if s["rates"] and s[name] == group]
        rates = {p: sum(s["rates"][p] for s in members) / len(members) for p in POLICIES}
        rows.append({"group": group, "scenarios": len(members), "rates": rates})
    return rows


def tables(**changed: Any) -> dict[str, Any]:
    """Tables with voids, hostile names and one small group; `changed` replaces whole entries."""
    found = scenarios()
    test = [s for s in found if s["rates"]]
    recovery = {p: sum(s["rates"][p] for s in test) / len(test) for p in POLICIES}
    initial = dict(zip(POLICIES, (0.9667, 0.6333, 0.4333, 0.2667)))
    return {
        "study": "roborecover", "name": "by hand", "environment": "tabletop",
        "tasks": list(TASKS), "frames": True,
        "statistics": {
            "draws": 500, "confidence": 0.95, "seed": 11,
            "method": "scenario bootstrap, percentile",
        },
        "funnel": [
            {"stage": "rollouts", "entered": 90, "left": 41,
             "dropped": {"no stable deviation": 6, "succeeded": 42, "void": 1}},
            {"stage": "rebuilding", "entered": 41, "left": 39, "dropped": {"already solved": 2}},
            {"stage": "screening", "entered": 39, "left": 19,
             "dropped": {"over 18 of 20 successes": 5, "under 2 of 20 successes": 15}},
            {"stage": "validation", "entered": 19, "left": 18, "dropped": {"replay differs": 1}},
            {"stage": "test split", "entered": 18, "left": 15, "dropped": {"train": 3}},
        ],
        "initial": _compared(initial, 30, 30, 0),
        "recovery": _compared(recovery, len(test) * TRIALS, len(test), 2),
        "recovery_by_task": _groups(found, "task"),
        "recovery_by_source": _groups(found, "source"),
        "scenarios": found,
        "screening": {
            "policies": ["expert", "dropper"], "trials": 20, "least": 2, "most": 18,
            "also_evaluated": ["expert", "dropper"],
        },
        "faults": [], "solved_starts": [],
        "voids": [{"stage": "evaluation", "party": "harness", "kind": "killed", "units": 8}],
        "run": {
            "plan_digest": "ab" * 32, "engine": "cd" * 32, "mixed": False,
            "fingerprints": {"f" * 64: {"mujoco": "3.3.2", "renderer": "llvmpipe"}},
        },
        **changed,
    }  # fmt: skip


def frame(i: int, height: int = 48, width: int = 64) -> np.ndarray:
    """A picture with an edge, a slope and some noise: uint8 (H, W, 3)."""
    y, x = np.mgrid[0:height, 0:width]
    picture = np.stack([x * 3, y * 4, (x + y + 20 * i) % 256], axis=2).astype(np.uint8)
    picture[10:20, 5 + i : 15 + i] = (200, 40, 30)
    noise = np.random.default_rng(i).integers(0, 3, picture.shape, dtype=np.uint8)
    return picture // 2 + noise


def run_folder(
    path: Path, found: list[dict[str, Any]], frames: dict[int, np.ndarray] | None = None
) -> RunFolder:
    """A run whose scenario units have an attempt each, with a frame unless `frames` lacks it."""
    folder = RunFolder.create(path, "roborecover", {"name": "by hand"}, "cd" * 32)
    with Writer(path, "w0") as writer:
        for i, scenario in enumerate(found):
            picture = frame(i % 20) if frames is None else frames.get(i)
            recorder = Recorder(writer, {"unit": scenario["unit"]})
            recorder.began(Start("tabletop", scenario["task"], i), Moment())
            recorder.acting(0, Step(Moment(), Control((0.5,))))
            seen = {} if picture is None else {"frame": picture}
            recorder.acted(0, Moment(Seen({**seen, "vector": np.zeros(2)})))
            recorder.finish({"passed": False})
            folder.log.append({
                "type": "result", "unit": scenario["unit"], "outcome": "pass", "values": {},
                "cause": None, "about": {"attempt": recorder.locator.json()},
            })  # fmt: skip
    return folder
