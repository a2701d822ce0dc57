"""What a run's folder says of its log: what counts, and what nobody wrote."""

from __future__ import annotations

import copy
import gc
from pathlib import Path

import pytest

from clew.core import Cause
from clew.run.folder import RunFolder
from clew.run.planning import planning
from clew.run.units import Result
from clew.store.lines import framed

from ._help import run_folder

RESULT = Result(
    "u1", "pass", {"n": 1}, Cause("judge", "late"),
    {"snapshot": "s", "code": {"engine": "e"}, "broken": []},
).json()  # fmt: skip
ATTEMPT = {"segment": "w-1", "start": 0, "end": 9}
NOTES = [
    {"type": "begun", "driver": "d"}, {"type": "ended", "driver": "d"},
    {"type": "withdrawn", "snapshot": "other"}, {"type": "fingerprint", "digest": "f", "facts": {}},
]  # fmt: skip


def with_(record: dict, name: str, value) -> dict:
    """The record with another value at a dotted name; None takes it out."""
    record = copy.deepcopy(record)
    *path, last = name.split(".")
    inner = record
    for each in path:
        inner = inner[each]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return record


def test_what_clew_writes_is_no_damage(tmp_path: Path):
    folder = run_folder(tmp_path / "run")
    for record in [*NOTES, RESULT, Result("u2", "void").json()]:
        folder.log.append(record)
    assert folder.damage() == []
    assert folder.accepted() == {"u1": Result.of(RESULT), "u2": Result("u2", "void")}
    assert folder.withdrawn() == {"other"}
    assert folder.fingerprints() == {"f": {}}


@pytest.mark.parametrize(
    "record",
    [
        {}, {"type": ["result"]}, {"type": "from another version"},
        *(with_(RESULT, name, None) for name in RESULT if name != "type"),
        with_(RESULT, "unit", 1), with_(RESULT, "outcome", "passed"),
        with_(RESULT, "outcome", ["pass"]), with_(RESULT, "values", [1]),
        with_(RESULT, "cause", "late"), with_(RESULT, "cause.party", "nobody"),
        with_(RESULT, "cause.kind", None), with_(RESULT, "cause.detail", 1),
        with_(RESULT, "about", []), with_(RESULT, "about.snapshot", {}),
        with_(RESULT, "about.code", []), with_(RESULT, "about.code", {"engine": 1}),
        with_(RESULT, "about.broken", {}), with_(RESULT, "about.broken", [1]),
        with_(RESULT, "about.broken", [{"locator": {}}]),
        with_(RESULT, "about.attempt", "w-1"), with_(RESULT, "about.attempt", {}),
        *(with_(RESULT, "about.attempt", with_(ATTEMPT, name, None)) for name in ATTEMPT),
        with_(RESULT, "about.attempt", {**ATTEMPT, "segment": "../w"}),
        with_(RESULT, "about.attempt", {**ATTEMPT, "segment": "w" * 9999}),
        with_(RESULT, "about.attempt", {**ATTEMPT, "start": -1}),
        with_(RESULT, "about.attempt", {**ATTEMPT, "end": "9"}),
        *(with_(note, name, None) for note in NOTES for name in note if name != "type"),
        {"type": "begun", "driver": "../d*"}, {"type": "withdrawn", "snapshot": []},
        {"type": "fingerprint", "digest": "f", "facts": "x86"},
    ],
)  # fmt: skip
def test_a_record_that_is_not_what_clew_writes_is_named_and_does_not_count(tmp_path, record):
    folder = run_folder(tmp_path / "run")
    folder.log.append(Result("u2", "pass").json())
    offset = folder.log.append(record)
    folder.log.append(Result("u3", "pass").json())
    again = RunFolder(folder.path)
    (found,) = again.damage()
    assert (found.file, found.offset, found.kind) == (str(folder.log.path), offset, "damaged")
    assert set(again.accepted()) == {"u2", "u3"}
    assert again.withdrawn() == set()
    assert again.fingerprints() == {}
    assert again.broken_attempts() == {}


def test_a_line_that_is_nested_too_deeply_is_named_and_does_not_count(tmp_path):
    folder = run_folder(tmp_path / "run")
    folder.log.append(Result("u2", "pass").json())
    with open(folder.log.path, "ab") as file:
        file.write(framed(b'{"type":"result","unit":"u1","values":' + b"[" * 100_000))
    assert [found.kind for found in folder.damage()] == ["damaged"]
    assert set(folder.accepted()) == {"u2"}


def test_a_result_whose_attempt_never_reached_the_disk_does_not_count(tmp_path):
    folder = run_folder(tmp_path / "run")
    (folder.path / "segments").mkdir()
    (folder.path / "segments" / "w-1.jsonl").write_bytes(b"x" * 9)
    for unit, end in (("u1", 9), ("u2", 10)):
        folder.log.append(
            Result(unit, "pass", {}, None, {"attempt": {**ATTEMPT, "end": end}}).json()
        )
    folder.log.append(
        Result("u3", "pass", {}, None, {"attempt": {**ATTEMPT, "segment": "w-2"}}).json()
    )
    assert set(folder.accepted()) == {"u1"}
    assert [result.unit for result in folder.results()] == ["u1"]


def test_what_others_append_counts_when_it_is_asked_again_and_damage_is_named_once(tmp_path):
    ours, theirs = run_folder(tmp_path / "run"), run_folder(tmp_path / "run")
    theirs.log.append(RESULT)
    assert set(ours.accepted()) == {"u1"}
    theirs.log.append({"type": "result"})
    theirs.log.append({"type": "withdrawn", "snapshot": "s"})
    assert ours.accepted() == {}
    assert len(ours.damage()) == len(ours.damage()) == 1


def interrupted_planning() -> None:
    with planning():
        assert not gc.isenabled()
        raise KeyboardInterrupt


def test_planning_leaves_the_collector_as_it_was():
    with pytest.raises(KeyboardInterrupt):
        interrupted_planning()
    assert gc.isenabled()
    gc.disable()
    try:
        with planning():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
