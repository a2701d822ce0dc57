"""A run's folder: its header, its lock, its acceptance log. Worker segments lie beside them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.core import Refused
from clew.core.canonical import canonical_json, digest, plain
from clew.run.units import Result, accepted
from clew.store import Attempt, Finding, Log, Reader, attempts, lock

SCHEMA = 1
#: The file that marks a folder which was taken out of a pack.
FROM_PACK = "from-a-pack"


class RunFolder:
    """One run on disk. Everything that it says is derived from the header and the log."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.header = _header(self.path)
        self.log = Log(self.path / "log.jsonl")
        self._records: list[dict[str, Any]] = []
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
        if (path / "run.json").exists():
            folder = cls(path)
            if differs := folder._differs(header):
                if folder._has_results():
                    raise Refused(differs)
                with folder.held():  # a plan that was mended before it gave anything
                    write_private(path / "run.json", json.dumps(header, indent=1, sort_keys=True))
            return cls(path)
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            # A start that was killed leaves half a header.
            others = [e for e in path.iterdir() if not e.name.startswith("run.json.")]
        except OSError as error:
            raise Refused(f"{path} cannot be a run's folder: {error.strerror}") from None
        if others:
            raise Refused(f"{path} is not empty and holds no run: choose another folder")
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
        return bool(self.damage()) or any(r["type"] == "result" for r in self.records())

    @contextmanager
    def driving(self) -> Iterator[str]:
        """Hold the lock; note in the log which driver works, and that it ended (if it did: after
        an interruption the next driver looks for attempts that this one left unfinished)."""
        with self.held():
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
        try:
            taken = lock(self.path / "driver.lock")
        except OSError as error:
            raise Refused(f"{self.path} cannot be locked: {error.strerror}") from None
        with taken:
            yield

    def damage(self) -> list[Finding]:
        """The damaged lines of the log; a torn end is no damage: that line was never accepted."""
        log = Log(self.log.path)
        log.read()
        return [finding for finding in log.damage if finding.kind != "torn"]

    def records(self) -> list[dict[str, Any]]:
        """Every record of the log so far; what other drivers appended is read too."""
        self._records += [record for _, record in self.log.read(self._read_to)]
        self._read_to = self.log.end
        return self._records

    def accepted(self) -> dict[str, Result]:
        """Unit digest → accepted result. After a power cut the log may name attempts that never
        reached the disk: those results do not count."""
        held: dict[str, int] = {}
        return {
            unit: result
            for unit, result in accepted(self.records()).items()
            if self._is_stored(result, held)
        }

    def _is_stored(self, result: Result, held: dict[str, int]) -> bool:
        attempt = result.about.get("attempt")
        if attempt is None:
            return True
        segment = attempt["segment"]
        if segment not in held:
            file = self.path / "segments" / f"{segment}.jsonl"
            held[segment] = file.stat().st_size if file.exists() else 0
        return bool(attempt["end"] <= held[segment])

    def withdrawn(self) -> set[str]:
        """The snapshots that failed an audit."""
        return {r["snapshot"] for r in self.records() if r["type"] == "withdrawn"}

    def fingerprints(self) -> dict[str, dict[str, str]]:
        """Digest → facts of every fingerprint in this run."""
        return {r["digest"]: r["facts"] for r in self.records() if r["type"] == "fingerprint"}

    def broken_attempts(self) -> dict[str, list[dict[str, Any]]]:
        """Unit → its attempts that a driver left unfinished when it was killed."""
        records = self.records()
        ended = {r["driver"] for r in records if r["type"] == "ended"}
        killed = [r["driver"] for r in records if r["type"] == "begun" and r["driver"] not in ended]
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
    except ValueError as error:
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
