"""Canonical bytes and digests: equal values give equal bytes on every machine and Python.

JSON with sorted keys, no spaces, UTF-8; −0 becomes +0; non-finite numbers, lone surrogates and
keys that are not text are refused. Floats print as their shortest round-trip (`repr`), which is
the same from Python 3.10 on. Arrays are never turned into JSON: they are digested by dtype,
shape and little-endian bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clew.core.errors import Refused


def _encoder() -> Callable[[Any], str]:
    """`JSONEncoder.encode`, which sets up the C encoder anew for each call, with that done once."""
    slow = json.JSONEncoder(
        sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return slow.encode
    text_of = json.encoder.encode_basestring
    pieces = make(None, slow.default, text_of, None, ":", ",", True, False, False)
    return lambda value: "".join(pieces(value, 0))


_encode = _encoder()
_ATOMS = frozenset({str, int, float, bool, type(None)})
_NEGATIVE_ZERO = re.compile(r"-0\.0(?!\d)")


def plain(value: Any, where: str = "value") -> Any:
    """`value` as plain JSON data (dict, list, str, int, float, bool, None), or `Refused`.

    Tuples become lists and numpy scalars become Python numbers. `where` names the place in the
    message, for instance `options.clock`.
    """
    try:
        try:
            return _built_in(value)
        except ValueError:
            return _named(value, where)
    except RecursionError:
        raise Refused(f"{where} is nested too deeply to be recorded") from None


def _built_in(value: Any) -> Any:
    """The common case, fast: built-in types and ASCII text alone, otherwise `ValueError`."""
    kind = type(value)
    if kind is dict:
        for name in value:
            if type(name) is not str or not name.isascii():
                raise ValueError
        return {name: _built_in(each) for name, each in value.items()}
    if (kind is str and value.isascii()) or kind is int or kind is bool or value is None:
        return value
    if kind is list or kind is tuple:
        return [_built_in(each) for each in value]
    if kind is float and math.isfinite(value):
        return value + 0.0
    raise ValueError


def _named(value: Any, where: str) -> Any:
    """Every case; what cannot be recorded is refused by the name of its place."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(str.__str__(value), where)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Refused(f"{where} is {value}: only finite numbers can be recorded")
        return value + 0.0
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise Refused(f"{where} has the key {name!r}: keys must be text")
        return {check_text(n, where): _named(v, f"{where}.{n}") for n, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_named(v, f"{where}[{i}]") for i, v in enumerate(value)]
    kind = type(value).__name__
    raise Refused(f"{where} is a {kind}: only plain JSON data can be recorded")


def check_text(text: str, where: str = "text") -> str:
    """`text` unchanged, or `Refused` if it holds a lone surrogate (it has no UTF-8 form)."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused(
            f"{where} holds a lone surrogate at position {error.start}: it cannot be encoded"
        ) from None
    return text


def canonical_json(value: Any, where: str = "value") -> bytes:
    """The canonical bytes of plain data. Raises `Refused` as `plain` does."""
    try:
        # Of built-in types the encoder alone makes the same bytes, but for a -0.0.
        if _is_built_in(value) and not _NEGATIVE_ZERO.search(text := _encode(value)):
            return text.encode("utf-8")
    except (ValueError, RecursionError):
        pass  # not finite, a lone surrogate, or too deep: `plain` names its place
    return _encode(plain(value, where)).encode("utf-8")


def _is_built_in(value: Any) -> bool:
    """Whether it is made of built-in types alone, no subclass among them, with text as keys."""
    kind = type(value)
    if kind is dict:
        for name in value:
            if type(name) is not str:
                return False
        value = value.values()
    elif kind is not list and kind is not tuple:
        return kind in _ATOMS
    for each in value:  # noqa: SIM110 - a generator takes longer than what it looks at
        if type(each) not in _ATOMS and not _is_built_in(each):
            return False
    return True


def digest(data: bytes) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def value_bytes(value: Any) -> bytes:
    """Tagged bytes of one channel value: an array, bytes, text or plain data."""
    if isinstance(value, np.ndarray):
        array = np.ascontiguousarray(value)
        if array.dtype.hasobject:
            raise Refused("an array of Python objects cannot be recorded")
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        head = f"array {little.dtype.str} {','.join(map(str, value.shape))}\n"
        return head.encode() + little.tobytes()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b"bytes\n" + bytes(value)
    return b"json\n" + canonical_json(value)


def bytes_value(data: bytes) -> Any:
    """The inverse of `value_bytes`. Raises `Refused` on bytes that it did not write."""
    head, _, body = data.partition(b"\n")
    words = head.split(b" ")
    try:
        if words[0] == b"json":
            return json.loads(body)
        if words[0] == b"bytes":
            return body
        if words[0] == b"array":
            dtype = np.dtype(words[1].decode())
            if dtype.hasobject:
                raise ValueError("object dtype")
            shape = tuple(int(n) for n in words[2].split(b",") if n)
            return np.frombuffer(body, dtype=dtype).reshape(shape)
    except (ValueError, TypeError, IndexError, RecursionError) as error:
        raise Refused(f"a stored value cannot be read: {error}") from None
    raise Refused(f"a stored value starts with {head[:20]!r}, which no version of clew writes")


def value_digest(value: Any) -> str:
    """The content address of one channel value."""
    return digest(value_bytes(value))
