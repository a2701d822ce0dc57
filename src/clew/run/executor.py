"""The executor: stages of units → wardened workers → accepted results. It judges nothing."""

from __future__ import annotations

import shutil
import signal
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from clew.core import Cause, Refused
from clew.run.code import changed, code_items, made_otherwise, other_code
from clew.run.control import BREAKS_ANYWAY
from clew.run.folder import RunFolder
from clew.run.here import HerePool
from clew.run.planning import planning
from clew.run.pool import NEW, Pool, Worker
from clew.run.units import Result, Unit

#: Seconds that one phase of a unit may last before its worker is killed.
DEADLINES: Mapping[str, float] = {
    "start": 180.0, "open": 180.0, "act": 60.0, "policy": 300.0, "close": 60.0,
}  # fmt: skip
#: A run stops before the disk has less than this left.
RESERVE_BYTES = 128 << 20
_QUOTA_EVERY_S = 5.0
#: How often a broken attempt is carried on before the unit stays void.
RETRIES = 40
NO_CODE: Mapping[str, str] = {}


@dataclass(frozen=True)
class Stage:
    """A named list of units, made from what earlier stages gave."""

    name: str
    units: Callable[[Done], Sequence[Unit]]


class Done:
    """Finished stages: for each its units with their accepted results, in plan order."""

    def __init__(self) -> None:
        self._stages: dict[str, list[tuple[Unit, Result]]] = {}

    def add(self, stage: str, pairs: list[tuple[Unit, Result]]) -> None:
        self._stages[stage] = pairs

    def __getitem__(self, stage: str) -> list[tuple[Unit, Result]]:
        return self._stages[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)


