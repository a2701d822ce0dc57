"""`check` finds everything that is not whole; `gc` drops what nothing names, and only that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clew.core import Moment, Refused, Seen, Start
from clew.store import Damaged, Log, Reader, Recorder, Writer, check, gc, load, named_digests

START = Start("tabletop", "stack")


def _attempt(writer: Writer, value: object) -> Recorder:
    recorder = Recorder(writer, {})
    recorder.began(START, Moment(Seen({"v": value})))
    recorder.finish({})
    return recorder


def test_check_names_what_gc_was_told_to_drop(tmp_path: Path) -> None:
    with Writer(tmp_path, "w") as writer:
        recorder = _attempt(writer, np.arange(400))
    assert check(tmp_path) == []
    gc(tmp_path, keep=())
    (finding,) = check(tmp_path)
    assert finding.kind == "missing-blob"
    assert finding.offset == recorder.locator.start
    assert finding.file == str(tmp_path / "segments" / "w.jsonl")


def test_check_reads_the_log_beside_the_segments(tmp_path: Path) -> None:
    Writer(tmp_path, "w").close()
    log = Log(tmp_path / "log.jsonl")
    log.append({"n": 0})
    with open(log.path, "r+b") as file:
        file.write(b"?")
    assert [(f.file, f.kind) for f in check(tmp_path)] == [(str(log.path), "damaged")]


def test_a_collection_keeps_every_blob_that_a_line_names(tmp_path: Path) -> None:
    values = [np.full(500, n) for n in range(6)]
    with Writer(tmp_path, "a") as a, Writer(tmp_path, "b") as b:
        recorders = [_attempt(a if n % 2 else b, value) for n, value in enumerate(values)]
        unnamed = a.put("nobody names me" * 50)
        in_result = b.put("a result names me" * 50)
        b.append({"type": "note", "evidence": {"frame": in_result}})
    size = sum(p.stat().st_size for p in (tmp_path / "blobs").iterdir())
    told = gc(tmp_path, dry_run=True)
    assert sum(p.stat().st_size for p in (tmp_path / "blobs").iterdir()) == size
    done = gc(tmp_path)
    assert done == told
    assert (done.blobs, done.dropped_bytes + done.kept_bytes) == (1, size)
    assert sum(p.stat().st_size for p in (tmp_path / "blobs").iterdir()) == done.kept_bytes
    reader = Reader(tmp_path)
    assert unnamed not in reader
    assert in_result in reader
    for recorder, value in zip(recorders, values):
        assert np.array_equal(load(reader, recorder.locator).trajectory.last.seen["v"], value)
    assert check(tmp_path) == []
    assert all(p.stat().st_mode & 0o777 == 0o600 for p in (tmp_path / "blobs").iterdir())


def test_a_reader_goes_on_behind_a_collection(tmp_path: Path) -> None:
    with Writer(tmp_path, "w") as writer:
        first = writer.put("first" * 99)
        kept = writer.put("kept" * 99)
    reader = Reader(tmp_path)
    assert kept in reader
    gc(tmp_path, keep={kept})
    assert reader.get(kept) == "kept" * 99
    with pytest.raises(Damaged, match=first):
        reader.get(first)


def test_a_blob_in_two_packs_is_kept_once(tmp_path: Path) -> None:
    with Writer(tmp_path, "a") as a, Writer(tmp_path, "b") as b:
        digest = a.put(np.arange(9))
        assert b.put(np.arange(9)) == digest
    assert gc(tmp_path, keep={digest}).blobs == 1
    assert (tmp_path / "blobs" / "b.pack").stat().st_size == 0
    assert np.array_equal(Reader(tmp_path).get(digest), np.arange(9))


def test_a_collection_waits_for_no_writer(tmp_path: Path) -> None:
    with Writer(tmp_path, "w") as writer:
        writer.put("x" * 999)
        with pytest.raises(Refused, match=r"w\.pack has a writer at work"):
            gc(tmp_path)
    assert gc(tmp_path).blobs == 1


def test_a_damaged_pack_is_left_alone_and_named(tmp_path: Path) -> None:
    with Writer(tmp_path, "w") as writer:
        writer.put("x" * 999)
    pack = tmp_path / "blobs" / "w.pack"
    pack.write_bytes(pack.read_bytes() + b"half an entry")
    before = pack.read_bytes()
    done = gc(tmp_path)
    assert [finding.kind for finding in done.left_alone] == ["torn"]
    assert pack.read_bytes() == before


def test_digests_are_found_across_the_borders_of_reads(tmp_path: Path) -> None:
    digests = [f"{n:064x}" for n in range(70_000)]
    (tmp_path / "log.jsonl").write_text("\n".join(f'{{"frame":"{d}"}}' for d in digests))
    assert named_digests(tmp_path) == set(digests)
