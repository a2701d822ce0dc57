"""The blob format: self-describing, append-only entries. It packs bytes; it knows no values.

An entry is a header of 64 bytes (magic with version, codec, stored and plain length, SHA-256 of
the plain bytes, CRC-32 of the stored bytes, CRC-32 of the header) and the stored bytes. Of a
difference the stored bytes are the digest of its base and the compressed `clew.store.delta`.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from clew.core import Refused
from clew.core.canonical import digest
from clew.store import delta
from clew.store.errors import Damaged, Finding

MAGIC = b"clB1"
RAW, ZLIB, ZSTD = b"raw ", b"zlib", b"zstd"
#: The same compression, of a difference.
OF_DELTA = {ZLIB: b"dzli", ZSTD: b"dzst"}
#: Bytes of the digest of its base, before a difference.
_BASE_BYTES = 32
#: A value is at most so many differences away from one that is stored whole.
DEEPEST = 64
_FIELDS = struct.Struct("<4s4sQQ32sI")
_CRC = struct.Struct("<I")
Compressor = tuple[bytes, Callable[[bytes], bytes]]
HEADER_BYTES = _FIELDS.size + _CRC.size
#: The largest value that is stored or read: a limit on what a hostile entry can make us allocate.
#: A frame of 8K in four channels is half of it.
LARGEST = 1 << 28
#: Below this size the digest and header outweigh what compression saves.
_WORTH_COMPRESSING = 512


@dataclass(frozen=True, slots=True)
class Entry:
    """Where one blob stands in its pack: offset of the header, lengths in bytes, codec."""

    digest: str
    offset: int
    codec: bytes
    stored: int
    plain: int
    crc: int

    @property
    def end(self) -> int:
        return self.offset + HEADER_BYTES + self.stored


def compressor() -> Compressor:
    """The best codec here at its fastest level: recording waits for it. Not thread-safe."""
    zstandard = _zstandard()
    if zstandard is None:
        return ZLIB, lambda plain: zlib.compress(plain, 1)
    return ZSTD, zstandard.ZstdCompressor(level=1).compress


def entry_bytes(plain: bytes, sha256: bytes, by: Compressor) -> bytes:
    """The whole entry of one blob, compressed where that helps.

    Raises `Refused` above `LARGEST` bytes.
    """
    if len(plain) > LARGEST:
        raise Refused(f"a value of {len(plain)} bytes is too large to record: limit {LARGEST}")
    codec, stored = RAW, plain
    if len(plain) >= _WORTH_COMPRESSING:
        name, compress = by
        small = compress(plain)
        if len(small) < len(plain):
            codec, stored = name, small
    return _framed(codec, stored, plain, sha256)


def delta_bytes(
    plain: bytes, sha256: bytes, by: Compressor, base: bytes, base_sha256: bytes
) -> bytes:
    """The whole entry of one blob as its difference from an equally long one in the same store.

    Empty where the two have little in common: then store it whole.
    """
    difference = delta.encode(base, plain)
    if len(difference) * 2 > len(plain):
        return b""
    name, compress = by
    return _framed(OF_DELTA[name], base_sha256 + compress(difference), plain, sha256)


def base_of(path: Path, entry: Entry) -> str:
    """The digest of the value that an entry is a difference from; empty if it is stored whole."""
    if entry.codec not in OF_DELTA.values():
        return ""
    with open(path, "rb", buffering=0) as file:
        return os.pread(file.fileno(), _BASE_BYTES, entry.offset + HEADER_BYTES).hex()


def scan(path: Path, start: int = 0) -> Iterator[Entry | Finding]:
    """The entries of a pack by their headers alone; bytes that are no entry are named, skipped."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        at = start
        while at < size:
            entry = _entry(os.pread(file.fileno(), HEADER_BYTES, at), at)
            if entry is None:
                following = _next_header(file.fileno(), at + 1, size)
                if following is None:
                    yield Finding(str(path), at, "torn", f"the last {size - at} bytes are no blob")
                    return
                yield Finding(str(path), at, "damaged", f"{following - at} bytes are no blob")
                at = following
            elif entry.end > size:
                yield Finding(str(path), at, "torn", f"blob {entry.digest} is cut off")
                return
            else:
                yield entry
                at = entry.end


