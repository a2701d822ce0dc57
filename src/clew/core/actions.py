"""The closed union of actions. Each is canonical from its construction: what is hashed is executed.

Taking a screenshot and stopping are not actions (they belong to a decision). Nothing here runs
anything; environments execute, and refuse the kinds that they do not know.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from clew.core.canonical import canonical_json, check_text
from clew.core.errors import Refused, nearest
from clew.core.keys import canonical_key

#: Element types of a control vector and their little-endian struct codes.
DTYPES: Mapping[str, str] = {
    "float16": "e", "float32": "f", "float64": "d", "uint8": "B",
    "int8": "b", "int16": "h", "int32": "i", "int64": "q",
}  # fmt: skip
BUTTONS = frozenset({"left", "middle", "right", "back", "forward"})
MODIFIERS = frozenset({"ctrl", "shift", "alt", "super"})
POINTER_VERBS = frozenset({"click", "move", "down", "up", "drag"})
KEYS_VERBS = frozenset({"press", "down", "up"})
ELEMENT_VERBS = frozenset({"press", "focus", "type", "set", "select", "expand"})
_SECRET = re.compile(r"\{secret:([A-Za-z0-9_.-]+)\}")


@dataclass(frozen=True, slots=True)
class Control:
    """A control vector.

    `values` are Python numbers, shape (n,), rounded once to `dtype` when constructed; −0 becomes
    +0. Raises `Refused` for a non-finite value, one that does not fit `dtype`, or no values.
    """

    values: tuple[float, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        code = DTYPES.get(self.dtype)
        if code is None:
            raise Refused(f"control dtype {self.dtype!r} is unknown; {nearest(self.dtype, DTYPES)}")
        values = self.values
        if hasattr(values, "tolist"):
            values = values.tolist()
        if not isinstance(values, (tuple, list)) or not values:
            raise Refused("a control vector needs at least one number, in one dimension")
        layout = f"<{len(values)}{code}"
        try:
            if code in "efd" and not all(map(math.isfinite, values)):
                raise Refused(f"control vector {list(values)} is not finite: it cannot be executed")
            rounded = struct.unpack(layout, struct.pack(layout, *values))
        except (struct.error, OverflowError, TypeError, ValueError):
            raise Refused(f"control vector {list(values)} does not fit {self.dtype}") from None
        if code in "efd":
            rounded = tuple([v + 0.0 for v in rounded])
        object.__setattr__(self, "values", rounded)

    def packed(self) -> bytes:
        """The little-endian bytes of the vector: what is hashed."""
        return struct.pack(f"<{len(self.values)}{DTYPES[self.dtype]}", *self.values)


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer act in screen pixels.

    `path` has one point (x, y) for `click`, `move`, `down`, `up` and at least two for `drag`.
    `count` is the number of clicks. `modifiers` are held meanwhile, sorted, each once.
    """

    verb: str
    path: tuple[tuple[int, int], ...]
    button: str = "left"
    count: int = 1
    modifiers: tuple[str, ...] = ()
    seat: str = ""

    def __post_init__(self) -> None:
        _member(self.verb, POINTER_VERBS, "pointer verb")
        _member(self.button, BUTTONS, "pointer button")
        points = tuple((_pixel(x), _pixel(y)) for x, y in self.path)
        if len(points) < (2 if self.verb == "drag" else 1):
            raise Refused(f"pointer {self.verb} has {len(points)} points: it needs more")
        if self.verb != "drag" and len(points) != 1:
            raise Refused(f"pointer {self.verb} has {len(points)} points: it takes one")
        if type(self.count) is not int or not 1 <= self.count <= 3:
            raise Refused(f"pointer count is {self.count!r}: it must be 1, 2 or 3")
        object.__setattr__(self, "path", points)
        object.__setattr__(self, "modifiers", _modifiers(self.modifiers))
        check_text(self.seat, "seat")


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys by their name (`enter`, `a`, `f5`, `ctrl`). `press` holds them together, in order.

    Names are those of `clew.core.keys`; its other spellings become them when constructed.
    """

    verb: str
    keys: tuple[str, ...]
    seat: str = ""

    def __post_init__(self) -> None:
        _member(self.verb, KEYS_VERBS, "keys verb")
        if isinstance(self.keys, str):
            raise Refused(f"keys {self.verb} takes a tuple of names, not the text {self.keys!r}")
        if not self.keys or not all(self.keys):
            raise Refused(f"keys {self.verb} names no key")
        object.__setattr__(self, "keys", tuple(canonical_key(k) for k in self.keys))


@dataclass(frozen=True, slots=True)
class Text:
    """Text to type, exactly; `{secret:NAME}` stands for a secret that is never recorded."""

    text: str
    seat: str = ""

    def __post_init__(self) -> None:
        check_text(self.text, "typed text")


@dataclass(frozen=True, slots=True)
class Scroll:
    """Wheel notches at (x, y) in pixels: `dx` > 0 to the right, `dy` > 0 downwards."""

    x: int
    y: int
    dx: int = 0
    dy: int = 0
    modifiers: tuple[str, ...] = ()
    seat: str = ""

    def __post_init__(self) -> None:
        for name in ("x", "y", "dx", "dy"):
            object.__setattr__(self, name, _pixel(getattr(self, name)))
        object.__setattr__(self, "modifiers", _modifiers(self.modifiers))


@dataclass(frozen=True, slots=True)
class Wait:
    """Let `ms` milliseconds pass on the environment's clock."""

    ms: int

    def __post_init__(self) -> None:
        if (
            isinstance(self.ms, bool)
            or not isinstance(self.ms, int)
            or not 0 <= self.ms <= 3_600_000
        ):
            raise Refused(f"wait of {self.ms!r} ms: it must be a whole number from 0 to 3600000")


