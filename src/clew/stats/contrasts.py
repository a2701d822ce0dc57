"""Paired contrasts A − B between policies rated on the same scenarios. No multiplicity correction.

As in RoboRecover (appendices B and C.1): both policies' outcomes are resampled together, positive
values favour A, and intervals are not adjusted for the number of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np

from clew.stats.bootstrap import Bootstrap, Estimate
from clew.stats.table import Floats, Table, paired, shares

#: The conventional design: a 5 % two-sided test that finds the difference in 80 % of studies.
SIGNIFICANCE = 0.05
POWER = 0.80
#: A standard error of rates below this is the rounding of equal differences, not a spread.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Contrast:
    """Policy `a` minus policy `b`, in rate; positive favours `a`.

    `standard_error` is that of the paired difference. `detectable` is the smallest true difference
    that this many scenarios would show in 80 % of studies at 5 % two-sided,
    (z_{0.975} + z_{0.8}) × standard_error; it is NaN where the standard error is 0, because data
    without any spread say nothing about power.
    """

    a: str
    b: str
    difference: Estimate
    standard_error: float
    detectable: float


@dataclass(frozen=True)
class Contrasts:
    """Every policy's rate and every pair's contrast, from one common set of draws."""

    rates: Mapping[str, Estimate]
    pairs: tuple[Contrast, ...]


def contrast(a: Table, b: Table, bootstrap: Bootstrap) -> Contrast:
    """The paired contrast of `a` minus `b`, named A and B. Raises `Refused` as `contrasts` does."""
    return contrasts({"A": a, "B": b}, bootstrap).pairs[0]


def contrasts(policies: Mapping[str, Table], bootstrap: Bootstrap) -> Contrasts:
    """Rates of all policies and contrasts of all pairs, in the order of `policies`.

    Raises `Refused` where the policies are not rated on the same scenarios, or as
    `Bootstrap.blocks` does. Sources: of the detectable difference, Bloom, "Minimum detectable
    effects", Evaluation Review 19 (1995), 547–556; of its paired and clustered use for
    evaluations, Miller, "Adding error bars to evals", arXiv:2411.00640 (2024).
    """
    scenarios = paired(policies)
    rates, denominator = shares(list(policies.values()))
    left, right = np.triu_indices(len(policies), k=1)
    gaps = rates[:, left] - rates[:, right]
    sums, sizes = bootstrap.sums(scenarios, rates)
    drawn = np.hstack([sums, sums[:, left] - sums[:, right]]) / (sizes * denominator)
    values = np.hstack([rates, gaps]).sum(axis=0) / (len(scenarios) * denominator)
    estimates = bootstrap.estimates(scenarios, values.tolist(), drawn)
    errors = _standard_errors(scenarios, gaps / denominator, bootstrap)
    pairs = [
        Contrast(a, b, difference, error, _detectable(error))
        for (a, b), difference, error in zip(
            combinations(policies, 2), estimates[len(policies) :], errors
        )
    ]
    return Contrasts(dict(zip(policies, estimates)), tuple(pairs))


def _standard_errors(scenarios: tuple[str, ...], gaps: Floats, bootstrap: Bootstrap) -> list[float]:
    """Standard errors of the means of `gaps` (scenarios, k), by blocks that vary together.

    The linearised error of a ratio of sums; with scenarios as blocks it is s / √n.
    Source: Cochran, Sampling Techniques (3rd ed., 1977), chapters 6 and 9A.
    """
    blocks, block_of = bootstrap.blocks(scenarios)
    residuals = np.zeros((blocks, gaps.shape[1]))
    np.add.at(residuals, block_of, gaps - gaps.mean(axis=0))
    variance = (residuals**2).sum(axis=0) * blocks / (blocks - 1)
    errors: list[float] = (np.sqrt(variance) / len(scenarios)).tolist()
    return errors


def _detectable(standard_error: float) -> float:
    if standard_error < ROUNDING:
        return math.nan
    normal = NormalDist()
    return (normal.inv_cdf(1 - SIGNIFICANCE / 2) + normal.inv_cdf(POWER)) * standard_error
