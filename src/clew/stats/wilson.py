"""The Wilson interval of one proportion of independent trials. Not for repeats within scenarios."""

from __future__ import annotations

import math
from statistics import NormalDist

from clew.core import Refused


def wilson(successes: float, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval (low, high) of a success probability, without continuity correction.

    `successes` may be a sum of shares, such as of scenarios' rates. No trials give (0, 1). Raises `Refused` unless 0 ≤ successes ≤ trials and 0 < confidence < 1.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference",
    JASA 22 (1927), 209–212.
    """
    if not 0 <= successes <= trials:
        raise Refused(f"{successes} successes in {trials} trials: give 0 <= successes <= trials")
    z = two_sided_z(confidence)
    if trials == 0:
        return 0.0, 1.0
    p, share = successes / trials, z * z / trials
    centre = (p + share / 2) / (1 + share)
    half = z / (1 + share) * math.sqrt(p * (1 - p) / trials + share / (4 * trials))
    # At the ends the exact bounds are 0 and 1; rounding would miss them by a bit.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return low, high


def two_sided_z(confidence: float) -> float:
    """The normal quantile at (1 + confidence) / 2. Raises `Refused` outside 0 < confidence < 1."""
    if not 0 < confidence < 1:
        raise Refused(f"confidence is {confidence}: give a number between 0 and 1, such as 0.95")
    return NormalDist().inv_cdf((1 + confidence) / 2)
