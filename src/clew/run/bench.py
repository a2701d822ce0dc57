"""The bench: what a unit's function works with inside a worker. It keeps environments, records
attempts, and carries on those that infrastructure broke. It knows no study."""

from __future__ import annotations

import importlib
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from clew import registry
from clew.core import (
    NOTHING,
    Brief,
    Budget,
    Cause,
    Channels,
    Decision,
    Diverged,
    Environment,
    Evidence,
    Judgement,
    Match,
    Moment,
    Oracle,
    Outcome,
    Policy,
    Refused,
    Trajectory,
    Trouble,
    boundary,
    outcome_of,
)
from clew.core.canonical import canonical_json, digest, plain
from clew.core.errors import attributed
from clew.match import Exact
from clew.replay import Episode, Snapshots, begin, reconstruct, resume
from clew.run.code import loaded_source
from clew.run.control import (
    BREAKS_ANYWAY,
    NOT_TAKEN,
    SURVIVED,
    Blame,
    Broken,
    blame,
    other_actions,
)
from clew.run.pulse import CLOSE, OPEN, Pulse
from clew.run.sinks import Since, Tee
from clew.run.units import Result
from clew.store import Damaged, Loaded, Locator, Log, Reader, Recorder, StoreFull, Writer, load

NO_CODE: Mapping[str, str] = {}
#: Group commit: seconds between two fsyncs of a worker's segment and blob pack. A killed process
#: loses nothing; after a power cut, results whose attempt is not on the disk do not count.
SYNC_EVERY_S = 0.5


@dataclass(frozen=True)
class Rolled:
    """A finished attempt: what it did after its origin, why it stopped, what the oracle said."""

    episode: Episode
    stop: str
    judgement: Judgement
    actions: int


