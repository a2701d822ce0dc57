"""`clew run`, `resume`, `plan` and `report` as a user meets them, on the embedded tabletop."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from ._runs import PLAN, called, clew, ended, finished, refused, sentence, until

pytest.importorskip("mujoco", reason="the tabletop needs mujoco")


@pytest.fixture
def plan(tmp_path_factory) -> Path:
    return finished(tmp_path_factory)[0]


@pytest.fixture
def plain(tmp_path_factory) -> Path:
    """The tiny plan's finished run; not to be changed."""
    return finished(tmp_path_factory)[1]


def assert_same(folder: Path, plain: Path) -> None:
    for name in ("tables.json", "report.html"):
        assert (folder / name).read_bytes() == (plain / name).read_bytes(), name


def recorded(folder: Path) -> int:
    return sum(f.stat().st_size for f in (folder / "segments").glob("*"))


def test_the_study_has_something_to_say(plain):
    tables = json.loads((plain / "tables.json").read_text())
    assert tables["recovery"]["scenarios"] >= 2
    assert tables["voids"] == []
    assert len(tables["run"]["fingerprints"]) == 1


def test_here_gives_the_same_tables_bit_for_bit(plan, plain, tmp_path):
    code, _, said = called("run", plan, "--out", tmp_path / "run", "--here", "--quiet")
    assert (code, said) == (0, "")
    assert_same(tmp_path / "run", plain)


@pytest.mark.slow
def test_one_worker_gives_the_same_tables_bit_for_bit(plan, plain, tmp_path):
    code, _, said = ended(clew("run", plan, "--out", "one worker", "--workers", 1, cwd=tmp_path))
    assert code == 0, said
    assert_same(tmp_path / "one worker", plain)


@pytest.mark.slow
def test_any_order_of_units_gives_the_same_tables_bit_for_bit(plan, plain, tmp_path):
    from clew.run.drive import drive, finished, open_run, tables_of
    from clew.run.executor import Stage
    from clew.run.progress import Lines
    from clew.studies import catalog

    class Shuffled:
        """The study, whose units come in another order."""

        def __init__(self, study) -> None:
            self._study = study

        def __getattr__(self, name: str):
            return getattr(self._study, name)

        def stages(self):
            return [
                Stage(s.name, lambda done, s=s: shuffled(s.units(done))) for s in study.stages()
            ]

    def shuffled(units):
        return [units[i] for i in np.random.default_rng(5).permutation(len(units))]

    study = catalog.read(plan)
    folder, engine = open_run(study, tmp_path)
    drive(Shuffled(study), folder, engine, workers=2, progress=Lines(quiet=True))
    tables_of(study, folder, finished(study, folder))
    assert (tmp_path / "tables.json").read_bytes() == (plain / "tables.json").read_bytes()


@pytest.mark.slow
def test_kills_at_any_moment_and_resumes_give_the_same_tables_bit_for_bit(plan, plain, tmp_path):
    rng, folder = np.random.default_rng(11), tmp_path / "run"
    first, kills = ["run", plan, "--out", folder], 0
    for share in np.sort(rng.random(6)) * 0.9:
        process = clew(*first)
        due = share * recorded(plain)
        until(lambda due=due: recorded(folder) >= due, process)
        process.kill()
        ended(process)
        kills += 1
        if (folder / "run.json").exists():
            first = ["resume", folder]
    code, _, said = ended(clew(*first))
    assert code == 0, said
    assert kills == 6
    assert_same(folder, plain)


def test_ctrl_c_says_how_to_go_on(plan, tmp_path):
    folder = tmp_path / "run"
    process = clew("run", plan, "--out", folder)
    until(lambda: recorded(folder) > 0, process)
    process.send_signal(signal.SIGINT)
    code, out, said = ended(process)
    assert (code, out) == (130, "")
    assert said.splitlines()[-1] == f"stopped; nothing is lost. Go on with: clew resume {folder}"


def test_a_resume_by_other_code_is_refused_and_mixing_has_to_be_asked_for(plain, tmp_path):
    import shutil

    from clew.store import Log

    folder = tmp_path / "run"
    shutil.copytree(plain, folder)
    records = [record for _, record in Log(folder / "log.jsonl").read()]
    (folder / "log.jsonl").unlink()
    log = Log(folder / "log.jsonl")
    for record in [r for r in records if r["type"] == "result"][:-1]:
        record["about"]["code"]["engine"] = "0" * 12
        log.append(record)
    said = refused("resume", folder, "--quiet")
    made = len([r for r in records if r["type"] == "result"]) - 1
    assert f"of {made} results {made} were made by other code: engine 000000000000 -> " in said
    assert "or go on with --mixed (tables will say so)" in said
    code, out, _ = called("resume", folder, "--quiet", "--mixed", "--here")
    assert code == 0
    assert "note: this run mixes code: its results were made by engine 000000000000 and " in out
    assert "This run mixes code" in (folder / "report.html").read_text()
    assert called("report", folder)[0] == 0


def test_a_report_of_a_run_that_is_not_complete_says_what_is_missing(plan, tmp_path):
    from clew.run.drive import open_run
    from clew.studies import catalog

    open_run(catalog.read(plan), tmp_path)
    code, out, said = called("report", tmp_path)
    assert (code, out) == (2, "")
    assert said == (
        f"clew: {tmp_path} is not complete: 6 of 6 units of stage 'initial' have no result;"
        f" run: clew resume {tmp_path}\n"
    )


