"""Reads a store folder: records with their checksums, blobs with their digests. Changes nothing.

Damage is named and stepped over, never repaired. A segment may be read while its writer is at
work; what looks torn then is perhaps a line on its way.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clew.core import Refused, nearest
from clew.core.canonical import bytes_value
from clew.store import blobs
from clew.store.errors import Damaged, Finding
from clew.store.lines import check_segment, read_records
from clew.store.outline import Mark, outline

#: How many large values, and from how many bytes on, stay in memory.
_RECENT, _RECENT_FROM_BYTES = 3, 1 << 16


class Reader:
    """The records and values of one store folder, which may still be empty.

    `damage` lists, each once, what reading has come across so far.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self._damage: dict[Finding, None] = {}
        self._checked: set[str] = set()
        self._packs: dict[Path, int] = {}
        self._entries: dict[str, tuple[Path, blobs.Entry]] = {}
        self._recent: OrderedDict[str, bytes] = OrderedDict()

    @property
    def damage(self) -> list[Finding]:
        return list(self._damage)

    def segments(self) -> list[str]:
        """The names of all segments, sorted."""
        return sorted(path.stem for path in (self.folder / "segments").glob("*.jsonl"))

    def records(
        self, name: str, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """The records of a segment with their offsets, from `start` until `end`, streaming.

        A torn end and damaged lines are added to `damage` and left out. Raises `Refused` for an
        unknown segment or schema version.
        """
        for offset, record in self.lines(name, start, end):
            if isinstance(record, dict):
                yield offset, record

    def lines(
        self, name: str, start: int = 0, end: int | None = None
    ) -> Iterator[tuple[int, dict[str, Any] | Finding]]:
        """As `records`, with the finding in the place of each damaged line."""
        path = self.path(name)
        for offset, _, record in read_records(path, start, end):
            if isinstance(record, Finding):
                self._damage[record] = None
            elif record.get("type") == "segment":
                continue
            yield offset, record

    def outline(self, name: str, start: int = 0) -> Iterator[tuple[int, Mark]]:
        """The first and last lines of attempts, as `outline` gives them, from `start` on."""
        for behind, mark in outline(self.path(name), start):
            if isinstance(mark, Finding):
                self._damage[mark] = None
            elif mark is not None:
                yield behind, mark

    def path(self, name: str) -> Path:
        """The file of a segment. Raises `Refused` if there is none of that name."""
        path = self.folder / "segments" / f"{name}.jsonl"
        if Path(name).name != name or not path.is_file():
            raise Refused(
                f"{self.folder} has no segment {name!r}; {nearest(name, self.segments())}"
            )
        if name not in self._checked:
            check_segment(path)
            self._checked.add(name)
        return path

    def get(self, digest: str) -> Any:
        """The value of a digest, verified.

        Raises `Damaged`, naming digest and file, if it is missing or not what was written.
        """
        try:
            return bytes_value(self.plain(digest))
        except (Damaged, FileNotFoundError):
            # A collection may have rewritten the pack since it was scanned: look once more.
            self._packs.clear()
            self._entries.clear()
            path, entry = self._entry(digest)
            try:
                return bytes_value(self.plain(digest))
            except Damaged as error:
                self._damage[Finding(str(path), entry.offset, "damaged", str(error))] = None
                raise

    def plain(self, digest: str, depth: int = 0) -> bytes:
        """The plain bytes of a digest, verified. Raises `Damaged` as `get` does.

        The last few large ones are kept: the next step's frame is a difference from this one's.
        """
        if digest in self._recent:
            self._recent.move_to_end(digest)
            return self._recent[digest]
        if depth > blobs.DEEPEST:
            raise Damaged(f"blob {digest} is a difference of a difference, too many times over")
        path, entry = self._entry(digest)
        plain = blobs.read(path, entry, lambda base: self.plain(base, depth + 1))
        if len(plain) >= _RECENT_FROM_BYTES:
            self._recent[digest] = plain
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return plain

    def __contains__(self, digest: str) -> bool:
        if digest not in self._entries:
            self._scan()
        return digest in self._entries

    def _entry(self, digest: str) -> tuple[Path, blobs.Entry]:
        if digest not in self:
            where = str(self.folder / "blobs")
            self._damage[Finding(where, 0, "missing-blob", f"blob {digest} is in no pack")] = None
            raise Damaged(
                f"blob {digest} is in no pack of {self.folder / 'blobs'}: restore it from a copy"
            )
        return self._entries[digest]

    def _scan(self) -> None:
        """Read the headers that were added to the packs since the last scan."""
        for path in sorted((self.folder / "blobs").glob("*.pack")):
            for entry in blobs.scan(path, self._packs.get(path, 0)):
                if isinstance(entry, Finding):
                    self._damage[entry] = None
                else:
                    self._entries.setdefault(entry.digest, (path, entry))
                    self._packs[path] = entry.end
