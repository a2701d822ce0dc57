"""Writes one attempt, step by step, as it happens. It implements `clew.core.Sink`; it reads nothing.

Its lines, in order: `attempt` (with the start), then per step `decided` (if a model was called), `acting`
before the action runs and `acted` after it (if something was seen), and `end`.
"""

from __future__ import annotations

import json
from base64 import b64encode
from binascii import hexlify
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import Any

import numpy as np

from clew.core import (
    UNSEEN,
    Control,
    Decision,
    Moment,
    Observation,
    Refused,
    Start,
    Step,
    action_json,
    canonical_json,
)
from clew.core.actions import DTYPES
from clew.core.canonical import value_bytes
from clew.store.lines import encode
from clew.store.writer import Writer

#: Plain data below this many bytes stands in its line; the rest is a blob.
INLINE_BYTES = 256
#: Arrays up to this many bytes do too: a vector or a pose at every step would be a blob each, and
#: whoever reads one would first have to find it among them all.
INLINE_ARRAY_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Locator:
    """Where an attempt stands: segment name, offset of its first line, offset behind its last.

    `end` is None while the attempt is unfinished.
    """

    segment: str
    start: int
    end: int | None = None

    def json(self) -> dict[str, Any]:
        return {"segment": self.segment, "start": self.start, "end": self.end}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Locator:
        """The locator that `json` wrote. Raises `Refused` for anything else."""
        try:
            segment, start, end = data["segment"], data["start"], data["end"]
        except (KeyError, TypeError):
            raise Refused(f"{data!r} is no locator: it needs segment, start and end") from None
        whole = all(isinstance(n, int) and n >= 0 for n in (start, 0 if end is None else end))
        if not isinstance(segment, str) or not whole:
            raise Refused(f"{data!r} is no locator: start and end are byte offsets in a segment")
        return cls(segment, start, end)


