"""One writer: its journal segment and its blob pack. It appends; it never reads what it wrote.

The order of a step is: blobs into the pack, then the line that names them, then (in groups, when
the caller says so) `sync`. A line is in the kernel's hands when `append` returns, so no kill of
this process loses it. A power loss loses at most what came after the last `sync`: lines there may
be gone, torn or name a blob that is gone, and each is found when it is read. So accept a result
(see `clew.store.log`) after the `sync` behind its last line.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from clew.core import Refused
from clew.core.canonical import value_bytes
from clew.store.blobs import compressor, entry_bytes
from clew.store.errors import StoreFull, write_error
from clew.store.lines import encode, framed, segment_header, sync_folder, write_whole
from clew.store.lock import hold

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
#: Digests remembered for de-duplication: about 12 MB.
_REMEMBERED = 1 << 16


class Writer:
    """Appends to `segments/NAME.jsonl` and `blobs/NAME.pack` of a store folder.

    One attempt at a time; not thread-safe. `quota_bytes` limits the whole folder: its size is
    measured again each time a writer used an eighth of the room that was left. Raises `Refused`
    for a name that is taken or not a plain file name, `StoreFull` where there is no room.
    """

    def __init__(self, folder: Path, name: str, *, quota_bytes: int | None = None) -> None:
        if not _NAME.fullmatch(name):
            raise Refused(f"writer name {name!r}: use letters, digits, '.', '_' and '-' only")
        self.folder, self.name = Path(folder), name
        self.attempt: object = None
        self._quota_bytes = quota_bytes
        self._room: float = float("inf") if quota_bytes is None else 0
        self._known: OrderedDict[bytes, str] = OrderedDict()
        self._by = compressor()
        self._named = False
        for part in (self.folder, self.folder / "segments", self.folder / "blobs"):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._pack, self._segment = _created(self._paths())
        try:
            if not hold(self._pack):
                raise Refused(f"{self.folder} is being collected: begin when that is done")
            self._written(self._segment, segment_header())
            self._end = len(segment_header())
        except Refused:
            self._abandon()
            raise

    def append(self, record: Mapping[str, Any]) -> int:
        """Append one line; its offset. `record` is trusted plain data.

        Raises `Refused` for what JSON cannot hold, `StoreFull` where there is no room.
        """
        return self.append_json(encode(record))

    def append_json(self, text: str) -> int:
        """Append one line whose JSON object the caller has formatted, in ASCII; its offset."""
        data = framed(text.encode("ascii"))
        self._written(self._segment, data)
        offset = self._end
        self._end = offset + len(data)
        return offset

    def put(self, value: Any) -> str:
        """Store one channel value (array, bytes, text, plain data) under its digest; the digest.

        Raises `Refused` for a value that cannot be recorded, `StoreFull` where there is no room.
        """
        plain = value_bytes(value)
        sha256 = hashlib.sha256(plain).digest()
        known = self._known
        if sha256 in known:
            known.move_to_end(sha256)
            return known[sha256]
        self._written(self._pack, entry_bytes(plain, sha256, self._by))
        if len(known) >= _REMEMBERED:
            known.popitem(last=False)
        known[sha256] = sha256.hex()
        return known[sha256]

    def sync(self) -> None:
        """Put everything appended so far on the disk: the blobs first, then the lines."""
        try:
            os.fsync(self._pack)
            os.fsync(self._segment)
        except OSError as error:
            raise write_error(error, self.folder, 0) from error
        if not self._named:
            for path in (self.folder / "blobs", self.folder / "segments", self.folder):
                sync_folder(path)
            self._named = True

    def close(self) -> None:
        """`sync` and close; closing twice does nothing."""
        if self._segment < 0:
            return
        try:
            self.sync()
        finally:
            self._release()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _written(self, fd: int, data: bytes) -> None:
        self._room -= len(data)
        if self._room < 0:
            self._measure(len(data))
        write_whole(fd, data, self.folder)

    def _measure(self, needed: int) -> None:
        assert self._quota_bytes is not None
        left = self._quota_bytes - folder_bytes(self.folder)
        if left < needed:
            self._room = 0
            raise StoreFull(self.folder, needed, f"the quota is {self._quota_bytes} bytes")
        self._room = max(left / 8 - needed, 0)

    def _paths(self) -> tuple[Path, Path]:
        return (
            self.folder / "blobs" / f"{self.name}.pack",
            self.folder / "segments" / f"{self.name}.jsonl",
        )

    def _release(self) -> None:
        os.close(self._segment)
        os.close(self._pack)
        self._segment = self._pack = -1

    def _abandon(self) -> None:
        self._release()
        for path in self._paths():
            path.unlink()


def folder_bytes(folder: Path) -> int:
    """The bytes of all files under a folder; files that vanish meanwhile count nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                continue
    return total


def _created(paths: tuple[Path, Path]) -> tuple[int, int]:
    """Both files, opened; neither existed before."""
    made: list[int] = []
    for path in paths:
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
            made.append(os.open(path, flags, 0o600))
        except OSError as error:
            for fd, earlier in zip(made, paths):
                os.close(fd)
                earlier.unlink()
            if isinstance(error, FileExistsError):
                raise Refused(f"{path} exists: give each writer a name of its own") from None
            raise
    return made[0], made[1]
