"""Rebuilds recorded attempts as trajectories whose values are read when they are looked at.

It re-runs nothing, and it never guesses: a damaged line inside an attempt refuses the attempt.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.core import (
    UNSEEN,
    Action,
    Decision,
    Moment,
    Refused,
    Start,
    Step,
    Trajectory,
    action_of,
)
from clew.core.canonical import bytes_value
from clew.store.errors import Damaged, Finding
from clew.store.reader import Reader
from clew.store.record import Locator


@dataclass(frozen=True)
class Attempt:
    """An attempt of a segment: where it stands, whose it is, how it ended (None: unfinished)."""

    locator: Locator
    about: Mapping[str, Any]
    finish: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Loaded:
    """One recorded attempt.

    `decisions` maps a number (`Step.decision`) to its decision, read when it is looked up.
    `begun` is None if the session never opened; `finish` is None if the attempt was broken off.
    """

    begun: Trajectory | None
    decisions: Mapping[int, Decision]
    about: Mapping[str, Any]
    finish: Mapping[str, Any] | None

    @property
    def trajectory(self) -> Trajectory:
        """All steps that were intended. Raises `Refused` if the session never opened."""
        if self.begun is None:
            raise Refused(f"the attempt {dict(self.about)} has no trajectory: it never began")
        return self.begun


def load(reader: Reader, locator: Locator) -> Loaded:
    """The attempt at `locator`.

    Of an unfinished attempt, every step that was about to run is there; the last moment is unseen
    if its line is missing. Raises `Refused` if no attempt starts there, `Damaged` if a line in
    it is damaged or a step is missing.
    """
    draft: _Draft | None = None
    for offset, record in reader.lines(locator.segment, locator.start, locator.end):
        if isinstance(record, Finding):
            if record.kind == "torn":
                break
            raise Damaged(f"{record}: the attempt at byte {locator.start} cannot be read")
        if draft is None:
            if offset != locator.start:
                raise _no_attempt(locator)
            draft = _Draft(_about(record, locator))
        elif record.get("type") == "attempt":
            break
        _add(draft, record, f"segment {locator.segment} at byte {offset}")
    if draft is None:
        raise _no_attempt(locator)
    return draft.loaded(reader)


def attempts(reader: Reader, name: str) -> list[Attempt]:
    """The attempts of a segment in order, finished or not; damage is added to the reader's."""
    found: list[Attempt] = []
    for _, mark in reader.outline(name):
        data = json.loads(mark.text)
        if mark.kind == "attempt":
            found.append(Attempt(Locator(name, mark.at), data))
        elif found and found[-1].finish is None:
            last = found[-1]
            found[-1] = Attempt(Locator(name, last.locator.start, mark.at), last.about, data)
    return found


class StoredObservation:
    """An observation whose channels are read from the store, and verified, at each look."""

    __slots__ = ("_ended", "_notes", "_reader", "_values")

    def __init__(self, reader: Reader, record: Mapping[str, Any]) -> None:
        self._reader = reader
        self._values: Mapping[str, Any] = record.get("seen", {})
        self._ended = bool(record.get("ended", False))
        self._notes: Mapping[str, Any] = record.get("notes", {})

    @property
    def ended(self) -> bool:
        return self._ended

    @property
    def notes(self) -> Mapping[str, Any]:
        return self._notes

    def __getitem__(self, channel: str) -> Any:
        if channel not in self._values:
            seen = ", ".join(self._values) or "none"
            raise Refused(f"channel {channel!r} was not looked at; seen: {seen}")
        return stored_value(self._reader, self._values[channel])

    def __contains__(self, channel: object) -> bool:
        return channel in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)


