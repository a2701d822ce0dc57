"""A derived SQLite index of a store: which attempts there are, and where. It holds no truth.

It may be absent, stale, damaged or deleted at any time: `refresh` reads what was added to the
segments and packs since, or everything. SQLite does not belong on a network file system; give
such a store a local `path`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from clew.core import Refused
from clew.store import blobs
from clew.store.errors import Finding
from clew.store.lines import check_segment
from clew.store.load import Attempt
from clew.store.lock import held
from clew.store.outline import Mark, outline
from clew.store.record import Locator

#: Raised when a table changes; an index of another version is thrown away.
VERSION = 1
NAME = "index.sqlite"
_TABLES = """
CREATE TABLE sources (file TEXT PRIMARY KEY, inode INTEGER, scanned INTEGER);
CREATE TABLE attempts (
  segment TEXT, start INTEGER, "end" INTEGER, about TEXT, finish TEXT,
  PRIMARY KEY (segment, start)
) WITHOUT ROWID;
CREATE TABLE blobs (pack TEXT, start INTEGER, digest TEXT, stored INTEGER, plain INTEGER,
  PRIMARY KEY (pack, start)
) WITHOUT ROWID;
CREATE INDEX blob_digests ON blobs (digest);
"""
_T = TypeVar("_T")
Row = tuple[str, int, "int | None", str, "str | None"]


class Index:
    """The index of a store folder, by default `index.sqlite` in it (0600). Several processes may
    use it at once.
    """

    def __init__(self, folder: Path, path: Path | None = None) -> None:
        self.folder = Path(folder)
        self.path = Path(path) if path is not None else self.folder / NAME

    def refresh(self) -> None:
        """Bring the index up to date with the segments and packs; `Refused` if there are none."""
        if not (self.folder / "segments").is_dir():
            raise Refused(f"{self.folder} is not a store: it has no folder 'segments'")
        with self._alone():
            try:
                if not self._usable():
                    self._discard()
                self._update()
            except sqlite3.DatabaseError:
                self._discard()
                self._update()

    def attempts(self, about: Mapping[str, str | int] | None = None) -> list[Attempt]:
        """The attempts as of the last refresh whose `about` has these members, in segment order."""
        wanted = list((about or {}).items())
        where = " AND ".join(["json_extract(about, ?) = ?"] * len(wanted)) or "1"
        values = [v for name, value in wanted for v in (f'$."{name}"', value)]
        text = f"SELECT * FROM attempts WHERE {where} ORDER BY segment, start"
        rows: list[Row] = self._asked(lambda db: db.execute(text, values).fetchall())
        return [_attempt(row) for row in rows]

    def blob(self, digest: str) -> tuple[str, int, int] | None:
        """(pack file name, offset of the entry, stored bytes) of a blob, or None."""
        text = "SELECT pack, start, stored FROM blobs WHERE digest = ? LIMIT 1"
        found: tuple[str, int, int] | None = self._asked(
            lambda db: db.execute(text, (digest,)).fetchone()
        )
        return found

    def _asked(self, query: Callable[[sqlite3.Connection], _T]) -> _T:
        """Ask; where the index is absent or damaged, rebuild it and ask again."""
        if not self.path.exists() or not self._usable():
            self.refresh()
        try:
            with closing(self._connected()) as db:
                return query(db)
        except sqlite3.DatabaseError:
            with self._alone():
                self._discard()
            self.refresh()
            with closing(self._connected()) as db:
                return query(db)

    def _update(self) -> None:
        with closing(self._connected()) as db:
            if not db.execute("PRAGMA user_version").fetchone()[0]:
                db.executescript(_TABLES)
                db.execute(f"PRAGMA user_version = {VERSION}")
            with db:
                for path in sorted((self.folder / "segments").glob("*.jsonl")):
                    _add_segment(db, path)
                for path in sorted((self.folder / "blobs").glob("*.pack")):
                    _add_pack(db, path)
                _drop_vanished(db, self.folder)

    def _usable(self) -> bool:
        """An index of this version, or none yet."""
        try:
            with closing(self._connected()) as db:
                return db.execute("PRAGMA user_version").fetchone()[0] in (0, VERSION)
        except sqlite3.DatabaseError:
            return False

    def _discard(self) -> None:
        for suffix in ("", "-journal"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def _connected(self) -> sqlite3.Connection:
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        db = sqlite3.connect(self.path, timeout=60)
        # A crash may spoil the file: then it is built again.
        db.execute("PRAGMA synchronous = OFF")
        return db

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Only one process changes or replaces the index at a time; the others wait."""
        fd = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with held(fd):
                yield
        finally:
            os.close(fd)


def _add_segment(db: sqlite3.Connection, path: Path) -> None:
    start, name = _scanned(db, path), path.stem
    found: list[Row] = db.execute(
        'SELECT * FROM attempts WHERE segment = ? AND "end" IS NULL ORDER BY start DESC LIMIT 1',
        (name,),
    ).fetchall()
    check_segment(path)
    reached = start
    for behind, mark in outline(path, start):
        reached = behind
        if not isinstance(mark, Mark):
            continue
        if mark.kind == "attempt":
            found.append((name, mark.at, None, mark.text, None))
        elif found and found[-1][2] is None:
            found[-1] = (name, found[-1][1], mark.at, found[-1][3], mark.text)
    db.executemany("INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?)", found)
    _note_scanned(db, path, reached)


def _add_pack(db: sqlite3.Connection, path: Path) -> None:
    start = reached = _scanned(db, path)
    rows = []
    for entry in blobs.scan(path, start):
        if not isinstance(entry, Finding):
            rows.append((path.name, entry.offset, entry.digest, entry.stored, entry.plain))
            reached = entry.end
    db.executemany("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?, ?)", rows)
    _note_scanned(db, path, reached)


def _scanned(db: sqlite3.Connection, path: Path) -> int:
    """How far a file is indexed; 0, and its rows gone, if it is not the file that was."""
    row = db.execute("SELECT inode, scanned FROM sources WHERE file = ?", (_file(path),)).fetchone()
    if row is None:
        return 0
    stat = path.stat()
    if row[0] == stat.st_ino and row[1] <= stat.st_size:
        return int(row[1])
    _forget(db, _file(path))
    return 0


def _note_scanned(db: sqlite3.Connection, path: Path, reached: int) -> None:
    row = (_file(path), path.stat().st_ino, reached)
    db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?)", row)


def _drop_vanished(db: sqlite3.Connection, folder: Path) -> None:
    for (file,) in db.execute("SELECT file FROM sources").fetchall():
        if not (folder / file).exists():
            _forget(db, file)


def _forget(db: sqlite3.Connection, file: str) -> None:
    path = Path(file)
    db.execute("DELETE FROM sources WHERE file = ?", (file,))
    db.execute(
        "DELETE FROM attempts WHERE segment = ? AND ? = 'segments'", (path.stem, path.parts[0])
    )
    db.execute("DELETE FROM blobs WHERE pack = ? AND ? = 'blobs'", (path.name, path.parts[0]))


def _file(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _attempt(row: Row) -> Attempt:
    segment, start, end, about, finish = row
    locator = Locator(segment, start, end)
    return Attempt(locator, json.loads(about), None if finish is None else json.loads(finish))
