"""A run's folder: its header, its lock, its acceptance log. Worker segments lie beside them."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.core import Refused
from clew.core.canonical import canonical_json, digest, plain
from clew.run.units import Result, accepted
from clew.store import Locator, Log, Reader, attempts, lock

SCHEMA = 1


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

        Raises `Refused` and says what differs when the plan is not the same.
        """
        header = {
            "schema": SCHEMA, "study": study, "plan": plain(plan, "plan"),
            "plan_digest": digest(canonical_json(plan, "plan")), "engine": engine,
        }  # fmt: skip
        if (path / "run.json").exists():
            folder = cls(path)
            folder._must_be(header)
            return folder
        if path.exists() and any(entry.name != "engine" for entry in path.iterdir()):
            raise Refused(f"{path} is not empty and holds no run: choose another folder")
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(path / "run.json", json.dumps(header, indent=1, sort_keys=True))
        return cls(path)

    def _must_be(self, header: Mapping[str, Any]) -> None:
        if self.header["study"] != header["study"]:
            raise Refused(
                f"{self.path} holds a run of {self.header['study']!r}, not of {header['study']!r}"
            )
        changed = differences(self.header["plan"], header["plan"])
        if changed:
            raise Refused(
                f"{self.path} holds a run of another plan (differs in {', '.join(changed[:5])}):"
                " choose another folder, or go on with `clew resume`"
            )

    @contextmanager
    def driving(self) -> Iterator[str]:
        """Hold the lock; note in the log which driver works, and that it ended."""
        with lock(self.path / "driver.lock"):
            name = f"{int(time.time()):x}-{os.getpid():x}"
            record = {"driver": name, "host": socket.gethostname(), "at": time.time()}
            self.log.append({"type": "begun", **record})
            yield name
            self.log.append({"type": "ended", "driver": name, "at": time.time()})

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock without driving: nobody writes meanwhile."""
        with lock(self.path / "driver.lock"):
            yield

    def damage(self) -> list[Any]:
        """What is damaged in the log."""
        log = Log(self.log.path)
        log.read()
        return list(log.damage)

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

    def fingerprints(self) -> dict[str, dict[str, str]]:
        """Digest → facts of every fingerprint in this run."""
        return {r["digest"]: r["facts"] for r in self.records() if r["type"] == "fingerprint"}

    def broken_attempts(self) -> dict[str, list[dict[str, Any]]]:
        """Unit → its attempts that a driver left unfinished when it was killed."""
        records = self.records()
        ended = {r["driver"] for r in records if r["type"] == "ended"}
        killed = [r["driver"] for r in records if r["type"] == "begun" and r["driver"] not in ended]
        reader = Reader(self.path)
        found: dict[str, list[dict[str, Any]]] = {}
        for driver in killed:
            for file in sorted((self.path / "segments").glob(f"{driver}-*.jsonl")):
                for locator, about in _unfinished(reader, file.stem):
                    entry = {"locator": locator.json(), "phase": "other"}
                    found.setdefault(str(about.get("unit")), []).append(entry)
        return found


def _unfinished(reader: Reader, segment: str) -> list[tuple[Locator, Mapping[str, Any]]]:
    return [(a.locator, a.about) for a in attempts(reader, segment) if a.finish is None]


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Dotted names of what differs between two plans."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        found: list[str] = []
        for name in sorted({*old, *new}):
            found += differences(old.get(name), new.get(name), f"{where}.{name}".strip("."))
        return found
    return [] if old == new else [where]


def _header(path: Path) -> dict[str, Any]:
    try:
        header: dict[str, Any] = json.loads((path / "run.json").read_text("utf-8"))
    except FileNotFoundError:
        raise Refused(f"{path} holds no run: there is no run.json in it") from None
    except ValueError as error:
        raise Refused(f"{path}/run.json is damaged: {error}") from None
    if header.get("schema") != SCHEMA:
        raise Refused(f"{path} has the schema {header.get('schema')!r}; this clew reads {SCHEMA}")
    return header


def write_private(file: Path, text: str) -> None:
    """Write a whole file or none of it; only its owner may read it."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}")
    with open(temporary, "w", encoding="utf-8", opener=_private) as half:
        half.write(text)
        half.flush()
        os.fsync(half.fileno())
    os.replace(temporary, file)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
