"""Figures of several attempts at one scenario: pass@k and Success@K. They differ: see each."""

from __future__ import annotations

from math import comb

import numpy as np

from clew.core import Refused
from clew.stats.bootstrap import Bootstrap, Estimate
from clew.stats.table import Table


def pass_at_k(table: Table, k: int, bootstrap: Bootstrap) -> Estimate:
    """The chance that k attempts hold a success, unbiased, as a mean over scenarios.

    From all n attempts of a scenario, c of them passed: 1 − C(n−c, k) / C(n, k), in whole numbers
    and so without rounding. The order of attempts does not matter. Raises `Refused` for a
    scenario with fewer than k attempts, scores other than 0 and 1, or as `Bootstrap.blocks` does.
    Source: Chen et al., "Evaluating large language models trained on code", arXiv:2107.03374
    (2021), equation 1.
    """
    _check(table, k, "pass@k")
    attempts = zip(table.trials.tolist(), table.sums.astype(int).tolist())
    chances = [(comb(n, k) - comb(n - c, k)) / comb(n, k) for n, c in attempts]
    return bootstrap.mean(table.scenarios, np.array(chances)[:, None])


def success_at_k(table: Table, k: int, bootstrap: Bootstrap) -> Estimate:
    """The share of scenarios with at least one success among their *first* k attempts.

    Later attempts are not looked at. Raises `Refused` as `pass_at_k` does. Source: ReTrace,
    "Success@K measures whether at least one of the K successfully reconstructed continuations
    from the same recovery state completes the task"; attempts that were never reconstructed are
    voids there and left out (`tabulate(…, void="left_out")`).
    """
    _check(table, k, "Success@K")
    found = [max(values[:k]) for values in table.outcomes.values()]
    return bootstrap.mean(table.scenarios, np.array(found)[:, None])


def _check(table: Table, k: int, what: str) -> None:
    if k < 1:
        raise Refused(f"{what} with k = {k}: give a whole number >= 1")
    for name, values in table.outcomes.items():
        if len(values) < k:
            raise Refused(f"scenario {name!r} has {len(values)} attempts: {what} needs k = {k}")
        if not {0.0, 1.0}.issuperset(values):
            raise Refused(f"scenario {name!r} has scores between 0 and 1: {what} needs 0 or 1")
