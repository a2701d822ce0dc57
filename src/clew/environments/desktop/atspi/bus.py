"""A connection to a D-Bus bus that sends many calls and collects their replies. It reads no tree.

Bounded in every direction: at most `IN_FLIGHT` calls wait for a reply, a peer that stays silent
for `SILENCE_S` is asked nothing more until `forgive`, and a reply longer than `LONGEST` bytes is
dropped unread.
"""

from __future__ import annotations

import os
import re
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from clew.core import Refused
from clew.environments.desktop.atspi.wire import (
    ERROR,
    FIXED,
    RETURN,
    Call,
    Malformed,
    Received,
    decode,
    encode,
    sizes,
)

#: More calls in flight make GTK 3 applications answer slower, not faster.
IN_FLIGHT = 24
SILENCE_S = 1.5
LONGEST = 4 << 20
_UNREADABLE = "clew.Unreadable"
_A11Y = ("org.a11y.Bus", "/org/a11y/bus")


@dataclass(frozen=True, slots=True)
class Failure:
    """A call without a result. `kind` is `error` (the peer's, `detail` names it), `silent`
    (no answer in time), `late` (the deadline had passed) or `malformed`."""

    kind: str
    detail: str = ""


class Closed(ConnectionError):
    """The bus ended the connection: its daemon or its session is gone."""


class Bus:
    """One connection, used from one thread.

    `address` is a D-Bus address of a Unix socket. Raises `Refused` for any other, and
    `ConnectionError` or `TimeoutError` when nobody answers there.
    """

    def __init__(self, address: str) -> None:
        self._socket = _connected(address)
        self._received = bytearray()
        self._dropping = 0
        self._serial = 0
        self._silent: set[str] = set()
        hello = Call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello"
        )
        self.name = str(self.one(hello)[0])

    def one(self, call: Call) -> tuple[Any, ...]:
        """The result of one call. Raises `ConnectionError` where it has none."""
        reply = self.all([call])[0]
        if isinstance(reply, Failure):
            raise ConnectionError(
                f"{call.name} {call.path} {call.member}: {reply.kind} {reply.detail}".rstrip()
            )
        return reply

    def all(
        self, calls: Sequence[Call], deadline: float = float("inf")
    ) -> list[tuple[Any, ...] | Failure]:
        """The results of many calls, in their order; a call that has none has its `Failure`.

        `deadline` is on `time.monotonic`. Raises `Closed` when the bus is gone.
        """
        results: list[tuple[Any, ...] | Failure] = [Failure("late")] * len(calls)
        waiting: dict[int, int] = {}
        following = 0
        answered = time.monotonic()
        while (following < len(calls) or waiting) and (now := time.monotonic()) < deadline:
            burst = bytearray()
            while following < len(calls) and len(waiting) < IN_FLIGHT:
                if calls[following].name in self._silent:
                    results[following] = Failure("silent")
                else:
                    self._serial = self._serial % 0xFFFFFFFF + 1
                    waiting[self._serial] = following
                    burst += encode(calls[following], self._serial)
                following += 1
            if not waiting:
                continue
            self._send(burst)
            # Only answers count: anyone on the bus may send us other messages without end.
            for message in self._arrived(min(SILENCE_S + answered, deadline) - now):
                at = waiting.get(message.serial)
                if at is not None and _answers(message, calls[at]):
                    del waiting[message.serial]
                    results[at] = _result(message)
                    answered = time.monotonic()
            if waiting and time.monotonic() - answered >= SILENCE_S:
                self._silent.update(calls[at].name for at in waiting.values())
                for at in waiting.values():
                    results[at] = Failure("silent")
                waiting.clear()
                answered = time.monotonic()
        return results

    def silent(self, name: str) -> bool:
        """Whether the peer left a call without an answer since `forgive`."""
        return name in self._silent

    def forgive(self) -> None:
        """Ask those again that were silent."""
        self._silent.clear()

    def close(self) -> None:
        self._socket.close()

    def _send(self, burst: bytearray) -> None:
        try:
            self._socket.sendall(burst)
        except OSError as error:
            raise Closed(f"the accessibility bus is gone: {error}") from None

    def _arrived(self, patience_s: float) -> list[Received]:
        """The messages that are complete once something arrived, or after so many seconds."""
        if not select.select([self._socket], [], [], max(patience_s, 0.0))[0]:
            return []
        try:
            chunk = self._socket.recv(1 << 18)
        except OSError as error:
            raise Closed(f"the accessibility bus is gone: {error}") from None
        if not chunk:
            raise Closed("the accessibility bus is gone: it closed the connection")
        self._received += chunk
        try:
            return self._complete()
        except Malformed as error:
            raise Closed(f"the accessibility bus speaks no D-Bus: {error}") from None

    def _complete(self) -> list[Received]:
        messages: list[Received] = []
        data = self._received
        while True:
            if self._dropping:
                dropped = min(self._dropping, len(data))
                del data[:dropped]
                self._dropping -= dropped
            if self._dropping or len(data) < FIXED:
                return messages
            header, body = sizes(bytes(data[:FIXED]))
            if header > LONGEST:
                raise Closed("the accessibility bus sent a header without end")
            kept = header if header + body > LONGEST else header + body
            if len(data) < kept:
                return messages
            raw = bytes(data[:kept])
            del data[:kept]
            self._dropping = header + body - kept
            messages.append(_decoded(raw, header, not self._dropping))


