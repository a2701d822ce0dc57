"""Frames of one session are stored as differences, and come back to the byte, whatever was collected."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from clew.store import Reader, Writer, blobs
from clew.store.errors import Damaged
from clew.store.upkeep import check, gc

SHAPE = (120, 200, 3)


def frames(count: int, seed: int = 0) -> list[np.ndarray]:
    """A photograph, and on it in each later frame another small square."""
    rng = np.random.default_rng(seed)
    shown = [rng.integers(0, 256, SHAPE, np.uint8)]
    for _ in range(count - 1):
        after = shown[-1].copy()
        y, x = rng.integers(0, 100), rng.integers(0, 180)
        after[y : y + 10, x : x + 10] = rng.integers(0, 256, (10, 10, 3), np.uint8)
        shown.append(after)
    return shown


def stored(folder: Path, shown: list[np.ndarray]) -> list[str]:
    with Writer(folder, "w") as writer:
        digests = [writer.put(frame) for frame in shown]
        for digest in digests:
            writer.append({"type": "acted", "seen": {"frame": digest}})
    return digests


def pack_bytes(folder: Path) -> int:
    return (folder / "blobs" / "w.pack").stat().st_size


def test_a_session_costs_one_frame_and_its_changes(tmp_path):
    shown = frames(50)
    digests = stored(tmp_path, shown)
    assert pack_bytes(tmp_path) < 2.5 * shown[0].nbytes
    reader = Reader(tmp_path)
    for digest, frame in zip(digests, shown):
        np.testing.assert_array_equal(reader.get(digest), frame)
    assert check(tmp_path) == []


def test_frames_are_read_in_any_order(tmp_path):
    shown = frames(20)
    digests = stored(tmp_path, shown)
    for t in (19, 0, 7, 12, 3):
        np.testing.assert_array_equal(Reader(tmp_path).get(digests[t]), shown[t])


def test_no_frame_is_more_than_so_many_differences_away(tmp_path):
    shown = frames(2 * blobs.DEEPEST + 10)
    digests = stored(tmp_path, shown)
    whole = [
        entry for entry in blobs.scan(tmp_path / "blobs" / "w.pack")
        if entry.codec not in blobs.OF_DELTA.values()
    ]  # fmt: skip
    assert len(whole) == 3
    np.testing.assert_array_equal(Reader(tmp_path).get(digests[-1]), shown[-1])


def test_a_frame_that_came_back_is_the_base_of_the_next(tmp_path):
    one, other = frames(1, 1)[0], frames(1, 2)[0]
    near = one.copy()
    near[:5, :5] = 7
    stored(tmp_path, [one, other, one, near])
    sizes = [entry.stored for entry in blobs.scan(tmp_path / "blobs" / "w.pack")]
    assert len(sizes) == 3
    assert sizes[2] < 5_000


def test_collecting_keeps_what_a_kept_frame_is_a_difference_from(tmp_path):
    shown = frames(10)
    digests = stored(tmp_path, shown)
    gc(tmp_path, keep={digests[5]})
    np.testing.assert_array_equal(Reader(tmp_path).get(digests[5]), shown[5])
    left = {entry.digest for entry in blobs.scan(tmp_path / "blobs" / "w.pack")}
    assert left == set(digests[:6])


def test_a_damaged_base_is_named_for_every_frame_behind_it(tmp_path):
    digests = stored(tmp_path, frames(3))
    pack = tmp_path / "blobs" / "w.pack"
    data = bytearray(pack.read_bytes())
    data[blobs.HEADER_BYTES + 100] ^= 1
    pack.write_bytes(data)
    with pytest.raises(Damaged, match=digests[0]):
        Reader(tmp_path).get(digests[2])
    found = [finding.kind for finding in check(tmp_path)]
    assert found.count("damaged") == 3


def test_differences_in_a_circle_are_damaged_and_end(tmp_path):
    one, other = frames(2)
    plain = [b"x" * 70_000, b"y" * 70_000]
    sha256 = [hashlib.sha256(p).digest() for p in plain]
    stored(tmp_path, [one, other])
    entries = [
        blobs.delta_bytes(plain[i], sha256[i], blobs.compressor(), plain[i], sha256[1 - i])
        for i in (0, 1)
    ]
    with open(tmp_path / "blobs" / "v.pack", "wb") as pack:
        pack.write(b"".join(entries))
    with pytest.raises(Damaged, match="too many times over"):
        Reader(tmp_path).get(sha256[0].hex())


def test_small_values_are_stored_whole(tmp_path):
    vectors = [np.zeros(1000), np.ones(1000)]
    stored(tmp_path, vectors)
    codecs = {entry.codec for entry in blobs.scan(tmp_path / "blobs" / "w.pack")}
    assert not codecs & set(blobs.OF_DELTA.values())
