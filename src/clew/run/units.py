"""Units and results: what a run is asked for and what it accepts. Plain data; runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from clew.core import Cause, Outcome
from clew.core.canonical import canonical_json, digest


@dataclass(frozen=True)
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

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the identity, in hex, 32 characters."""
        identity = [self.function, self.environment, dict(self.arguments), list(self.inputs)]
        return digest(b"clew unit 1\n" + canonical_json(identity, "unit"))[:32]

    def message(self, inputs: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        """What a worker is told of this unit."""
        return {
            "unit": self.digest, "seed": self.seed, "function": self.function,
            "arguments": dict(self.arguments), "inputs": list(inputs), **more,
        }  # fmt: skip

    @cached_property
    def seed(self) -> int:
        """A seed in [0, 2^32) that belongs to this unit alone."""
        return int(self.digest[:8], 16)


@dataclass(frozen=True)
class Result:
    """What a worker says of a unit.

    `values` is the part that tables are made of: equal for equal units, whoever ran them. `about`
    holds what differs from run to run: where the attempt is stored, its snapshot, fingerprint,
    times, how often it was carried on.
    """

    unit: str
    outcome: Outcome
    values: Mapping[str, Any] = field(default_factory=dict)
    cause: Cause | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        return {
            "type": "result", "unit": self.unit, "outcome": self.outcome,
            "values": dict(self.values), "cause": self.cause.json() if self.cause else None,
            "about": dict(self.about),
        }  # fmt: skip

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Result:
        cause = Cause.of(data["cause"]) if data.get("cause") else None
        return cls(data["unit"], data["outcome"], data["values"], cause, data.get("about", {}))


def accepted(records: Iterable[Mapping[str, Any]]) -> dict[str, Result]:
    """The accepted result of each unit: a pure function of the log's order.

    The first result that is not void counts; until there is one, the last void does. A result
    whose snapshot was withdrawn anywhere in the log never counts.
    """
    records = list(records)
    withdrawn = {r["snapshot"] for r in records if r.get("type") == "withdrawn"}
    found: dict[str, Result] = {}
    for record in records:
        if record.get("type") != "result":
            continue
        if withdrawn and record.get("about", {}).get("snapshot") in withdrawn:
            continue
        known = found.get(record["unit"])
        if known is None or known.outcome == "void":
            found[record["unit"]] = Result.of(record)
    return found
