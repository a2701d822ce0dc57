"""The line format that segments and logs share: a checksum, a space, one JSON object, a newline.

It frames and reads lines; it knows no record type and owns no file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from clew.core import Refused
from clew.store.errors import Finding, write_error

#: Version of everything in a store folder: lines, records, blob entries.
SCHEMA = 1
_BUFFER_BYTES = 1 << 16
#: Bytes of a checksum and the space after it.
PREFIX = 9
#: The first line of every segment.
SEGMENT_HEADER = b'{"type":"segment","schema":%d}' % SCHEMA
_LINE_START = re.compile(rb"(?=[0-9a-f]{8} \{)")

_decode = json.JSONDecoder().raw_decode
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def encode(record: Mapping[str, Any]) -> str:
    """The record as one line of ASCII JSON. Raises `Refused` for what JSON cannot hold."""
    try:
        return _encode(record)
    except (TypeError, ValueError) as error:
        raise Refused(f"a record cannot be written as JSON: {error}") from None


def checksum(body: bytes) -> bytes:
    """What stands before the JSON object in its line: CRC-32 in hex and a space."""
    return b"%08x " % crc32(body)


def framed(body: bytes) -> bytes:
    """The whole line of one JSON object."""
    return b"%08x %b\n" % (crc32(body), body)


def write_whole(fd: int, data: bytes, folder: Path) -> None:
    """Append `data` to an O_APPEND file, all of it or nothing.

    Raises `StoreFull`, naming `folder`, where there is no room.
    """
    done = 0
    try:
        done = os.write(fd, data)
        while done < len(data):
            done += os.write(fd, data[done:])
    except OSError as error:
        # Counted from the real end: an interrupt may have hidden an earlier write from us.
        os.ftruncate(fd, os.fstat(fd).st_size - done)
        raise write_error(error, folder, len(data)) from error


def sync_folder(path: Path) -> None:
    """Put a folder's entries on the disk: a file that was synced is found there again."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def segment_header() -> bytes:
    """The first line of every segment."""
    return framed(SEGMENT_HEADER)


def check_segment(path: Path) -> None:
    """Raise `Refused` if the first line of a segment names another schema version."""
    for _, _, record in read_records(path, 0, 1):
        if isinstance(record, dict) and record.get("schema") != SCHEMA:
            raise Refused(
                f"{path} has schema {record.get('schema')!r}, this version of clew reads {SCHEMA}: "
                "read it with the version that wrote it"
            )


def read_records(
    path: Path, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, int, dict[str, Any] | Finding]]:
    """As `read_lines`, with each body parsed; one that is no JSON object is `damaged`."""
    for offset, behind, body in read_lines(path, start, end):
        if isinstance(body, bytes):
            yield offset, behind, parsed(body, path, offset)
        else:
            yield offset, behind, body


def parsed(body: bytes, path: Path, offset: int) -> dict[str, Any] | Finding:
    """The JSON object of a line, or the finding in its place."""
    try:
        text = body.decode()
        record, end = _decode(text)
    except ValueError as error:
        return Finding(str(path), offset, "damaged", f"not JSON: {error}")
    except RecursionError:
        return Finding(str(path), offset, "damaged", "nested deeper than clew writes")
    if isinstance(record, dict) and end == len(text):
        return record
    return Finding(str(path), offset, "damaged", "not a JSON object")


def read_lines(
    path: Path, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, int, bytes | Finding]]:
    """The body of each line from `start` until `end`, or the finding in its place.

    With it come its offset and the offset to read on from. Zeros to the end of a file are room that
    is not written yet. Another end without a newline is `torn`; any other line that fails its
    checksum is `damaged`, and reading goes on behind it.
    """
    # A few lines should not cost reading a megabyte.
    buffer_bytes = _BUFFER_BYTES if end is None else min(max(end - start, 2), _BUFFER_BYTES)
    with open(path, "rb", buffering=buffer_bytes) as file:
        file.seek(start)
        at = start
        for line in file:
            if end is not None and at >= end:
                return
            behind = at + len(line)
            body = line[PREFIX:-1]
            if line[:PREFIX] == b"%08x " % crc32(body) and line[-1:] == b"\n":
                yield at, behind, body
            elif end is None and not line.strip(b"\0"):
                return  # room that its writer had taken, and had no time to give back
            elif line[-1:] != b"\n":
                detail = f"the last {len(line)} bytes are half a line"
                yield at, at, Finding(str(path), at, "torn", detail)
            elif line != b"\n":
                yield at, behind, Finding(str(path), at, "damaged", "the line fails its checksum")
                if end is None or behind <= end:
                    yield from _salvaged(line, at)
            at = behind


def _salvaged(line: bytes, at: int) -> Iterator[tuple[int, int, bytes]]:
    """A line that fails its checksum may be two whose newline was hit: the second may be whole."""
    for found in _LINE_START.finditer(line, 1):
        begin = found.start()
        body = line[begin + PREFIX : -1]
        if line[begin : begin + PREFIX] == checksum(body):
            yield at + begin, at + len(line), body
            return