def accessibility_bus(session_bus: Bus) -> str:
    """The address of the accessibility bus; starts it where it does not run yet."""
    return str(session_bus.one(Call(*_A11Y, "org.a11y.Bus", "GetAddress"))[0])


def enable(session_bus: Bus) -> None:
    """Say that somebody reads the accessibility tree, before any application starts.

    Qt and Chromium build no tree otherwise.
    """
    for switch in ("IsEnabled", "ScreenReaderEnabled"):
        arguments = ("org.a11y.Status", switch, ("b", True))
        session_bus.one(Call(*_A11Y, "org.freedesktop.DBus.Properties", "Set", "ssv", arguments))


def _connected(address: str) -> socket.socket:
    """A socket on which the bus accepted this process's user (SASL EXTERNAL)."""
    found = re.match(r"unix:(?:[^;]*,)?(path|abstract)=([^,;]+)", address)
    if found is None:
        raise Refused(f"D-Bus address {address!r} is not a Unix socket: give unix:path=…")
    path = unquote(found[2])
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(SILENCE_S)
        connection.connect("\0" + path if found[1] == "abstract" else path)
        connection.sendall(
            b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n"
        )
        answer = connection.recv(4096)
        if not answer.startswith(b"OK "):
            raise ConnectionError(
                f"the bus at {path} does not accept user {os.geteuid()}: {answer[:80]!r}"
            )
        connection.sendall(b"BEGIN\r\n")
    except BaseException:
        connection.close()
        raise
    connection.settimeout(10 * SILENCE_S)
    return connection


def _answers(message: Received, call: Call) -> bool:
    """Whether the message is the reply of the one who was called; others may claim to be."""
    asked_by_name = not call.name.startswith(":")
    sent_by_peer = asked_by_name or message.sender in (call.name, "org.freedesktop.DBus")
    return message.kind in (RETURN, ERROR) and sent_by_peer


def _result(message: Received) -> tuple[Any, ...] | Failure:
    if message.kind == RETURN:
        return message.body
    return Failure("malformed" if message.error == _UNREADABLE else "error", message.error)


def _decoded(raw: bytes, header: int, whole: bool) -> Received:
    """The message; one that is nonsense, or whose body was dropped, still answers its call."""
    try:
        message = decode(raw, header)
        if whole:
            return message
    except Malformed:
        message = decode(raw[:header], header)
    return message._replace(kind=ERROR, error=_UNREADABLE)
