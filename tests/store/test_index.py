"""The index says what the segments say, however it was left, and is never needed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from clew.core import Moment, Refused, Seen, Start
from clew.store import Attempt, Index, Reader, Recorder, Writer, attempts, gc

START = Start("tabletop", "stack")


def _attempt(writer: Writer, unit: str, *, finished: bool = True) -> Recorder:
    recorder = Recorder(writer, {"unit": unit, "repeat": len(unit)})
    recorder.began(START, Moment(Seen({"text": unit * 300})))
    if finished:
        recorder.finish({"outcome": "pass"})
    return recorder


def _truth(folder: Path) -> list[Attempt]:
    reader = Reader(folder)
    return [attempt for name in reader.segments() for attempt in attempts(reader, name)]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        with Writer(tmp_path, name) as writer:
            for unit in ("u", "vv", "www"):
                _attempt(writer, unit, finished=unit != "vv")
    return tmp_path


def test_an_absent_index_is_built_when_it_is_asked(store: Path) -> None:
    index = Index(store)
    assert index.attempts() == _truth(store)
    assert (store / "index.sqlite").stat().st_mode & 0o777 == 0o600


def test_attempts_are_found_by_what_they_are_about(store: Path) -> None:
    index = Index(store)
    assert [a.about["unit"] for a in index.attempts({"unit": "vv"})] == ["vv", "vv"]
    assert index.attempts({"unit": "vv", "repeat": 2}) == index.attempts({"unit": "vv"})
    assert index.attempts({"unit": "vv", "repeat": 3}) == []


def test_a_stale_index_takes_in_what_was_added(tmp_path: Path) -> None:
    index = Index(tmp_path)
    with Writer(tmp_path, "w") as writer:
        open_one = _attempt(writer, "u", finished=False)
        index.refresh()
        assert [a.finish for a in index.attempts()] == [None]
        open_one.finish({"outcome": "fail"})
        _attempt(writer, "vv")
        index.refresh()
        assert index.attempts() == _truth(tmp_path)
        assert [a.finish for a in index.attempts()] == [{"outcome": "fail"}, {"outcome": "pass"}]


@pytest.mark.parametrize("junk", [b"", b"not a database at all" * 100])
def test_a_damaged_index_is_built_again(store: Path, junk: bytes) -> None:
    index = Index(store)
    index.refresh()
    index.path.write_bytes(junk)
    assert index.attempts() == _truth(store)
    index.path.write_bytes(junk)
    index.refresh()
    assert index.attempts() == _truth(store)


def test_an_index_damaged_inside_is_built_again(store: Path) -> None:
    index = Index(store)
    index.refresh()
    data = bytearray(index.path.read_bytes())
    data[200:] = b"\xff" * (len(data) - 200)
    index.path.write_bytes(data)
    assert index.attempts() == _truth(store)


def test_an_index_of_another_version_is_built_again(store: Path) -> None:
    index = Index(store)
    index.refresh()
    with sqlite3.connect(index.path) as db:
        db.execute("DROP TABLE attempts")
        db.execute("PRAGMA user_version = 99")
    db.close()
    assert index.attempts() == _truth(store)


def test_files_that_shrank_vanished_or_were_replaced_are_read_again(store: Path) -> None:
    index = Index(store)
    index.refresh()
    a, b = store / "segments" / "a.jsonl", store / "segments" / "b.jsonl"
    a.write_bytes(a.read_bytes()[:-1])
    b.unlink()
    index.refresh()
    assert index.attempts() == _truth(store)
    assert {attempt.locator.segment for attempt in index.attempts()} == {"a"}


def test_blobs_are_where_the_index_says_also_behind_a_collection(tmp_path: Path) -> None:
    with Writer(tmp_path, "w") as writer:
        first, second = writer.put("first" * 300), writer.put("second" * 300)
    index = Index(tmp_path)
    place = index.blob(second)
    assert place is not None
    gc(tmp_path, keep={second})
    index.refresh()
    assert index.blob(first) is None
    assert index.blob(second) == ("w.pack", 0, place[2])


def test_two_processes_refresh_one_index(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from clew.core import Moment, Start
        from clew.store import Index, Recorder, Writer
        folder = Path(sys.argv[1])
        with Writer(folder, sys.argv[2]) as writer:
            for n in range(40):
                recorder = Recorder(writer, {"n": n})
                recorder.began(Start("tabletop", "stack"), Moment())
                recorder.finish({})
                Index(folder).refresh()
                assert len(Index(folder).attempts({"n": n})) >= 1
    """
    argv = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    processes = [subprocess.Popen([*argv, name]) for name in "ab"]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert Index(tmp_path).attempts() == _truth(tmp_path)
    assert len(_truth(tmp_path)) == 80


def test_a_folder_without_segments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="is not a store"):
        Index(tmp_path).attempts()
    assert list(tmp_path.iterdir()) == []
