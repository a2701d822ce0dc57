"""Runs on a desktop that breaks: by itself it is void and carried on, by an action a fail."""

import sys
import tempfile
from pathlib import Path

import pytest

import clew
from clew.run.executor import Executor, Stage
from clew.run.units import Unit

from ...run._help import Told, run_folder
from . import _sessions  # noqa: F401 - it skips where sessions cannot run

pytestmark = pytest.mark.slow
HERE = str(Path(__file__).parent)


def run(path, lines):
    """The one result of a run of one attempt."""
    unit = Unit("_faulty:attempt", "_faulty:Desk", {"lines": lines})
    folder = run_folder(path)
    with folder.driving() as driver:
        done = Executor(
            folder, driver, lambda _: Path(sys.executable),
            paths=(str(Path(clew.__file__).parents[1]), HERE), progress=Told(),
        ).run([Stage("units", lambda _: [unit])])  # fmt: skip
    ((_, result),) = done["units"]
    return result


@pytest.fixture
def hit(tmp_path, monkeypatch):
    def by(what):
        monkeypatch.setenv("CLEW_TEST_LUCK", str(tmp_path / "luck"))
        monkeypatch.setenv("CLEW_TEST_HIT", what)

    return by


LINES = ["pwd\n", "date\n", "echo hello > hello.txt\n"]


def rooms():
    return list(Path(tempfile.gettempdir()).glob("clew-desktop-*"))


@pytest.mark.parametrize("what", ["application", "display", "bus", "keeper", "window"])
def test_what_breaks_by_itself_is_carried_on_and_leaves_nothing(tmp_path, hit, what):
    before = rooms()
    hit(what)
    result = run(tmp_path / "run", LINES)
    assert (result.outcome, result.values["actions"]) == ("pass", 3)
    # Where no window appeared nothing was done that could be carried on: it is opened again.
    assert result.about.get("carried_on", 0) == (what != "window")
    assert rooms() == before


def test_an_action_that_kills_the_application_is_a_fail_that_reproduces(tmp_path, hit):
    hit("nothing")
    result = run(tmp_path / "run", ["pwd\n", "kill -9 $PPID\n", "date\n"])
    assert (result.outcome, result.cause.party, result.cause.kind) == (
        "fail", "policy", "reproduced_crash",
    )  # fmt: skip


def test_a_desktop_that_breaks_every_time_is_void_with_the_end_of_its_log(tmp_path, hit):
    hit("window always")
    result = run(tmp_path / "run", LINES)
    assert (result.outcome, result.cause.party) == ("void", "environment")
    assert "xterm ended with status 1: " in result.cause.detail
    assert "bad command line option" in result.cause.detail
