"""A small study on `unreliable`, its unit functions and its driver: what workers of the tests import.

    python _work.py FOLDER [--workers N] [--units N] [--here] [--shuffle SEED] [--options JSON]

It ends as `clew run` does: 0, 2 with a sentence, 130 after a Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from clew.core import (
    Brief,
    Budget,
    Control,
    Decision,
    Refused,
    Start,
    Trajectory,
)
from clew.match import preset
from clew.replay import own_oracle
from clew.run.bench import Bench
from clew.run.executor import Done, Interrupted, Stage
from clew.run.units import Unit
from clew.testing.unreliable import Coin, Unreliable

STATE = preset("state")


class Lucky(Unreliable):
    """`unreliable` whose luck is repeatable: the n-th session of a seed has the same luck in every
    run that counts in a fresh folder `$CLEW_TEST_LUCK`."""

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        return replace(super().start(task, seed, **options), environment="_work:Lucky")

    def open(self, start: Start) -> Any:
        with open(Path(os.environ["CLEW_TEST_LUCK"], str(start.seed)), "ab") as file:
            file.write(b".")
            file.flush()
            count = os.fstat(file.fileno()).st_size
        self._luck = np.random.default_rng([start.seed, count])
        return super().open(start)


class Walled(Unreliable):
    """`unreliable` that breaks at its third act while the file `$CLEW_TEST_WALL` is there."""

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        return replace(super().start(task, seed, **options), environment="_work:Walled")

    def open(self, start: Start) -> Any:
        if not Path(os.environ["CLEW_TEST_WALL"]).exists():
            return super().open(start)
        more = {"dies_at_step": 3, "crash_as": "raise"}
        return super().open(replace(start, options={**start.options, **more}))


class Rotten(Unreliable):
    """`unreliable` whose snapshots lead elsewhere once they were loaded twenty times, counted in
    `$CLEW_TEST_LUCK`."""

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        return replace(super().start(task, seed, **options), environment="_work:Rotten")

    def open(self, start: Start) -> Any:
        session = super().open(start)
        load = session.load

        def loads(state: bytes) -> None:
            with open(Path(os.environ["CLEW_TEST_LUCK"], "loads"), "ab") as file:
                file.write(b".")
                file.flush()
                rotten = os.fstat(file.fileno()).st_size > 20
            fields = json.loads(state)
            load(json.dumps([fields[0] + rotten, *fields[1:]]).encode())

        session.load = loads
        return session


def attempt(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """One rollout from the start; the brief's seed is the argument's."""
    environment: Any = bench.environment(arguments.get("environment", "unreliable"))
    seed, options = arguments["seed"], arguments.get("options", {})
    policy = bench.policy(arguments.get("policy", "unreliable/coin"))
    rolled = bench.attempt(
        Trajectory(environment.start("count", seed, **options)), policy, Brief(seed=seed),
        Budget(actions=arguments.get("actions", 60)), match=STATE, until=own_oracle,
        probe=arguments.get("probe", True),
    )  # fmt: skip
    return {
        "outcome": "pass" if rolled.judgement.passed else "fail",
        "stop": rolled.stop, "actions": rolled.actions, "score": rolled.judgement.score,
    }  # fmt: skip


def takeover(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """Another coin takes over after some actions of an attempt, from a snapshot where there is one."""
    origin = bench.load(inputs[0]).trajectory.prefix(arguments["at"])
    rolled = bench.attempt(
        origin, Coin(0.7), Brief(seed=arguments["seed"]), Budget(actions=60), match=STATE,
        until=own_oracle,
    )  # fmt: skip
    return {
        "outcome": "pass" if rolled.judgement.passed else "fail",
        "stop": rolled.stop, "actions": rolled.actions,
    }  # fmt: skip


def total(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """The sum of what its inputs gave."""
    return {"actions": sum(each["values"]["actions"] for each in inputs)}


def echo(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """What it was given; `process` is whose it was."""
    bench.about["process"] = os.getpid()
    return {"given": arguments.get("given"), "inputs": [each["values"] for each in inputs]}


def large(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    return {"text": "x" * arguments["size"]}


def returns(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> Any:
    """Things that no result can be."""
    return {
        "nan": {"score": float("nan")}, "array": {"frame": np.zeros(3)}, "nothing": None,
        "outcome": {"outcome": "perhaps"}, "keys": {1: 2},
        "numpy": {"score": np.float64(0.5), "pair": (1, np.int64(2))},
    }[arguments["what"]]  # fmt: skip


def raises(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> Any:
    raise {
        "SystemExit": SystemExit(3), "KeyboardInterrupt": KeyboardInterrupt(),
        "ZeroDivisionError": ZeroDivisionError("by zero"), "Refused": Refused("no such thing"),
    }[arguments["what"]]  # fmt: skip


def dies(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> Any:
    """Says something and ends the process, before anything is recorded."""
    print("these are my last words")
    os._exit(arguments.get("code", 5))


def prints(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """Much more than a pipe holds, without a newline, on both streams."""
    for _ in range(40):
        os.write(1, b"x" * 65536)
        os.write(2, b"y" * 65536)
    return {}


def stays(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """Ends when the file `until` is there; it makes the file `begun` first."""
    Path(arguments["begun"]).touch()
    while not Path(arguments["until"]).exists():
        time.sleep(0.005)
    return {}


def takes(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """Reports that it used the snapshot `s-1` (unless told that it was withdrawn), or withdraws it.

    `stubborn` uses it once even so, as a unit does that was under way. `times` counts its calls.
    """
    file = Path(bench.reader.folder, f"times-{bench.unit}")
    times = int(file.read_text()) + 1 if file.exists() else 1
    file.write_text(str(times))
    known = "s-1" in bench.told_withdrawn
    says = arguments["says"]
    if (says == "used" and not known) or (says == "stubborn" and times == 1):
        bench.about["snapshot"] = "s-1"
    if says == "withdraws":
        bench.withdrawn.append("s-1")
    return {"times": times}


def withdraws_and_dies(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> Any:
    """A worker whose audit fails and which does not live to say so."""
    bench._withdraw("s-1")
    os._exit(5)


def dawdles() -> Coin:
    """Fails whenever it has less than its whole budget."""
    return Coin(0.0)


@dataclass(frozen=True)
class Says:
    """Policies that fail in their own ways after three good actions."""

    what: str = ""
    sees: frozenset[str] = frozenset({"vector"})

    def begin(self, brief: Brief) -> Any:
        return _Saying(self.what)


class _Saying:
    def __init__(self, what: str) -> None:
        self._what, self._turn = what, 0

    def decide(self, seen: Any) -> Decision:
        self._turn += 1
        if self._turn <= 3:
            return Decision((Control((1,), "int64"),))
        if self._what == "wide":
            return Decision((Control((1, 1), "int64"),))
        if self._what == "nan":
            return Decision((Control((float("nan"),)),))
        if self._what == "error":
            raise LookupError("no such weight")
        if self._what == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._what == "exit":
            sys.exit(0)
        if self._what == "seven":
            return Decision((Control((7,), "int64"),))
        raise AssertionError(self._what)


def wide() -> Says:
    return Says("wide")


def nan() -> Says:
    return Says("nan")


def error() -> Says:
    return Says("error")


def killed() -> Says:
    return Says("killed")


def exits() -> Says:
    return Says("exit")


class _Still:
    def decide(self, seen: Any) -> Decision:
        return Decision((Control((0,), "int64"),))


@dataclass(frozen=True)
class Still:
    """Does nothing, one action at a time."""

    sees: frozenset[str] = frozenset({"vector"})

    def begin(self, brief: Brief) -> _Still:
        return _Still()


def still() -> Still:
    return Still()


def seven() -> Says:
    """Its fourth action is 7."""
    return Says("seven")


@dataclass
class Coins:
    """Attempts, and some of which nothing is recorded but decisions and actions; then takeovers of
    those that failed; then one sum per ten of them."""

    units: int = 40
    options: Mapping[str, Any] = field(default_factory=dict)
    shuffle: int | None = None
    policy: str = "unreliable/coin"
    name: str = "coins"

    @property
    def data(self) -> Mapping[str, Any]:
        return {"study": self.name, "units": self.units, "options": dict(self.options)}

    def environments(self) -> Mapping[str, str]:
        return {"unreliable": "environment"}

    def policies(self) -> Mapping[str, str]:
        return {self.policy: "policy"}

    def fresh(self) -> Sequence[str]:
        return ()

    def stages(self) -> Sequence[Stage]:
        named = {
            "attempts": self._attempts, "blind": self._blind, "takeovers": self._takeovers,
            "sums": self._sums,
        }  # fmt: skip
        return [Stage(name, self._shuffled(make)) for name, make in named.items()]

    def _attempts(self, done: Done) -> list[Unit]:
        given = [
            {"seed": seed, "options": dict(self.options), "policy": self.policy}
            for seed in range(self.units)
        ]
        return [Unit("_work:attempt", "unreliable", each) for each in given]

    def _blind(self, done: Done) -> list[Unit]:
        given = [{"seed": s, "options": dict(self.options), "probe": False} for s in range(9)]
        return [Unit("_work:attempt", "unreliable", each) for each in given]

    def _takeovers(self, done: Done) -> list[Unit]:
        failed = sorted(u.digest for u, result in done["attempts"] if result.outcome == "fail")
        return [
            Unit("_work:takeover", "unreliable", {"at": 12, "seed": seed}, (digest,), digest)
            for digest in failed
            for seed in range(3)
        ]

    def _sums(self, done: Done) -> list[Unit]:
        known = sorted(u.digest for stage in ("attempts", "takeovers") for u, _ in done[stage])
        parts = [tuple(known[i : i + 10]) for i in range(0, len(known), 10)]
        return [Unit("_work:total", "unreliable", {}, part, fresh=len(part) < 10) for part in parts]

    def _shuffled(self, make: Any) -> Any:
        def units(done: Done) -> list[Unit]:
            found = make(done)
            if self.shuffle is not None:
                np.random.default_rng(self.shuffle).shuffle(found)
            return found

        return units

    def tables(self, done: Done) -> dict[str, Any]:
        return {
            stage: {u.digest: [result.outcome, dict(result.values)] for u, result in done[stage]}
            for stage in done
        }

    def text(self, tables: Mapping[str, Any]) -> str:
        return json.dumps({stage: len(tables[stage]) for stage in tables})

    def most(self) -> Mapping[str, int]:
        return {"attempts": self.units, "takeovers": 3 * self.units, "sums": self.units}


def main(words: Sequence[str]) -> int:
    from clew.run.drive import drive, open_run, tables_of
    from clew.run.progress import Lines

    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--units", type=int, default=40)
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--shuffle", type=int)
    parser.add_argument("--options", type=json.loads, default={})
    given = parser.parse_args(words)
    study = Coins(given.units, given.options, given.shuffle)
    try:
        folder, engine = open_run(study, given.folder)
        done = drive(
            study,
            folder,
            engine,
            workers=given.workers,
            progress=Lines(),
            here=given.here,
            mixed=given.mixed,
            voids_again=given.resume,
        )
        tables_of(study, folder, done)
    except Refused as refusal:
        print(f"clew: {refusal}", file=sys.stderr)
        return 2
    except Interrupted:
        return 130
    return 0


def driver(folder: Path, *words: str, **more: Any) -> subprocess.Popen[bytes]:
    """`main` in a process of its own."""
    here = Path(__file__)
    command = [sys.executable, str(here), str(folder), *words]
    return subprocess.Popen(command, cwd=here.parent, stderr=subprocess.PIPE, **more)


if __name__ == "__main__":
    sys.modules["_work"] = sys.modules["__main__"]
    sys.exit(main(sys.argv[1:]))
