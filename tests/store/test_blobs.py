"""A blob entry is believed only as far as its own length, and never above the largest value."""

from __future__ import annotations

import hashlib
import struct
import tracemalloc
import zlib
from pathlib import Path

import pytest

from clew.core import Refused
from clew.store import blobs
from clew.store.blobs import Entry, compressor, entry_bytes, read, scan
from clew.store.errors import Damaged


def no_base(digest: str) -> bytes:
    raise AssertionError(f"{digest} was asked for: nothing here is a difference")


def forged(path: Path, codec: bytes, stored: bytes, plain_bytes: int, plain: bytes) -> Entry:
    """An entry whose header is whole and claims a plain length of its own."""
    sha256 = hashlib.sha256(plain).digest()
    head = struct.pack("<4s4sQQ32sI", blobs.MAGIC, codec, len(stored), plain_bytes, sha256,
                       zlib.crc32(stored))  # fmt: skip
    path.write_bytes(head + struct.pack("<I", zlib.crc32(head)) + stored)
    (entry,) = scan(path)
    assert isinstance(entry, Entry)
    return entry


def test_what_is_written_comes_back_whatever_compresses_it(tmp_path: Path) -> None:
    plain = bytes(range(256)) * 400
    by = [compressor(), (blobs.ZLIB, lambda data: zlib.compress(data, 1))]
    for each in by:
        file = tmp_path / each[0].decode().strip()
        file.write_bytes(entry_bytes(plain, hashlib.sha256(plain).digest(), each))
        (entry,) = scan(file)
        assert isinstance(entry, Entry)
        assert entry.codec == each[0]
        assert read(file, entry, no_base) == plain


@pytest.mark.parametrize("codec", [blobs.ZLIB, blobs.ZSTD, blobs.RAW])
def test_a_claim_above_the_largest_value_is_refused_before_anything_is_read(
    tmp_path: Path, codec: bytes
) -> None:
    entry = forged(tmp_path / "p", codec, b"x" * 64, blobs.LARGEST + 1, b"")
    with pytest.raises(Damaged, match=rf"claims {blobs.LARGEST + 1} bytes: more than any version"):
        read(tmp_path / "p", entry, no_base)


@pytest.mark.parametrize("claimed", [1000, 8_000_000])
@pytest.mark.parametrize("name", ["zlib", "zstd"])
def test_a_bomb_gives_no_more_than_its_entry_claims(
    tmp_path: Path, name: str, claimed: int
) -> None:
    """8 MB of zeros whose entry claims 1,000 bytes, or whose digest is another's."""
    plain = bytes(8_000_000)
    if name == "zstd":
        zstandard = pytest.importorskip("zstandard")
        stored, codec = zstandard.ZstdCompressor().compress(plain), blobs.ZSTD
    else:
        stored, codec = zlib.compress(plain, 9), blobs.ZLIB
    entry = forged(tmp_path / "p", codec, stored, claimed, b"another")
    tracemalloc.start()
    with pytest.raises(Damaged, match="is damaged"):
        read(tmp_path / "p", entry, no_base)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < claimed * 2.5 + 1_000_000


def test_a_value_above_the_largest_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "LARGEST", 100)
    with pytest.raises(Refused, match="a value of 101 bytes is too large to record: limit 100"):
        entry_bytes(bytes(101), b"\0" * 32, compressor())
