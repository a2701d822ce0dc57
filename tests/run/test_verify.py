"""`verify` finds nothing in a good run or pack, and names whatever was touched."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from clew.core import Moment, Refused, Seen, Start
from clew.run.folder import RunFolder, differences
from clew.run.verify import verify
from clew.store import Log, Recorder, Writer, pack, unpack

from ._help import Told, ended, recorded_bytes
from ._work import Coins, driver

STUDY = Coins(20)


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "run"
    code, said = ended(driver(folder, "--units", "20"))
    assert code == 0, said
    return folder


@pytest.fixture
def run(good, tmp_path) -> Path:
    """A copy to spoil."""
    shutil.copytree(good, tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)


def verdict(path: Path, sample: int = 0):
    return verify(path, lambda _: STUDY, sample=sample, seed=0, workers=2, progress=Told())


def test_nothing_is_wrong_with_a_good_run_and_it_is_left_as_it_was(good):
    before = contents(good)
    found = verdict(good, sample=5)
    assert (found.findings, found.sampled) == ((), 5)
    assert found.units == sum(len(table) for name, table in tables(good).items() if name != "run")
    assert contents(good) == before


def contents(folder: Path) -> dict[Path, bytes]:
    """Every file but the lock, which names who held it last."""
    files = [f for f in folder.rglob("*") if f.is_file() and f.name != "driver.lock"]
    return {file: file.read_bytes() for file in files}


def test_a_sample_is_not_run_in_a_folder_that_somebody_drives(good):
    with RunFolder(good).held(), pytest.raises(Refused, match="is held by process"):
        verdict(good, sample=1)
    assert not list((good / "segments").glob("verify-*"))


def test_what_a_killed_verification_left_is_removed_by_the_next(run):
    (run / "segments" / "verify-0123.jsonl").touch()
    assert verdict(run, sample=1).findings == ()
    assert not list((run / "segments").glob("verify-*"))


def tables(path: Path) -> dict:
    return json.loads((path / "tables.json").read_text())


def test_nothing_is_wrong_with_its_pack_and_what_comes_out_of_it_is_equal(good, tmp_path):
    pack(good, tmp_path / "run.clewpack")
    assert verdict(tmp_path / "run.clewpack", sample=3).findings == ()
    unpack(tmp_path / "run.clewpack", tmp_path / "again")
    assert tables(tmp_path / "again") == tables(good)
    assert RunFolder(tmp_path / "again").accepted() == RunFolder(good).accepted()


def test_a_run_that_was_killed_often_is_not_wrong_for_that(run):
    """A kill may cut a segment's or a pack's last entry; nothing accepted stands there."""
    for file in [*(run / "segments").glob("*"), *(run / "blobs").glob("*")]:
        with open(file, "ab") as end:
            end.write(b"0123 half a")
    assert verdict(run).findings == ()


def test_a_changed_table_is_named(run):
    changed = tables(run)
    digest = sorted(changed["attempts"])[0]
    changed["attempts"][digest][0] = "void"
    (run / "tables.json").write_text(json.dumps(changed))
    assert verdict(run).findings == (
        f"tables: attempts.{digest} is not what the results give",
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "{", "[1]"])
def test_tables_that_are_no_tables_are_named(run, text):
    (run / "tables.json").write_text(text)
    assert verdict(run).findings[0].startswith("tables: ")


def test_missing_tables_are_named(run):
    (run / "tables.json").unlink()
    assert verdict(run).findings == (
        "tables: there is no tables.json; run: clew report on the run's folder",
    )  # fmt: skip


def test_a_flipped_byte_of_a_blob_is_named(run):
    with Writer(run, "large") as writer:
        recorder = Recorder(writer, {})
        recorder.began(Start("e", "t"), Moment(Seen({"frame": np.arange(5000)})))
        recorder.finish({})
    assert verdict(run).findings == ()
    file = run / "blobs" / "large.pack"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    findings = verdict(run).findings
    assert findings
    assert all(found.startswith("store: ") for found in findings)
    assert any(str(file) in found for found in findings)


def test_a_flipped_byte_of_a_segment_is_named(run):
    file = max((run / "segments").glob("*.jsonl"), key=lambda f: f.stat().st_size)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    (found,) = verdict(run).findings
    assert found.startswith(f"store: {file} at byte")


def forged(run: Path, change) -> str:
    """The log, written anew with one result changed; its unit."""
    records = [record for _, record in Log(run / "log.jsonl").read()]
    (run / "log.jsonl").unlink()
    log, unit = Log(run / "log.jsonl"), ""
    for record in records:
        if not unit and record["type"] == "result" and record["outcome"] == "fail":
            unit = record["unit"]
            record = change(record)
        log.append(record)
    return unit


@pytest.mark.slow
def test_a_forged_result_is_named_by_its_own_attempt_and_by_the_sample(run):
    unit = forged(run, lambda record: {**record, "outcome": "pass"})
    assert verdict(run).findings, "the results no longer give the tables"
    study, folder = STUDY, RunFolder(run)
    from clew.run.drive import finished, tables_of

    code, _ = ended(driver(run, "--units", "20"))  # the forged result changes what there is to do
    assert code == 0
    tables_of(study, folder, finished(study, RunFolder(run)))
    by_attempt = f"unit {unit} is accepted as pass, but its attempt ended with passed = False"
    assert verdict(run, sample=0).findings == (by_attempt,)
    found = verdict(run, sample=10_000).findings
    assert len(found) == 2
    assert found[0] == by_attempt
    assert found[1].startswith(f"unit {unit} (attempt) differs on the same fingerprint: pass ")


def test_a_second_scored_result_is_named(run):
    log = Log(run / "log.jsonl")
    first = next(r for _, r in log.read() if r["type"] == "result")
    log.append({**first, "outcome": "pass", "values": {}})
    assert verdict(run).findings == (
        f"results: unit {first['unit']} has more than one scored result",
    )  # fmt: skip


def test_a_damaged_line_of_the_log_and_the_result_that_it_costs_are_named(run):
    data = bytearray((run / "log.jsonl").read_bytes())
    data[data.index(b'"type":"result"') + 9] ^= 1
    (run / "log.jsonl").write_bytes(bytes(data))
    damaged, missing = verdict(run).findings
    assert damaged.startswith(f"store: {run / 'log.jsonl'} at byte")
    assert "1 of 20 units of stage 'attempts' have no result; run: clew resume" in missing


def test_a_segment_cut_short_is_noticed_by_the_results_that_stood_there(run):
    segment = max((run / "segments").glob("*.jsonl"), key=lambda f: f.stat().st_size)
    segment.write_bytes(segment.read_bytes()[: recorded_bytes(run) // 10])
    assert any("have no result" in found for found in verdict(run).findings)


def test_differences_are_dotted_names():
    assert differences({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}, "d": 4}) == ["a.c", "d"]
    assert differences({"a": 1}, {"a": 1}) == []
