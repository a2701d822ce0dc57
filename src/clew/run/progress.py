"""Progress of a run: one live line on a terminal, plain lines elsewhere. Written to stderr."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TextIO

from clew.run.units import Result

#: Seconds between plain lines, and between redrawings of the live one.
_PLAIN_S, _LIVE_S = 10.0, 0.2


def units(count: int) -> str:
    """`1 unit`, `3 units`."""
    return f"{count} unit{'' if count == 1 else 's'}"


class Lines:
    """Tells how a stage goes: done of total, outcomes, units per second, time left."""

    def __init__(self, stream: TextIO | None = None, quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty() and not quiet
        self._quiet = quiet
        self._name, self._total, self._done, self._first = "", 0, 0, 0
        self._outcomes: Counter[str] = Counter()
        self._began = self._told = time.monotonic()

    def stage(self, name: str, total: int, done: int) -> None:
        self.finished()
        self._name, self._total, self._done, self._first = name, total, done, done
        self._outcomes.clear()
        self._began = self._told = time.monotonic()
        if not self._live:
            known = f", {done} already done" if done else ""
            self._write(f"{name}: {units(total)}{known}\n")

    def accepted(self, result: Result) -> None:
        self._done += 1
        self._outcomes[result.outcome] += 1
        now = time.monotonic()
        if now - self._told >= (_LIVE_S if self._live else _PLAIN_S):
            self._told = now
            self._write(f"\r\x1b[K{self._line()}" if self._live else f"{self._line()}\n")

    def note(self, text: str) -> None:
        text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
        self._write(f"\r\x1b[K{text}\n" if self._live else f"{text}\n")

    def finished(self) -> None:
        """The last line of the stage in hand."""
        if self._name:
            seconds = time.monotonic() - self._began
            line = f"{self._name}: {self._counts()} in {seconds:.1f} s"
            self._write(f"\r\x1b[K{line}\n" if self._live else f"{line}\n")
            self._name = ""

    def _counts(self) -> str:
        words = ", ".join(f"{n} {outcome}" for outcome, n in sorted(self._outcomes.items()))
        return f"{self._done}/{self._total}" + (f" ({words})" if words else "")

    def _line(self) -> str:
        done = self._done - self._first
        seconds = max(time.monotonic() - self._began, 1e-9)
        left = (self._total - self._done) * seconds / max(done, 1)
        return f"{self._name}: {self._counts()}, {done / seconds:.1f} units/s, {left:.0f} s left"

    def _write(self, text: str) -> None:
        if not self._quiet:
            self._stream.write(text)
            self._stream.flush()
