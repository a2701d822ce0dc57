"""Where the attempts of a segment begin and end, without parsing what happened in between."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clew.store.errors import Finding
from clew.store.lines import PREFIX, checksum

_ATTEMPT = '{"type":"attempt","about":'
_END = '{"type":"end","record":'
_MARK = re.compile(rb'\{"type":"(?:attempt","about|end","record)":')
_CHUNK_BYTES = 1 << 22
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Mark:
    """The first line of an attempt (`at`: its offset) or its last (`at`: the offset behind it).

    `text` is the JSON object that the line carries: what the attempt is about, or its end record.
    """

    kind: Literal["attempt", "end"]
    at: int
    text: str


def outline(path: Path, start: int = 0) -> Iterator[tuple[int, Mark | Finding | None]]:
    """The marks of a segment from `start` on, each with the offset to read on from.

    Their checksums are verified, and findings stand in the place of damaged marks; lines in between
    are not looked at. Last comes None with the offset behind the last whole line.
    """
    # Read, not mapped: a writer that closes makes its file shorter, and a map would then be a signal.
    with open(path, "rb") as file:
        file.seek(start)
        rest, at = b"", start
        while chunk := file.read(_CHUNK_BYTES):
            block = rest + chunk
            whole = block.rfind(b"\n") + 1
            yield from _marks(block[:whole], path, at)
            rest, at = block[whole:], at + whole
    if _MARK.search(rest):
        yield at, Finding(str(path), at, "torn", "the first or last line of an attempt is cut")
    yield at, None


def _marks(lines: bytes, path: Path, start: int) -> Iterator[tuple[int, Mark | Finding]]:
    """The marks of whole lines, the first of which begins at `start` of the file."""
    # Quotes inside JSON text are escaped, so this matches the start of an object only; one that
    # is nested in a line has neither a checksum nor a newline before it.
    for found in _MARK.finditer(lines):
        body_at = found.start()
        at, end = body_at - PREFIX, lines.find(b"\n", body_at)
        body = lines[body_at:end]
        if lines[max(at, 0) : body_at] == checksum(body):
            yield start + end + 1, _mark(body, path, start + at)
        elif at == 0 or lines[at - 1 : at] == b"\n":
            detail = "the line fails its checksum"
            yield start + end + 1, Finding(str(path), start + at, "damaged", detail)


def _mark(line: bytes, path: Path, at: int) -> Mark | Finding:
    kind: Literal["attempt", "end"]
    kind, head = ("attempt", _ATTEMPT) if line.startswith(_ATTEMPT.encode()) else ("end", _END)
    try:
        body = line.decode()
        # Behind what the attempt is about stand its start and first moment.
        carried, end = _decoder.raw_decode(body, len(head))
    except (ValueError, RecursionError):
        carried = None
    if not isinstance(carried, dict):
        return Finding(str(path), at, "damaged", f"the {kind} of an attempt is no JSON object")
    behind = at + PREFIX + len(line) + 1
    return Mark(kind, at if kind == "attempt" else behind, body[len(head) : end])
