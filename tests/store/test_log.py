"""The acceptance log: whole lines from several processes, and damage that is named."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.store import Log
from clew.store.lines import framed


def test_records_come_back_in_the_order_of_the_file(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    offsets = [log.append({"n": n}) for n in range(5)]
    assert log.read() == [(offset, {"n": n}) for n, offset in enumerate(offsets)]
    assert log.damage == []
    assert (tmp_path / "log.jsonl").stat().st_mode & 0o777 == 0o600


def test_lines_come_with_their_json_as_it_stands_in_the_file(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    offset = log.append({"n": 1.5, "text": "é"})
    body = rb'{"n":1.5,"text":"\u00e9"}'
    assert list(log.lines()) == [(offset, body, {"n": 1.5, "text": "é"})]
    assert framed(body) == (tmp_path / "log.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not JSON"), (b"", "not JSON"), (b"\xff", "not JSON"), (b"[1]", "not a JSON object"),
        (b"{} {}", "not a JSON object"), (b'{"a":' + b"[" * 100_000, "nested deeper"),
        (b'{"a":' * 100_000, "nested deeper"),
    ],
)  # fmt: skip
def test_a_line_that_nobody_wrote_is_damaged_though_its_checksum_is_right(
    tmp_path: Path, body: bytes, says: str
) -> None:
    log = Log(tmp_path / "log.jsonl")
    log.append({"n": 0})
    offset = log.path.stat().st_size
    with open(log.path, "ab") as file:
        file.write(framed(body))
    behind = log.append({"n": 1})
    assert log.read() == [(0, {"n": 0}), (behind, {"n": 1})]
    (found,) = log.damage
    assert (found.file, found.offset, found.kind) == (str(log.path), offset, "damaged")
    assert says in found.detail


def test_an_absent_log_is_empty(tmp_path: Path) -> None:
    assert Log(tmp_path / "log.jsonl").read() == []
    assert not (tmp_path / "log.jsonl").exists()


def test_reading_goes_on_where_it_ended(tmp_path: Path) -> None:
    ours, theirs = Log(tmp_path / "log"), Log(tmp_path / "log")
    ours.append({"n": 0})
    assert len(ours.read()) == 1
    theirs.append({"n": 1})
    assert [record for _, record in ours.read(ours.end)] == [{"n": 1}]
    assert ours.read(ours.end) == []


@given(st.integers(2, 40))
@settings(max_examples=40, deadline=None)
def test_a_line_behind_a_torn_one_stands_alone(cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        log = Log(path)
        log.append({"n": 0})
        keep = path.stat().st_size
        log.append({"n": 1, "pad": "x" * 40})
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size - cut)
        assert [r["n"] for _, r in log.read()] == [0]
        assert [f.kind for f in log.damage] == ["torn"]
        assert log.end == keep
        offset = log.append({"n": 2})
        assert log.read()[1:] == [(offset, {"n": 2})]
        assert [(f.kind, f.offset) for f in log.damage] == [("damaged", keep)]
        log.close()


def test_two_processes_append_at_once_and_no_line_is_lost(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from clew.store import Log
        log = Log(Path(sys.argv[1]))
        for n in range(2000):
            log.append({"who": sys.argv[2], "n": n, "pad": "x" * (n % 700)})
    """
    argv = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "log")]
    processes = [subprocess.Popen([*argv, who]) for who in "ab"]
    log = Log(tmp_path / "log")
    while any(process.poll() is None for process in processes):
        log.read()
        assert log.damage == []
    assert [process.returncode for process in processes] == [0, 0]
    records = [record for _, record in log.read()]
    for who in "ab":
        assert [r["n"] for r in records if r["who"] == who] == list(range(2000))
