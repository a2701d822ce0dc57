"""Driving a run: interruptions, damage, full disks and second drivers lose nothing and are said."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clew.core import Refused
from clew.run.drive import drive, finished, open_run
from clew.run.executor import Stage
from clew.run.folder import RunFolder
from clew.run.units import Unit
from clew.store import Log

from ._help import (
    Told,
    ended,
    execute,
    executor,
    kill,
    log_of,
    marked,
    new_mark,
    none_left,
    results,
    scored,
    until,
)  # fmt: skip
from ._work import Coins, driver


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Path:
    """A finished run of the small study."""
    folder = tmp_path_factory.mktemp("plain") / "run"
    code, said = ended(driver(folder, "--units", "20"))
    assert code == 0, said
    return folder


def assert_same(folder: Path, plain: Path) -> None:
    assert (folder / "tables.json").read_bytes() == (plain / "tables.json").read_bytes()
    assert sorted(scored(folder)) == sorted(scored(plain))


def resumed(folder: Path, plain: Path) -> str:
    code, said = ended(driver(folder, "--units", "20", "--here"))
    assert code == 0, said
    assert_same(folder, plain)
    return said


@pytest.mark.parametrize("words", [["--workers", "1", "--shuffle", "1"], ["--here"]])
def test_workers_order_and_place_change_no_number(plain, tmp_path, words):
    code, said = ended(driver(tmp_path / "a run with spaces", "--units", "20", *words))
    assert code == 0, said
    assert_same(tmp_path / "a run with spaces", plain)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, []), (signal.SIGTERM, ["--here"]),
        pytest.param(signal.SIGTERM, [], marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, ["--here"], marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_one_interrupt_finishes_what_is_in_hand(plain, tmp_path, number, words):
    environment, folder = new_mark(), tmp_path / "run"
    process = driver(folder, "--units", "20", *words, env=environment)
    until(lambda: results(folder), "a result")
    process.send_signal(number)
    code, said = ended(process)
    assert code == 130
    if not words:  # here, the unit in hand is done when the signal is looked at
        assert said.count("finishing the units in hand") == 1
    none_left(environment)
    unfinished = [a for f in (folder / "segments").glob("*") for a in open_attempts(folder, f.stem)]
    assert not unfinished, "a unit in hand was broken off"
    resumed(folder, plain)


def open_attempts(folder: Path, segment: str) -> list:
    return RunFolder(folder).unfinished(segment)


def test_a_second_interrupt_kills_and_a_resume_completes(tmp_path):
    """The unit in hand never ends by itself."""
    environment, folder = new_mark(), tmp_path / "run"
    words = ["--units", "3", "--options", json.dumps({"hang": 1.0})]
    process = driver(folder, *words, env=environment)
    until(lambda: marked(environment, "clew.run.worker"), "a worker")
    until(lambda: list((folder / "segments").glob("*")), "an attempt")
    process.send_signal(signal.SIGINT)
    said = b""
    while b"finishing" not in said:
        said += os.read(process.stderr.fileno(), 4096)
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 130
    none_left(environment)
    assert results(folder) == 0


def test_a_driver_whose_standard_streams_are_closed_works(plain, tmp_path):
    script = 'exec "$0" "$@" <&- >&-'
    from ._work import sys as system

    here = Path(__file__).parent
    command = [
        "sh", "-c", script, system.executable, str(here / "_work.py"), str(tmp_path / "run"),
        "--units", "20",
    ]  # fmt: skip
    ran = subprocess.run(command, cwd=here, stderr=subprocess.PIPE, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert_same(tmp_path / "run", plain)


def test_the_folder_may_be_given_relative_to_where_one_is(plain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    study = Coins(3)
    folder, engine = open_run(study, Path("here/run"))
    assert folder.path == tmp_path / "here" / "run"
    assert engine.parent == tmp_path / "here" / "run" / "engine"


def test_a_second_driver_is_refused_and_told_who_the_first_is(tmp_path):
    folder = tmp_path / "run"
    first = driver(folder, "--units", "3", "--options", json.dumps({"hang": 1.0}))
    until(lambda: (folder / "segments").exists(), "the first to begin")
    code, said = ended(driver(folder, "--units", "3", "--options", json.dumps({"hang": 1.0})))
    assert code == 2
    assert f"is held by process {first.pid} on " in said
    assert said.count("\n") == 1
    kill(first.pid)
    ended(first)


def test_a_run_of_another_plan_is_refused_and_says_what_differs(plain):
    code, said = ended(driver(plain, "--units", "21", "--options", '{"drop": 0.1}'))
    assert code == 2
    assert "another plan (differs in options.drop, units)" in said
    assert said.count("\n") == 1


def test_a_plan_that_was_mended_before_it_gave_anything_may_use_its_folder(tmp_path):
    folder, _ = open_run(Coins(3, {"dorp": 1}), tmp_path / "run")
    again, _ = open_run(Coins(3, {"drop": 1}), tmp_path / "run")
    assert RunFolder(tmp_path / "run").header["plan"] == dict(Coins(3, {"drop": 1}).data)
    assert again.header["plan_digest"] != folder.header["plan_digest"]


def test_a_folder_that_holds_something_else_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "thesis.tex").write_text("all my work")
    with pytest.raises(Refused, match="not empty and holds no run"):
        open_run(Coins(3), tmp_path)
    assert [f.name for f in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(Refused, match="cannot be a run's folder: File exists"):
        open_run(Coins(3), tmp_path / "thesis.tex")


def test_a_start_that_was_killed_before_its_header_was_whole_can_be_repeated(tmp_path):
    (tmp_path / "run.json.4711").write_text('{"schema":')
    folder, _ = open_run(Coins(3), tmp_path)
    assert folder.header["study"] == "coins"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is damaged"), ("[]", "is damaged"), ('{"schema": 1}', "is damaged"),
        ('{"schema": 99}', "has the schema 99; this clew reads 1"),
    ],
)  # fmt: skip
def test_a_damaged_header_is_named(tmp_path, text, says):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(Refused, match=says) as refused:
        RunFolder(tmp_path)
    assert str(tmp_path) in str(refused.value)


def test_a_header_whose_plan_was_edited_is_refused(tmp_path):
    open_run(Coins(3), tmp_path)
    header = json.loads((tmp_path / "run.json").read_text())
    header["plan"]["units"] = 4
    (tmp_path / "run.json").write_text(json.dumps(header))
    with pytest.raises(Refused, match="is damaged: it is not what was written"):
        RunFolder(tmp_path)


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(Refused, match=r"holds no run: there is no run\.json in it"):
        RunFolder(tmp_path / "nothing")


def copy(plain: Path, place: Path) -> Path:
    import shutil

    shutil.copytree(plain, place)
    (place / "tables.json").unlink()
    return place


def test_a_torn_end_of_the_log_costs_that_result_alone(plain, tmp_path):
    folder = copy(plain, tmp_path / "run")
    log = folder / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if b'"type":"result"' in line)
    log.write_bytes(b"".join(lines[:last]) + lines[last][:-20])
    before = len(scored(folder))
    assert "done again" not in resumed(folder, plain)
    assert len(scored(folder)) == before + 1


def test_a_damaged_line_of_the_log_is_named_and_its_unit_done_again(plain, tmp_path):
    folder = copy(plain, tmp_path / "run")
    log = folder / "log.jsonl"
    data = bytearray(log.read_bytes())
    at = data.index(b'"type":"result"')
    data[at + 9] ^= 1
    log.write_bytes(bytes(data))
    study = Coins(20)
    with pytest.raises(Refused, match="is not complete: 1 of 20 units of stage 'attempts'"):
        finished(study, RunFolder(folder))
    said = resumed(folder, plain)
    assert "log.jsonl at byte" in said
    assert "damaged" in said
    assert "a unit whose result was there is done again" in said


def test_a_damaged_segment_that_a_unit_needs_stops_the_run_and_nothing_is_lost(plain, tmp_path):
    folder = copy(plain, tmp_path / "run")
    records = [r for _, r in Log(folder / "log.jsonl").read()]
    taken = {r["unit"] for r in records if r["type"] == "result" and "stop" not in r["values"]}
    kept = [r for r in records if r.get("unit") not in taken]
    attempt = next(r for r in kept if r.get("outcome") == "fail")
    takeovers = [r for r in kept if r["type"] == "result" and "score" not in r["values"]]
    (folder / "log.jsonl").unlink()
    log = Log(folder / "log.jsonl")
    for record in kept:
        if record not in takeovers:
            log.append(record)
    place = attempt["about"]["attempt"]
    segment = folder / "segments" / f"{place['segment']}.jsonl"
    whole = segment.read_bytes()
    data = bytearray(whole)
    data[place["start"] + 700] ^= 1
    segment.write_bytes(bytes(data))
    before = scored(folder)
    code, said = ended(driver(folder, "--units", "20"))
    assert code == 2, said
    assert f"{segment} at byte" in said
    assert "damaged" in said
    assert before == scored(folder)[: len(before)]
    assert not [r for r in log_of(folder) if r["outcome"] == "void"]
    segment.write_bytes(whole)
    resumed(folder, plain)


def engine_changed(folder: Path, keep: int) -> str:
    """The log with its first `keep` results only, made by another engine; this one's digest."""
    records = [record for _, record in Log(folder / "log.jsonl").read()]
    (folder / "log.jsonl").unlink()
    log, engine = Log(folder / "log.jsonl"), ""
    for record in records:
        if record["type"] == "result":
            engine, record["about"]["code"]["engine"] = record["about"]["code"]["engine"], "f" * 12
            keep -= 1
        if keep >= 0:
            log.append(record)
    return engine


