"""Macro means: the plain mean of group rates, whatever the groups' sizes. Not a weighted rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clew.core import Refused
from clew.stats.bootstrap import Bootstrap, Estimate
from clew.stats.table import Table, shares


@dataclass(frozen=True)
class Macro:
    """The mean of k group rates. `name` carries k, because two macro means of unequal k differ.

    `rates` and `sizes` (scenarios) are by group, sorted. `incomplete` is the number of draws that
    left at least one group empty; the mean of such a draw is over its other groups.
    """

    mean: Estimate
    rates: Mapping[str, float]
    sizes: Mapping[str, int]
    incomplete: int

    @property
    def name(self) -> str:
        return f"Macro-{len(self.rates)}"


def macro(table: Table, groups: Mapping[str, str], bootstrap: Bootstrap) -> Macro:
    """The plain mean over groups of each group's mean scenario rate, with its interval.

    `groups` maps scenarios to their group, such as `Approach–Wrong Pose`; k counts the groups
    that the table's scenarios occupy. Raises `Refused` for a scenario without a group, or as
    `Bootstrap.blocks` does. Source: RoboRecover, appendix B ("Macro-9").
    """
    scenarios = table.scenarios
    for name in scenarios:
        if name not in groups:
            raise Refused(f"scenario {name!r} has no group: name one for every scenario")
    labels = sorted({groups[name] for name in scenarios})
    member = np.array([[groups[s] == label for label in labels] for s in scenarios], dtype=float)
    columns, denominator = shares([table])
    sizes = member.sum(axis=0)
    rates = (member * columns).sum(axis=0) / (sizes * denominator)

    totals = bootstrap.totals(scenarios, np.hstack([member * columns, member]))
    drawn_sums, drawn_sizes = totals[:, : len(labels)], totals[:, len(labels) :]
    occupied = drawn_sizes > 0
    # An empty group has the sum 0, so dividing by 1 keeps it out of the mean below.
    drawn_rates = drawn_sums / (np.where(occupied, drawn_sizes, 1) * denominator)
    drawn = drawn_rates.sum(axis=1, keepdims=True) / occupied.sum(axis=1, keepdims=True)
    mean = bootstrap.estimates(scenarios, [rates.mean()], drawn)[0]
    return Macro(
        mean,
        dict(zip(labels, rates.tolist())),
        dict(zip(labels, sizes.astype(int).tolist())),
        int((~occupied).any(axis=1).sum()),
    )
