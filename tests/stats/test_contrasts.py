from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clew.core import Refused
from clew.stats import Bootstrap, Table, contrast, contrasts, rate

from ._tables import in_clusters, random_table

pairs = st.lists(
    st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([0, 1])), min_size=1, max_size=5),
    min_size=2, max_size=8,
).map(
    lambda rows: tuple(
        Table({f"{i}": [pair[side] for pair in row] for i, row in enumerate(rows)}) for side in (0, 1)
    )
)  # fmt: skip


def alike(seed: int, scenarios: int = 80) -> tuple[Table, Table]:
    """Two policies that find the same scenarios hard."""
    rng = np.random.default_rng(seed)
    skill = rng.beta(0.5, 0.5, (scenarios, 1))
    names = [f"{i:03}" for i in range(scenarios)]
    return tuple(Table(dict(zip(names, rng.random((scenarios, 5)) < skill))) for _ in range(2))


@pytest.mark.parametrize("clustered", [False, True])
def test_a_paired_contrast_is_scipys(clustered):
    a, b = alike(1)
    clusters = in_clusters(a, 3 if clustered else 1)
    place = np.unique([clusters[s] for s in a.scenarios], return_inverse=True)[1]
    sums_a, sums_b, sizes = (
        np.bincount(place, a.rates),
        np.bincount(place, b.rates),
        np.bincount(place),
    )

    def gap(x, y, m, axis):
        return (x.sum(axis=axis) - y.sum(axis=axis)) / m.sum(axis=axis)

    peer = stats.bootstrap(
        (sums_a, sums_b, sizes), gap, paired=True, vectorized=True, method="percentile",
        n_resamples=10_000, rng=np.random.default_rng(3),
    )  # fmt: skip
    found = contrast(a, b, Bootstrap(3, clusters)).difference
    assert (found.low, found.high) == pytest.approx(tuple(peer.confidence_interval), abs=1e-12)


def test_the_standard_error_is_that_of_the_paired_differences():
    a, b = alike(2)
    found = contrast(a, b, Bootstrap(3))
    assert found.standard_error == pytest.approx(stats.sem(a.rates - b.rates), rel=1e-12)


def test_the_clustered_standard_error_agrees_with_the_spread_of_the_draws():
    a, b = alike(2, scenarios=240)
    found = contrast(a, b, Bootstrap(3, in_clusters(a, 4)))
    # 60 clusters and percentiles read as ± 1.96 standard errors: within a tenth of each other.
    drawn = (found.difference.high - found.difference.low) / (2 * NormalDist().inv_cdf(0.975))
    assert found.standard_error == pytest.approx(drawn, rel=0.1)


def test_the_detectable_difference_is_2_80_standard_errors():
    found = contrast(*alike(2), Bootstrap(3))
    assert found.detectable / found.standard_error == pytest.approx(1.959964 + 0.841621, abs=1e-6)


def test_a_true_difference_of_that_size_is_found_in_four_of_five_studies():
    scenarios, width, runs = 60, 0.6, 400
    error = math.sqrt(2 * width**2 / 12 / scenarios)
    shift = (NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)) * error
    found = 0
    for run in range(runs):
        rng = np.random.default_rng([4, run])
        scores = 0.2 + width * rng.random((2, scenarios))
        a, b = (
            Table({f"{i:03}": [score] for i, score in enumerate(row)})
            for row in (scores[0] + shift, scores[1])
        )
        found += contrast(a, b, Bootstrap(run, draws=1000)).difference.low > 0
    # 400 runs have a standard error of 2 points.
    assert found / runs == pytest.approx(0.80, abs=0.07)


def test_an_unpaired_interval_on_paired_data_is_much_too_wide():
    a, b = alike(5)
    found = contrast(a, b, Bootstrap(1)).difference
    apart = rate(a, Bootstrap(1)), rate(b, Bootstrap(2))
    unpaired = math.hypot(*(e.high - e.low for e in apart))
    assert found.high - found.low < 0.6 * unpaired


@given(pairs)
def test_swapping_the_policies_flips_every_sign(tables):
    a, b = tables
    plan = Bootstrap(1, draws=50)
    there, back = contrast(a, b, plan), contrast(b, a, plan)
    assert there.difference.value == -back.difference.value
    assert there.difference.low == pytest.approx(-back.difference.high, abs=1e-15)
    assert there.standard_error == pytest.approx(back.standard_error, abs=1e-15)


@given(pairs)
def test_a_difference_is_that_of_the_rates(tables):
    found = contrasts(dict(zip("ab", tables)), Bootstrap(1, draws=50))
    a, b = found.rates.values()
    assert found.pairs[0].difference.value == pytest.approx(a.value - b.value, abs=1e-15)


def test_all_pairs_are_the_same_bits_as_each_alone():
    tables = {name: random_table(i, skill=0.3 + i / 10) for i, name in enumerate("pqrs")}
    plan = Bootstrap(1, in_clusters(tables["p"], 3))
    found = contrasts(tables, plan)
    assert [(c.a, c.b) for c in found.pairs] == [
        ("p", "q"), ("p", "r"), ("p", "s"), ("q", "r"), ("q", "s"), ("r", "s"),
    ]  # fmt: skip
    for pair in found.pairs:
        assert contrast(tables[pair.a], tables[pair.b], plan).difference == pair.difference
    assert found.rates == {name: rate(table, plan) for name, table in tables.items()}


def test_one_policy_has_a_rate_and_no_pairs():
    table = random_table(1)
    found = contrasts({"p": table}, Bootstrap(1))
    assert found.pairs == ()
    assert found.rates == {"p": rate(table, Bootstrap(1))}


def test_a_policy_against_itself_has_no_spread_and_so_no_power_to_state():
    table = random_table(1)
    found = contrast(table, table, Bootstrap(1))
    assert (found.difference.low, found.difference.high, found.standard_error) == (0, 0, 0)
    assert math.isnan(found.detectable)


def test_the_same_lead_everywhere_is_rounding_not_power():
    scores = {f"{i}": 0.1 + 0.07 * i for i in range(10)}
    a = Table({name: [score + 0.1] for name, score in scores.items()})
    b = Table({name: [score] for name, score in scores.items()})
    found = contrast(a, b, Bootstrap(1))
    assert found.standard_error == pytest.approx(0, abs=1e-15)
    assert math.isnan(found.detectable)


def test_repeats_may_differ_between_policies():
    a, b = Table({"s": [1, 0, 1], "t": [1]}), Table({"s": [0], "t": [1, 0]})
    # ((2/3 − 0) + (1 − 1/2)) / 2 by hand.
    assert contrast(a, b, Bootstrap(1)).difference.value == pytest.approx(7 / 12, abs=1e-15)


def test_unequal_scenarios_and_no_policies_are_refused():
    a, b = Table({"s": [1], "t": [0]}), Table({"s": [1], "u": [0]})
    with pytest.raises(Refused, match="'A' and 'B' are not rated on the same scenarios"):
        contrast(a, b, Bootstrap(1))
    with pytest.raises(Refused, match="no policies"):
        contrasts({}, Bootstrap(1))
