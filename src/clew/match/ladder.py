"""Is this state that state? Matchers that report every rung and decide by named limits.

What was not seen, is empty, is not a finite number, or is on one side only is never the same, and a
note names it. Where a moment carries a probe, pixels alone never suffice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clew.core import NOTHING, Channels, Evidence, Match, Moment, Refused, nearest, value_digest
from clew.match.changes import changes
from clew.match.ssim import TILE_PX, WINDOWS, Ssim
from clew.match.state import bodies_apart, others_apart
from clew.match.tree import tree_difference

#: ReTrace, appendix on recovery evaluation: "SSIM (Wang et al., 2004) with a threshold of 0.99".
RETRACE_SSIM = 0.99
#: RoboRecover §4.4, §A.2: robot and object positions deviate by less than 2 mm, SSIM above 0.99.
ROBORECOVER_MM, ROBORECOVER_SSIM = math.nextafter(2.0, 0.0), math.nextafter(0.99, 1.0)
#: Ours: RoboRecover's distance, and the turn that moves a point 0.1 m away by as much.
STATE_MM, STATE_RAD = 2.0, 0.02
#: Ours: where a probe names no bodies its other arrays decide, and replays agree to rounding.
STATE_OTHER = 1e-6
SCIKIT, WANG = Ssim(), Ssim("gaussian11", "population")


@dataclass(frozen=True)
class State:
    """All bodies of both probes within `limit_mm` and `limit_rad` (infinite: only reported)."""

    limit_mm: float = STATE_MM
    limit_rad: float = STATE_RAD
    sees: Channels = NOTHING

    def __call__(self, recorded: Moment, reached: Moment) -> Evidence:
        ours, theirs = recorded.probe, reached.probe
        if ours is None or theirs is None:
            return _missing("probe", ours is not None, theirs is not None)
        bodies, others = bodies_apart(ours, theirs), others_apart(ours, theirs)
        limits = {"mm": self.limit_mm, "rad": self.limit_rad}
        near = all(v <= limits[name.rpartition("_")[2]] for name, v in bodies.rungs.items())
        if not bodies.rungs:
            near = bool(others.rungs) and max(others.rungs.values()) <= STATE_OTHER
        return merged([Evidence(near), bodies, others])


@dataclass(frozen=True)
class Pixels:
    """Mean SSIM of `channel` of at least `at_least`, and `state` wherever either has a probe.

    `frame_needed` and `probe_needed` say what has to be there; the rest is compared if recorded,
    and a probe on one side only is a difference.
    """

    ssim: Ssim = SCIKIT
    at_least: float = RETRACE_SSIM
    channel: str = "frame"
    state: State = State()
    frame_needed: bool = True
    probe_needed: bool = False

    @property
    def sees(self) -> Channels:
        return frozenset({self.channel})

    def __call__(self, recorded: Moment, reached: Moment) -> Evidence:
        parts = []
        sides = self.channel in recorded.seen, self.channel in reached.seen
        if all(sides):
            pair = recorded.seen[self.channel], reached.seen[self.channel]
            parts.append(_frames(self.channel, *pair, self.ssim, self.at_least))
        elif self.frame_needed or sides[0]:
            parts.append(_missing(self.channel, *sides))
        if self.probe_needed or not (recorded.probe is None and reached.probe is None):
            parts.append(self.state(recorded, reached))
        if "tree" in recorded.seen and "tree" in reached.seen:
            parts.append(Evidence(True, Tree()(recorded, reached).rungs))
        return merged(parts)


@dataclass(frozen=True)
class Tree:
    """No node of the accessibility tree added, removed or changed."""

    sees: Channels = frozenset({"tree"})

    def __call__(self, recorded: Moment, reached: Moment) -> Evidence:
        sides = "tree" in recorded.seen, "tree" in reached.seen
        if not all(sides):
            return _missing("tree", *sides)
        ours, theirs = recorded.seen["tree"], reached.seen["tree"]
        found = vars(tree_difference(ours, theirs))
        rungs = {f"tree.{what}": float(count) for what, count in found.items()}
        if not (ours or theirs):
            return Evidence(False, rungs, {"tree": "without a node on both sides"})
        return Evidence(not any(rungs.values()), rungs)


@dataclass(frozen=True)
class Exact:
    """Every recorded channel and the whole probe bit for bit; other rungs say how far off it is.

    `sees` has to name the channels that were recorded.
    """

    sees: Channels = frozenset({"frame"})

    def __call__(self, recorded: Moment, reached: Moment) -> Evidence:
        channels = list(recorded.seen)
        parts = [
            _identical(name, recorded.seen[name], reached.seen[name])
            if name in reached.seen
            else _missing(name, True, False)
            for name in channels
        ]
        ours, theirs = recorded.probe, reached.probe
        if ours is not None and theirs is not None:
            parts += [bodies_apart(ours, theirs), others_apart(ours, theirs)]
            shared = sorted({*ours} & {*theirs})
            parts += [_identical(f"state.{name}", ours[name], theirs[name]) for name in shared]
            lone = sorted({*ours} ^ {*theirs})
            parts += [_missing(f"state.{name}", name in ours, name in theirs) for name in lone]
        elif not (ours is theirs is None and channels):
            parts.append(_missing("probe", ours is not None, theirs is not None))
        found = merged(parts)
        # Empty on both sides is alike, but where nothing else is there nothing was compared.
        return found if found.rungs else Evidence(False, {}, found.notes)


@dataclass(frozen=True)
class Unchecked:
    """Always the same, and says that nothing was compared."""

    sees: Channels = NOTHING

    def __call__(self, recorded: Moment, reached: Moment) -> Evidence:
        return Evidence(True, {}, {"unchecked": "nothing was compared"})


@dataclass(frozen=True)
class Both:
    """What all of `matches` say; see `both`."""

    matches: tuple[Match, ...]

    @property
    def sees(self) -> Channels:
        return NOTHING.union(*(match.sees for match in self.matches))

    def __call__(self, recorded: Moment, reached: Moment) -> Evidence:
        return merged([match(recorded, reached) for match in self.matches])


PRESETS: Mapping[str, Match] = {
    "retrace": Pixels(WANG, RETRACE_SSIM),
    "roborecover": Pixels(
        SCIKIT, ROBORECOVER_SSIM, state=State(ROBORECOVER_MM, math.inf),
        frame_needed=False, probe_needed=True,
    ),
    "exact": Exact(),
    "state": State(),
    "unchecked": Unchecked(),
}  # fmt: skip


def preset(name: str) -> Match:
    """The matcher of that name; raises `Refused` with the nearest name."""
    if name not in PRESETS:
        raise Refused(f"match preset {name!r} is unknown; {nearest(name, PRESETS)}")
    return PRESETS[name]


def both(*matches: Match) -> Both:
    """The matcher that is satisfied when all are; of two rungs of one name the later is kept."""
    if not matches:
        raise Refused("both() of no matchers compares nothing: name at least one")
    return Both(matches)


def compare(match: Match, recorded: Moment, reached: Moment) -> Evidence:
    """What `match` says; a matcher that only looked at channels is joined by `State`.

    So that also where `match` is not ours, pixels alone never suffice beside a recorded probe.
    """
    found = match(recorded, reached)
    looked_only = match.sees and not any(name.startswith("state.") for name in found.rungs)
    if looked_only and recorded.probe is not None:
        return merged([found, State()(recorded, reached)])
    return found


def merged(parts: Sequence[Evidence]) -> Evidence:
    """All rungs and notes of `parts`; the same where all are, and never for nothing."""
    rungs = {name: value for part in parts for name, value in part.rungs.items()}
    notes = {name: text for part in parts for name, text in part.notes.items()}
    if not rungs and not notes:
        notes = {"nothing": "neither moment holds anything to compare"}
    return Evidence(bool(parts) and all(part.same for part in parts), rungs, notes)


def _missing(what: str, recorded: bool, reached: bool) -> Evidence:
    sides = [side for side, has in (("recorded", recorded), ("reached", reached)) if not has]
    return Evidence(False, {}, {what: f"missing from the {' and the '.join(sides)} moment"})


def _identical(name: str, ours: Any, theirs: Any) -> Evidence:
    same = value_digest(ours) == value_digest(theirs)
    if same and isinstance(ours, np.ndarray) and not ours.size:
        return Evidence(True, {}, {name: f"empty on both sides, of shape {ours.shape}"})
    if isinstance(ours, np.ndarray) and ours.dtype.kind in "fc" and np.isnan(ours).any():
        return Evidence(False, {f"{name}.identical": float(same)}, {name: "not a number"})
    return Evidence(same, {f"{name}.identical": float(same)})


def _frames(name: str, ours: Any, theirs: Any, ssim: Ssim, at_least: float) -> Evidence:
    if np.shape(ours) != np.shape(theirs):
        note = f"shape {np.shape(ours)} was recorded and {np.shape(theirs)} reached"
        return Evidence(False, {f"{name}.identical": 0.0}, {name: note})
    if np.size(ours) == 0:
        return Evidence(False, {}, {name: f"without a pixel, of shape {np.shape(ours)}"})
    found = changes(ours, theirs)
    rungs = {
        f"{name}.identical": float(not found.rectangles),
        f"{name}.changed_rectangles": float(len(found.rectangles)),
        f"{name}.changed_fraction": found.fraction,
    }
    notes = {f"{name}.ssim": str(ssim)}
    if found.rectangles:
        notes[f"{name}.changed"] = "x {}, y {}, {} by {} px".format(*found.rectangles[0])
        if min(np.shape(ours)[:2]) < len(WINDOWS[ssim.window]):
            return Evidence(False, rungs, {**notes, name: "smaller than the SSIM window"})
    like = ssim.measure(ours, theirs)
    rungs |= {f"{name}.worst_tile": like.worst, f"{name}.ssim": like.mean}
    notes[f"{name}.worst_tile"] = "x {}, y {}, {} px".format(*like.worst_at, TILE_PX)
    return Evidence(like.mean >= at_least, rungs, notes)
