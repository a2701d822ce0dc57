"""Whether the processes of a session are at work, as the kernel's scheduler counts it.

One look at their states would not do: two that answer each other (an application and the X
server) can each be seen asleep in turn. So a session is idle when the scheduler has hardly run
any of its threads for `IDLE_S`. Measured: idle applications are run 0 times in 250 ms, LibreOffice
4 times, for 0.5 ms in all.

An idle application may have more to do when a timer ends: galculator lets go of a pressed button
after 100 ms, GTK 3 presses one after 250 ms. The kernel tells what each thread waits in, and for
how long: an event loop waits in `poll` for the next of its timers. An idle one has none, or one of
some seconds; LibreOffice always has one of 0.25 s.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping

IDLE_S = 0.025
#: Between two looks, this much is no work: a timer that finds nothing to do.
_FEW_RUNS = 4
_LITTLE_NS = 500_000
#: System calls in which event loops wait: number → which argument is the timeout, and whether it is
#: one of milliseconds (else a pointer, null for none). By machine, from the kernel's tables.
_WAITS: Mapping[str, Mapping[bytes, tuple[int, bool]]] = {
    "x86_64": {
        b"7": (2, True), b"23": (4, False), b"232": (3, True), b"270": (4, False),
        b"271": (2, False), b"281": (3, True), b"441": (3, False),
    },
    "aarch64": {b"22": (3, True), b"72": (4, False), b"73": (2, False), b"441": (3, False)},
}  # fmt: skip
#: Those in which threads wait for each other, for a process or for input, without a timer of theirs:
#: futex, read, wait4, waitid, recvmsg, recvfrom, accept, accept4, nanosleep, clock_nanosleep,
#: rt_sigtimedwait, rt_sigsuspend.
_RESTS: Mapping[str, frozenset[bytes]] = {
    "x86_64": frozenset(b"202 0 61 247 47 45 43 288 35 230 128 130".split()),
    "aarch64": frozenset(b"98 63 260 95 212 207 202 242 101 115 137 133".split()),
}
#: A look this old says nothing of the present.
_STALE_S = 0.25


class Activity:
    """`processes` tells the ids of the processes to look at, every time anew."""

    def __init__(self, processes: Callable[[], Iterable[int]]) -> None:
        self._processes = processes
        self._looked_at = self._idle_since = 0.0
        self._runs = self._ran_ns = 0

    def busy(self) -> bool:
        """Whether any thread is at work now, or was in the last `IDLE_S`; ask it repeatedly."""
        now, (waiting, runs, ran_ns) = time.monotonic(), self._look()
        worked = runs - self._runs > _FEW_RUNS or ran_ns - self._ran_ns > _LITTLE_NS
        if waiting or worked or now - self._looked_at > _STALE_S:
            self._idle_since = now
        self._looked_at, self._runs, self._ran_ns = now, runs, ran_ns
        return now - self._idle_since < IDLE_S

    def timer_due(self, within_ms: int) -> bool:
        """Whether a thread waits for events with a timeout of at most `within_ms`, or does not wait
        at all: the timer of one that runs may just have ended.

        So it does as far as is known, where the kernel does not tell.
        """
        machine = platform.machine()
        waits, rests = _WAITS.get(machine, {}), _RESTS.get(machine, frozenset())
        for pid in self._processes():
            for thread in _threads(pid):
                try:
                    with open(f"{thread}/syscall", "rb") as file:
                        call = file.read().split()
                except (FileNotFoundError, ProcessLookupError):  # it has ended in the meantime
                    continue
                except OSError:
                    return True
                if not call or call[0] in rests:
                    continue
                if call[0] not in waits or _soon(call, *waits[call[0]], within_ms):
                    return True
        return False

    def _look(self) -> tuple[bool, int, int]:
        """Whether a thread runs, wants to or waits for the disk; runs and ns of all so far."""
        waiting, runs, ran_ns = False, 0, 0
        for pid in self._processes():
            for thread in _threads(pid):
                try:
                    with open(f"{thread}/schedstat", "rb") as file:
                        ran, _, times = file.read().split()
                    with open(f"{thread}/stat", "rb") as file:
                        state = file.read().rpartition(b") ")[2][:1]
                except (OSError, ValueError):  # it has ended in the meantime
                    continue
                runs, ran_ns = runs + int(times), ran_ns + int(ran)
                waiting = waiting or state in (b"R", b"D")
        return waiting, runs, ran_ns


def _soon(call: list[bytes], argument: int, is_ms: bool, within_ms: int) -> bool:
    timeout = int(call[1 + argument], 16)
    return 0 <= _signed(timeout) <= within_ms if is_ms else timeout != 0


def _signed(register: int) -> int:
    """The `int` in a 64-bit register."""
    return (register & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000


def _threads(pid: int) -> list[str]:
    try:
        return [f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []
