"""Units and results: what a run is asked for and what it accepts. Plain data; runs nothing."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clew.core import Cause, Outcome
from clew.core.canonical import canonical_json, digest
from clew.store.lines import encode

_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Unit:
    """One piece of work with one accepted result.

    `function` is `module:name` of a function `(bench, arguments, inputs) -> values` that the
    worker imports; `environment` names whose interpreter runs it; `arguments` is plain JSON data;
    `inputs` are digests of units whose accepted results it is given, in order. These four are its
    identity. `affinity` groups units that share cheap state (a snapshot), `fresh` asks for a new
    process: neither is identity.
    """

    function: str
    environment: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    affinity: str = ""
    fresh: bool = False
    _digest: str = field(default="", init=False, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the identity, in hex, 32 characters."""
        if not self._digest:
            identity = [self.function, self.environment, self.arguments, self.inputs]
            known = digest(b"clew unit 1\n" + canonical_json(identity, "unit"))[:32]
            object.__setattr__(self, "_digest", known)
        return self._digest

    def message(self, inputs: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        """What a worker is told of this unit."""
        return {
            "unit": self.digest, "seed": self.seed, "function": self.function,
            "arguments": dict(self.arguments), "inputs": list(inputs), **more,
        }  # fmt: skip

    @property
    def seed(self) -> int:
        """A seed in [0, 2^32) that belongs to this unit alone."""
        return int(self.digest[:8], 16)


class Result:
    """What a worker says of a unit; not to be changed.

    `values` is the part that tables are made of: equal for equal units, whoever ran them. `about`
    holds what differs from run to run: where the attempt is stored, its snapshot, fingerprint,
    times, how often it was carried on. A driver holds very many: each is kept as its JSON, a few
    hundred bytes, and what it says is parsed when it is asked for.
    """

    __slots__ = ("_json", "outcome", "unit")

    def __init__(
        self,
        unit: str,
        outcome: Outcome,
        values: Mapping[str, Any] = _NOTHING,
        cause: Cause | None = None,
        about: Mapping[str, Any] = _NOTHING,
    ) -> None:
        data = {
            "type": "result", "unit": unit, "outcome": outcome, "values": dict(values),
            "cause": cause.json() if cause else None, "about": dict(about),
        }  # fmt: skip
        self.unit, self.outcome = unit, outcome
        self._json = encode(data).encode()

    @classmethod
    def of(cls, data: Mapping[str, Any], body: bytes | None = None) -> Result:
        """The result that `json` gave; `body` are the bytes of that, if they are at hand."""
        result = cls.__new__(cls)
        result.unit, result.outcome = data["unit"], data["outcome"]
        result._json = encode(data).encode() if body is None else body
        return result

    @property
    def values(self) -> Mapping[str, Any]:
        values: Mapping[str, Any] = self.json()["values"]
        return values

    @property
    def about(self) -> Mapping[str, Any]:
        about: Mapping[str, Any] = self.json()["about"]
        return about

    @property
    def cause(self) -> Cause | None:
        cause = self.json()["cause"]
        return Cause.of(cause) if cause else None

    def json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self._json)
        return data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self.json() == other.json()

    def __repr__(self) -> str:
        return f"Result({self._json.decode()})"


def accepted(results: Iterable[Result], withdrawn: Collection[str] = ()) -> dict[str, Result]:
    """The accepted result of each unit: a pure function of the log's order.

    The first result that is not void counts; until there is one, the last void does. A result
    whose snapshot was withdrawn, anywhere in the log, never counts.
    """
    found: dict[str, Result] = {}
    for result in results:
        if withdrawn and result.about.get("snapshot") in withdrawn:
            continue
        known = found.get(result.unit)
        if known is None or known.outcome == "void":
            found[result.unit] = result
    return found