def read(path: Path, entry: Entry, base: Callable[[str], bytes]) -> bytes:
    """The plain bytes of one blob, verified against its digest.

    `base` gives the plain bytes of a digest, for what is stored as a difference. Raises `Damaged`, naming digest and file, and `Refused` if its codec is not installed.
    """
    where = f"blob {entry.digest} in {path} at byte {entry.offset}"
    if max(entry.plain, entry.stored) > LARGEST:
        raise Damaged(f"{where} claims {entry.plain} bytes: more than any version of clew writes")
    with open(path, "rb", buffering=0) as file:
        stored = os.pread(file.fileno(), entry.stored, entry.offset + HEADER_BYTES)
    if len(stored) != entry.stored or zlib.crc32(stored) != entry.crc:
        raise Damaged(f"{where} is damaged: its checksum differs; restore the file from a copy")
    plain = _plain(stored, entry, where, base)
    if digest(plain) != entry.digest:
        raise Damaged(f"{where} is damaged: its digest differs; restore the file from a copy")
    return plain


def _framed(codec: bytes, stored: bytes, plain: bytes, sha256: bytes) -> bytes:
    head = _FIELDS.pack(MAGIC, codec, len(stored), len(plain), sha256, zlib.crc32(stored))
    return head + _CRC.pack(zlib.crc32(head)) + stored


def _entry(header: bytes, at: int) -> Entry | None:
    if len(header) < HEADER_BYTES or header[:4] != MAGIC:
        return None
    fields = header[: _FIELDS.size]
    if _CRC.unpack_from(header, _FIELDS.size)[0] != zlib.crc32(fields):
        return None
    _, codec, stored, plain, sha256, crc = _FIELDS.unpack(fields)
    return Entry(sha256.hex(), at, codec, stored, plain, crc)


def _next_header(fd: int, at: int, size: int) -> int | None:
    """The offset of the next valid header from `at` on."""
    chunk_bytes = 1 << 20
    while at < size:
        chunk = os.pread(fd, chunk_bytes, at)
        found = chunk.find(MAGIC)
        while found >= 0:
            if _entry(os.pread(fd, HEADER_BYTES, at + found), at + found) is not None:
                return at + found
            found = chunk.find(MAGIC, found + 1)
        # The next chunk overlaps, so that a magic across the border is found.
        at += max(len(chunk) - len(MAGIC) + 1, 1)
    return None


def _plain(stored: bytes, entry: Entry, where: str, base: Callable[[str], bytes]) -> bytes:
    if entry.codec == RAW:
        return stored
    if entry.codec not in OF_DELTA.values():
        return _decompressed(stored, entry.codec, entry.plain, where)
    before = base(stored[:_BASE_BYTES].hex())
    codec = ZLIB if entry.codec == OF_DELTA[ZLIB] else ZSTD
    if len(before) != entry.plain:
        raise Damaged(f"{where} is damaged: its base has another length")
    limit = len(before) + len(before) // delta.BLOCK_BYTES + 2 * delta.BLOCK_BYTES
    difference = _decompressed(stored[_BASE_BYTES:], codec, limit, where)
    try:
        return delta.decode(before, difference)
    except ValueError as error:
        raise Damaged(f"{where} is damaged: {error}") from None


def _decompressed(stored: bytes, codec: bytes, limit: int, where: str) -> bytes:
    """At most one byte more than `limit`: what is longer fails its digest."""
    if codec == ZLIB:
        try:
            return zlib.decompressobj().decompress(stored, limit + 1)
        except zlib.error as error:
            raise Damaged(f"{where} is damaged: {error}") from None
    if codec != ZSTD:
        raise Damaged(f"{where} has the codec {codec!r}, which no version of clew writes")
    zstandard = _zstandard()
    if zstandard is None:
        raise Refused(f"{where} is compressed with zstd: install zstandard (the extra `fast`)")
    try:
        # By a stream: a one-shot call believes the length in the frame before it has seen a byte.
        with zstandard.ZstdDecompressor(max_window_size=LARGEST).stream_reader(stored) as stream:
            plain: bytes = stream.read(limit + 1)
    except zstandard.ZstdError as error:
        raise Damaged(f"{where} is damaged: {error}") from None
    return plain


@lru_cache(maxsize=1)
def _zstandard() -> ModuleType | None:
    try:
        import zstandard
    except ImportError:
        return None
    module: ModuleType = zstandard
    return module
