"""How numbers are written: one decimal, and never rounded to a certainty that they are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Shares nearer to 0 or 1 than this are 0 or 1: what adding floats leaves behind.
NOISE = 1e-9
MISSING = "–"


def percent(share: float | None) -> str:
    """A share in [0, 1] as percent with one decimal; None is a dash.

    Only 1 is written 100.0% and only 0 is written 0.0%: what would round to them is written
    >99.9% or <0.1%.
    """
    if share is None:
        return MISSING
    text = f"{share:.1%}"
    if text == "100.0%" and share < 1 - NOISE:
        return ">99.9%"
    if text == "0.0%" and share > NOISE:
        return "<0.1%"
    return text.replace("-0.0%", "0.0%")


def points(difference: float) -> str:
    """A difference of shares in [−1, 1] as percentage points, signed, under the same rule."""
    if abs(difference) < NOISE:
        return "0.0"
    sign = "+" if difference > 0 else "−"
    size = abs(difference) * 100
    if f"{size:.1f}" == "0.0":
        return f"<{sign}0.1" if difference > 0 else f">{sign}0.1"
    if f"{size:.1f}" == "100.0" and abs(difference) < 1 - NOISE:
        return f">{sign}99.9" if difference > 0 else f"<{sign}99.9"
    return f"{sign}{size:.1f}"


def between(low: float, high: float) -> str:
    """An interval of shares."""
    return f"{percent(low)} to {percent(high)}"


def interval(estimate: Mapping[str, Any]) -> tuple[float, float] | None:
    """The bootstrap's interval, or Wilson's where all scenarios are alike and it has no width.

    None where there is neither: an interval without width would look like certainty.
    """
    if estimate["low"] < estimate["high"]:
        return estimate["low"], estimate["high"]
    if "wilson" not in estimate:
        return None
    low, high = estimate["wilson"]
    return low, high


def said(estimate: Mapping[str, Any]) -> str:
    """`interval` in words; W marks Wilson's."""
    found = interval(estimate)
    if found is None:
        return "no spread"
    return between(*found) + ("" if estimate["low"] < estimate["high"] else " W")


def counted(number: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 void`, `3 voids`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
