"""Workers seen from the driver: started under a warden, given units, watched, ended. Linux, macOS."""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clew.core import Cause
from clew.run import warden
from clew.run.pulse import OPEN, START, Phase, Pulse, new_pulse_fd
from clew.run.units import Unit

#: The engine comes first, the user's folders last: no file there may stand in for Python's own.
_BOOT = (
    "import sys; sys.path = [*sys.argv[5:6], *filter(None, sys.path), *sys.argv[6:]];"
    " from clew.run.worker import main;"
    " main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])"
)
#: The affinity of a worker that has not been given anything yet.
NEW = "new"
_BOTH = selectors.EVENT_READ | selectors.EVENT_WRITE
_TAIL = 4096
#: How long a worker that has closed its socket may take to end by itself, in seconds.
_ENDING_S = 2.0


class Worker:
    """One wardened worker process. `unit` is what it is doing, None when idle."""

    def __init__(
        self,
        interpreter: Path,
        paths: Sequence[str],
        folder: Path,
        segment: str,
        environment: str,
    ) -> None:
        self.segment, self.environment = segment, environment
        self.unit: Unit | None = None
        self.affinity = NEW
        self._started: float | None = time.monotonic()
        self._received = bytearray()
        self._unsent = b""
        self._tail: deque[bytes] = deque(maxlen=16)
        ours, theirs = socket.socketpair()
        pulse_fd = new_pulse_fd()
        lifeline, self._lifeline = os.pipe()
        output, printed = os.pipe()
        os.set_blocking(output, False)
        fds = (theirs.fileno(), pulse_fd, lifeline)
        numbers = [str(fds[0]), str(fds[1])]
        command = [str(interpreter), "-u", "-c", _BOOT, *numbers, str(folder), segment]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-E", "-s", warden.__file__, str(lifeline), *command, *paths],
                stdin=subprocess.DEVNULL, stdout=printed, stderr=printed,
                env={**os.environ, "PYTHONHASHSEED": "0"},
                pass_fds=fds, close_fds=True, start_new_session=True,
            )  # fmt: skip
        finally:
            theirs.close()
            os.close(lifeline)
            os.close(printed)
        self.pulse = Pulse(pulse_fd)
        os.close(pulse_fd)
        self._socket, self.output_fd = ours, output
        self.socket_fd = ours.fileno()

    @property
    def pid(self) -> int:
        """The warden's process id."""
        return self._process.pid

    def give(self, unit: Unit, message: Mapping[str, Any]) -> None:
        """Send a unit; the reply comes through `receive`."""
        self.pulse.beat(START if self.affinity == NEW else OPEN)
        self.unit, self.affinity = unit, unit.affinity
        self._unsent = _line(message)
        self.send_on()

    def first_s(self) -> float | None:
        """Seconds from its start until now, when asked for the first time; then None."""
        started, self._started = self._started, None
        return None if started is None else time.monotonic() - started

    def send_on(self) -> bool:
        """Send of the unit what the socket takes now; True when nothing is left to send."""
        try:
            while self._unsent:
                sent = self._socket.send(self._unsent, socket.MSG_DONTWAIT)
                self._unsent = self._unsent[sent:]
        except BlockingIOError:
            return False
        except OSError:
            self._unsent = b""  # it has died: `receive` will say so
        return True

    def send(self, message: Mapping[str, Any]) -> None:
        """Send any message, all of it; if the worker has died, `receive` says so."""
        with contextlib.suppress(OSError):
            self._socket.sendall(_line(message))

    def wait(self, timeout_s: float) -> dict[str, Any] | None:
        """As `receive`, after waiting for up to `timeout_s`; what it prints is drained meanwhile."""
        readable, _, _ = select.select([self.socket_fd, self.output_fd], [], [], timeout_s)
        if self.output_fd in readable:
            self.drain()
        return self.receive() if self.socket_fd in readable else {}

    def receive(self) -> dict[str, Any] | None:
        """A whole reply, or {} while there is none, or None when the worker is gone."""
        try:
            chunk = self._socket.recv(1 << 20)
        except OSError:
            chunk = b""
        if not chunk:
            return None
        self._received += chunk
        if not chunk.endswith(b"\n"):
            return {}
        reply: dict[str, Any] = json.loads(self._received)
        self._received.clear()
        return reply

    def drain(self) -> bool:
        """Keep the tail of what the worker printed; False when it cannot print any more."""
        try:
            chunk = os.read(self.output_fd, 65536)
        except BlockingIOError:
            return True
        self._tail.append(chunk[-_TAIL:])
        return bool(chunk)

    def overdue(self, deadlines: Mapping[str, float]) -> tuple[Phase, float] | None:
        """The phase that has outlasted its deadline, and for how long; None if none has."""
        if self.unit is None:
            return None
        phase, seconds = self.pulse.read()
        return (phase, seconds) if seconds > deadlines[phase] else None

    def tail(self) -> str:
        """The last lines that the worker printed, for a cause's detail."""
        text = b"".join(self._tail)[-_TAIL:].decode("utf-8", "replace").strip()
        return " | ".join(text.splitlines()[-4:])[-600:]

    def end(self) -> int:
        """Kill it and everything below it, wait for that, and return its exit code."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
            self._socket.close()
        code = self._process.wait()
        if self.output_fd >= 0:
            for _ in range(64):  # bounded: a process that outlived its warden may hold the pipe
                if not self.drain():
                    break
            os.close(self.output_fd)
            self.output_fd = -1
            self.pulse.close()
        return code

    def death(self) -> Cause:
        """What ended it, as far as its exit code and its last words tell."""
        phase, _ = self.pulse.read()
        with contextlib.suppress(subprocess.TimeoutExpired):
            # Its socket closes a moment before its exit code is there.
            self._process.wait(_ENDING_S)
        code = self.end()
        number = -code if code < 0 else code - 128
        how = f"signal {number}" if number > 0 else f"exit code {code}"
        detail = f"{how} during {phase}: {self.tail()}".strip(": ")
        # By its own exit before it was up: no other unit would fare better.
        kind = "no_start" if phase == "start" and number <= 0 else "worker_died"
        return Cause("environment", kind, detail)


class Pool:
    """The workers of one run and one selector over all their descriptors."""

    def __init__(self) -> None:
        _occupy_standard_descriptors()
        self.workers: list[Worker] = []
        self.selector = selectors.DefaultSelector()

    def start(
        self, interpreter: Path, paths: Sequence[str], folder: Path, segment: str, environment: str
    ) -> Worker:
        """A new worker, not yet given anything."""
        worker = Worker(interpreter, paths, folder, segment, environment)
        self.workers.append(worker)
        self.selector.register(worker.socket_fd, selectors.EVENT_READ, (worker, "socket"))
        self.selector.register(worker.output_fd, selectors.EVENT_READ, (worker, "print"))
        return worker

    def give(self, worker: Worker, unit: Unit, message: Mapping[str, Any]) -> None:
        """Give a unit; what the socket does not take now is sent on by `ready`."""
        worker.give(unit, message)
        self.selector.modify(worker.socket_fd, _BOTH, (worker, "socket"))

    def remove(self, worker: Worker) -> None:
        """Forget a worker; the caller ends it."""
        for fd in (worker.socket_fd, worker.output_fd):
            with contextlib.suppress(KeyError):
                self.selector.unregister(fd)
        self.workers.remove(worker)

    def ready(self, timeout_s: float) -> list[Worker]:
        """Workers with a reply or an end to read; what they print is drained on the way."""
        found = []
        for selected, events in self.selector.select(timeout_s):
            worker, what = selected.data
            if what == "print":
                if not worker.drain():
                    self.selector.unregister(worker.output_fd)
                continue
            if events & selectors.EVENT_WRITE and worker.send_on():
                self.selector.modify(worker.socket_fd, selectors.EVENT_READ, selected.data)
            if events & selectors.EVENT_READ:
                found.append(worker)
        return found

    def close(self) -> None:
        """End every worker and everything below it."""
        for worker in list(self.workers):
            self.remove(worker)
            worker.end()
        self.selector.close()


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _occupy_standard_descriptors() -> None:
    """With stdin closed, a pipe would become descriptor 0, which no worker can inherit."""
    while (fd := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(fd)