def test_results_of_another_engine_are_not_added_to_unless_mixing_is_asked(plain, tmp_path):
    folder, study = copy(plain, tmp_path / "run"), Coins(20)
    engine = engine_changed(folder, keep=7)
    code, said = ended(driver(folder, "--units", "20"))
    differs = f"of 7 results 7 were made by other code: engine ffffffffffff -> {engine}"
    assert (code, said.splitlines()[-1]) == (
        2, f"clew: {folder}: {differs}; put that code back, begin another folder, or go on with"
        " --mixed (tables will say so)",
    )  # fmt: skip
    assert len(log_of(folder)) == 7
    code, said = ended(driver(folder, "--units", "20", "--mixed"))
    assert code == 0, said
    assert said.count(f"{differs}; going on, mixed\n") == 1
    run = json.loads((folder / "tables.json").read_text())["run"]
    assert run["mixed_code"] == ["engine"]
    assert run["code"] == {"engine": sorted(["f" * 12, engine])}
    assert sorted(scored(folder)) == sorted(scored(plain))
    assert finished(study, RunFolder(folder))


def test_a_complete_run_of_another_engine_is_only_said_to_be_one(plain, tmp_path):
    folder = copy(plain, tmp_path / "run")
    engine_changed(folder, keep=10_000)
    code, said = ended(driver(folder, "--units", "20"))
    assert code == 0, said
    assert "; nothing was left to do\n" in said
    assert json.loads((folder / "tables.json").read_text())["run"]["mixed_code"] == []


