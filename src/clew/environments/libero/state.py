"""The bytes of a LIBERO state: named numbers and arrays, never a pickle. Knows no simulator.

A digest, a JSON header with sorted names, then the bytes of the arrays in the same order. Equal
values give equal bytes, NaN and −0 included. The memory order of an array is kept: a product of
matrices has other last bits when one of them lies the other way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from clew.core import Refused

_MAGIC = b"clew libero state 1\n"
_DIGEST = 16


def encode(values: Mapping[str, Any]) -> bytes:
    """Bytes of None, booleans, numbers, text and arrays by name.

    Raises TypeError for anything else, so that a new kind of hidden state cannot be left out.
    """
    head, arrays = {}, []
    for name in sorted(values):
        value = values[name]
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            order: Literal["C", "F"] = "F" if value.flags.fnc else "C"
            head[name] = [value.dtype.str, order, *value.shape]
            arrays.append(value.tobytes(order))
        elif value is None or type(value) in (bool, int, float, str):
            head[name] = value
        else:
            raise TypeError(f"{name}: a {type(value).__name__} cannot be saved")
    text = json.dumps(head, separators=(",", ":")).encode()
    body = b"".join((text, b"\n", *arrays))
    return _MAGIC + _digest(body) + body


def decode(data: bytes) -> dict[str, Any]:
    """The values that `encode` wrote. Raises `Refused` for bytes that it did not write."""
    if not data.startswith(_MAGIC):
        raise Refused("this is not a saved LIBERO state (or one of another version of clew)")
    body = data[len(_MAGIC) + _DIGEST :]
    if data[len(_MAGIC) : len(_MAGIC) + _DIGEST] != _digest(body):
        raise Refused("the saved LIBERO state is damaged: its digest is another one")
    at = body.index(b"\n") + 1
    values = {}
    for name, described in json.loads(body[:at]).items():
        if isinstance(described, list):
            kind, order, *shape = described
            array: np.ndarray[Any, Any] = np.ndarray(shape, kind, body, at, order=order)
            at += array.nbytes
            values[name] = array.copy(order)
        else:
            values[name] = described
    return values


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()
