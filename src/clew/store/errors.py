"""What can be wrong with a store: one finding per damaged place, and two refusals. Repairs nothing."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clew.core import Refused

FindingKind = Literal["torn", "damaged", "missing-blob"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One damaged place: the file, the byte offset in it, the kind, and what was found there.

    `torn` is an unfinished end of a file (a write that was cut off), `damaged` holds bytes that
    nobody wrote, `missing-blob` is a line that names a blob which no pack holds.
    """

    file: str
    offset: int
    kind: FindingKind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.file} at byte {self.offset}: {self.kind}: {self.detail}"


class Damaged(Refused):
    """Recorded bytes that are missing or not what was written; the message names the file."""


class StoreFull(Refused):
    """No room for a write; what was appended before is whole and readable.

    `needed_bytes` is the size of the write that did not fit under `folder`.
    """

    def __init__(self, folder: Path, needed_bytes: int, reason: str) -> None:
        self.folder, self.needed_bytes = folder, needed_bytes
        super().__init__(
            f"{folder} has no room for {needed_bytes} more bytes ({reason}): free space or raise "
            "the quota, then resume; nothing recorded so far is lost"
        )


_FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the user's disk quota is reached",
    errno.EFBIG: "the limit on the size of a file is reached",
}


def write_error(error: OSError, folder: Path, needed_bytes: int) -> Exception:
    """`StoreFull` for an error that means no room; any other error unchanged."""
    if error.errno in _FULL:
        return StoreFull(folder, needed_bytes, _FULL[error.errno])
    return error