POLICY = """
from clew.testing.unreliable import Coin


def make():
    return Coin({rate})
"""


def test_a_policy_that_changed_between_a_kill_and_a_resume_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    study = Coins(4, policy="mine:make")
    (tmp_path / "mine.py").write_text(POLICY.format(rate=0.5))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    folder, engine = open_run(study, tmp_path / "run")
    drive(study, folder, engine, workers=1, progress=Told())
    made = {r["about"]["code"].get("policy mine:make") for r in log_of(folder.path)[:4]}
    assert len(made) == 1
    assert None not in made
    records = [record for _, record in Log(folder.path / "log.jsonl").read()]
    (folder.path / "log.jsonl").unlink()
    log = Log(folder.path / "log.jsonl")
    for record in [r for r in records if r["type"] == "result"][:3]:
        log.append(record)
    (tmp_path / "mine.py").write_text(POLICY.format(rate=0.9))
    with pytest.raises(
        Refused, match=f"of 3 results 3 were made .* policy mine:make {made.pop()} -> "
    ):
        drive(study, RunFolder(folder.path), engine, workers=1, progress=Told())
    assert len(log_of(folder.path)) == 3
    told = Told()
    drive(study, RunFolder(folder.path), engine, workers=1, progress=told, mixed=True)
    assert [note for note in told.notes if note.endswith("; going on, mixed")] == told.notes[:1]


