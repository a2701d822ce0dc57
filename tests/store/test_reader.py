"""Damage is found and named, and never costs more than the lines or blobs that it hit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.core import Refused
from clew.store import Damaged, Reader, Writer, blobs, check

_SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    with Writer(folder, "w") as writer:
        for n in range(12):
            blob = writer.put([n] * 200)
            writer.append(
                {"type": "acted", "n": n, "pad": '\n"{} 0' * (n % 3), "seen": {"v": blob}}
            )
    return folder


def _segment(folder: Path) -> Path:
    return folder / "segments" / "w.jsonl"


def _copied(tmp_path: Path, data: bytes) -> Reader:
    path = tmp_path / "segments" / "w.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return Reader(tmp_path)


@given(data=st.data())
@_SETTINGS
def test_any_truncation_loses_only_the_line_that_it_cut(
    whole: Path, tmp_path: Path, data: st.DataObject
) -> None:
    original = _segment(whole).read_bytes()
    size = data.draw(st.integers(0, len(original)))
    reader = _copied(tmp_path, original[:size])
    found = [record["n"] for _, record in reader.records("w")]
    lines = original[:size].count(b"\n")
    assert found == list(range(max(lines - 1, 0)))
    cut = bool(size) and not original[:size].endswith(b"\n")
    assert [finding.kind for finding in reader.damage] == ["torn"] * cut
    if cut:
        assert reader.damage[0].offset == original[:size].rfind(b"\n") + 1


@given(data=st.data())
@_SETTINGS
def test_any_changed_byte_is_named_and_every_other_line_survives(
    whole: Path, tmp_path: Path, data: st.DataObject
) -> None:
    original = _segment(whole).read_bytes()
    newlines = [i for i, byte in enumerate(original) if byte == 10]
    anywhere = st.integers(0, len(original) - 1)
    at = data.draw(st.one_of(anywhere, st.sampled_from(newlines)))
    changed = bytearray(original)
    changed[at] ^= data.draw(st.integers(1, 255))
    reader = _copied(tmp_path, bytes(changed))
    found = [record["n"] for _, record in reader.records("w")]
    hit = original[:at].count(b"\n") - 1
    assert found == [n for n in range(12) if n != hit]
    assert reader.damage
    line_start = original[:at].rfind(b"\n") + 1
    assert all(line_start <= finding.offset <= at + 1 for finding in reader.damage)
    assert all(finding.file == str(_segment(tmp_path)) for finding in reader.damage)


@given(data=st.data())
@_SETTINGS
def test_any_changed_byte_of_a_pack_is_named_and_every_other_blob_survives(
    whole: Path, tmp_path: Path, data: st.DataObject
) -> None:
    original = (whole / "blobs" / "w.pack").read_bytes()
    at = data.draw(st.integers(0, len(original) - 1))
    changed = bytearray(original)
    changed[at] ^= data.draw(st.integers(1, 255))
    reader = _copied(tmp_path, _segment(whole).read_bytes())
    pack = tmp_path / "blobs" / "w.pack"
    pack.parent.mkdir(exist_ok=True)
    pack.write_bytes(changed)
    lost = []
    for _, record in reader.records("w"):
        digest = record["seen"]["v"]
        try:
            assert reader.get(digest) == [record["n"]] * 200
        except Damaged:
            lost.append(record["n"])
            with pytest.raises(Damaged, match=f"{digest}.*{tmp_path / 'blobs'}"):
                reader.get(digest)
    starts = [entry.offset for entry in blobs.scan(whole / "blobs" / "w.pack")]
    assert lost == [sum(start <= at for start in starts) - 1]
    kinds = {finding.kind for finding in check(tmp_path)}
    assert "missing-blob" in kinds
    assert kinds & {"damaged", "torn"}


def test_a_torn_pack_keeps_the_blobs_before_the_cut(whole: Path, tmp_path: Path) -> None:
    reader = _copied(tmp_path, _segment(whole).read_bytes())
    pack = tmp_path / "blobs" / "w.pack"
    pack.parent.mkdir()
    pack.write_bytes((whole / "blobs" / "w.pack").read_bytes()[:-1])
    digests = [record["seen"]["v"] for _, record in reader.records("w")]
    assert [reader.get(digest)[0] for digest in digests[:-1]] == list(range(11))
    with pytest.raises(Damaged, match=digests[-1]):
        reader.get(digests[-1])
    assert [f.kind for f in reader.damage] == ["torn", "missing-blob"]


def test_a_value_that_a_writer_adds_later_is_found(tmp_path: Path) -> None:
    with Writer(tmp_path, "w") as writer:
        reader = Reader(tmp_path)
        first = writer.put("first" * 100)
        assert reader.get(first) == "first" * 100
        second = writer.put("second" * 100)
        assert reader.get(second) == "second" * 100
    with Writer(tmp_path, "other") as writer:
        third = writer.put(np.arange(3))
    assert third in reader


def test_reading_can_start_and_end_at_any_line(whole: Path) -> None:
    records = list(Reader(whole).records("w"))
    start, end = records[3][0], records[7][0]
    assert list(Reader(whole).records("w", start, end)) == records[3:7]


def test_an_unknown_segment_is_refused_with_the_nearest_name(whole: Path) -> None:
    with pytest.raises(Refused, match="has no segment 'ww'; did you mean 'w'"):
        list(Reader(whole).records("ww"))
    with pytest.raises(Refused, match="has no segment"):
        list(Reader(whole).records("../segments/w"))


def test_a_segment_of_another_schema_is_refused(tmp_path: Path) -> None:
    with Writer(tmp_path, "w") as writer:
        writer.append_json('{"type":"segment","schema":2}')
    path = _segment(tmp_path)
    first = path.read_bytes().index(b"\n") + 1
    path.write_bytes(path.read_bytes()[first:])
    with pytest.raises(Refused, match="has schema 2, this version of clew reads 1"):
        list(Reader(tmp_path).records("w"))


def test_an_empty_folder_has_no_segments(tmp_path: Path) -> None:
    assert Reader(tmp_path).segments() == []
    with pytest.raises(Refused, match="is not a store"):
        check(tmp_path)