class StoredProbe(Mapping[str, Any]):
    """A probe whose values are read from the store, and verified, at each look."""

    __slots__ = ("_reader", "_values")

    def __init__(self, reader: Reader, values: Mapping[str, Any]) -> None:
        self._reader, self._values = reader, values

    def __getitem__(self, name: str) -> Any:
        return stored_value(self._reader, self._values[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class StoredDecisions(Mapping[int, Decision]):
    """Decisions by number, built when they are looked up."""

    def __init__(self, reader: Reader, records: Mapping[int, Mapping[str, Any]]) -> None:
        self._reader, self._records = reader, records

    def __getitem__(self, number: int) -> Decision:
        record = self._records[number]
        actions = tuple(action_of(a, f"decision {number}") for a in record["actions"])
        raw = stored_value(self._reader, record["raw"]) if "raw" in record else None
        return Decision(actions, record["stop"], raw, record["usd"], record["policy_s"])

    def __iter__(self) -> Iterator[int]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


def stored_value(reader: Reader, stored: Any) -> Any:
    """What a line holds for a value: a digest, or itself as a list of one or as base64."""
    if isinstance(stored, list) and len(stored) == 1:
        return stored[0]
    if isinstance(stored, dict):
        try:
            return bytes_value(b64decode(stored["base64"], validate=True))
        except (KeyError, TypeError, ValueError, Refused) as error:
            raise Damaged(f"a value that stands in its line cannot be read: {error}") from None
    return reader.get(str(stored))


def _add(draft: _Draft, record: Mapping[str, Any], where: str) -> None:
    try:
        draft.add(record, where)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Damaged(f"{where} is not a line of an attempt: {error!r}") from None


@dataclass
class _Draft:
    """An attempt while its lines are read."""

    about: Mapping[str, Any]
    start: Start | None = None
    moments: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    acts: list[tuple[Action, int, float]] = field(default_factory=list)
    decisions: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    finish: Mapping[str, Any] | None = None

    def add(self, record: Mapping[str, Any], where: str) -> None:
        kind = record.get("type")
        if kind == "acting":
            self._acting(record, where)
        elif kind == "acted":
            if record["t"] != len(self.acts) - 1:
                raise Damaged(f"{where}: action {record['t']} ran before it was about to run")
            self.moments[record["t"] + 1] = record
        elif kind == "decided":
            self.decisions[record["number"]] = record
        elif kind == "began" or (kind == "attempt" and "start" in record):
            self.start = Start.of(record["start"])
            self.acts, self.decisions, self.moments = [], {}, {0: record}
        elif kind == "end":
            self.finish = record["record"]

    def _acting(self, record: Mapping[str, Any], where: str) -> None:
        if record["t"] != len(self.acts):
            raise Damaged(f"{where} is action {record['t']}: action {len(self.acts)} is missing")
        action = action_of(record["action"], where)
        self.acts.append((action, record["decision"], record.get("gap_s", 0.0)))

    def loaded(self, reader: Reader) -> Loaded:
        begun = None
        if self.start is not None:
            moments = [_moment(reader, self.moments.get(t)) for t in range(len(self.acts) + 1)]
            steps = tuple(Step(moments[t], *act) for t, act in enumerate(self.acts))
            begun = Trajectory(self.start, steps, moments[-1])
        decisions = StoredDecisions(reader, self.decisions)
        return Loaded(begun, decisions, self.about, self.finish)


def _moment(reader: Reader, record: Mapping[str, Any] | None) -> Moment:
    if record is None:
        return Moment()
    shown = any(part in record for part in ("seen", "ended", "notes"))
    probe = StoredProbe(reader, record["probe"]) if "probe" in record else None
    return Moment(StoredObservation(reader, record) if shown else UNSEEN, probe)


def _about(record: Mapping[str, Any], locator: Locator) -> Mapping[str, Any]:
    if record.get("type") != "attempt":
        raise _no_attempt(locator)
    about: Mapping[str, Any] = record["about"]
    return about


def _no_attempt(locator: Locator) -> Refused:
    return Refused(
        f"no attempt starts at byte {locator.start} of segment {locator.segment}: "
        "the locator is of another store"
    )
