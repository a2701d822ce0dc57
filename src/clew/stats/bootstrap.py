"""The scenario and the cluster bootstrap of means over scenarios. Percentile intervals only.

Everything that is resampled here is a sum over scenarios, or a ratio of such sums. One draw is
then a vector of counts, how often each scenario or cluster was drawn, and all draws are one
count matrix (multinomial) times the data: no loop over draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.core import Refused
from clew.stats.table import Floats, Table, shares
from clew.stats.wilson import two_sided_z

#: RoboRecover, appendix B.
DRAWS = 10_000
#: Multiply-adds in one product of counts and data. It bounds memory, and keeps the product in one
#: thread: where other work holds the cores, waiting for a second thread costs more than it saves.
CHUNK = 1 << 18


@dataclass(frozen=True)
class Estimate:
    """A figure and its interval, with all that is needed to compute it again.

    `value` is the point estimate, `low` and `high` the percentile bounds at `confidence`; `n` the
    number of scenarios, `blocks` the number of scenarios or clusters that `method` resampled.
    """

    value: float
    low: float
    high: float
    confidence: float
    method: str
    draws: int
    seed: int
    n: int
    blocks: int


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are drawn: the seed, and what is resampled together.

    `clusters` maps scenarios to the cluster they came from, such as their source trajectory;
    whole clusters are then resampled. Without it, scenarios are. It may name more scenarios than
    a table has. The same seed over the same scenarios gives the same draws, whatever is computed
    from them, so figures of one `Bootstrap` are paired.

    Raises `Refused` for a negative seed, fewer than one draw, or a confidence outside (0, 1).
    """

    seed: int
    clusters: Mapping[str, str] | None = None
    draws: int = DRAWS
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise Refused(f"bootstrap seed is {self.seed!r}: give a whole number >= 0")
        if self.draws < 1:
            raise Refused(f"bootstrap draws is {self.draws}: give at least 1")
        two_sided_z(self.confidence)

    @classmethod
    def drawn_from(
        cls, generator: np.random.Generator, clusters: Mapping[str, str] | None = None
    ) -> Bootstrap:
        """A bootstrap whose seed is the next number of `generator`; the seed alone repeats it."""
        return cls(int(generator.integers(1 << 63)), clusters)

    @property
    def method(self) -> str:
        """The name of the method, for tables."""
        return f"{'scenario' if self.clusters is None else 'cluster'} bootstrap, percentile"

    def blocks(self, scenarios: Sequence[str]) -> tuple[int, NDArray[np.intp]]:
        """The number of blocks to resample, and each scenario's block, shape (scenarios,).

        Raises `Refused` for fewer than two blocks, or a scenario that has no cluster.
        """
        if self.clusters is None:
            number, block_of = len(scenarios), np.arange(len(scenarios))
        else:
            for name in scenarios:
                if name not in self.clusters:
                    raise Refused(f"scenario {name!r} has no cluster: name one for every scenario")
            labels = sorted({self.clusters[name] for name in scenarios})
            place = {label: i for i, label in enumerate(labels)}
            number, block_of = len(labels), np.array([place[self.clusters[s]] for s in scenarios])
        if number < 2:
            kind = "scenario" if self.clusters is None else "cluster"
            raise Refused(f"a bootstrap of one {kind} has no spread to measure: give at least two")
        return number, block_of

    def totals(self, scenarios: Sequence[str], columns: Floats) -> Floats:
        """Each draw's sums of `columns` (scenarios, k) over the scenarios drawn: (draws, k)."""
        blocks, block_of = self.blocks(scenarios)
        data = np.zeros((blocks, columns.shape[1]))
        np.add.at(data, block_of, columns)
        rows = max(1, CHUNK // data.size)
        return np.concatenate([counts @ data for counts in self._counts(blocks, rows)])

    def _counts(self, blocks: int, rows: int) -> Iterator[Floats]:
        """The count matrix (draws, blocks), `rows` draws at a time; the draws do not depend on it."""
        rng = np.random.Generator(np.random.PCG64(self.seed))
        for first in range(0, self.draws, rows):
            size = min(rows, self.draws - first)
            # Counting where uniform picks fall is the multinomial, faster than drawing it.
            picks = rng.integers(blocks, size=(size, blocks))
            picks += np.arange(size)[:, None] * blocks
            counts = np.bincount(picks.ravel(), minlength=size * blocks)
            yield counts.reshape(size, blocks).astype(np.float64)

    def estimates(
        self, scenarios: Sequence[str], values: Sequence[float], drawn: Floats
    ) -> tuple[Estimate, ...]:
        """One estimate per point value and column of `drawn` (draws, k), by its percentiles."""
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail], axis=0).tolist()
        facts = (self.confidence, self.method, self.draws, self.seed)
        size = (len(scenarios), self.blocks(scenarios)[0])
        return tuple(Estimate(float(v), a, b, *facts, *size) for v, a, b in zip(values, low, high))

    def sums(self, scenarios: Sequence[str], columns: Floats) -> tuple[Floats, Floats]:
        """Each draw's sums of `columns`, (draws, k), and its number of scenarios, (draws, 1).

        A draw of clusters has a varying number of scenarios; its mean is the ratio of the two, so
        every scenario keeps the same weight.
        """
        totals = self.totals(scenarios, np.column_stack([columns, np.ones(len(columns))]))
        return totals[:, :-1], totals[:, -1:]

    def mean(self, scenarios: Sequence[str], column: Floats, denominator: float = 1.0) -> Estimate:
        """The mean over scenarios of `column` (scenarios, 1) / `denominator`."""
        sums, sizes = self.sums(scenarios, column)
        value = column.sum() / (len(column) * denominator)
        return self.estimates(scenarios, [value], sums / (sizes * denominator))[0]


def rate(table: Table, bootstrap: Bootstrap) -> Estimate:
    """The mean over scenarios of each scenario's rate over its attempts, with its interval.

    Scenario first, so a scenario with more attempts weighs no more. Raises `Refused` as
    `Bootstrap.blocks` does. Source: RoboRecover, appendix B (scenario-weighted "Overall RSR").
    """
    column, denominator = shares([table])
    return bootstrap.mean(table.scenarios, column, denominator)
