"""A segment that is being written: lines into a file that is mapped into memory. It reads nothing.

A line is in the kernel's page cache when `append` returns, as after a `write`, without the system
call, which would be the larger half of recording a control step. Room is taken from the disk
before it is mapped, so a full disk is an error here and no signal later. What is taken and not yet
written is zeros: readers end there, and `close` gives it back.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

from clew.store.errors import write_error

#: So much is taken from the disk, and mapped, at a time.
WINDOW_BYTES = 1 << 16
_PAGE = mmap.ALLOCATIONGRANULARITY


class Segment:
    """The file behind `fd`, which is empty, readable and writable; `folder` is what errors name.

    `allow` is asked before bytes are taken from the disk: given how many are needed, how many may
    be taken (that many at least; it raises if not). Not thread-safe.
    """

    def __init__(self, fd: int, folder: Path, allow: Callable[[int, int], int]) -> None:
        self._fd, self._folder, self._allow = fd, folder, allow
        self._map: mmap.mmap | None = None
        #: Offset of the window in the file; and in the window: of its end, and behind the last line.
        self._window = self._room = self._at = 0

    @property
    def end(self) -> int:
        """The offset behind the last line."""
        return self._window + self._at

    def append(self, body: bytes) -> int:
        """Append one JSON object as a line; its offset.

        Raises `StoreFull`, with nothing appended, where there is no room.
        """
        line = b"%08x %b" % (crc32(body), body)  # as `framed`: this runs once per control step
        at = self._at
        newline = at + len(line)
        if newline >= self._room:
            self._advance(len(line) + 1)
            at = self._at
            newline = at + len(line)
        window: mmap.mmap = self._map  # type: ignore[assignment]
        window[at:newline] = line
        window[newline] = 10  # last, on its own: who sees the newline sees the whole line
        self._at = newline + 1
        return self._window + at

    def close(self) -> None:
        """Give back what was taken and not written. The descriptor stays open."""
        if self._map is not None:
            end = self.end
            self._map.close()
            self._map = None
            os.ftruncate(self._fd, end)

    def _advance(self, needed: int) -> None:
        """A window that begins at the page of the last line's end and has room for `needed` bytes."""
        end, taken = self.end, self._window + self._room
        window = end - end % _PAGE
        short = end + needed - taken
        behind = taken + self._allow(short, WINDOW_BYTES)
        try:
            behind = self._taken(taken, behind, short)
            mapped = mmap.mmap(self._fd, behind - window, offset=window)
        except OSError as error:
            os.ftruncate(self._fd, taken)
            raise write_error(error, self._folder, needed) from error
        if self._map is not None:
            self._map.close()
        self._map, self._window, self._room, self._at = (
            mapped,
            window,
            behind - window,
            end - window,
        )

    def _taken(self, taken: int, behind: int, short: int) -> int:
        """The new end of the file: `behind`, or on a disk that is nearly full `short` bytes on."""
        try:
            _take(self._fd, taken, behind - taken)
        except OSError:
            os.ftruncate(self._fd, taken)
            behind = taken + short
            _take(self._fd, taken, short)
        return behind


def _take(fd: int, offset: int, size: int) -> None:
    """Room on the disk for `size` zeros from the end of the file, at `offset`, on."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, offset, size)
        return
    # macOS: written zeros take the room.
    os.pwrite(fd, bytes(size), offset)
