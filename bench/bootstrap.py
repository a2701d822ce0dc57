"""Paired cluster bootstrap of six policies and their fifteen pairs, against SciPy.

Data: 200 scenarios, 5 repeats, 10,000 draws, percentile intervals of 6 rates and 15 contrasts; the
scenarios come from about 90 trajectories, or each is its own. All three compute the same figures,
ratios of sums over resampled clusters:

- clew: `clew.stats.contrasts`, tables already built.
- SciPy, a call per figure: 21 calls of `scipy.stats.bootstrap(paired=True, vectorized=True)` on
  per-cluster sums. This is the documented use, for one figure at a time.
- SciPy, one call: the statistic gathers every policy's sums by resampled cluster number and returns
  all 21 figures at once, from one resample. This is the most that SciPy's interface allows.

The largest difference between clew's bounds and those of the one call is printed too; they see
the same random stream.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np
from scipy import stats

from clew.stats import Bootstrap, Table, contrasts

POLICIES, SCENARIOS, REPEATS, DRAWS, SEED, ROUNDS = 6, 200, 5, 10_000, 7, 9
PAIRS = list(combinations(range(POLICIES), 2))


def main() -> None:
    print(f"{'clusters':>8} {'':22}{'median ms':>10} {'ratio':>7}  largest difference of bounds")
    for trajectories in (100, None):
        compare(trajectories)


def compare(trajectories: int | None) -> None:
    rng = np.random.default_rng(1)
    names = [f"{i:03}" for i in range(SCENARIOS)]
    skill = rng.beta(1, 1, (SCENARIOS, 1, 1)) * 0.6 + np.linspace(0, 0.3, POLICIES)[:, None]
    passed = rng.random((SCENARIOS, POLICIES, REPEATS)) < skill
    tables = {f"p{j}": Table(dict(zip(names, passed[:, j]))) for j in range(POLICIES)}
    picks = (
        np.arange(SCENARIOS) if trajectories is None else rng.integers(trajectories, size=SCENARIOS)
    )
    labels = {name: f"{pick:03}" for name, pick in zip(names, picks)}
    plan = Bootstrap(SEED, labels, draws=DRAWS)

    used, place = np.unique(picks, return_inverse=True)
    sums = np.zeros((POLICIES, len(used)))
    np.add.at(sums.T, place, passed.mean(axis=2))
    sizes = np.bincount(place).astype(float)

    ways = {
        "clew": lambda: contrasts(tables, plan),
        "SciPy, call per figure": lambda: call_per_figure(sums, sizes),
        "SciPy, one call": lambda: one_call(sums, sizes),
    }
    spent = timed(ways)
    clew = contrasts(tables, plan)
    found = [*clew.rates.values(), *(pair.difference for pair in clew.pairs)]
    peer = one_call(sums, sizes)
    apart = max(
        np.abs(np.array([e.low for e in found]) - peer.low).max(),
        np.abs(np.array([e.high for e in found]) - peer.high).max(),
    )
    for way, ms in spent.items():
        ratio = f"{ms / spent['clew']:6.1f}x"
        print(
            f"{len(used):>8} {way:22}{ms:>10.1f} {ratio:>7}  {f'{apart:.0e}' if 'one' in way else ''}"
        )


def timed(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median milliseconds of each way, taken in turns so that all meet the same machine."""
    spent: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, run in ways.items():
            began = time.perf_counter()
            run()
            spent[way].append(time.perf_counter() - began)
    return {way: 1e3 * median(times) for way, times in spent.items()}


def call_per_figure(sums: np.ndarray, sizes: np.ndarray) -> list[object]:
    def mean(a: np.ndarray, m: np.ndarray, axis: int = -1) -> np.ndarray:
        return a.sum(axis=axis) / m.sum(axis=axis)

    def gap(a: np.ndarray, b: np.ndarray, m: np.ndarray, axis: int = -1) -> np.ndarray:
        return (a.sum(axis=axis) - b.sum(axis=axis)) / m.sum(axis=axis)

    rates = [scipy_bootstrap((row, sizes), mean) for row in sums]
    return rates + [scipy_bootstrap((sums[i], sums[j], sizes), gap) for i, j in PAIRS]


def one_call(sums: np.ndarray, sizes: np.ndarray) -> Any:
    left, right = np.array(PAIRS).T

    def figures(drawn: np.ndarray, axis: int = -1) -> np.ndarray:
        rates = sums[:, drawn].sum(axis=axis) / sizes[drawn].sum(axis=axis)
        return np.concatenate([rates, rates[left] - rates[right]])

    return scipy_bootstrap((np.arange(len(sizes)),), figures)


def scipy_bootstrap(data: tuple[np.ndarray, ...], statistic: Callable[..., np.ndarray]) -> Any:
    result = stats.bootstrap(
        data, statistic, paired=len(data) > 1, vectorized=True, method="percentile",
        n_resamples=DRAWS, rng=np.random.default_rng(SEED),
    )  # fmt: skip
    return result.confidence_interval


if __name__ == "__main__":
    main()
