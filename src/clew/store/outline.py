"""Where the attempts of a segment begin and end, without parsing what happened in between."""

from __future__ import annotations

import json
import mmap
import os
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
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if start >= size:
            return
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            yield from _marks(data, path, start)
            yield data.rfind(b"\n") + 1, None


def _marks(data: mmap.mmap, path: Path, start: int) -> Iterator[tuple[int, Mark | Finding]]:
    # Quotes inside JSON text are escaped, so this matches the start of an object only; one that
    # is nested in a line has neither a checksum nor a newline before it.
    for found in _MARK.finditer(data, start):
        body_at = found.start()
        at, end = body_at - PREFIX, data.find(b"\n", body_at)
        if end < 0:
            yield at, Finding(str(path), at, "torn", "the first or last line of an attempt is cut")
            return
        body = data[body_at:end]
        if data[max(at, 0) : body_at] == checksum(body):
            yield end + 1, _mark(body.decode(), at, end + 1)
        elif at == 0 or data[at - 1 : at] == b"\n":
            yield end + 1, Finding(str(path), at, "damaged", "the line fails its checksum")


def _mark(body: str, at: int, behind: int) -> Mark:
    if body.startswith(_ATTEMPT):
        # Behind what the attempt is about stand its start and first moment.
        _, end = _decoder.raw_decode(body, len(_ATTEMPT))
        return Mark("attempt", at, body[len(_ATTEMPT) : end])
    return Mark("end", behind, body[len(_END) : -1])
