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
from clew.store.blobs import DEEPEST, compressor, delta_bytes, entry_bytes
from clew.store.errors import StoreFull, write_error
from clew.store.lines import SEGMENT_HEADER, encode, sync_folder, write_whole
from clew.store.lock import hold
from clew.store.segment import Segment

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
#: Digests remembered for de-duplication: about 12 MB.
_REMEMBERED = 1 << 16
#: Values from this many bytes on (frames) are stored as differences from the last such one.
_DELTA_FROM_BYTES = 1 << 16
#: The values kept in memory as bases, the latest ones.
_BASES = 3


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
        self._bases: OrderedDict[bytes, tuple[bytes, int]] = OrderedDict()
        self._by = compressor()
        self._named = False
        for part in (self.folder, self.folder / "segments", self.folder / "blobs"):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._pack, self._segment = _created(self._paths())
        try:
            if not hold(self._pack):
                raise Refused(f"{self.folder} is being collected: begin when that is done")
            self._lines = Segment(self._segment, self.folder, self._allowed)
            #: Appends one line whose JSON object is already bytes: the quickest way, for control
            #: steps. Returns its offset; raises `StoreFull` where there is no room.
            self.append_body = self._lines.append
            self.append_body(SEGMENT_HEADER)
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
        return self.append_body(text.encode("ascii"))

    def put(self, value: Any) -> str:
        """Store one channel value (array, bytes, text, plain data) under its digest; the digest.

        Raises `Refused` for a value that cannot be recorded, `StoreFull` where there is no room.
        """
        plain = value_bytes(value)
        sha256 = hashlib.sha256(plain).digest()
        known = self._known
        if sha256 in known:
            known.move_to_end(sha256)
            if sha256 in self._bases:
                self._bases.move_to_end(sha256)
            return known[sha256]
        self._pack_in(self._entry(plain, sha256))
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

    def _entry(self, plain: bytes, sha256: bytes) -> bytes:
        """The entry of a new value: its difference from the last one of its length, or whole."""
        if len(plain) < _DELTA_FROM_BYTES:
            return entry_bytes(plain, sha256, self._by)
        entry, depth = b"", 0
        for base_sha256 in reversed(self._bases):
            base, base_depth = self._bases[base_sha256]
            if len(base) == len(plain):
                if base_depth < DEEPEST:
                    entry = delta_bytes(plain, sha256, self._by, base, base_sha256)
                    depth = base_depth + 1
                break
        if len(self._bases) >= _BASES:
            self._bases.popitem(last=False)
        self._bases[sha256] = plain, depth if entry else 0
        return entry or entry_bytes(plain, sha256, self._by)

    def _allowed(self, needed: int, wanted: int) -> int:
        """How many bytes the segment may take from the disk, for the `needed` ones at least."""
        granted = max(needed, wanted)
        if self._room < granted:
            self._measure(needed)
            self._room += needed
            granted = int(min(granted, self._room))
        self._room -= granted
        return granted

    def _pack_in(self, entry: bytes) -> None:
        self._room -= len(entry)
        if self._room < 0:
            self._measure(len(entry))
        write_whole(self._pack, entry, self.folder)

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
        self._lines.close()
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
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
            made.append(os.open(path, flags, 0o600))
        except OSError as error:
            for fd, earlier in zip(made, paths):
                os.close(fd)
                earlier.unlink()
            if isinstance(error, FileExistsError):
                raise Refused(f"{path} exists: give each writer a name of its own") from None
            raise
    return made[0], made[1]