class Bench:
    """Kept environments, one store writer and one pulse; reused for many units."""

    def __init__(self, folder: Path, segment: str, pulse: Pulse) -> None:
        self.reader = Reader(folder)
        self.pulse = pulse
        self._folder, self._segment = folder, segment
        self._writer: Writer | None = None
        self._environments: dict[str, Environment] = {}
        self._fingerprints: dict[str, tuple[str, dict[str, str]]] = {}
        self._snapshots: dict[str, Snapshots] = {}
        self.withdrawn: list[str] = []
        self.told_withdrawn: frozenset[str] = frozenset()
        self._synced = time.monotonic()
        self._begin_unit("", 0)

    def _begin_unit(
        self,
        unit: str,
        seed: int,
        broken: Sequence[Broken] = (),
        cold: bool = False,
        code: Mapping[str, str] = NO_CODE,
    ) -> None:
        self.unit, self.seed, self._broken, self._cold = unit, seed, tuple(broken), cold
        self._recorder: Recorder | None = None
        self.about: dict[str, Any] = {"code": dict(code)}

    def take_up(self, message: Mapping[str, Any]) -> None:
        """Begin a unit's work. `cold`: no snapshots."""
        broken = [Broken.of(data) for data in message.get("broken", ())]
        self._forget(frozenset(message.get("withdrawn", ())))
        self._begin_unit(
            str(message["unit"]), int(message["seed"]), broken, bool(message.get("cold")),
            message.get("code", NO_CODE),
        )  # fmt: skip
        random.seed(self.seed)
        np.random.seed(self.seed)
        self.pulse.beat(OPEN)

    def finish(self) -> None:
        """The unit's function has returned."""
        self.pulse.beat(CLOSE)
        if time.monotonic() - self._synced > SYNC_EVERY_S:
            self.sync()

    def _withdraw(self, snapshot: str) -> None:
        """Say it in the run's log at once: this worker may not live to answer."""
        Log(self._folder / "log.jsonl").append({"type": "withdrawn", "snapshot": snapshot})
        self.withdrawn.append(snapshot)

    def _forget(self, withdrawn: frozenset[str]) -> None:
        """Snapshots that failed their audit, here or elsewhere, are not to be served again."""
        if not withdrawn <= self.told_withdrawn:
            self.told_withdrawn |= withdrawn
            self._snapshots.clear()

    def close(self) -> None:
        """Close the kept environments and the store."""
        for environment in self._environments.values():
            environment.close()
        self._environments.clear()
        if self._writer is not None:
            self._writer.close()

    def sync(self) -> None:
        """Put everything recorded so far on the disk."""
        if self._writer is not None:
            self._writer.sync()
        self._synced = time.monotonic()

    @property
    def writer(self) -> Writer:
        """This worker's journal segment and blob pack, made when first used."""
        if self._writer is None:
            self._writer = Writer(self._folder, self._segment)
        return self._writer

    def environment(self, name: str) -> Environment:
        """The kept environment of that name; its fingerprint is noted in the unit's result."""
        if name not in self._environments:
            with boundary("environment", "open"):
                self._environments[name] = registry.environment(name)
        environment = self._environments[name]
        if name not in self._fingerprints:
            facts = dict(environment.fingerprint())
            self._fingerprints[name] = (digest(canonical_json(facts))[:16], facts)
        self.about["fingerprint"] = self._fingerprints[name][0]
        self._made_by("environment", name)
        return environment

    def policy(self, name: str, **arguments: Any) -> Policy:
        """The named policy, new; the digest of its source is noted in the unit's result."""
        with boundary("policy"):
            policy = registry.policy(name, **arguments)
        self._made_by("policy", name)
        return policy

    def _made_by(self, kind: registry.Kind, name: str) -> None:
        if source := loaded_source(kind, name):
            self.about["code"][f"{kind} {name}"] = source

    def fingerprints(self) -> dict[str, dict[str, str]]:
        """Digest → facts of every environment used so far."""
        return dict(self._fingerprints.values())

    def snapshots(self, name: str) -> Snapshots:
        """The proven snapshots of the kept environment of that name."""
        if name not in self._snapshots:
            made = Snapshots(self.environment(name), on_withdrawn=self._withdraw)
            made.withdrawn |= self.told_withdrawn
            self._snapshots[name] = made
        return self._snapshots[name]

    def load(self, result: Mapping[str, Any]) -> Loaded:
        """The attempt that another unit's result (an element of `inputs`) was made from."""
        return load(self.reader, Locator.of(result["about"]["attempt"]))

    def attempt(
        self,
        origin: Trajectory,
        policy: Policy,
        brief: Brief,
        budget: Budget,
        *,
        match: Match,
        until: Oracle | None = None,
        see: Channels = NOTHING,
        probe: bool = False,
        snapshots: bool = True,
    ) -> Rolled:
        """Reach the end of `origin`, let `policy` act, judge. Recorded from the origin on.

        An attempt of this unit that infrastructure broke is carried on by replay; where it breaks
        again and again, a control is run instead (`clew.run.control`). Raises `Trouble` with
        whoever is at fault, and `Diverged` when the origin is not reached.
        """
        environment = self.environment(origin.start.environment)
        tries, controls = self._earlier()
        earlier = max(tries, key=lambda one: len(one[0].trajectory))[0] if tries else None
        options: dict[str, Any] = {"see": see, "probe": probe}
        if earlier is not None and (blamed := blame(tries)):
            if verdict := blamed.verdict(controls):
                raise Trouble(verdict)
            there = _joined(origin, earlier)[0]
            number = sum(one.about["control"] == blamed.actions for one, _ in controls)
            options["see"] = see | frozenset(policy.sees)
            self._control(environment, origin, there, blamed, number, until, options)
        recorder = self._record(origin, earlier, len(tries))
        options["sink"] = Tee(self.pulse, Since(len(origin), recorder))
        if earlier is None:
            episode = self._at(environment, origin, match, snapshots, options)
            with episode:
                stop = episode.rollout(policy, brief, budget, until)
                return self._judged(episode, stop, len(origin), recorder)
        trajectory, decisions = _joined(origin, earlier)
        episode, stop = resume(
            environment, trajectory, decisions, policy, brief, budget, AsRecorded(),
            since=len(origin), until=until, **options,
        )  # fmt: skip
        with episode:
            return self._judged(episode, stop, len(origin), recorder)

    def _at(
        self,
        environment: Environment,
        origin: Trajectory,
        match: Match,
        snapshots: bool,
        options: dict[str, Any],
    ) -> Episode:
        if not len(origin):
            return begin(environment, origin.start, **options)
        kept = None
        if snapshots and not self._cold:
            kept = self.snapshots(origin.start.environment)
            kept.offer(environment, origin, match)
        episode = reconstruct(environment, origin, match, snapshots=kept, **options)
        if episode.snapshot:
            self.about["snapshot"] = episode.snapshot
        return episode

    def _judged(self, episode: Episode, stop: str, since: int, recorder: Recorder) -> Rolled:
        judgement = episode.judge()
        recorder.finish({"stop": stop, "passed": judgement.passed, "score": judgement.score})
        self.about["attempt"] = recorder.locator.json()
        return Rolled(episode, stop, judgement, len(episode) - since)

    def _control(
        self,
        environment: Environment,
        origin: Trajectory,
        there: Trajectory,
        blamed: Blame,
        number: int,
        until: Oracle | None,
        options: dict[str, Any],
    ) -> NoReturn:
        """Replay cold up to what is blamed, do something else, look and judge. Always raises, so
        that the driver counts it: what broke, or that nothing did."""
        at = len(origin) + blamed.replayed
        others = other_actions(there.actions()) if at < len(there) else []
        if at < len(there) and not others:
            detail = "it broke every time, and the attempt has no other action to try instead"
            raise Trouble(Cause("environment", BREAKS_ANYWAY, detail))
        about = {"unit": self.unit, "since": len(origin), "control": blamed.actions}
        self._recorder = recorder = Recorder(self.writer, about)
        options["sink"] = Tee(self.pulse, Since(len(origin), recorder))
        with _cold(environment, there.prefix(at), options) as episode:
            if at < len(there):
                action = others[number % len(others)]
                try:
                    episode.act(action)
                except Refused as error:
                    raise Trouble(Cause("environment", NOT_TAKEN, str(error))) from error
            episode.look(options["see"], options["probe"])
            if until is not None or blamed.phase != "act":
                episode.judge(until)
        recorder.finish({"control": SURVIVED})
        detail = f"replay {number} with something else after {blamed.replayed} actions survived"
        raise Trouble(Cause("environment", SURVIVED, detail))

    def _record(self, origin: Trajectory, earlier: Loaded | None, tries: int) -> Recorder:
        about = {"unit": self.unit, "key": origin.key(), "since": len(origin)}
        if earlier is not None:
            about["carries_on"] = True
            self.about["carried_on"] = tries
        self._recorder = Recorder(self.writer, about)
        return self._recorder

    def locator(self) -> dict[str, Any] | None:
        """Where the attempt in hand is being recorded, if it is."""
        recorder = self._recorder
        return recorder.locator.json() if recorder is not None and recorder.begun else None

    def _earlier(self) -> tuple[list[tuple[Loaded, str]], list[tuple[Loaded, str]]]:
        """The broken attempts of this unit, and the controls among them, each with its phase."""
        readable = [pair for b in self._broken if (pair := self._broken_off(b))]
        tries = [(one, phase) for one, phase in readable if "control" not in one.about]
        return tries, [(one, phase) for one, phase in readable if "control" in one.about]

    def _broken_off(self, broken: Broken) -> tuple[Loaded, str] | None:
        """None for an attempt that cannot be read, as after a power cut: others carry on."""
        try:
            loaded = load(self.reader, broken.locator)
        except Damaged:
            return None
        return (loaded, broken.phase) if loaded.begun is not None else None


