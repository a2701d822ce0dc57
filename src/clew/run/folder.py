"""A run's folder: its header, its lock, its acceptance log. Worker segments lie beside them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.core import Refused
from clew.core.canonical import canonical_json, digest, plain
from clew.run.code import Code, code_items
from clew.run.planning import planning
from clew.run.records import flaw
from clew.run.units import Result, accepted
from clew.store import Attempt, Finding, Log, Reader, attempts, lock

SCHEMA = 1
#: The file that marks a folder which was taken out of a pack.
FROM_PACK = "from-a-pack"
LOCK = "driver.lock"


class RunFolder:
    """One run on disk. Everything that it says is derived from the header and the log."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.header = _header(self.path)
        self.log = Log(self.path / "log.jsonl")
        self._results: list[Result] = []
        self._notes: list[dict[str, Any]] = []
        self._damage: list[Finding] = []
        self._made_by: Counter[Code] = Counter()
        self._read_to = 0

    @classmethod
    def create(cls, path: Path, study: str, plan: Mapping[str, Any], engine: str) -> RunFolder:
        """A new run, or the one that is there if it has the same plan.

        Raises `Refused` and says what differs when that one has results of another plan.
        """
        header = {
            "schema": SCHEMA, "study": study, "plan": plain(plan, "plan"),
            "plan_digest": _digest(plan), "engine": engine,
        }  # fmt: skip
        if not (path / "run.json").exists():
            _must_be_free(path)
        elif not cls(path)._differs(header):
            return cls(path)
        with _held(path):  # whoever comes second finds what the first has written
            if (path / "run.json").exists():
                folder = cls(path)
                differs = folder._differs(header)
                if differs and folder._has_results():
                    raise Refused(differs)
                if not differs:
                    return folder
            # A new run, or a plan that was mended before it gave anything.
            write_private(path / "run.json", json.dumps(header, indent=1, sort_keys=True))
        return cls(path)

    def _differs(self, header: Mapping[str, Any]) -> str:
        """A sentence that says what differs from this run's plan, or nothing."""
        if self.header["study"] != header["study"]:
            return (
                f"{self.path} holds a run of {self.header['study']!r}, not of {header['study']!r}:"
                " choose another folder"
            )
        changed = differences(self.header["plan"], header["plan"])
        if not changed:
            return ""
        return (
            f"{self.path} holds a run of another plan (differs in {', '.join(changed[:5])}):"
            " choose another folder, or go on with `clew resume`"
        )

    def _has_results(self) -> bool:
        return bool(self.damage() or self._results)

    @contextmanager
    def driving(self) -> Iterator[str]:
        """Hold the lock; note in the log which driver works, and that it ended (if it did: after
        an interruption the next driver looks for attempts that this one left unfinished)."""
        with self.held():
            if _header(self.path) != self.header:
                raise Refused(f"{self.path} was taken for another plan meanwhile: choose another")
            name = f"{int(time.time()):x}-{secrets.token_hex(4)}"
            record = {"driver": name, "host": socket.gethostname(), "at": time.time()}
            self.log.append({"type": "begun", **record})
            yield name
            self._sync(name)
            self.log.append({"type": "ended", "driver": name, "at": time.time()})

    def _sync(self, driver: str) -> None:
        """Put what the driver's workers recorded on the disk, and the log."""
        for part in ("blobs", "segments"):
            for file in (self.path / part).glob(f"{driver}-*"):
                with open(file, "rb") as written:
                    os.fsync(written.fileno())
        self.log.sync()

    @property
    def from_elsewhere(self) -> bool:
        """Whether it was taken out of a pack: nobody here wrote its plan."""
        return (self.path / FROM_PACK).exists()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock without driving: nobody writes meanwhile."""
        with _held(self.path):
            yield

    def damage(self) -> list[Finding]:
        """The damaged lines of the log; a torn end is no damage: that line was never accepted."""
        self._read_on()
        return list(self._damage)

    def results(self) -> list[Result]:
        """Every result of the log so far, in its order, accepted or not. After a power cut the log
        may name attempts that never reached the disk: those results do not count."""
        self._read_on()
        return list(self._results)

    def accepted(self) -> dict[str, Result]:
        """Unit digest → accepted result."""
        return accepted(self.results(), self.withdrawn())

    def _read_on(self) -> None:
        """Read what was appended to the log, by other drivers too, since it was read last."""
        sizes: dict[str, int] = {}
        with planning():
            for offset, body, record in self.log.lines(self._read_to):
                if wrong := flaw(record):
                    self._damage.append(Finding(str(self.log.path), offset, "damaged", wrong))
                elif record["type"] != "result":
                    self._notes.append(record)
                elif self._is_stored(record["about"].get("attempt"), sizes):
                    self._results.append(Result.of(record, body))
                    if record["outcome"] != "void":
                        self._made_by[code_items(record["about"])] += 1
        self._damage += [found for found in self.log.damage if found.kind != "torn"]
        self._read_to = self.log.end

    def _is_stored(self, attempt: Mapping[str, Any] | None, sizes: dict[str, int]) -> bool:
        if attempt is None:
            return True
        segment = attempt["segment"]
        if segment not in sizes:
            file = self.path / "segments" / f"{segment}.jsonl"
            sizes[segment] = file.stat().st_size if file.exists() else 0
        return bool(attempt["end"] <= sizes[segment])

    def _noted(self, kind: str) -> list[dict[str, Any]]:
        self._read_on()
        return [note for note in self._notes if note["type"] == kind]

    def withdrawn(self) -> set[str]:
        """The snapshots that failed an audit."""
        return {note["snapshot"] for note in self._noted("withdrawn")}

    def made_by(self) -> Counter[Code]:
        """How many scored results each code made, as far as they say."""
        self._read_on()
        return self._made_by

    def fingerprints(self) -> dict[str, dict[str, str]]:
        """Digest → facts of every fingerprint in this run."""
        return {note["digest"]: note["facts"] for note in self._noted("fingerprint")}

    def broken_attempts(self) -> dict[str, list[dict[str, Any]]]:
        """Unit → its attempts that a driver left unfinished when it was killed."""
        ended = {note["driver"] for note in self._noted("ended")}
        begun = [note["driver"] for note in self._noted("begun")]
        killed = [driver for driver in begun if driver not in ended]
        found: dict[str, list[dict[str, Any]]] = {}
        for driver in killed:
            for file in sorted((self.path / "segments").glob(f"{driver}-*.jsonl")):
                for attempt in self.unfinished(file.stem):
                    entry = {"locator": attempt.locator.json(), "phase": "other"}
                    found.setdefault(str(attempt.about.get("unit")), []).append(entry)
        return found

    def unfinished(self, segment: str) -> list[Attempt]:
        """The attempts of a segment that did not finish; none if it was not even begun."""
        if not (self.path / "segments" / f"{segment}.jsonl").exists():
            return []
        return [a for a in attempts(Reader(self.path), segment) if a.finish is None]


def _must_be_free(path: Path) -> None:
    """Make the folder, which may hold what a start that was killed leaves. `Refused` otherwise."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        names = [entry.name for entry in path.iterdir()]
    except OSError as error:
        raise Refused(f"{path} cannot be a run's folder: {error.strerror}") from None
    others = [name for name in names if not name.startswith("run.json.") and name != LOCK]
    if others and "run.json" not in names:
        raise Refused(f"{path} is not empty and holds no run: choose another folder")