def test_a_report_is_written_again_and_is_the_same(plain, tmp_path):
    import shutil

    shutil.copytree(plain, tmp_path / "run")
    for name in ("tables.json", "report.html"):
        (tmp_path / "run" / name).unlink()
    code, out, said = called("report", tmp_path / "run")
    assert (code, said) == (0, "")
    assert "funnel" in out
    assert_same(tmp_path / "run", plain)


def test_plan_says_how_much_there_is_to_do(plan, plain, tmp_path):
    code, out, said = called("plan", plan, "--out", tmp_path / "none", "--workers", 1)
    assert (code, said) == (0, "")
    assert "initial: 6 units" in out
    assert "screening: at most 24 units" in out
    assert "validation: at most 12 units, a new process each\n" in out
    assert "measured on a pilot of 4 units of the first stage: " in out
    assert "with the start of its process; other stages may take more or less" in out
    assert not (tmp_path / "none").exists()
    code, out, _ = called("plan", plan, "--out", plain)
    assert code == 0
    assert "initial: 6 units, 6 done" in out
    assert "\nleft: 0 units, about 0 s with " in out


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("frames = false", "frmes = false", "unknown key 'frmes'; did you mean 'frames'?"),
        ("trials = 2", 'trials = "2"', "'screening.trials' is '2': it must be int"),
        ('environment = "tabletop"', 'environment = "tabeltop"',
         "the plan's 'environment': there is no environment 'tabeltop'; did you mean 'tabletop'?"),
        ('policy = "tabletop/expert"', 'policy = "tabletop/exprt"',
         "the plan's 'policies[0].policy': there is no policy 'tabletop/exprt'; did you mean"),
        ('study = "roborecover"', 'study = "retrase"', "there is no study 'retrase'"),
        ('environment = "tabletop"', 'environment = "metaworld"',
         "environment 'metaworld' is not installed; run: clew env install metaworld"),
        ("[split]", "[split", "is not TOML"),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_be_run_is_one_sentence_and_makes_no_folder(
    tmp_path, monkeypatch, old, new, says
):
    (tmp_path / "plan.toml").write_text(PLAN.replace(old, new, 1))
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    assert says in refused("run", tmp_path / "plan.toml", "--out", tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_an_extra_that_is_not_installed_is_named_with_its_command(tmp_path, monkeypatch):
    """mujoco is hidden by a finder that finds none of it."""
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.machinery as m\n"
        "find = m.PathFinder.find_spec\n"
        "m.PathFinder.find_spec = lambda name, *more: None if name == 'mujoco' else find(name, *more)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
        [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    )}  # fmt: skip
    process = clew("run", tmp_path / "plan.toml", "--out", tmp_path / "r", env=environment)
    said = sentence(ended(process))
    assert "environment 'tabletop' needs mujoco; run: pip install 'clew[tabletop]'" in said
    assert not (tmp_path / "r").exists()


def test_an_unknown_task_is_named_and_the_mended_plan_may_use_the_folder(tmp_path):
    file, folder = tmp_path / "plan.toml", tmp_path / "run"
    file.write_text(PLAN.replace('"sort"', '"srot"'))
    said = called("run", file, "--out", folder, "--workers", 1)
    assert said[0] == 2
    last = said[2].splitlines()[-1]
    assert last == (
        "clew: unit rollout: the plan's 'tasks' has 'srot', and environment 'tabletop' has no such"
        " task; did you mean 'sort'?"
    )
    file.write_text(PLAN)
    from clew.run.drive import open_run
    from clew.studies import catalog

    open_run(catalog.read(file), folder)


@pytest.mark.parametrize("command", ["resume", "report", "verify", "pack", "gc"])
def test_a_folder_that_is_no_run_is_refused(tmp_path, command):
    words = [command, tmp_path, *([tmp_path / "x.pack"] if command == "pack" else [])]
    assert f"{tmp_path} holds no run: there is no run.json in it" in refused(*words)
    assert not list(tmp_path.iterdir())


def test_a_folder_of_another_plan_says_what_differs(plan, plain, tmp_path):
    (tmp_path / "other.toml").write_text(PLAN.replace("sigma = 1.0", "sigma = 2.0"))
    said = refused("run", tmp_path / "other.toml", "--out", plain)
    assert "holds a run of another plan (differs in sources)" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--workers", "0"], "argument --workers: '0' must be a whole number from 1 on, such as 2"),
        (["--workers", "two"], "--workers: 'two' is not a whole number from 0 on, such as 2"),
        (["--quota=-5G"], "argument --quota: '-5G' is not a size such as 500M or 20G"),
        (["--quota", "infG"], "argument --quota: 'infG' is not a size such as 500M or 20G"),
        (["--quota", "much"], "argument --quota: 'much' is not a size such as 500M or 20G"),
        (
            ["--quota", "20"],
            "--quota: '20' is 20 bytes, less than 1M: give a size with its unit, such",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(plan, words, says):
    assert says in refused("run", plan, *words)


def test_a_quota_of_twenty_gigabytes_is_read_as_such():
    from clew.cli.run import _bytes

    texts = ("20G", "500M", "1.5m", "1048576")
    assert [_bytes(text) for text in texts] == [20 << 30, 500 << 20, 3 << 19, 1 << 20]
