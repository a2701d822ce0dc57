"""`unreliable`: a number to be brought to a target, in a world with exactly the faults asked for.

Options of the start (all default to none):

    drop, delay      probability that an action is lost, or takes effect one action later
    arm_ms           actions within this time (real clock) after the last one are ignored
    crash_on         an action of this value kills the process, always
    crash            probability per action that the process is killed, at random
    dies_at_step     the act of this number (the first is 1) kills the process, whatever it is
    blind            looking at the state without acting kills the process
    crash_as         "exit" (SIGKILL, default) or "raise" (a Python error)
    hang_on, hang    the same two, but it hangs
    leak             opening a session leaves a child process in a session of its own
    prints           every act prints on stdout
    omit             its snapshots leave out a hidden field that matters from the second act on

Luck is the machine's own unless a generator is given, so that equal starts have unequal luck.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from clew.core import (
    Action,
    Channels,
    Control,
    Judgement,
    Refused,
    Seen,
    Start,
    nearest,
)

OPTIONS = frozenset(
    {"clock", "drop", "delay", "arm_ms", "crash_on", "crash", "dies_at_step", "blind", "crash_as",
     "hang_on", "hang", "leak", "prints", "omit"}
)  # fmt: skip


class Unreliable:
    """The environment. `luck` is a `numpy.random.Generator` for what happens at random."""

    def __init__(self, luck: np.random.Generator | None = None) -> None:
        self._luck = luck if luck is not None else np.random.default_rng()

    def tasks(self) -> tuple[str, ...]:
        return ("count",)

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        if task != "count":
            raise Refused(f"unreliable has no task {task!r}; {nearest(task, self.tasks())}")
        if "arm_ms" in options:
            options.setdefault("clock", "real")
        return Start("unreliable", task, seed, "count 1", 1, options)

    def instruction(self, task: str) -> str:
        return "Bring the number to its target."

    def budget(self, task: str) -> int:
        return 60

    def open(self, start: Start) -> UnreliableSession:
        for name in start.options:
            if name not in OPTIONS:
                raise Refused(f"unreliable has no option {name!r}; {nearest(name, OPTIONS)}")
        return UnreliableSession(start, self._luck)

    def fingerprint(self) -> Mapping[str, str]:
        return {"unreliable": "1"}

    def close(self) -> None:
        return None


class UnreliableSession:
    """One world: `number`, `target`, and `carry`, which is added on every tenth act."""

    exact = True
    judging: Literal["pure"] = "pure"

    def __init__(self, start: Start, luck: np.random.Generator) -> None:
        self._options, self._luck = start.options, luck
        self._target = 20 + start.seed % 5
        self._number = self._acts = self._carry = self._late = 0
        self._armed_from = time.monotonic() + self._option("arm_ms") / 1000
        if self._options.get("leak"):
            subprocess.Popen(["sleep", "600"], start_new_session=True)

    def observe(self, see: Channels) -> Seen:
        if see and self._options.get("blind"):
            self._crash("at a look")
        return self._seen(see)

    def _seen(self, see: Channels) -> Seen:
        _check_channels(see)
        values = np.array([self._number, self._target], dtype=np.float64)
        return Seen({"vector": values} if see else {})

    def act(self, action: Action, see: Channels) -> Seen:
        if not isinstance(action, Control) or action.dtype != "int64" or len(action.values) != 1:
            raise Refused(f"unreliable takes a control vector of one int64, not {action}")
        _check_channels(see)
        value = int(action.values[0])
        if self._options.get("prints"):
            print(f"act {value}", flush=True)
        self._break(value)
        armed = time.monotonic() >= self._armed_from
        self._armed_from = time.monotonic() + self._option("arm_ms") / 1000
        self._number += self._late
        self._late = 0
        self._acts += 1
        if self._acts % 10 == 0:
            self._number += self._carry
        self._carry = (self._carry + value) % 3
        if armed and not self._lucky("drop"):
            if self._lucky("delay"):
                self._late = value
            else:
                self._number += value
        return self._seen(see)

    def _break(self, value: int) -> None:
        dies = self._acts + 1 == self._options.get("dies_at_step")
        if dies or value == self._options.get("crash_on") or self._lucky("crash"):
            self._crash(f"at act {self._acts}")
        if value == self._options.get("hang_on") or self._lucky("hang"):
            while True:
                time.sleep(3600)

    def _crash(self, where: str) -> None:
        if self._options.get("crash_as") == "raise":
            raise RuntimeError(f"the simulator broke {where}")
        os.kill(os.getpid(), signal.SIGKILL)

    def _option(self, name: str) -> float:
        return float(self._options.get(name, 0.0))

    def _lucky(self, name: str) -> bool:
        chance = self._option(name)
        return chance > 0 and self._luck.random() < chance

    def probe(self) -> Mapping[str, Any]:
        return {"number": np.array([self._number, self._target, self._acts], dtype=np.float64)}

    def save(self) -> bytes:
        carry = 0 if self._options.get("omit") else self._carry
        return json.dumps([self._number, self._target, self._acts, carry, self._late]).encode()

    def load(self, state: bytes) -> None:
        try:
            fields = [int(v) for v in json.loads(state)]
            self._number, self._target, self._acts, self._carry, self._late = fields
        except (ValueError, TypeError) as error:
            raise Refused(f"this is not a snapshot of unreliable: {error}".split("\n")[0]) from None

    def judge(self) -> Judgement:
        passed = self._number >= self._target
        return Judgement(passed, 1.0 if passed else max(self._number, 0) / self._target)

    def close(self) -> None:
        return None


def _check_channels(see: Channels) -> None:
    for channel in see:
        if channel != "vector":
            raise Refused(f"unreliable has no channel {channel!r}; {nearest(channel, ['vector'])}")