class Progress(Protocol):
    """What a run tells while it goes."""

    def stage(self, name: str, total: int, done: int) -> None: ...
    def accepted(self, result: Result) -> None: ...
    def note(self, text: str) -> None: ...


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: units in hand were finished, nothing was lost; the rest is left for a resume."""


class Executor:
    """Runs units until each has an accepted result. One per driver; use it within `driving`."""

    def __init__(
        self,
        folder: RunFolder,
        driver: str,
        interpreter: Callable[[str], Path],
        *,
        workers: int = 2,
        paths: Sequence[str] = (),
        deadlines: Mapping[str, float] = DEADLINES,
        retries: int = RETRIES,
        progress: Progress,
        quota_bytes: int | None = None,
        cold: bool = False,
        here: bool = False,
        code: Mapping[str, str] = NO_CODE,
        mixed: bool = False,
        voids_again: bool = False,
    ) -> None:
        self._folder, self._driver, self._interpreter = folder, driver, interpreter
        self._limit, self._paths, self._progress = workers, tuple(paths), progress
        self._deadlines, self._retries = {**DEADLINES, **deadlines}, retries
        self._quota, self._cold = quota_bytes, cold
        self._results, self._before = folder.accepted(), dict[str, Result]()
        self._log = True
        self._broken: dict[str, list[Any]] = folder.broken_attempts()
        self._voids = Counter(r.unit for r in folder.results() if r.outcome == "void")
        if voids_again:
            self._forget_voids()
        self._engine = {name: digest for name, digest in code.items() if name == "engine"}
        made_by = folder.made_by()
        self._code, self._mixed = {n: d for made in made_by for n, d in made} | dict(code), mixed
        self._otherwise, self._told_code = made_otherwise(made_by, code), set[str]()
        self._known_fingerprints = set(folder.fingerprints())
        self._withdrawn = folder.withdrawn()
        self._units: dict[str, Unit] = {}
        self._tries: Counter[str] = Counter()
        self._started, self._measured = 0, float("-inf")
        self._stopping, self._told, self._reopened = 0, False, False
        self._here, self._pool = here, HerePool() if here else Pool()

    def run(self, stages: Sequence[Stage]) -> Done:
        """Every stage in turn. Raises `Interrupted` after a Ctrl-C."""
        with self._interruptible():
            try:
                while True:
                    self._reopened, done = False, Done()
                    for stage in stages:
                        with planning():
                            units = list(stage.units(done))
                        self._finish(stage.name, units)
                        if self._reopened:
                            break
                        done.add(stage.name, [(u, self._results[u.digest]) for u in units])
                    else:
                        if self._otherwise:
                            self._progress.note(f"{self._otherwise}; nothing was left to do")
                        return done
            finally:
                self._pool.close()

    def _forget_voids(self) -> None:
        """Units that stayed void are to be done again, carried on from where they came to. What a
        replay measured (it diverged) is no accident, and stays."""
        for digest, result in list(self._results.items()):
            if result.outcome == "void" and not (result.cause and result.cause.kind == "diverged"):
                del self._results[digest]
                self._broken.setdefault(digest, []).extend(result.about.get("broken", ()))

    def again(self, units: Sequence[Unit]) -> dict[str, Result]:
        """New results of units that have one already; the log is not touched."""
        self._before, self._results, self._log = self._results, {}, False
        with self._interruptible():
            try:
                self._finish("again", units)
            finally:
                self._pool.close()
        return self._results

    def _finish(self, name: str, units: Sequence[Unit]) -> None:
        self._units = {u.digest: u for u in units}
        todo = _Queue(u for u in self._units.values() if u.digest not in self._results)
        self._progress.stage(name, len(self._units), len(self._units) - len(todo))
        if len(todo) and self._log:
            self._keep_code()
        while (len(todo) and not self._reopened) or self._in_hand():
            if self._stopping:
                self._announce_stop()
            elif not self._reopened:
                self._hand_out(todo)
            for worker in self._pool.ready(0.1):
                self._heard(worker, todo)
            self._keep_deadlines(todo)
            self._keep_quota()
            if self._stopping > 1 or (self._stopping and len(todo) and not self._in_hand()):
                raise Interrupted

    def _in_hand(self) -> bool:
        return any(worker.unit for worker in self._pool.workers)

    def _announce_stop(self) -> None:
        if not self._told:
            self._told = True
            self._progress.note("finishing the units in hand; Ctrl-C again kills them")

    def _hand_out(self, todo: _Queue) -> None:
        for worker in list(self._pool.workers):
            if worker.unit is None and (unit := todo.take(worker.environment, worker.affinity)):
                if unit.fresh and worker.affinity != NEW:
                    worker = self._replaced(worker, unit.environment)
                self._give(worker, unit)
        while len(todo) and len(self._pool.workers) < self._limit:
            environment = todo.environment()
            self._give(self._start(environment), todo.take(environment, "") or _nothing())
        idle = [w for w in self._pool.workers if w.unit is None]
        if len(todo) and idle:  # they serve another environment than what is left
            for worker in idle:
                self._discard(worker)
            self._hand_out(todo)

    def _give(self, worker: Worker, unit: Unit) -> None:
        inputs = [(self._results.get(d) or self._before[d]).json() for d in unit.inputs]
        broken = list(self._broken.get(unit.digest, ()))
        more = {
            "broken": broken, "cold": self._cold, "withdrawn": sorted(self._withdrawn),
            "code": self._engine,
        }  # fmt: skip
        self._pool.give(worker, unit, unit.message(inputs, **more))

    def _start(self, environment: str) -> Worker:
        self._started += 1
        segment = f"{self._driver}-{self._started}"
        interpreter = self._interpreter(environment)
        return self._pool.start(interpreter, self._paths, self._folder.path, segment, environment)

    def _discard(self, worker: Worker) -> None:
        self._pool.remove(worker)
        worker.end()

    def _replaced(self, worker: Worker, environment: str) -> Worker:
        self._discard(worker)
        return self._start(environment)

    def _heard(self, worker: Worker, todo: _Queue) -> None:
        reply = worker.receive()
        if reply is None:
            unit = worker.unit
            phase, _ = worker.pulse.read()
            self._pool.remove(worker)
            cause = worker.death()
            if cause.kind == "no_start":
                raise Refused(f"workers of {worker.environment!r} do not start: {cause.detail}")
            if unit is not None:
                self._was_broken(unit, worker.segment, phase, cause, todo)
        elif reply:
            unit, worker.unit = worker.unit, None
            assert unit is not None
            if (seconds := worker.first_s()) is not None:
                reply["result"]["about"]["first_s"] = round(seconds, 6)
            self._answered(unit, reply, todo)
            if unit.fresh:
                self._discard(worker)

    def _answered(self, unit: Unit, reply: Mapping[str, Any], todo: _Queue) -> None:
        for name, facts in reply["fingerprints"].items():
            if name not in self._known_fingerprints:
                self._known_fingerprints.add(name)
                self._append({"type": "fingerprint", "digest": name, "facts": facts})
        for snapshot in reply.get("withdrawn", ()):
            if self._log and snapshot not in self._folder.withdrawn():
                self._append({"type": "withdrawn", "snapshot": snapshot})
            self._withdraw(snapshot, todo)
        result = Result.of(reply["result"])
        if self._log:
            if result.cause is not None:
                _must_go_on(unit, result.cause)
            self._keep_code(result)
        if result.about.get("snapshot") in self._withdrawn:
            todo.add(unit)
        elif not _worth_another(result.cause):
            self._accept(result)
        else:
            if reply.get("broken"):
                self._broken.setdefault(unit.digest, []).append(reply["broken"])
            if not self._again(unit, todo):
                self._accept(result)

    def _append(self, record: Mapping[str, Any]) -> None:
        if self._log:
            self._folder.log.append(record)

    def _keep_code(self, result: Result | None = None) -> None:
        """Refuse to add to results what other code makes, or say it once where mixing was asked."""
        what, self._otherwise = self._otherwise, ""
        if result is not None:
            made = code_items(result.about)
            if found := changed(self._code, dict(made)):
                differs = ", ".join(f"{n} {then} -> {new}" for n, (then, new) in found.items())
                what = f"code changed while it ran: {differs}"
                what = "" if what in self._told_code else what
                self._told_code.add(what)
            self._code |= dict(made)
        if what and not self._mixed:
            raise other_code(what, self._folder.path)
        if what:
            self._progress.note(f"{what}; going on, mixed")

    def _accept(self, result: Result) -> None:
        broken, more = self._broken.pop(result.unit, []), dict[str, Any]()
        if earlier := self._voids[result.unit]:
            more["earlier_voids"] = earlier
        if result.outcome == "void" and broken:
            more["broken"] = [{**each, "phase": "other"} for each in broken]
        if more:
            about = {**result.about, **more}
            result = Result(result.unit, result.outcome, result.values, result.cause, about)
        self._append(result.json())
        self._results[result.unit] = result
        self._progress.accepted(result)

    def _withdraw(self, snapshot: str, todo: _Queue) -> None:
        """A snapshot failed its audit: what used it is done again."""
        self._withdrawn.add(snapshot)
        self._progress.note(f"snapshot {snapshot} failed its audit; what used it is done again")
        for digest, result in list(self._results.items()):
            if result.about.get("snapshot") == snapshot:
                del self._results[digest]
                if digest in self._units:
                    todo.add(self._units[digest])
                else:
                    self._reopened = True

    def _was_broken(self, unit: Unit, segment: str, phase: str, cause: Cause, todo: _Queue) -> None:
        for attempt in self._folder.unfinished(segment):
            if attempt.about.get("unit") == unit.digest:
                entry = {"locator": attempt.locator.json(), "phase": phase}
                self._broken.setdefault(unit.digest, []).append(entry)
        self._progress.note(f"{cause.kind}: {cause.detail}")
        for snapshot in self._folder.withdrawn() - self._withdrawn:
            self._withdraw(snapshot, todo)  # its worker did not live to answer
        if not self._again(unit, todo):
            self._accept(Result(unit.digest, "void", {}, cause, {"code": self._engine}))

    def _again(self, unit: Unit, todo: _Queue) -> bool:
        self._tries[unit.digest] += 1
        if self._tries[unit.digest] > self._retries:
            return False
        todo.add(unit, first=True)
        return True

    def _keep_deadlines(self, todo: _Queue) -> None:
        for worker in list(self._pool.workers):
            if late := worker.overdue(self._deadlines):
                unit, (phase, seconds) = worker.unit, late
                self._discard(worker)
                assert unit is not None
                detail = f"{phase} lasted over {seconds:.0f} s: {worker.tail()}".strip(": ")
                if phase == "start":
                    raise Refused(f"workers of {worker.environment!r} do not start: {detail}")
                cause = Cause("environment", "deadline", detail)
                self._was_broken(unit, worker.segment, phase, cause, todo)

    def _keep_quota(self) -> None:
        """Stop, with everything accepted so far safe, before the disk or the quota is full."""
        now = time.monotonic()
        if now - self._measured < _QUOTA_EVERY_S:
            return
        self._measured = now
        used, free = size_bytes(self._folder.path), shutil.disk_usage(self._folder.path).free
        if self._quota is not None and used > self._quota:
            raise Refused(
                f"{self._folder.path} holds {used >> 20} MiB, over its quota of"
                f" {self._quota >> 20} MiB: raise --quota, then clew resume {self._folder.path}"
            )
        if free < RESERVE_BYTES:
            raise Refused(
                f"the disk of {self._folder.path} has {free >> 20} MiB left: free some space,"
                f" then clew resume {self._folder.path}"
            )

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C or SIGTERM once: finish what is in hand. Twice: kill it (it is resumed later)."""

        def stop(*_: Any) -> None:
            self._stopping += 1
            if self._stopping > 1 and self._here:
                raise Interrupted

        numbers = (signal.SIGINT, signal.SIGTERM)
        try:
            before = {number: signal.signal(number, stop) for number in numbers}
        except ValueError:  # not in the main thread: whoever runs us handles signals
            yield
            return
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _must_go_on(unit: Unit, cause: Cause) -> None:
    """A plan that cannot be carried out, or a store that cannot be read or written, stops the run:
    units that fail for that alone have no result, and are done when it is mended."""
    if cause.party == "plan":
        raise Refused(f"unit {unit.function.rpartition(':')[2]}: {cause.detail}")
    if (cause.party, cause.kind) == ("harness", "store"):
        raise Refused(cause.detail)


