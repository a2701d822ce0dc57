"""Sinks that combine: several at once, and one that starts where an attempt does."""

from __future__ import annotations

from clew.core import Decision, Moment, Sink, Start, Step


class Tee:
    """Tells every one of `sinks`, in order."""

    def __init__(self, *sinks: Sink) -> None:
        self._sinks = sinks

    def began(self, start: Start, moment: Moment) -> None:
        for sink in self._sinks:
            sink.began(start, moment)

    def decided(self, number: int, decision: Decision) -> None:
        for sink in self._sinks:
            sink.decided(number, decision)

    def acting(self, t: int, step: Step) -> None:
        for sink in self._sinks:
            sink.acting(t, step)

    def acted(self, t: int, moment: Moment) -> None:
        for sink in self._sinks:
            sink.acted(t, moment)


class Since:
    """Leaves out the first `since` actions: a given prefix, which is stored where it was made."""

    def __init__(self, since: int, sink: Sink) -> None:
        self._since, self._sink = since, sink
        self._start: Start | None = None

    def began(self, start: Start, moment: Moment) -> None:
        self._start = start
        if self._since == 0:
            self._sink.began(start, moment)

    def decided(self, number: int, decision: Decision) -> None:
        self._sink.decided(number, decision)

    def acting(self, t: int, step: Step) -> None:
        if t >= self._since:
            self._sink.acting(t - self._since, step)

    def acted(self, t: int, moment: Moment) -> None:
        if t >= self._since:
            self._sink.acted(t - self._since, moment)
        elif t == self._since - 1 and self._start is not None:
            self._sink.began(self._start, moment)
