"""LIBERO's suites and tasks: names, instructions, budgets, files. Builds nothing, draws nothing.

A task is `suite/number`, the number being its place in the suite's published order. Importing
LIBERO's own list of tasks needs no simulator.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clew.core import Refused, digest, nearest

#: Step budgets of the published evaluations, by suite: at least the longest demonstration.
BUDGETS: Mapping[str, int] = {
    "libero_spatial": 220, "libero_object": 280, "libero_goal": 300, "libero_10": 520,
    "libero_90": 400,
}  # fmt: skip
#: LIBERO-PRO's variants of a suite: paraphrased instruction, other objects, swapped places,
#: another task.
VARIANTS = ("lan", "object", "swap", "task")
VARIED = ("libero_spatial", "libero_object", "libero_goal", "libero_10")
_LANGUAGE = re.compile(r"\(:language\s+([^)]*)\)")


class Task(NamedTuple):
    """A task's files, its instruction and its budget."""

    name: str
    bddl: Path
    init: Path
    instruction: str
    budget: int

    def definition(self) -> str:
        """A digest of the files that say what the task is: its BDDL and its init states."""
        return digest(self.bddl.read_bytes() + b"\n" + self.init.read_bytes())

    def init_states(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Float64 (number of init states, 1 + nq + nv): time, qpos, qvel."""
        return _init_states(self.init)


@lru_cache(maxsize=1)
def tasks() -> Mapping[str, Task]:
    """Every task by name, the suites in LIBERO's order."""
    _own_paths()
    with redirect_stdout(sys.stderr):
        from libero.libero import get_default_path_dict  # type: ignore[import-not-found]
        from libero.libero.benchmark import task_maps  # type: ignore[import-not-found]
    paths = get_default_path_dict()
    found = {}
    for suite, budget in _suites().items():
        for number, listed in enumerate(task_maps[suite].values()):
            bddl = Path(paths["bddl_files"], suite, listed.bddl_file)
            init = Path(paths["init_states"], suite, f"{listed.init_states_file}.npz")
            # LIBERO tells its policies what the file's name says. LIBERO-PRO keeps the names of
            # the varied tasks: what they ask for is only in their BDDL.
            told = listed.language if suite in BUDGETS else _language(bddl)
            name = f"{suite}/{number}"
            found[name] = Task(name, bddl, init, told, budget)
    return found


def task(name: str) -> Task:
    """The task of this name. Raises `Refused` with the nearest one."""
    known = tasks()
    if name not in known:
        raise Refused(f"libero has no task {name!r}; {_nearest(name, known)}")
    return known[name]


def _nearest(name: str, known: Mapping[str, Task]) -> str:
    """The nearest suite, or the numbers of the one that is meant: all names would fill a page."""
    suite = name.partition("/")[0]
    if suite not in _suites():
        return nearest(suite, _suites())
    count = sum(each.startswith(f"{suite}/") for each in known)
    return f"{suite} has the tasks {suite}/0 to {suite}/{count - 1}"


def _suites() -> dict[str, int]:
    varied = {f"{suite}_{kind}": BUDGETS[suite] for suite in VARIED for kind in VARIANTS}
    return {**BUDGETS, **varied}


def _own_paths() -> None:
    """LIBERO looks for a file of other paths in a folder that this names; there is none here."""
    os.environ["LIBERO_CONFIG_PATH"] = str(Path(__file__).with_name("no-other-paths"))


def _language(bddl: Path) -> str:
    found = _LANGUAGE.search(bddl.read_text(encoding="utf-8"))
    if found is None:
        raise Refused(f"{bddl} has no (:language …): the installation of libero is damaged")
    return found.group(1).strip()


@lru_cache(maxsize=16)
def _init_states(file: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    with np.load(file, allow_pickle=False) as held:
        states: np.ndarray[Any, np.dtype[np.float64]] = held["states"]
    return states