def test_code_that_changes_while_a_run_goes_on_stops_it_and_loses_nothing(tmp_path, monkeypatch):
    """Only a new process imports the new code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *sys.path]))
    (tmp_path / "mine.py").write_text(POLICY.format(rate=0.5))
    folder, made = executor(tmp_path / "run", workers=1)

    def unit(seed: int) -> Unit:
        arguments = {"seed": seed, "policy": "mine:make"}
        return Unit("_work:attempt", "unreliable", arguments, fresh=True)

    def second(done) -> list[Unit]:
        (tmp_path / "mine.py").write_text(POLICY.format(rate=0.9))
        return [unit(1)]

    with folder.driving() as driver, pytest.raises(Refused, match="code changed while it ran: pol"):
        made(driver).run([Stage("one", lambda _: [unit(0)]), Stage("two", second)])
    assert [r["unit"] for r in log_of(folder.path)] == [unit(0).digest]


def voided(folder: Path, cause: dict) -> str:
    """The log, whose first result that failed is void instead; its unit."""
    records = [record for _, record in Log(folder / "log.jsonl").read()]
    (folder / "log.jsonl").unlink()
    log, unit = Log(folder / "log.jsonl"), ""
    for record in records:
        if not unit and record["type"] == "result" and "score" in record["values"]:
            unit = record["unit"]
            record = {**record, "outcome": "void", "values": {}, "cause": cause}
        log.append(record)
    return unit


DIED = {"party": "environment", "kind": "worker_died", "detail": "signal 9"}


def test_a_resume_tries_again_what_stayed_void_and_counts_it(plain, tmp_path):
    folder = copy(plain, tmp_path / "run")
    unit = voided(folder, DIED)
    lines = len(log_of(folder))
    assert ended(driver(folder, "--units", "20"))[0] == 0
    assert RunFolder(folder).accepted()[unit].outcome == "void", "a plain run leaves it"
    assert ended(driver(folder, "--units", "20", "--resume"))[0] == 0
    result = RunFolder(folder).accepted()[unit]
    assert result.outcome != "void"
    assert result.about["earlier_voids"] == 1
    assert [r["outcome"] for r in log_of(folder) if r["unit"] == unit] == ["void", result.outcome]
    assert len(log_of(folder)) >= lines + 1
    found, was = (json.loads((f / "tables.json").read_text()) for f in (folder, plain))
    assert found["run"].pop("after_void") == 1
    assert was["run"].pop("after_void") == 0
    assert found == was


def test_a_replay_that_diverged_is_a_measurement_and_no_resume_repeats_it(plain, tmp_path):
    folder = copy(plain, tmp_path / "run")
    unit = voided(folder, {"party": "environment", "kind": "diverged", "detail": "3 mm"})
    assert ended(driver(folder, "--units", "20", "--resume"))[0] == 0
    assert [r["outcome"] for r in log_of(folder) if r["unit"] == unit] == ["void"]


def test_a_void_that_is_tried_again_goes_on_from_where_it_had_come_to(tmp_path, monkeypatch):
    """The world broke at the third act whatever was done, and was mended: the same actions stand."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setenv("CLEW_TEST_WALL", str(tmp_path / "wall"))
    (tmp_path / "wall").touch()
    unit = Unit("_work:attempt", "_work:Walled", {"environment": "_work:Walled", "seed": 4})
    (void,) = execute(tmp_path / "run", [unit]).values()
    assert (void.outcome, void.cause.kind) == ("void", "breaks_anyway")
    assert execute(tmp_path / "run", [unit], voids_again=True)[unit.digest].outcome == "void"
    (tmp_path / "wall").unlink()
    (result,) = execute(tmp_path / "run", [unit], voids_again=True).values()
    assert result.outcome in ("pass", "fail")
    assert result.about["earlier_voids"] == 2
    assert result.about["carried_on"] > 0
    assert len(log_of(tmp_path / "run")) == 3


