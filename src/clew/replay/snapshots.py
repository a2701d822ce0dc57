"""Snapshots: an optimisation that proves itself, one by one. Not a record: replay stays the truth."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from clew.core import (  # isort: skip
    NOTHING, Channels, Environment, Match, Moment, Refused, Saved, Session, Sink, Trajectory,
    boundary, digest,
)  # fmt: skip
from clew.core.canonical import canonical_json, value_digest
from clew.replay.episode import Episode, closed_on_failure, opened

#: Acts after the target that a proof goes on for: a field left out may not show before.
GOING_ON = 40
#: The whole state and what is seen: at the target, and after going on from there.
Courses = list[tuple[bytes, Moment]]


@dataclass(frozen=True)
class Snapshot:
    """A state one action before a trajectory's end, proven there. `name` is content and place."""

    name: str
    state: bytes
    exact: bool


class Snapshots:
    """Proven states by (key, fingerprint) of one kept environment, bounded in bytes.

    Each is taken one action before the target (an environment may sample its observation within
    the step), loaded into a *used* session, of another seed where there is one, stepped to the
    target and on, and compared with the truth in the whole state, the channels and the probe. A
    seeded share `audit` of all servings is checked against a cold replay. `withdrawn` names those
    that failed, `refused` counts those that never passed their proof; results that name a
    withdrawn snapshot must be done again. On a real clock nothing is kept: time is not saved.
    """

    def __init__(
        self, environment: Environment, *, limit_bytes: int = 256 << 20, audit: float = 0.05,
        seed: int = 0, on_withdrawn: Callable[[str], None] | None = None,
    ) -> None:  # fmt: skip
        self._kept: OrderedDict[str, Snapshot] = OrderedDict()
        self._unfit: set[str] = set()
        self._limit, self._audit = limit_bytes, audit
        self._dice = np.random.default_rng(seed)
        self._place = digest(canonical_json(dict(environment.fingerprint())))[:16]
        self._on_withdrawn = on_withdrawn
        self.withdrawn: set[str] = set()
        self.refused = self.served = self.audited = 0

    @property
    def size_bytes(self) -> int:
        return sum(len(kept.state) for kept in self._kept.values())

    def offer(self, environment: Environment, trajectory: Trajectory, match: Match) -> bool:
        """Take, prove and keep the state before the trajectory's last action; True if kept."""
        key = trajectory.key()
        if key in self._kept:
            return True
        if not len(trajectory) or trajectory.start.clock == "real" or key in self._unfit:
            return False
        self._unfit.add(key)
        with _before_last(environment, trajectory) as episode:
            if not isinstance(episode.session, Saved):
                return False
            state, exact = _saved(episode.session), episode.session.exact
            truth = _going_on(episode, trajectory, match)
        name = f"{key[:16]}-{self._place}-{digest(state)[:16]}"
        if name in self.withdrawn or len(state) > self._limit:
            return False
        kept = Snapshot(name, state, exact)
        with _used(environment, trajectory) as episode:
            if not _holds(kept, truth, episode, trajectory, match):
                self.refused += 1
                return False
        self._unfit.discard(key)
        self._kept[key] = kept
        while self.size_bytes > self._limit:
            self._kept.popitem(last=False)
        return True

    def serve(
        self, environment: Environment, trajectory: Trajectory, match: Match,
        sink: Sink | None = None, see: Channels = NOTHING,
    ) -> Episode | None:  # fmt: skip
        """An episode at the trajectory's end from a snapshot, or None: replay it cold."""
        key = trajectory.key()
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._kept.move_to_end(key)
        if self._dice.random() < self._audit and not self._audited(environment, trajectory, match):
            self.withdraw(trajectory, kept)
            return None
        self.served += 1
        episode = opened(environment, trajectory.start, steps=trajectory.steps[:-1], sink=sink)
        with closed_on_failure(episode):
            _load(episode.session, kept.state)
            episode.snapshot = kept.name
            episode.began()
            episode.act(trajectory.steps[-1].action, see=match.sees | see, probe=True)
        return episode

    def withdraw(self, trajectory: Trajectory, kept: Snapshot) -> None:
        """Never serve it again, and say so."""
        self._kept.pop(trajectory.key(), None)
        self.withdrawn.add(kept.name)
        if self._on_withdrawn is not None:
            self._on_withdrawn(kept.name)

    def _audited(self, environment: Environment, trajectory: Trajectory, match: Match) -> bool:
        """Is a serving, right now, what a cold replay gives?"""
        self.audited += 1
        with _before_last(environment, trajectory) as episode:
            truth = _going_on(episode, trajectory, match)
        with opened(environment, trajectory.start) as episode:
            return _holds(self._kept[trajectory.key()], truth, episode, trajectory, match)


def _before_last(environment: Environment, trajectory: Trajectory) -> Episode:
    """Replayed cold up to the action before the target."""
    with closed_on_failure(opened(environment, trajectory.start)) as episode:
        for step in trajectory.steps[:-1]:
            episode.act(step.action)
    return episode


def _used(environment: Environment, trajectory: Trajectory) -> Episode:
    """A session that is no longer fresh, of another seed where there is one."""
    start = trajectory.start
    try:
        episode = opened(environment, replace(start, seed=start.seed + 1))
    except Refused:
        episode = opened(environment, start)
    with closed_on_failure(episode):
        for step in trajectory.steps[:2]:
            episode.act(step.action)
    return episode


def _going_on(episode: Episode, trajectory: Trajectory, match: Match) -> Courses:
    """Act to the target and, for a claim to be exact, go on with the trajectory's own actions,
    from its first one: at the target itself they may all stand still."""
    session, courses = episode.session, []
    assert isinstance(session, Saved)
    last = GOING_ON if session.exact else 0
    for t in range(last + 1):
        looking = t in (0, last)
        action = trajectory.steps[(t - 1) % len(trajectory)].action
        episode.act(action, see=match.sees if looking else NOTHING, probe=looking)
        if looking:
            courses.append((_saved(session), episode.now))
        if episode.now.seen.ended:
            break
    return courses


def _holds(
    kept: Snapshot, truth: Courses, episode: Episode, trajectory: Trajectory, match: Match
) -> bool:
    """Does the snapshot, loaded into this episode, lead where the truth leads?"""
    try:
        _load(episode.session, kept.state)
    except Refused:
        return False
    found = _going_on(episode, trajectory, match)
    if not kept.exact:
        return episode.compare(match, truth[0][1]).same
    return [(s, _addresses(m)) for s, m in truth] == [(s, _addresses(m)) for s, m in found]


def _saved(session: Saved) -> bytes:
    with boundary("environment", "save"):
        return session.save()


def _load(session: Session, state: bytes) -> None:
    with boundary("environment", "load"):
        cast("Saved", session).load(state)


def _addresses(moment: Moment) -> dict[str, str]:
    """Content addresses of everything in a moment."""
    found = {f"seen.{name}": value_digest(moment.seen[name]) for name in moment.seen}
    for name, value in (moment.probe or {}).items():
        found[f"probe.{name}"] = value_digest(value)
    return found
