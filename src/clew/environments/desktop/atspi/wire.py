"""D-Bus messages as bytes and back, as far as reading an accessibility tree needs. It does no I/O.

Written out here because the tree of one window takes a thousand messages: a general D-Bus library
spends more time on their headers than the application on its answers. Format: the D-Bus
specification, "Message Protocol". What arrives was written by the application under test: it is
bounded, and what does not follow its own signature raises `Malformed`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

RETURN, ERROR = 2, 3
#: Bytes before a message's header fields.
FIXED = 16
_FIXED_TYPES = {
    "y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d",
}  # fmt: skip
_ALIGN = {"s": 4, "o": 4, "a": 4, "g": 1, "v": 1, "(": 8, "{": 8}
_Reader = Callable[[bytes, int, str], tuple[Any, int]]


class Malformed(ValueError):
    """Bytes that are not what their signature says."""


class Call(NamedTuple):
    """A method call: whom (bus name, object path), what (interface, member), and its arguments."""

    name: str
    path: str
    interface: str
    member: str
    signature: str = ""
    arguments: tuple[Any, ...] = ()


class Received(NamedTuple):
    """A message that arrived. `serial` is that of the call it answers, 0 for none."""

    kind: int
    serial: int
    sender: str
    body: tuple[Any, ...]
    error: str


def encode(call: Call, serial: int) -> bytes:
    """The call as a little-endian method-call message that may start its service."""
    body = bytearray()
    for code, argument in zip(call.signature, call.arguments, strict=True):
        _write(body, code, argument)
    head = bytearray(struct.pack("<cBBBIII", b"l", 1, 0, 1, len(body), serial, 0))
    for number, code, word in (
        (1, "o", call.path), (2, "s", call.interface), (3, "s", call.member), (6, "s", call.name),
        (8, "g", call.signature),
    ):  # fmt: skip
        if word:
            head += b"\0" * (-len(head) % 8)
            head.append(number)
            _write(head, "v", (code, word))
    struct.pack_into("<I", head, 12, len(head) - FIXED)
    head += b"\0" * (-len(head) % 8)
    return bytes(head + body)


def sizes(start: bytes) -> tuple[int, int]:
    """(bytes of the header with its padding, bytes of the body) from a message's first 16 bytes."""
    order = _order(start)
    body, _, fields = struct.unpack_from(order + "III", start, 4)
    return FIXED + fields + -fields % 8, body


def decode(message: bytes, header: int) -> Received:
    """The message whose header is `header` bytes long; without its body when that was left out."""
    order = _order(message)
    try:
        fields = dict(reader("a(yv)")(message[:header], 12, order)[0])
        signature = _text_field(fields, 8) if len(message) > header else ""
        body: list[Any] = []
        at = header
        for read in _readers(signature):
            value, at = read(message, at, order)
            body.append(value)
    except (struct.error, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise Malformed(f"a D-Bus message does not follow its signature: {error}") from None
    serial = fields.get(5, 0)
    return Received(
        message[1], serial if isinstance(serial, int) else 0, _text_field(fields, 7), tuple(body),
        _text_field(fields, 4),
    )  # fmt: skip


@lru_cache(maxsize=256)
def reader(signature: str) -> _Reader:
    """What reads one value of a complete type from (bytes, position, byte order)."""
    read, rest = _reader(signature)
    if rest:
        raise Malformed(f"signature {signature!r} is not one complete type")
    return read


@lru_cache(maxsize=256)
def _readers(signature: str) -> tuple[_Reader, ...]:
    found = []
    while signature:
        read, signature = _reader(signature)
        found.append(read)
    return tuple(found)


def _reader(signature: str) -> tuple[_Reader, str]:
    code, rest = signature[0], signature[1:]
    if code in _FIXED_TYPES:
        return _fixed(code), rest
    if code in "sog":
        return (_signature if code == "g" else _string), rest
    if code == "v":
        return _variant, rest
    if code == "a":
        align = _align(rest[0])
        item, rest = _reader(rest)
        return _array(item, align), rest
    if code in "({":
        items = []
        while rest[0] not in ")}":
            item, rest = _reader(rest)
            items.append(item)
        return _struct(tuple(items)), rest[1:]
    raise Malformed(f"type {code!r} is not known")


def _align(code: str) -> int:
    return _ALIGN.get(code) or struct.calcsize(_FIXED_TYPES[code])


def _fixed(code: str) -> _Reader:
    form = _FIXED_TYPES[code]
    size = struct.calcsize(form)
    packed = {order: struct.Struct(order + form) for order in "<>"}

    def read(data: bytes, at: int, order: str) -> tuple[Any, int]:
        at += -at % size
        value = packed[order].unpack_from(data, at)[0]
        return (value != 0 if code == "b" else value), at + size

    return read


def _string(data: bytes, at: int, order: str) -> tuple[Any, int]:
    at += -at % 4
    length = struct.unpack_from(order + "I", data, at)[0]
    return _text(data, at + 4, length), at + 5 + length


def _signature(data: bytes, at: int, order: str) -> tuple[Any, int]:
    return _text(data, at + 1, data[at]), at + 2 + data[at]


def _text(data: bytes, at: int, length: int) -> str:
    if at + length >= len(data):
        raise Malformed("a text ends after its message")
    return data[at : at + length].decode("utf-8", "replace")


def _variant(data: bytes, at: int, order: str) -> tuple[Any, int]:
    signature, at = _signature(data, at, order)
    return reader(signature)(data, at, order)


def _array(item: _Reader, align: int) -> _Reader:
    def read(data: bytes, at: int, order: str) -> tuple[Any, int]:
        at += -at % 4
        length = struct.unpack_from(order + "I", data, at)[0]
        at += 4
        at += -at % align
        end = at + length
        if end > len(data):
            raise Malformed("an array ends after its message")
        values = []
        while at < end:
            value, at = item(data, at, order)
            values.append(value)
        return values, at

    return read


def _struct(items: tuple[_Reader, ...]) -> _Reader:
    def read(data: bytes, at: int, order: str) -> tuple[Any, int]:
        at += -at % 8
        values = []
        for item in items:
            value, at = item(data, at, order)
            values.append(value)
        return tuple(values), at

    return read


def _write(out: bytearray, code: str, value: Any) -> None:
    if code in _FIXED_TYPES:
        form = "<" + _FIXED_TYPES[code]
        out += b"\0" * (-len(out) % struct.calcsize(form)) + struct.pack(form, value)
    elif code == "g":
        out += bytes([len(value)]) + value.encode() + b"\0"
    elif code == "v":
        _write(out, "g", value[0])
        _write(out, value[0], value[1])
    else:
        text = value.encode()
        out += b"\0" * (-len(out) % 4) + struct.pack("<I", len(text)) + text + b"\0"


def _text_field(fields: dict[int, Any], number: int) -> str:
    value = fields.get(number, "")
    return value if isinstance(value, str) else ""


def _order(message: bytes) -> str:
    if message[:1] not in (b"l", b"B"):
        raise Malformed("a D-Bus message starts with neither l nor B")
    return "<" if message[:1] == b"l" else ">"