class Recorder:
    """The sink of one attempt. Each call returns when its line will survive this process.

    `about` is plain data that says whose attempt it is; with `see_probe` false the probes of
    moments are left out. One attempt at a time per writer: once another has begun, this one is
    unfinished for good and refuses more. Raises `StoreFull` where there is no room.
    """

    def __init__(self, writer: Writer, about: Mapping[str, Any], *, see_probe: bool = True) -> None:
        self._writer, self._about, self._see_probe = writer, about, see_probe
        self._locator: Locator | None = None
        self._begun = False

    @property
    def begun(self) -> bool:
        """True once the session was open."""
        return self._begun

    @property
    def locator(self) -> Locator:
        """Where this attempt stands. Raises `Refused` before anything was recorded."""
        if self._locator is None:
            raise Refused("this attempt has recorded nothing yet: begin or finish it first")
        return self._locator

    def began(self, start: Start, moment: Moment) -> None:
        """The session is open. Called again (a retry), the steps so far no longer count."""
        text = f'"start":{encode(start.json())}{self._seen(moment)}}}'
        if self._locator is None:
            self._attempt("," + text)
        else:
            self._current()
            self._writer.append_json('{"type":"began",' + text)
        self._begun = True

    def decided(self, number: int, decision: Decision) -> None:
        """Decision `number` was made; its raw reply is stored beside it."""
        self._current()
        text = encode(
            {
                "type": "decided",
                "number": number,
                "actions": [action_json(action) for action in decision.actions],
                "stop": decision.stop,
                "usd": decision.usd,
                "policy_s": decision.policy_s,
            }
        )
        if decision.raw is not None:
            text = f'{text[:-1]},"raw":{self._value(decision.raw, "raw reply")}}}'
        self._writer.append_json(text)

    def acting(self, t: int, step: Step) -> None:
        """Action `t` is about to run."""
        writer = self._writer
        if writer.attempt is not self:
            self._current()
        _, action, decision, gap_s = step
        gap = b',"gap_s":%a' % float(gap_s) if gap_s else b""
        if type(action) is Control:
            values = action.values
            line, packed = _control_line(action.dtype, len(values))
            writer.append_body(line % (t, decision, hexlify(packed(*values)), gap))
        else:
            text = encode(action_json(action)).encode("ascii")
            writer.append_body(_ACTING % (t, decision, text, gap))

    def acted(self, t: int, moment: Moment) -> None:
        """Action `t` has run; a moment that shows nothing leaves no line."""
        if moment.seen is UNSEEN and moment.probe is None:
            return
        seen = self._seen(moment)
        if seen:
            self._current()
            self._writer.append_json(f'{{"type":"acted","t":{t}{seen}}}')

    def finish(self, record: Mapping[str, Any]) -> None:
        """Write the end of the attempt with what became of it (plain data)."""
        text = encode(record)
        if self._locator is None:
            self._attempt("}")
        self._current()
        offset = self._writer.append_json('{"type":"end","record":' + text + "}")
        self._writer.attempt = None
        at = self.locator
        self._locator = Locator(at.segment, at.start, offset + len(text) + _END_BYTES)

    def _attempt(self, rest: str) -> None:
        """The first line. It holds the start too, so that no kill leaves one without the other."""
        offset = self._writer.append_json('{"type":"attempt","about":' + encode(self._about) + rest)
        self._locator = Locator(self._writer.name, offset)
        self._writer.attempt = self

    def _current(self) -> None:
        if self._writer.attempt is self:
            return
        if self._locator is None:
            raise Refused("an attempt is recorded from its beginning: call `began` first")
        raise Refused(
            f"the attempt at byte {self._locator.start} of segment {self._locator.segment} is over: "
            "record another with a new Recorder"
        )

    def _seen(self, moment: Moment) -> str:
        """The members that a moment adds to a line; empty if it shows nothing."""
        seen: Observation = moment.seen
        text = self._values("seen", ((name, seen[name]) for name in seen))
        if seen.ended:
            text += ',"ended":true'
        if seen.notes:
            text += ',"notes":' + _ascii(canonical_json(seen.notes, "notes"))
        if moment.probe is not None and self._see_probe:
            text += self._values("probe", moment.probe.items()) or ',"probe":{}'
        return text

    def _values(self, member: str, values: Iterable[tuple[str, Any]]) -> str:
        text = ",".join(f"{_quoted(name)}:{self._value(value, name)}" for name, value in values)
        return f',"{member}":{{{text}}}' if text else ""

    def _value(self, value: Any, where: str) -> str:
        """A digest, as text; a short plain value, as a list of one; a short array, as an object."""
        if isinstance(value, np.ndarray) and value.nbytes <= INLINE_ARRAY_BYTES:
            return f'{{"base64":"{b64encode(value_bytes(value)).decode()}"}}'
        if not isinstance(value, (np.ndarray, bytes, bytearray, memoryview)):
            short = canonical_json(value, where)
            if len(short) < INLINE_BYTES:
                return f"[{_ascii(short)}]"
        return f'"{self._writer.put(value)}"'


#: A finished line is its record and these bytes.
_END_BYTES = len('00000000 {"type":"end","record":}\n')

#: An `acting` line, to be filled in with t, decision, action and gap.
_ACTING = b'{"type":"acting","t":%d,"decision":%d,"action":%b%b}'

_quoted = json.encoder.encode_basestring_ascii


def _ascii(canonical: bytes) -> str:
    return canonical.decode() if canonical.isascii() else encode(json.loads(canonical))


@lru_cache(maxsize=64)
def _control_line(dtype: str, count: int) -> tuple[bytes, Callable[..., bytes]]:
    """`_ACTING` for a control of this shape, to be filled in with t, decision, packed values in
    hexadecimal and gap; and what packs the values.

    Written once per control step: `encode` would take three times as long, decimal digits twice.
    """
    action = b'{"kind":"control","dtype":"%b","packed":"%%b"}' % dtype.encode()
    return _ACTING.replace(b"%b", action, 1), Struct(f"<{count}{DTYPES[dtype]}").pack
