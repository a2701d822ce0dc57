"""When a screen counts as settled, and the loop that waits for it. It reads no screen itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from clew.core import Refused, nearest


@dataclass(frozen=True)
class Settle:
    """A settle rule; the start's option `settle` holds its fields as plain data.

    `quiet`: settled when nothing changed for `quiet_ms`, at most `cap_ms` after the act. Where it
    is known that an application waits for a timer of at most `timers_ms`, that is waited for too,
    and one behind it, until nothing changed for twice `timers_ms`: one that comes again and again
    holds up no longer.
    `fixed`: exactly `cap_ms`, whatever the screen does (the papers' rule: 10 s).
    """

    rule: str = "quiet"
    quiet_ms: int = 100
    cap_ms: int = 5_000
    timers_ms: int = 300

    def json(self) -> dict[str, Any]:
        return asdict(self)


#: `papers`: ReTrace waits ten seconds after every action.
PRESETS: Mapping[str, Settle] = {"quiet": Settle(), "papers": Settle("fixed", 0, 10_000, 0)}


def settle_of(option: Any) -> Settle:
    """The rule that a start's option names: a preset's name, or an object with its fields.

    Raises `Refused` for anything else.
    """
    if isinstance(option, str):
        if option not in PRESETS:
            raise Refused(f"settle preset {option!r} is unknown; {nearest(option, PRESETS)}")
        return PRESETS[option]
    if not isinstance(option, Mapping):
        raise Refused(
            f"settle is {option!r}: give a preset's name ({', '.join(PRESETS)}) or a table"
        )
    known = Settle.__dataclass_fields__
    for name in option:
        if name not in known:
            raise Refused(f"settle has the field {name!r}; {nearest(name, known)}")
    rule = Settle(**option)
    if rule.rule not in ("quiet", "fixed"):
        raise Refused(
            f"settle rule {rule.rule!r} is unknown; {nearest(rule.rule, ('quiet', 'fixed'))}"
        )
    for name in ("quiet_ms", "cap_ms", "timers_ms"):
        ms = getattr(rule, name)
        if type(ms) is not int or not 0 <= ms <= 600_000:
            raise Refused(f"settle {name} is {ms!r}: a whole number of milliseconds up to 600000")
    return rule


def settled(
    rule: Settle,
    changed: Callable[[], bool],
    busy: Callable[[], bool] = lambda: False,
    expected: Callable[[], bool] | None = None,
    at_least_ms: float = 0.0,
    due: Callable[[int], bool] = lambda _: False,
    poll_s: float = 0.008,
) -> dict[str, Any]:
    """Wait until the screen has settled after an act; returns why and when, as a step's notes.

    `changed` says whether the screen differs from the last time it was asked; `busy` names other
    work that must end first (requests in flight), and `due` tells whether a timer of at most so many
    ms is waited for. With `expected` the recorded frame must also
    show, as long as the cap allows: an extra condition, never a shortcut. `at_least_ms` is how long a
    replay waits in any case: the recorded settling time, times its pace. `reason` is `quiet`,
    `fixed`, `cap` (it never became quiet) or `unexpected` (quiet, but not on the recorded frame).
    """
    began = last_change = time.monotonic()
    changes = 0
    while True:
        now = time.monotonic()
        if changed():
            last_change, changes = now, changes + 1
        late = (now - began) * 1e3 >= rule.cap_ms
        still_ms = (now - last_change) * 1e3
        quiet = still_ms >= rule.quiet_ms and not busy() and (now - began) * 1e3 >= at_least_ms
        quiet = quiet and (still_ms >= 2 * rule.timers_ms or not due(rule.timers_ms))
        reason = ""
        if rule.rule == "fixed":
            reason = "fixed" if late else ""
        elif quiet and (expected is None or expected()):
            reason = "quiet"
        elif late:
            reason = "unexpected" if quiet else "cap"
        if reason:
            return {
                "reason": reason,
                "ms": round((now - began) * 1e3, 1),
                "last_change_ms": round((last_change - began) * 1e3, 1),
                "changes": changes,
            }
        time.sleep(poll_s)
