"""Picks the recovery point of a failed attempt from its probes: an automatic annotator, ours.

The paper's annotators mark a stable deviation that persists into sustained failure (§4.3). Here:
the attempt failed; the point is the first moment after its last progress (the highest score that
it ever had) by which an object was really moved, and at which every object has been still for a
window of steps. An attempt that never touched anything has no such moment. Deviations that the
attempt itself repaired lie before its last progress, and so are never picked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Movements of a step up to this are settling and contact noise, in mm.
SETTLING_MM = 0.1


def movement_mm(probes: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
    """Largest movement of any body that is not the robot's, per step, shape (T,), in mm."""
    robot = set(probes[0].get("robot", ()))
    objects = [i for i, name in enumerate(probes[0]["bodies"]) if name not in robot]
    positions = np.stack([np.asarray(p["position_m"])[objects] for p in probes])
    if not objects:
        return np.zeros(len(probes) - 1)
    moved: NDArray[np.float64] = np.linalg.norm(np.diff(positions, axis=0), axis=2).max(1) * 1000
    return moved


def recovery_point(
    moved_mm: NDArray[np.float64],
    scores: Sequence[float],
    *,
    still_mm: float,
    moved_mm_least: float,
    window: int,
    earliest: int,
    latest: int,
) -> int | None:
    """The number of actions after which recovery starts, or None: no stable deviation.

    `moved_mm` has shape (T,), one figure per action; `scores` has T + 1, one per moment. Moved
    means that since the last progress the largest movements of any object, those over
    `SETTLING_MM` alone, add up to at least `moved_mm_least`; still, that those of the last
    `window` actions add up to less than `still_mm`.
    """
    progress = int(np.argmax(np.asarray(scores)))
    total = np.concatenate([[0.0], np.cumsum(moved_mm)])
    really = np.concatenate([[0.0], np.cumsum(np.where(moved_mm > SETTLING_MM, moved_mm, 0.0))])
    for t in range(max(progress + window, earliest, window), min(len(moved_mm), latest) + 1):
        still = total[t] - total[t - window] < still_mm
        if still and really[t] - really[progress] >= moved_mm_least:
            return t
    return None
