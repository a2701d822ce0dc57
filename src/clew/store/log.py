"""The acceptance log that drivers share. It appends and reads; what is accepted, others decide."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clew.store.errors import Finding
from clew.store.lines import encode, framed, parsed, read_lines, sync_folder, write_whole
from clew.store.lock import held


class Log:
    """An append-only file of records that several processes append to at once.

    `damage` lists what the last `read` found; `end` is the offset behind its last whole line, from
    which the next `read` may go on. The file (0600) is made by the first append; reading an
    absent one gives nothing.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.damage: list[Finding] = []
        self.end = 0
        self._fd = -1
        self._named = False

    def append(self, record: Mapping[str, Any]) -> int:
        """Append one line in one write; its offset. Behind a torn line it starts a line of its own.

        Raises `StoreFull` where there is no room; then the file is as it was.
        """
        line = framed(encode(record).encode())
        fd = self._open()
        with held(fd):
            size = os.fstat(fd).st_size
            torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
            data = b"\n" + line if torn else line
            write_whole(fd, data, self.path.parent)
            return size + torn

    def read(self, start: int = 0) -> list[tuple[int, dict[str, Any]]]:
        """Every whole record from the offset `start` on, in the order of the file."""
        return [(offset, record) for offset, _, record in self.lines(start)]

    def lines(self, start: int = 0) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
        """As `read`, streaming, and with each record its JSON as it stands in the file."""
        self.damage, self.end = [], start
        if not self.path.exists():
            return
        with open(self.path, "rb") as file, held(file.fileno(), shared=True):
            size = os.fstat(file.fileno()).st_size
        for offset, behind, body in read_lines(self.path, start, size):
            self.end = behind
            if isinstance(body, Finding):
                self.damage.append(body)
                continue
            record = parsed(body, self.path, offset)
            if isinstance(record, Finding):
                self.damage.append(record)
            else:
                yield offset, body, record

    def sync(self) -> None:
        """Put everything appended so far on the disk."""
        os.fsync(self._open())
        if not self._named:
            sync_folder(self.path.parent)
            self._named = True

    def close(self) -> None:
        """Close the file; a later append opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> int:
        if self._fd < 0:
            self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        return self._fd
