"""Scripted policies for `unreliable`, whose true success rate is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.core import Brief, Channels, Control, Decision, Observation


@dataclass(frozen=True)
class Coin:
    """Succeeds with probability `rate` over seeds: then it counts up by one until the target;
    otherwise it dawdles up and down for its whole budget, so failures run longer."""

    rate: float = 0.5
    sees: Channels = frozenset({"vector"})

    def begin(self, brief: Brief) -> _Tossed:
        return _Tossed(bool(np.random.default_rng(brief.seed).random() < self.rate))


class _Tossed:
    def __init__(self, heads: bool) -> None:
        self._heads, self._turn = heads, 0

    def decide(self, seen: Observation) -> Decision:
        self._turn += 1
        up = self._heads or self._turn % 2
        return Decision((Control((1 if up else -1,), "int64"),), raw={"turn": self._turn})
