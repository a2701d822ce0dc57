"""The options of a desktop start, read and refused. They open nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clew.core import Refused, nearest
from clew.environments.desktop.display import DATE, Screen
from clew.environments.gui import Settle, settle_of

#: Its `timers_ms` covers the 250 ms after which GTK 3 presses a button that a key or an assistive
#: act is about to press (ACTIVATE_TIMEOUT of its gtkbutton.c); nothing moves until then, and its
#: file chooser does so twice in a row.
SETTLE = Settle()
DEFAULTS: Mapping[str, Any] = {
    "clock": "real", "screen": "1920x1080", "settle": SETTLE.json(),
    "date": "2026-01-15 10:00:00", "advance_ms": 1_000,
}  # fmt: skip
MIN_PX, MAX_PX = 320, 4096
_SCREEN = re.compile(r"([0-9]{1,5})x([0-9]{1,5})")


@dataclass(frozen=True)
class Options:
    """The size of the screen, the settle rule, and the wall clock that applications see: where it
    starts (UTC), and how far each act moves it."""

    screen: Screen
    settle: Settle
    date: str
    advance_ms: int


def filled(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options, the settle rule spelt out. Raises `Refused` as `options_of` does."""
    whole = {**DEFAULTS, **options}
    read = options_of(whole)
    return {**whole, "settle": read.settle.json()}


def options_of(options: Mapping[str, Any]) -> Options:
    """What a start's options mean. Raises `Refused` for an unknown one or a wrong value."""
    for name in options:
        if name not in DEFAULTS:
            raise Refused(f"desktop has no option {name!r}; {nearest(name, DEFAULTS)}")
    options = {**DEFAULTS, **options}
    if options["clock"] != "real":
        raise Refused(
            f"option clock is {options['clock']!r}: timers of a desktop run on the real clock, "
            "only the time of day is the session's own; it is always 'real'"
        )
    advance_ms = options["advance_ms"]
    if type(advance_ms) is not int or not 0 <= advance_ms <= 86_400_000:
        raise Refused(f"option advance_ms is {advance_ms!r}: a whole number from 0 to 86400000")
    return Options(
        _screen(options["screen"]), settle_of(options["settle"]), _date(options["date"]), advance_ms
    )


def _screen(option: Any) -> Screen:
    found = _SCREEN.fullmatch(option) if isinstance(option, str) else None
    sides = [int(side) for side in found.groups()] if found else []
    if not sides or not all(MIN_PX <= side <= MAX_PX for side in sides):
        raise Refused(
            f"option screen is {option!r}: it must be WIDTHxHEIGHT, each from {MIN_PX} to {MAX_PX}"
        )
    return Screen(*sides)


def _date(option: Any) -> str:
    try:
        return time.strftime(DATE, time.strptime(option, DATE))
    except (TypeError, ValueError):
        raise Refused(
            f"option date is {option!r}: it must be like '2026-01-15 10:00:00' (UTC)"
        ) from None
