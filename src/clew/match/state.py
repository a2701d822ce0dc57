"""How far apart two probes are, in mm, rad and plain differences. It sets no limits."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.core import Evidence, Refused, value_digest

Probe = Mapping[str, Any]
Rows = npt.NDArray[np.float64]
#: What `clew.core.Moment` calls the parts of a physical world.
BODIES = {"bodies", "position_m", "quaternion_wxyz", "robot"}


def bodies_apart(ours: Probe, theirs: Probe) -> Evidence:
    """The farthest move (mm) and turn (rad) among the robot's bodies and among the others.

    Not the same only for bodies or channels on one side, for bodies without positions, and for
    what is not finite. Raises `Refused` for arrays that do not fit the names.
    """
    try:
        at, at_theirs = (_places(tuple(probe.get("bodies", ()))) for probe in (ours, theirs))
        belongs = {*ours.get("robot", ()), *theirs.get("robot", ())}
    except TypeError:
        raise Refused("probe has bodies or robot that are no lists of names: give names") from None
    names = [name for name in at if name in at_theirs]
    rungs: dict[str, float] = {}
    notes: dict[str, str] = {}
    faults: dict[str, str] = {}
    if len(names) < max(len(at), len(at_theirs)):
        lone = ", ".join(sorted(at.keys() ^ at_theirs.keys()))
        faults["state.bodies"] = f"{lone} on one side only"
    robot = np.array([name in belongs for name in names], dtype=bool)
    for channel, unit, apart in (
        ("position_m", "mm", _moved_mm), ("quaternion_wxyz", "rad", _turned_rad),
    ):  # fmt: skip
        p, q = (_rows(*side, channel, names) for side in ((ours, at), (theirs, at_theirs)))
        if p is None or q is None:
            if (p is None) != (q is None):
                faults[f"state.{channel}"] = "on one side only"
            elif names and channel == "position_m":
                faults["state.position_m"] = "of the bodies is on neither side"
            continue
        if not names:
            continue
        far = apart(p, q)
        worst = names[int(np.argmax(far))]
        if not np.isfinite(far).all():
            faults[f"state.{channel}"] = f"of {worst} is not a finite number"
            continue
        notes[f"state.worst_{unit}"] = worst
        for group, members in (("robot", robot), ("objects", ~robot)):
            if members.any():
                rungs[f"state.{group}_{unit}"] = float(far[members].max())
    return Evidence(not faults, rungs, {**notes, **faults})


def others_apart(ours: Probe, theirs: Probe) -> Evidence:
    """The largest absolute difference of each numeric array that is not about bodies.

    Anything else is equal (0) or a fault. Arrays without values are noted, and have no figure.
    """
    rungs: dict[str, float] = {}
    notes: dict[str, str] = {}
    faults: dict[str, str] = {}
    for name in sorted(({*ours} | {*theirs}) - BODIES):
        if name not in ours or name not in theirs:
            faults[f"state.{name}"] = "on one side only"
            continue
        a, b = _numbers(ours[name]), _numbers(theirs[name])
        if a is None or b is None:
            if value_digest(ours[name]) == value_digest(theirs[name]):
                rungs[f"state.{name}"] = 0.0
            else:
                faults[f"state.{name}"] = "differs"
            continue
        if a.shape != b.shape:
            faults[f"state.{name}"] = f"shape {a.shape} was recorded and {b.shape} reached"
            continue
        if not a.size:
            notes[f"state.{name}"] = "empty on both sides"
            continue
        if _equal(a, b):
            rungs[f"state.{name}"] = 0.0
            continue
        with np.errstate(invalid="ignore"):
            gap = np.abs(a.astype(np.float64) - b.astype(np.float64)).max()
        if gap == 0:
            gap = 1.0  # whole numbers too large to tell apart as floats
        if np.isfinite(gap):
            rungs[f"state.{name}"] = float(gap)
        else:
            faults[f"state.{name}"] = "not a finite number"
    return Evidence(not faults, rungs, {**notes, **faults})


def _numbers(value: Any) -> npt.NDArray[Any] | None:
    """The value as a numeric array, or None where it is anything else."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of unequal lengths
        return None
    return array if array.dtype.kind in "biuf" else None


@lru_cache(maxsize=64)
def _places(bodies: tuple[str, ...]) -> dict[str, int]:
    places: dict[str, int] = {}
    for i, name in enumerate(bodies):
        if not isinstance(name, str):
            raise Refused(f"probe has the body {name!r}: its name must be text")
        if name in places:
            raise Refused(f"probe names the body {name!r} twice: every name must stand once")
        places[name] = i
    return places


def _rows(probe: Probe, at: dict[str, int], channel: str, names: list[str]) -> Rows | None:
    """The rows of `names`, or None where the probe has no such channel."""
    if channel not in probe:
        return None
    try:
        rows = np.asarray(probe[channel], np.float64)
    except (TypeError, ValueError):
        raise Refused(f"probe has {channel} that is no array of numbers") from None
    shape = (len(at), 3 if channel == "position_m" else 4)
    if rows.shape != shape and not (rows.size == 0 and not at):
        raise Refused(f"probe has {channel} of shape {rows.shape}: for its bodies it is {shape}")
    return rows if names == list(at) else rows[[at[name] for name in names]]


def _equal(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    return np.array_equal(a, b) and bool(np.isfinite(a).all())


def _moved_mm(p: Rows, q: Rows) -> Rows:
    if _equal(p, q):  # the common case, and most of what a comparison would cost
        return np.zeros(len(p))
    with np.errstate(invalid="ignore"):
        return np.asarray(1e3 * np.linalg.norm(p - q, axis=1))


def _turned_rad(p: Rows, q: Rows) -> Rows:
    """The angle between unit quaternions; q and −q turn alike.

    By an arc tangent, exact for small angles, where an arc cosine ends at 1e-8.
    """
    if _equal(p, q):
        return np.zeros(len(p))
    with np.errstate(invalid="ignore"):
        p, q = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (p, q))
        one, other = np.linalg.norm(p - q, axis=1), np.linalg.norm(p + q, axis=1)
        return np.asarray(4 * np.arctan2(np.minimum(one, other), np.maximum(one, other)))
