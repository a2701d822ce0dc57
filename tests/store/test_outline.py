"""The outline of a segment: damaged marks are named in their place, and reading goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.store import Finding, Reader, attempts
from clew.store.lines import framed, segment_header
from clew.store.outline import outline

GOOD = framed(b'{"type":"attempt","about":{"n":1},"start":{}}')


@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"attempt","about":' + b"[" * 100_000, b'{"type":"end","record":' + b"[" * 100_000,
        b'{"type":"attempt","about":7}', b'{"type":"end","record":[]}',
        b'{"type":"attempt","about":{', b'{"type":"end","record":{"a":\xff}}',
    ],
)  # fmt: skip
def test_a_mark_that_nobody_wrote_is_damaged_though_its_checksum_is_right(tmp_path: Path, body):
    path = tmp_path / "segments" / "w.jsonl"
    path.parent.mkdir()
    path.write_bytes(segment_header() + framed(body) + GOOD)
    (_, found), (_, mark), _ = outline(path)
    assert isinstance(found, Finding)
    assert (found.file, found.offset, found.kind) == (str(path), len(segment_header()), "damaged")
    assert (mark.kind, mark.at, mark.text) == (
        "attempt", len(segment_header()) + len(framed(body)), '{"n":1}',
    )  # fmt: skip
    reader = Reader(tmp_path)
    assert [attempt.about for attempt in attempts(reader, "w")] == [{"n": 1}]
    assert reader.damage == [found]