@pytest.mark.slow
def test_two_drivers_of_different_plans_that_start_at_once_never_share_a_folder(tmp_path):
    for turn in range(4):
        folder = tmp_path / f"run {turn}"
        both = [driver(folder, "--units", str(n), "--workers", "1") for n in (3, 4)]
        codes, said = zip(*[ended(each) for each in both])
        assert sorted(codes) == [0, 2], said
        assert "Traceback" not in "".join(said)
        winner = (3, 4)[codes.index(0)]
        assert RunFolder(folder).header["plan"]["units"] == winner
        assert len(log_of(folder, "begun")) == 1


def limited(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", [60_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_a_full_disk_is_one_sentence_and_a_resume_completes(plain, tmp_path, size):
    """Files may not grow beyond a limit, which refuses a write as a full disk does. The frozen
    engine is there already: it is larger than the limit."""
    folder, environment = tmp_path / "run", new_mark()
    open_run(Coins(20), folder)
    process = driver(folder, "--units", "20", preexec_fn=lambda: limited(size), env=environment)
    code, said = ended(process)
    assert code == 2, said
    sentence = said.splitlines()[-1]
    assert sentence.startswith(f"clew: {folder} has no room for")
    assert "nothing recorded so far is lost" in sentence
    assert "Traceback" not in said
    none_left(environment)
    assert not [r for r in log_of(folder) if r["outcome"] == "void"]
    resumed(folder, plain)


def test_a_disk_that_is_full_before_the_run_begins_is_one_sentence(tmp_path):
    code, said = ended(driver(tmp_path / "run", preexec_fn=lambda: limited(10)))
    assert code == 2
    assert "run.json cannot be written: File too large" in said
    assert said.count("\n") == 1
    assert ended(driver(tmp_path / "run", "--units", "2"))[0] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
@pytest.mark.slow
def test_a_real_full_file_system_is_one_sentence_and_a_resume_completes(plain, tmp_path):
    """A tmpfs with less than the reserve left, which then grows."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=9m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this machine lets no one mount")
    try:
        code, said = ended(driver(disk / "run", "--units", "20"))
        assert code == 2
        sentence = (
            rf"clew: the disk of {disk / 'run'} has \d MiB left: free some space, then clew resume"
        )
        assert re.match(sentence, said.splitlines()[-1])
        subprocess.run(["mount", "-o", "remount,size=400m", str(disk)], check=True)
        resumed(disk / "run", plain)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_quota_is_kept_and_a_resume_completes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    study = Coins(6)
    folder, engine = open_run(study, tmp_path)
    drive(study, folder, engine, workers=1, progress=Told(), here=True, quota_bytes=10_000_000)
    (tmp_path / "log.jsonl").unlink()
    with pytest.raises(Refused, match=r"over its quota of 0 MiB: raise --quota, then clew resume"):
        drive(
            study, RunFolder(tmp_path), engine, workers=1, progress=Told(), here=True,
            quota_bytes=1000,
        )  # fmt: skip
    done = drive(study, RunFolder(tmp_path), engine, workers=1, progress=Told(), here=True)
    assert len(done["attempts"]) == 6
