"""Which scenarios are shown, and their recorded frames from the run's store. It renders nothing."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.core import Refused
from clew.report.png import png
from clew.run.folder import RunFolder
from clew.run.units import Result
from clew.store import Locator, Reader, load

MOST_FRAMES = 12
#: Of all images together, before base64 makes them a third larger.
MOST_BYTES = 1_200_000


@dataclass(frozen=True)
class Picture:
    """A scenario with its frame as a `data:` address, and the frame's size in pixels."""

    scenario: Mapping[str, Any]
    address: str
    width: int
    height: int


@dataclass(frozen=True)
class Gallery:
    """The pictures; how many chosen scenarios have no frame, or one too large for the page."""

    pictures: tuple[Picture, ...] = ()
    without: int = 0
    too_large: int = 0


def gallery(folder: RunFolder, scenarios: Sequence[Mapping[str, Any]]) -> Gallery:
    """The frames of at most `MOST_FRAMES` scenarios, spread over tasks and sources.

    Raises `Refused` where the run holds no result for a scenario, `Damaged` where its attempt
    cannot be read.
    """
    reader, results = Reader(folder.path), folder.accepted()
    pictures: list[Picture] = []
    without = too_large = used = 0
    for scenario in spread(scenarios, MOST_FRAMES):
        frame = _frame(reader, results, scenario)
        if frame is None:
            without += 1
            continue
        image = png(frame)
        if used + len(image) > MOST_BYTES:
            too_large += 1
            continue
        used += len(image)
        address = "data:image/png;base64," + base64.b64encode(image).decode("ascii")
        pictures.append(Picture(scenario, address, frame.shape[1], frame.shape[0]))
    return Gallery(tuple(pictures), without, too_large)


def spread(scenarios: Sequence[Mapping[str, Any]], most: int) -> list[Mapping[str, Any]]:
    """Up to `most` scenarios: each next one from the task and source least shown, test first."""
    left = list(scenarios)
    chosen: list[Mapping[str, Any]] = []
    shown: Counter[Any] = Counter()
    while left and len(chosen) < most:
        following = min(left, key=lambda s: (*(shown[k] for k in _kinds(s)), s["split"] != "test"))
        left.remove(following)
        chosen.append(following)
        shown.update(_kinds(following))
    return sorted(chosen, key=lambda s: (s["task"], s["source"], s["name"]))


def _kinds(scenario: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    task, source = scenario["task"], scenario["source"]
    return (task, source), ("task", task, None), ("source", source, None)


def _frame(reader: Reader, results: Mapping[str, Result], scenario: Mapping[str, Any]) -> Any:
    """The recorded frame, uint8 (H, W, 3), or None where none was looked at."""
    result = results.get(scenario["unit"])
    if result is None or "attempt" not in result.about:
        raise Refused(
            f"scenario {scenario['name']!r} names the unit {scenario['unit']}, of which this run"
            " holds no stored attempt: write the report from the folder that ran the study"
        )
    seen = load(reader, Locator.of(result.about["attempt"])).trajectory.last.seen
    if "frame" not in seen:
        return None
    return seen["frame"]
