"""A desktop whose first session breaks by itself, and what workers of a run on it import."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clew.core import Brief, Budget, Decision, Start, Text, Trajectory
from clew.environments.desktop import Desktop
from clew.environments.desktop.options import options_of
from clew.environments.desktop.session import DesktopSession
from clew.environments.desktop.tasks import Task
from clew.match import preset
from clew.replay import own_oracle
from clew.run.bench import Bench

TASK = "xterm-hello"
#: What is killed, by the beginning of its command line.
VICTIMS = {"application": "xterm", "display": "Xvfb", "bus": "dbus-daemon", "keeper": "bwrap"}


class Desk(Desktop):
    """`desktop` whose first session, counted in the file `$CLEW_TEST_LUCK`, is hit by `$CLEW_TEST_HIT`:
    a key of `VICTIMS` is killed before its second act, or with `window` none appears, with `window always` in no session."""

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        return replace(super().start(task, seed, **options), environment="_faulty:Desk")

    def open(self, start: Start) -> DesktopSession:
        hit = os.environ["CLEW_TEST_HIT"]
        with open(os.environ["CLEW_TEST_LUCK"], "ab") as file:
            file.write(b".")
            file.flush()
            first = os.fstat(file.fileno()).st_size == 1
        if hit == "window always" or (first and hit == "window"):
            without = Task(TASK, "xterm", "", 1, (), ("-no-such-option",), {})
            return DesktopSession(without, options_of(start.options))
        session = super().open(replace(start, environment="desktop"))
        if first and hit in VICTIMS:
            _doom(session, VICTIMS[hit])
        return session


def _doom(session: DesktopSession, victim: str) -> None:
    act, acts = session.act, []

    def doomed(*given: Any) -> Any:
        acts.append(given)
        if len(acts) == 2:
            for pid in session.display.room.processes():
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(victim.encode()):
                    os.kill(pid, signal.SIGKILL)
        return act(*given)

    session.act = doomed  # type: ignore[method-assign]


class Typist:
    """Types the lines it is given, one at each decision, and then stops."""

    name, version, sees = "typist", "1", frozenset[str]()

    def __init__(self, *lines: str) -> None:
        self._lines = lines

    def begin(self, brief: Brief) -> Typist:
        self._left = list(self._lines)
        return self

    def decide(self, seen: Any) -> Decision:
        if not self._left:
            return Decision((), "done")
        return Decision((Text(self._left.pop(0)),))

    def recall(self, seen: Any, decision: Decision) -> None:
        if decision.actions:
            self._left.pop(0)


def attempt(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """The lines, typed into a terminal."""
    environment: Any = bench.environment("_faulty:Desk")
    start = environment.start(TASK, settle={"quiet_ms": 60}, screen="1024x768")
    rolled = bench.attempt(
        Trajectory(start), Typist(*arguments["lines"]), Brief(seed=0), Budget(actions=20),
        match=preset("state"), until=own_oracle,
    )  # fmt: skip
    return {"outcome": "pass" if rolled.judgement.passed else "fail", "actions": rolled.actions}
