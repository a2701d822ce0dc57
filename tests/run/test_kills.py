"""`kill -9` of anything at any moment loses nothing, counts nothing twice and leaves nothing behind."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from ._help import (
    ended,
    kill,
    log_of,
    marked,
    new_mark,
    none_left,
    recorded_bytes,
    results,
    scored,
    until,
)
from ._work import driver

#: Bytes that a driver's workers may record, at most, between the moment that a kill was due and it.
AFTER_BYTES = 20_000


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A finished run of so many units that nobody disturbed."""

    @lru_cache
    def made(units: int) -> Path:
        folder = tmp_path_factory.mktemp("undisturbed") / "run"
        code, said = ended(driver(folder, "--units", str(units)))
        assert code == 0, said
        return folder

    return made


def kill_at_moments(folder: Path, words: list[str], kills: int, total: int, seed: int) -> dict:
    """Kill the driver `kills` times, between no result and nearly all of `total`."""
    rng = np.random.default_rng(seed)
    environment = new_mark()
    for share in np.sort(rng.random(kills)) * 0.9:
        due, after = int(share * total), int(rng.integers(0, AFTER_BYTES))
        process = driver(folder, *words, env=environment)
        until(lambda due=due: results(folder) >= due, f"{due} results")
        begun = recorded_bytes(folder)
        until(lambda: recorded_bytes(folder) >= begun + after, "a moment in mid-unit")  # noqa: B023
        assert process.poll() is None, "the run was over before it was killed: let it do more"
        kill(process.pid)
        ended(process)
        none_left(environment)
    return environment


def assert_nothing_lost_or_counted_twice(folder: Path, plain: Path, words: list[str]) -> None:
    code, said = ended(driver(folder, *words))
    assert code == 0, said
    assert sorted(scored(folder)) == sorted(set(scored(plain))), "lost, or accepted twice"
    assert not [r for r in log_of(folder) if r["outcome"] == "void"]
    assert (folder / "tables.json").read_bytes() == (plain / "tables.json").read_bytes()


@pytest.mark.parametrize(
    ("kills", "units"),
    [pytest.param(2, 20, marks=pytest.mark.slow), pytest.param(50, 500, marks=pytest.mark.slow)],
)
def test_kills_of_the_driver_leave_no_process_and_change_no_number(
    tmp_path, undisturbed, kills, units
):  # fmt: skip
    words, plain, folder = ["--units", str(units)], undisturbed(units), tmp_path / "killed"
    environment = kill_at_moments(folder, words, kills, len(scored(plain)), seed=kills)
    assert_nothing_lost_or_counted_twice(folder, plain, words)
    none_left(environment)
    assert len(log_of(folder, "begun")) >= kills


@pytest.mark.parametrize(
    ("victims", "kills", "units"),
    [
        (["clew.run.worker", "warden.py"], 4, 20),
        pytest.param(["clew.run.worker"], 50, 500, marks=pytest.mark.slow),
        pytest.param(["warden.py"], 50, 500, marks=pytest.mark.slow),
    ],
)
def test_kills_of_workers_and_of_wardens_change_no_number(
    tmp_path, undisturbed, victims, kills, units
):
    words, plain, folder = ["--units", str(units)], undisturbed(units), tmp_path / "killed"
    rng, environment, total = np.random.default_rng(kills), new_mark(), len(scored(plain))
    process = driver(folder, *words, env=environment)
    for n, share in enumerate(np.sort(rng.random(kills)) * 0.9):
        due, victim = int(share * total), victims[n % len(victims)]
        until(lambda due=due: results(folder) >= due, f"{due} results")
        living = until(lambda victim=victim: workers(environment, victim), f"a {victim} to kill")
        kill(int(rng.choice(sorted(living))))
    code, said = ended(process)
    assert code == 0, said
    none_left(environment)
    assert "signal 9" in said
    assert_nothing_lost_or_counted_twice(folder, plain, words)


def workers(environment: dict[str, str], victims: str) -> list[int]:
    """Workers alone, or wardens alone: a warden's command line holds its worker's."""
    wardens = set(marked(environment, "warden.py"))
    if victims == "warden.py":
        return sorted(wardens)
    return [pid for pid in marked(environment, victims) if pid not in wardens]


@pytest.mark.parametrize(
    "which",
    [
        "both", "inner warden",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("driver", "worker", "outer warden")),
    ],
)  # fmt: skip
def test_a_leaked_child_does_not_survive_the_kill_of(tmp_path, which):
    """The children are in sessions of their own, and were orphaned before the kill."""
    environment = new_mark()
    options = json.dumps({"leak": True, "hang_on": -1})
    process = driver(tmp_path / "run", "--options", options, "--workers", "1", env=environment)
    until(lambda: marked(environment, "sleep"), "a leaked child")
    outer, inner = sorted(until(lambda: two(marked(environment, "warden.py")), "two wardens"))
    if which in ("driver", "both"):
        kill(process.pid)
    if which == "worker":
        kill(workers(environment, "clew.run.worker")[0])
    if which in ("outer warden", "both"):
        kill(outer)
    if which == "inner warden":
        kill(inner)
    leaked = marked(environment, "sleep")
    if which in ("driver", "both"):
        ended(process)
        none_left(environment)
    else:
        until(lambda: not set(leaked) & set(marked(environment, "sleep")), "the leaked to end")
        kill(process.pid)
        ended(process)
        none_left(environment)


def two(pids: list[int]) -> list[int]:
    return pids if len(pids) == 2 else []
