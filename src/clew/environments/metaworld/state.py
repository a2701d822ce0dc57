"""The bytes of a Meta-World state: plain values and arrays, never a pickle. Knows no simulator.

A JSON header with sorted keys describes a dictionary; the bytes of its arrays follow it in the
same order. Equal values give equal bytes, NaN and −0 included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from clew.core import Refused

_MAGIC = b"clew metaworld state 1\n"


class Live:
    """Stands for an array that lies in the simulator's own memory: its content is not ours."""


LIVE = Live()


def encode(values: Mapping[str, Any]) -> bytes:
    """Bytes of a dictionary of None, numbers, text, arrays, and lists, tuples or dicts of them.

    Raises TypeError for anything else, so that a new kind of hidden state cannot be left out.
    """
    arrays: list[bytes] = []
    head = {name: _described(values[name], arrays) for name in sorted(values)}
    text = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    return b"".join((_MAGIC, text, b"\n", *arrays))


def decode(data: bytes) -> dict[str, Any]:
    """The dictionary that `encode` wrote. Raises `Refused` for bytes that it did not write."""
    if not data.startswith(_MAGIC):
        raise Refused("this is not a saved Meta-World state (or one of another version of clew)")
    head, _, body = data[len(_MAGIC) :].partition(b"\n")
    reader = _Reader(body)
    try:
        values = {name: reader.value(each) for name, each in json.loads(head).items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused(f"the saved Meta-World state is damaged: {error}") from None
    if reader.at != len(body):
        raise Refused(f"the saved Meta-World state has {len(body) - reader.at} bytes too many")
    return values


def _described(value: Any, arrays: list[bytes]) -> Any:
    """`value` as JSON data; array bytes are appended in the order in which they are met."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise TypeError("an array of Python objects cannot be saved")
        arrays.append(array.tobytes())
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: [array.dtype.str, *array.shape]}
    if isinstance(value, Live):
        return {"live": None}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_described(item, arrays) for item in value]}
    if isinstance(value, dict):
        return {"dict": {name: _described(value[name], arrays) for name in sorted(value)}}
    raise TypeError(f"a {type(value).__name__} cannot be saved")


class _Reader:
    """Reads described values back, taking array bytes from `body` in order."""

    def __init__(self, body: bytes) -> None:
        self._body, self.at = body, 0

    def value(self, described: Any) -> Any:
        if not isinstance(described, dict):
            return described
        ((kind, what),) = described.items()
        if kind == "array":
            return self._array(what).copy()
        if kind == "scalar":
            return self._array(what)[()]
        if kind == "live":
            return LIVE
        if kind in ("list", "tuple"):
            items = [self.value(item) for item in what]
            return items if kind == "list" else tuple(items)
        if kind == "dict":
            return {name: self.value(item) for name, item in what.items()}
        raise ValueError(f"unknown kind {kind!r}")

    def _array(self, what: list[Any]) -> np.ndarray[Any, Any]:
        """A read-only view into `body`; numpy refuses (TypeError, ValueError) what is too short."""
        array: np.ndarray[Any, Any] = np.ndarray(what[1:], _dtype(what[0]), self._body, self.at)
        self.at += array.nbytes
        return array


@lru_cache(maxsize=32)
def _dtype(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.hasobject:
        raise ValueError(f"dtype {name!r}")
    return dtype
