"""Outcome and cause: what became of an attempt, and whose doing it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Outcome = Literal["pass", "fail", "void"]
Party = Literal["policy", "candidate", "environment", "judge", "harness", "plan"]

#: Parties whose doing is never a void: what they break, they fail.
ANSWERABLE: frozenset[str] = frozenset({"policy", "candidate"})


@dataclass(frozen=True)
class Cause:
    """The party at fault, a short kind (`crash`, `deadline`, `diverged`, …), one line of detail."""

    party: Party
    kind: str
    detail: str = ""

    def json(self) -> dict[str, str]:
        return {"party": self.party, "kind": self.kind, "detail": self.detail}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Cause:
        return cls(data["party"], str(data["kind"]), str(data.get("detail", "")))


def outcome_of(cause: Cause) -> Outcome:
    """`fail` when the policy or the candidate is at fault, otherwise `void`."""
    return "fail" if cause.party in ANSWERABLE else "void"