def _worth_another(cause: Cause | None) -> bool:
    """Infrastructure broke it: it is carried on. A replay that diverged is a measurement, and where
    controls broke as well, another try would too."""
    if cause is None or cause.party not in ("environment", "judge"):
        return False
    return cause.kind not in ("diverged", BREAKS_ANYWAY)


class _Queue:
    """Units to do, by environment and affinity; groups that share cheap state stay together."""

    def __init__(self, units: Iterator[Unit] | Sequence[Unit]) -> None:
        self._groups: OrderedDict[str, OrderedDict[str, deque[Unit]]] = OrderedDict()
        self._size = 0
        for unit in units:
            self.add(unit)

    def __len__(self) -> int:
        return self._size

    def add(self, unit: Unit, first: bool = False) -> None:
        groups = self._groups.setdefault(unit.environment, OrderedDict())
        group = groups.setdefault(unit.affinity, deque())
        group.appendleft(unit) if first else group.append(unit)
        self._size += 1

    def environment(self) -> str:
        """One that still has units."""
        return next(iter(self._groups))

    def take(self, environment: str, affinity: str) -> Unit | None:
        """The next unit of that environment: of that affinity if there is one, otherwise of the
        group that was touched longest ago."""
        groups = self._groups.get(environment)
        if not groups:
            return None
        name = affinity if affinity in groups else next(iter(groups))
        unit = groups[name].popleft()
        groups.move_to_end(name)
        if not groups[name]:
            del groups[name]
        if not groups:
            del self._groups[environment]
        self._size -= 1
        return unit


def size_bytes(folder: Path) -> int:
    """Bytes of a run's segments and blobs."""
    return sum(
        f.stat().st_size for part in ("segments", "blobs") for f in (folder / part).glob("*")
    )


def _nothing() -> Unit:
    raise AssertionError("the queue said that it had a unit")
