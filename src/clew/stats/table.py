"""The one input form of `clew.stats`: each scenario's scored attempts. It holds no voids.

A void has no value, so it cannot be in a table. `tabulate` turns outcomes into a table under a
rule for voids that its caller must name, and `void_rates` shows what each rule would have said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from clew.core import Outcome, Refused, nearest

Floats = NDArray[np.float64]
VoidRule = Literal["failed", "left_out", "passed"]


@dataclass(frozen=True)
class Table:
    """One policy's scored attempts: scenario → values in [0, 1], in the order they were made.

    Scenarios may have different numbers of attempts: a missing repeat is simply not there. They
    are kept sorted by name, so the order in which they came changes no result, not even a bit.
    `unrated` names scenarios that were scheduled and have no scored attempt.

    Raises `Refused` for no scenarios, a scenario without attempts, or a value that is not a
    number in [0, 1] (NaN included).
    """

    outcomes: Mapping[str, Sequence[float]]
    unrated: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.outcomes:
            raise Refused("a table has no scenarios: give at least one with its attempts")
        scored = {name: _scored(name, self.outcomes[name]) for name in sorted(self.outcomes)}
        object.__setattr__(self, "outcomes", MappingProxyType(scored))
        object.__setattr__(self, "unrated", tuple(sorted(self.unrated)))

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The names of the rated scenarios, sorted."""
        return tuple(self.outcomes)

    @cached_property
    def sums(self) -> Floats:
        """Each scenario's sum of values, shape (scenarios,)."""
        return np.array([math.fsum(values) for values in self.outcomes.values()])

    @cached_property
    def trials(self) -> NDArray[np.int64]:
        """Each scenario's number of attempts, shape (scenarios,)."""
        return np.array([len(values) for values in self.outcomes.values()], dtype=np.int64)

    @property
    def rates(self) -> Floats:
        """Each scenario's mean over its attempts, shape (scenarios,)."""
        return self.sums / self.trials

    def only(self, scenarios: Iterable[str]) -> Table:
        """The table of the named scenarios. Raises `Refused` for one that it does not rate."""
        names = tuple(scenarios)
        for name in names:
            if name not in self.outcomes:
                raise Refused(
                    f"scenario {name!r} is not among the {len(self.outcomes)} of the table: "
                    f"give names from Table.scenarios"
                )
        return Table({name: self.outcomes[name] for name in names})


def _scored(name: object, attempts: object) -> tuple[float, ...]:
    if not isinstance(name, str):
        raise Refused(f"scenario {name!r} is a {type(name).__name__}: name scenarios with text")
    if not isinstance(attempts, (Sequence, np.ndarray)):
        raise Refused(f"scenario {name!r} has {attempts!r} for attempts: give them as a list")
    if not len(attempts):
        raise Refused(f"scenario {name!r} has no attempts, so no rate: leave it out by name")
    return tuple(_value(name, number, value) for number, value in enumerate(attempts))


def _value(name: str, number: int, value: object) -> float:
    where = f"attempt {number} of scenario {name!r}"
    if not isinstance(value, (int, float, np.bool_, np.integer, np.floating)):
        raise Refused(f"{where} is {value!r}, not a number: read outcome words with `tabulate`")
    if math.isnan(value):
        raise Refused(f"{where} is NaN: say what it counts as, or leave the repeat out")
    if not 0 <= value <= 1:
        raise Refused(f"{where} is {value}: it must be in [0, 1]")
    return float(value)


def tabulate(outcomes: Mapping[str, Sequence[Outcome]], *, void: VoidRule) -> Table:
    """A table of `pass`, `fail` and `void` outcomes, scenario by scenario, in attempt order.

    `void` has no default: `failed` counts a void as 0, `passed` as 1, and `left_out` as no
    attempt; a scenario that has nothing but voids is then named in `Table.unrated`.
    Raises `Refused` for an unknown rule or outcome, or where nothing is left to rate.
    """
    if void not in get_args(VoidRule):
        raise Refused(f"void rule {void!r} is unknown; {nearest(void, get_args(VoidRule))}")
    worth = {"pass": 1.0, "fail": 0.0, "void": 1.0 if void == "passed" else 0.0}
    scored: dict[str, list[float]] = {}
    for name, words in outcomes.items():
        for number, word in enumerate(words):
            if word not in worth:
                raise Refused(
                    f"attempt {number} of scenario {name!r} is {word!r}; {nearest(word, worth)}"
                )
        scored[name] = [worth[w] for w in words if not (w == "void" and void == "left_out")]
    unrated = tuple(name for name, values in scored.items() if not values and outcomes[name])
    return Table({n: v for n, v in scored.items() if n not in unrated}, unrated)


@dataclass(frozen=True)
class VoidRates:
    """Pass rates over the scheduled units under each rule for voids.

    `failed` = passed / scheduled, `left_out` = passed / (passed + failed), `passed` =
    (passed + void) / scheduled. `left_out` is NaN where every unit is void.
    """

    failed: float
    left_out: float
    passed: float
    scheduled: int
    void: int


def void_rates(passed: int, failed: int, void: int) -> VoidRates:
    """All three readings of the voids among the scheduled units; print them together.

    Raises `Refused` for a negative count or no units. 2 passes, 4 fails and 2 voids are 25 %,
    33 % and 50 %: what the voids hide lies between the first and the last.
    """
    if min(passed, failed, void) < 0:
        raise Refused(f"counts {passed}, {failed}, {void}: passed, failed and void must be >= 0")
    scheduled, judged = passed + failed + void, passed + failed
    if not scheduled:
        raise Refused("no scheduled units: there is no rate to give")
    left_out = passed / judged if judged else math.nan
    return VoidRates(passed / scheduled, left_out, (passed + void) / scheduled, scheduled, void)


def paired(policies: Mapping[str, Table]) -> tuple[str, ...]:
    """The scenarios that all tables share, or `Refused` naming what one of them lacks."""
    if not policies:
        raise Refused("no policies: give at least one with its table")
    first, *others = policies
    scenarios = policies[first].scenarios
    for other in others:
        odd = sorted(set(scenarios) ^ set(policies[other].scenarios))
        if odd:
            raise Refused(
                f"policies {first!r} and {other!r} are not rated on the same scenarios "
                f"({len(odd)} differ, the first is {odd[0]!r}): pair them with Table.only"
            )
    return scenarios


def shares(tables: Sequence[Table]) -> tuple[Floats, float]:
    """Scenario rates as numerators over one denominator; shape (scenarios, tables).

    For whole successes the numerators are whole numbers, so every sum of them is exact: no
    result depends on the order of addition, the CPU or the linear-algebra library.
    """
    denominator = math.lcm(*{int(t) for table in tables for t in table.trials})
    whole = all(np.array_equal(table.sums, np.rint(table.sums)) for table in tables)
    # The largest sum that a bootstrap can form must stay below 2**53, where float64 is exact.
    if whole and denominator * len(tables[0].scenarios) ** 2 < 1 << 53:
        columns = [table.sums * (denominator // table.trials) for table in tables]
        return np.column_stack(columns), float(denominator)
    return np.column_stack([table.rates for table in tables]), 1.0