class AsRecorded:
    """A `Match`: everything that was recorded of a moment, bit for bit; a moment of which nothing
    was recorded cannot differ, and its attempt is carried on by its actions alone."""

    sees: Channels = NOTHING

    def __call__(self, recorded: Moment, reached: Moment) -> Evidence:
        if recorded.probe is None and not list(recorded.seen):
            return Evidence(True, notes={"moment": "nothing was recorded"})
        if recorded.probe is None:
            reached = Moment(reached.seen)
        return Exact(NOTHING)(recorded, reached)


def _cold(environment: Environment, there: Trajectory, options: dict[str, Any]) -> Episode:
    """An episode at the end of `there`, replayed; nothing is looked at before the first action."""
    if not len(there):
        return begin(environment, there.start, sink=options["sink"])
    return reconstruct(environment, there, AsRecorded(), **options)


def _joined(origin: Trajectory, earlier: Loaded) -> tuple[Trajectory, tuple[Decision, ...]]:
    """The origin's steps and then the broken attempt's, as one trajectory."""
    steps = (*origin.steps, *earlier.trajectory.steps)
    decisions = tuple(earlier.decisions[n] for n in sorted(earlier.decisions))
    return Trajectory(origin.start, steps, earlier.trajectory.last), decisions


def serve(bench: Bench, message: Mapping[str, Any]) -> dict[str, Any]:
    """Run one unit; the reply's `result` is to be accepted, or its `broken` carried on."""
    began = time.monotonic()
    outcome, values, cause = _called(bench, message)
    bench.about["seconds"] = round(time.monotonic() - began, 6)
    result = Result(message["unit"], outcome, values, cause, bench.about)
    reply: dict[str, Any] = {"result": result.json(), "fingerprints": bench.fingerprints()}
    if cause is not None and (locator := bench.locator()) is not None:
        reply["broken"] = {"locator": locator, "phase": _phase(cause)}
    if bench.withdrawn:
        reply["withdrawn"] = list(bench.withdrawn)
        bench.withdrawn.clear()
    return reply


