"""Agreement between annotators on nominal labels. It judges no annotator and resolves nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from clew.core import Refused


@dataclass(frozen=True)
class Agreement:
    """How far `raters` annotators agree on `items` items.

    `pairwise` is the share of pairs of annotators, over all items, that gave the same label;
    `unanimous` the share of items on which all agree. `kappa` is Fleiss' κ, and NaN where it is
    undefined; `reason` then says why and is empty otherwise.
    """

    pairwise: float
    unanimous: float
    kappa: float
    reason: str
    items: int
    raters: int


def agreement(labels: Sequence[Sequence[str]]) -> Agreement:
    """Percent agreement and Fleiss' κ of `labels[item][rater]`.

    κ = (P − Pe) / (1 − Pe), P the pairwise agreement and Pe that of labels dealt at random in
    their observed shares. With a single label in use Pe = 1 and κ is undefined. Raises `Refused`
    for no items, fewer than two raters, items with unequal numbers of raters, or a missing label.
    Source: Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin
    76 (1971), 378–382.
    """
    if not labels:
        raise Refused("no items to agree on: give at least one with its labels")
    raters = len(labels[0])
    for number, given in enumerate(labels):
        if len(given) != raters:
            raise Refused(
                f"item {number} has {len(given)} labels and item 0 has {raters}: equal them"
            )
        if not all(isinstance(label, str) and label for label in given):
            raise Refused(f"item {number} has a label that is missing or not text: leave it out")
    if raters < 2:
        raise Refused(f"{raters} annotators per item: agreement needs at least two")

    counts = [Counter(given) for given in labels]
    agreeing = sum(n * (n - 1) for count in counts for n in count.values())
    pairwise = agreeing / (len(labels) * raters * (raters - 1))
    unanimous = sum(len(count) == 1 for count in counts) / len(labels)
    used = sum(counts, Counter[str]())
    if len(used) == 1:
        reason = f"only the label {next(iter(used))!r} was used: chance agreement is 1, κ undefined"
        return Agreement(pairwise, unanimous, math.nan, reason, len(labels), raters)
    chance = sum(n * n for n in used.values()) / (len(labels) * raters) ** 2
    kappa = (pairwise - chance) / (1 - chance)
    return Agreement(pairwise, unanimous, kappa, "", len(labels), raters)