@contextmanager
def _held(path: Path) -> Iterator[None]:
    try:
        taken = lock(path / LOCK)
    except OSError as error:
        raise Refused(f"{path} cannot be locked: {error.strerror}") from None
    with taken:
        yield


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Dotted names of what differs between two plans."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found: list[str] = []
        for name in sorted({*old, *new}):
            found += differences(old.get(name), new.get(name), f"{where}.{name}".strip("."))
        return found
    return [] if old == new else [where]


def _header(path: Path) -> dict[str, Any]:
    file = path / "run.json"
    try:
        header = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise Refused(f"{path} holds no run: there is no run.json in it") from None
    except OSError as error:
        raise Refused(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Refused(f"{file} is damaged: {error}; restore it from a copy") from None
    schema = header.get("schema") if isinstance(header, dict) else None
    if schema is not None and schema != SCHEMA:
        raise Refused(f"{path} has the schema {schema!r}; this clew reads {SCHEMA}")
    if not isinstance(header, dict) or not _is_whole(header):
        raise Refused(f"{file} is damaged: it is not what was written; restore it from a copy")
    return header


def _is_whole(header: Mapping[str, Any]) -> bool:
    texts = all(isinstance(header.get(name), str) for name in ("study", "plan_digest", "engine"))
    plan = header.get("plan")
    return texts and isinstance(plan, dict) and header["plan_digest"] == _digest(plan)


def _digest(plan: Mapping[str, Any]) -> str:
    return digest(canonical_json(plan, "plan"))


def write_private(file: Path, content: str | bytes) -> None:
    """Write a whole file or none of it; only its owner may read it. `Refused` if it cannot be."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb", opener=_private) as half:
            half.write(content.encode() if isinstance(content, str) else content)
            half.flush()
            os.fsync(half.fileno())
        os.replace(temporary, file)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise Refused(
            f"{file} cannot be written: {error.strerror}; nothing recorded so far is lost"
        ) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