def _phase(cause: Cause) -> str:
    """What the attempt was doing when an error, which left the worker alive, broke it."""
    if cause.kind in (SURVIVED, NOT_TAKEN):
        return cause.kind
    if cause.kind in ("open", "diverged"):
        return "other"
    return "act" if cause.kind == "crash" else "after"


def _called(
    bench: Bench, message: Mapping[str, Any]
) -> tuple[Outcome, dict[str, Any], Cause | None]:
    """The outcome and values that the unit's function returned, or the cause that kept it."""
    module, _, name = str(message["function"]).partition(":")
    try:
        bench.take_up(message)
        function = getattr(importlib.import_module(module), name)
        returned = function(bench, message["arguments"], message["inputs"])
        bench.finish()
        return *_outcome_and_values(returned), None
    except Diverged as error:
        cause = Cause("environment", "diverged", str(error))
    except Trouble as error:
        cause = error.cause
    except (Damaged, StoreFull) as error:
        cause = Cause("harness", "store", str(error))
    except Refused as error:
        cause = Cause("plan", "refused", str(error))
    except Exception as error:  # noqa: BLE001 - the one boundary: a failure becomes a verdict
        cause = attributed(error, "harness").cause
    return outcome_of(cause), {}, cause


def _outcome_and_values(returned: Any) -> tuple[Outcome, dict[str, Any]]:
    """Raises `Trouble` of the harness for what cannot be sent, or is no outcome."""
    try:
        values: Any = plain(returned, "values")
    except Refused as error:
        raise Trouble(Cause("harness", "result", str(error))) from error
    outcome = values.pop("outcome", "pass") if isinstance(values, dict) else None
    if outcome not in ("pass", "fail", "void"):
        detail = f"a unit's function returned {returned!r:.200}: a table with an outcome is needed"
        raise Trouble(Cause("harness", "result", detail))
    return outcome, values
