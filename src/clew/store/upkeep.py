"""Is a store whole, and what in it is no longer needed? It repairs nothing, and no line is changed."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.core import Refused
from clew.store import blobs
from clew.store.errors import Damaged, Finding, write_error
from clew.store.lines import read_records, sync_folder
from clew.store.lock import hold
from clew.store.reader import Reader

_DIGEST = re.compile(rb'"([0-9a-f]{64})"')
_TAIL = 66


@dataclass(frozen=True)
class Collected:
    """What a collection dropped (or would drop): blobs and bytes; packs left alone, and why."""

    blobs: int
    dropped_bytes: int
    kept_bytes: int
    left_alone: tuple[Finding, ...]


def check(folder: Path) -> list[Finding]:
    """Every damaged place of a store: each line's checksum, each blob's digest, each blob named.

    Logs in the folder itself are checked too. Empty for a store that is whole. Raises `Refused` if the folder is no store.
    """
    reader = Reader(folder)
    if not (reader.folder / "segments").is_dir():
        raise Refused(f"{folder} is not a store: it has no folder 'segments'")
    named: list[tuple[str, int, str]] = []
    for name in reader.segments():
        path = str(reader.path(name))
        for offset, record in reader.records(name):
            named += [(path, offset, digest) for digest in blobs_of(record)]
    found, whole = _checked_packs(reader)
    for log in sorted(reader.folder.glob("*.jsonl")):
        found += [line for _, _, line in read_records(log) if isinstance(line, Finding)]
    missing = [
        Finding(file, offset, "missing-blob", f"blob {digest} is in no pack or damaged")
        for file, offset, digest in named
        if digest not in whole
    ]
    return [*reader.damage, *found, *missing]


def gc(folder: Path, keep: Collection[str] | None = None, *, dry_run: bool = False) -> Collected:
    """Rewrite the packs without the blobs that are not in `keep`, and without second copies.

    `keep` holds digests; by default it is `named_digests(folder)`. Each pack is replaced in one
    step; a pack with damage is left alone and named. With `dry_run` nothing is written. Raises
    `Refused` while a writer is at work in the folder, `StoreFull` where there is no room.
    """
    packs = sorted((Path(folder) / "blobs").glob("*.pack"))
    kept = _with_bases(set(named_digests(folder) if keep is None else keep), packs)
    held = [_held(path) for path in packs] if not dry_run else []
    try:
        return _collected(packs, kept, dry_run)
    finally:
        for fd in held:
            os.close(fd)


def named_digests(folder: Path) -> set[str]:
    """Every digest that stands anywhere in a `.jsonl` file under `folder`, damaged lines included.

    More than is needed (keys look like digests), never less.
    """
    found: set[str] = set()
    for path in sorted(Path(folder).rglob("*.jsonl")):
        with open(path, "rb") as file:
            rest = b""
            while chunk := file.read(1 << 22):
                found.update(word.decode() for word in _DIGEST.findall(rest + chunk))
                rest = (rest + chunk)[-_TAIL:]
    return found


def blobs_of(record: Mapping[str, Any]) -> Iterator[str]:
    """The digests of the blobs that a recorder's line names."""
    if record.get("type") in ("attempt", "began", "acted"):
        for member in ("seen", "probe"):
            values = record.get(member, {})
            yield from (v for v in values.values() if isinstance(v, str))
    elif record.get("type") == "decided" and isinstance(record.get("raw"), str):
        yield record["raw"]


def _checked_packs(reader: Reader) -> tuple[list[Finding], set[str]]:
    found: list[Finding] = []
    whole: set[str] = set()
    for path in sorted((reader.folder / "blobs").glob("*.pack")):
        for entry in blobs.scan(path):
            if isinstance(entry, Finding):
                found.append(entry)
                continue
            try:
                blobs.read(path, entry, reader.plain)
            except Damaged as error:
                found.append(Finding(str(path), entry.offset, "damaged", str(error)))
            else:
                whole.add(entry.digest)
    return found, whole


def _with_bases(kept: set[str], packs: list[Path]) -> set[str]:
    """`kept` and every value that one of them is stored as a difference from."""
    base = {
        entry.digest: blobs.base_of(path, entry)
        for path in packs
        for entry in blobs.scan(path)
        if not isinstance(entry, Finding) and entry.codec in blobs.OF_DELTA.values()
    }
    waiting = list(kept)
    while waiting:
        needed = base.get(waiting.pop(), "")
        if needed and needed not in kept:
            kept.add(needed)
            waiting.append(needed)
    return kept


def _collected(packs: list[Path], kept: set[str], dry_run: bool) -> Collected:
    dropped = dropped_bytes = kept_bytes = 0
    left_alone: list[Finding] = []
    seen: set[str] = set()
    for path in packs:
        entries, damage = _split(path)
        if damage:
            left_alone += damage
            kept_bytes += path.stat().st_size
            continue
        needed = [e for e in entries if e.digest in kept and not _again(e.digest, seen)]
        bytes_needed = sum(e.end - e.offset for e in needed)
        dropped += len(entries) - len(needed)
        dropped_bytes += path.stat().st_size - bytes_needed
        kept_bytes += bytes_needed
        if len(needed) < len(entries) and not dry_run:
            _rewrite(path, needed, bytes_needed)
    return Collected(dropped, dropped_bytes, kept_bytes, tuple(left_alone))


def _split(path: Path) -> tuple[list[blobs.Entry], list[Finding]]:
    entries: list[blobs.Entry] = []
    damage: list[Finding] = []
    for entry in blobs.scan(path):
        damage.append(entry) if isinstance(entry, Finding) else entries.append(entry)
    return entries, damage


def _again(digest: str, seen: set[str]) -> bool:
    known = digest in seen
    seen.add(digest)
    return known


def _rewrite(path: Path, entries: list[blobs.Entry], size: int) -> None:
    draft = path.with_suffix(".draft")
    try:
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "wb") as out, open(path, "rb") as source:
            for entry in entries:
                source.seek(entry.offset)
                out.write(source.read(entry.end - entry.offset))
            out.flush()
            os.fsync(out.fileno())
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise write_error(error, path.parent.parent, size) from error
    sync_folder(path.parent)


def _held(path: Path) -> int:
    fd = os.open(path, os.O_RDONLY)
    if not hold(fd):
        os.close(fd)
        raise Refused(f"{path} has a writer at work: collect when the run rests")
    return fd