@dataclass(frozen=True, slots=True)
class Element:
    """An act on a located element; what it resolved to is evidence, not key.

    `role` is a role class, `name` is compared normalised, `within` are names of ancestors (outer
    ones first) or of row and column headers. `press` activates, `focus` moves the focus there,
    `type` types `text` into it, `set` makes `text` its whole value, `select` chooses it, `expand`
    opens it. There is no index: one does not survive another implementation.
    """

    role: str
    name: str
    within: tuple[str, ...] = ()
    verb: str = "press"
    text: str = ""
    seat: str = ""

    def __post_init__(self) -> None:
        for name in ("role", "name", "text", "seat"):
            check_text(getattr(self, name), f"element {name}")
        _member(self.verb, ELEMENT_VERBS, "element verb")
        object.__setattr__(self, "within", tuple(check_text(w, "within") for w in self.within))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call. `arguments` is canonical JSON text of an object; see `Tool.call`."""

    name: str
    arguments: str = "{}"
    seat: str = ""

    def __post_init__(self) -> None:
        check_text(self.name, "tool name")
        try:
            data = json.loads(self.arguments)
        except (TypeError, ValueError) as error:  # for a mapping there is `Tool.call`
            raise Refused(f"arguments of tool {self.name!r} are not JSON: {error}") from None
        if not isinstance(data, dict):
            raise Refused(f"arguments of tool {self.name!r} are not a JSON object")
        text = canonical_json(data, f"arguments of tool {self.name!r}").decode()
        object.__setattr__(self, "arguments", text)

    @classmethod
    def call(cls, name: str, seat: str = "", **arguments: Any) -> Tool:
        return cls(name, canonical_json(arguments, f"arguments of tool {name!r}").decode(), seat)

    def parsed(self) -> dict[str, Any]:
        """The arguments as a dictionary."""
        return dict(json.loads(self.arguments))


Action = Control | Pointer | Keys | Text | Scroll | Wait | Element | Tool
KINDS: Mapping[str, type] = {
    kind.__name__.lower(): kind
    for kind in (Control, Pointer, Keys, Text, Scroll, Wait, Element, Tool)
}


def canonical(action: Action) -> bytes:
    """Type-tagged canonical bytes: what a key hashes and what a session receives."""
    if type(action) is Control:
        return b"control " + action.dtype.encode() + b"\n" + action.packed()
    return canonical_json(action_json(action))


def action_json(action: Action) -> dict[str, Any]:
    """The action as plain data with its kind under `kind`; `action_of` reads it back."""
    if type(action) is Control:
        return {"kind": "control", "values": list(action.values), "dtype": action.dtype}
    kind = type(action).__name__.lower()
    if KINDS.get(kind) is not type(action):
        raise Refused(f"{type(action).__name__} is not an action; {nearest(kind, KINDS)}")
    data: dict[str, Any] = {"kind": kind}
    for field in fields(action):
        data[field.name] = _listed(getattr(action, field.name))
    return data


def action_of(data: Any, where: str = "action") -> Action:
    """The action that `action_json` wrote. Raises `Refused`, naming `where` and the field.

    A control may have `packed` instead of `values`: its `Control.packed` in hexadecimal.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str):
        raise Refused(f"{where} is not an object with a 'kind'")
    kind = KINDS.get(data["kind"])
    if kind is None:
        raise Refused(f"{where} has the kind {data['kind']!r}; {nearest(data['kind'], KINDS)}")
    if kind is Control and "packed" in data:
        data = _unpacked(data, where)
    known = {field.name for field in fields(kind)}
    for name in data:
        if name != "kind" and name not in known:
            raise Refused(f"{where} has the field {name!r}; {nearest(name, known)}")
    try:
        action: Action = kind(**{n: _tupled(v) for n, v in data.items() if n != "kind"})
    except Refused as error:
        raise Refused(f"{where}: {error}") from None
    except (TypeError, ValueError) as error:
        raise Refused(f"{where} is not a {data['kind']} action: {error}") from None
    return action


def _unpacked(data: Mapping[str, Any], where: str) -> dict[str, Any]:
    layout = struct.Struct("<" + DTYPES.get(str(data.get("dtype", "float32")), "B"))
    try:
        values = [value for (value,) in layout.iter_unpack(bytes.fromhex(data["packed"]))]
    except (TypeError, ValueError, struct.error):
        raise Refused(f"{where} has no packed numbers of its dtype: {data['packed']!r}") from None
    return {**{name: data[name] for name in data if name != "packed"}, "values": values}


def secrets_in(action: Action) -> tuple[str, ...]:
    """Names of the secrets that an action refers to as `{secret:NAME}`."""
    text = action.text if isinstance(action, (Text, Element)) else ""
    text += action.arguments if isinstance(action, Tool) else ""
    return tuple(_SECRET.findall(text))


def reveal(text: str, secret: Callable[[str], str]) -> str:
    """`text` with each `{secret:NAME}` replaced, for the environment that types it; not recorded."""
    return _SECRET.sub(lambda found: secret(found.group(1)), text)


def _member(word: str, valid: Iterable[str], what: str) -> None:
    if word not in valid:
        raise Refused(f"{what} {word!r} is unknown; {nearest(word, valid)}")


def _modifiers(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        _member(name, MODIFIERS, "modifier")
    return tuple(sorted(set(names)))


def _pixel(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 1 << 20:
        raise Refused(f"coordinate {value!r} is not a whole number of pixels")
    return value


def _listed(value: Any) -> Any:
    return [_listed(v) for v in value] if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(_tupled(v) for v in value) if isinstance(value, list) else value
