"""A tiny RoboRecover plan on the tabletop, its finished run, and the command line as a process."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path

import pytest

from clew.cli import main

PLAN = """
study = "roborecover"
name = "tiny"
environment = "tabletop"
tasks = ["sort"]
frames = false

[[policies]]
name = "expert"
policy = "tabletop/expert"

[[policies]]
name = "dropper"
policy = "tabletop/dropper"

[[policies]]
name = "wrong target"
policy = "tabletop/wrong-target"

[[sources]]
kind = "perturbed"
policies = ["dropper", "wrong target"]
episodes = 6
first_seed = 100
sigma = 1.0
steps = 60

[screening]
policies = ["expert", "wrong target"]
trials = 2
least = 0
most = 2

[initial]
episodes = 2

[validation]
replays = 1

[split]
test = 0.95

[evaluation]
trials = 1

[statistics]
draws = 200
"""


def clew(*words: object, **more) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "clew", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, said = process.communicate(timeout=300)
    return process.returncode, out, said


def until(condition, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, ended(process)
        assert time.monotonic() < end
        time.sleep(0.005)


def finished(factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(plan file, folder) of the tiny plan, run once with two workers for all tests."""
    return _finished(factory.getbasetemp())


@lru_cache
def _finished(base: Path) -> tuple[Path, Path]:
    folder = base / "tiny"
    folder.mkdir()
    plan, run = folder / "tiny plan.toml", folder / "run"
    plan.write_text(PLAN)
    code, out, said = ended(clew("run", plan, "--out", run, "--workers", 2))
    assert code == 0, said
    assert f"report: {run / 'report.html'}" in out
    assert "recovery states" in out
    return plan, run


def called(*words: object) -> tuple[int, str, str]:
    """A command in this process: its exit code, what it printed, what it said on stderr."""
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            code = main([str(word) for word in words])
        except SystemExit as error:
            code = int(error.code or 0)
    return code, out.getvalue(), said.getvalue()


def refused(*words: object) -> str:
    """The sentence with which a command ends; it printed nothing else."""
    return sentence(called(*words))


def sentence(ending: tuple[int, str, str]) -> str:
    code, out, said = ending
    assert (code, out) == (2, ""), said
    assert said.startswith("clew: ")
    assert said.count("\n") == 1
    return said
