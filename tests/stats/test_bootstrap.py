from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clew.core import Refused
from clew.stats import Bootstrap, Table, bootstrap, rate

from ._tables import in_clusters, outcomes, random_table


def test_the_scenario_bootstrap_is_scipys():
    table = random_table(1)
    peer = stats.bootstrap(
        (table.rates,), np.mean, vectorized=True, method="percentile",
        n_resamples=10_000, rng=np.random.default_rng(5),
    )  # fmt: skip
    found = rate(table, Bootstrap(5))
    assert (found.low, found.high) == pytest.approx(tuple(peer.confidence_interval), abs=1e-12)


def test_the_cluster_bootstrap_is_scipys_ratio_of_resampled_sums():
    table = random_table(2, scenarios=50)
    clusters = in_clusters(table, 3)
    place = np.arange(50) // 3
    sums, sizes = np.bincount(place, table.rates), np.bincount(place)

    def mean(drawn, axis):
        return sums[drawn].sum(axis=axis) / sizes[drawn].sum(axis=axis)

    peer = stats.bootstrap(
        (np.arange(17),), mean, vectorized=True, method="percentile",
        n_resamples=10_000, rng=np.random.default_rng(5),
    )  # fmt: skip
    found = rate(table, Bootstrap(5, clusters))
    assert (found.low, found.high) == pytest.approx(tuple(peer.confidence_interval), abs=1e-12)
    assert (found.n, found.blocks) == (50, 17)


def test_the_bounds_are_those_of_the_stated_confidence():
    table = random_table(1)
    peer = stats.bootstrap(
        (table.rates,), np.mean, vectorized=True, method="percentile", confidence_level=0.8,
        n_resamples=999, rng=np.random.default_rng(5),
    )  # fmt: skip
    found = rate(table, Bootstrap(5, draws=999, confidence=0.8))
    assert (found.low, found.high) == pytest.approx(tuple(peer.confidence_interval), abs=1e-12)


def test_the_rate_is_scenario_first_not_attempt_first():
    # (1/1 + 0/3) / 2 by hand; pooling the four attempts would say 1/4.
    assert rate(Table({"a": [1], "b": [0, 0, 0]}), Bootstrap(0)).value == 0.5


def test_every_estimate_carries_what_repeats_it():
    table = random_table(3)
    found = rate(table, Bootstrap(11, in_clusters(table, 4), draws=500, confidence=0.9))
    assert (found.seed, found.draws, found.confidence) == (11, 500, 0.9)
    assert found.method == "cluster bootstrap, percentile"


def test_the_bits_of_a_seed_are_these():
    # Computed by this code, equal under numpy 1.26 and 2.4, on the stream that SciPy sees above. A
    # numpy that draws otherwise would change every published interval, and must be noticed here.
    table = Table({f"{i:02}": [1] * (i % 4) + [0] * (1 + i % 5) for i in range(23)})
    found = rate(table, Bootstrap(7, draws=1000))
    assert (found.value, found.low, found.high) == (
        0.3053312629399586, 0.2156275879917184, 0.3931508799171843,
    )  # fmt: skip


def test_the_seed_is_really_used():
    table = random_table(4)
    seen = {(e.low, e.high) for e in (rate(table, Bootstrap(s, draws=501)) for s in range(20))}
    assert len(seen) > 10
    assert rate(table, Bootstrap(3)) == rate(table, Bootstrap(3))


def test_the_seed_of_a_generator_is_recorded_and_repeats_the_estimate():
    generator = np.random.default_rng(0)
    first, second = (rate(random_table(4), Bootstrap.drawn_from(generator)) for _ in range(2))
    assert first.seed != second.seed
    assert rate(random_table(4), Bootstrap(first.seed)) == first


def test_the_draws_do_not_depend_on_how_many_are_held_at_a_time(monkeypatch):
    table = random_table(5)
    whole = rate(table, Bootstrap(7))
    monkeypatch.setattr(bootstrap, "CHUNK", 777)
    assert rate(table, Bootstrap(7)) == whole


@given(outcomes, st.randoms(use_true_random=False))
def test_the_order_of_scenarios_and_attempts_changes_not_a_bit(data, order):
    shuffled = list(data.items())
    order.shuffle(shuffled)
    mixed = {name: random.Random(1).sample(row, len(row)) for name, row in shuffled}
    plan = Bootstrap(1, draws=50)
    assert rate(Table(mixed), plan) == rate(Table(data), plan)


@given(outcomes)
def test_estimates_are_probabilities_inside_ordered_bounds(data):
    found = rate(Table(data), Bootstrap(1, draws=50))
    assert 0 <= found.low <= found.high <= 1
    assert 0 <= found.value <= 1


@given(outcomes)
def test_clusters_of_one_scenario_are_the_scenario_bootstrap(data):
    clusters = {name: name for name in data}
    alone, each = (
        rate(Table(data), Bootstrap(1, draws=50)),
        rate(Table(data), Bootstrap(1, clusters, draws=50)),
    )
    assert replace(each, method=alone.method) == alone


def test_clusters_may_name_more_scenarios_than_a_table_has():
    table = random_table(6)
    clusters = in_clusters(table, 4)
    assert rate(table, Bootstrap(1, {**clusters, "other": "z"})) == rate(
        table, Bootstrap(1, clusters)
    )


def coverage(simulate, truth, runs=400, **plan):
    """The share of simulated tables whose interval holds the truth."""
    found = (rate(*simulate(np.random.default_rng([9, run]), plan)) for run in range(runs))
    return float(np.mean([e.low <= truth <= e.high for e in found]))


def independent(rng, plan):
    passed = rng.random((60, 5)) < rng.beta(2, 2, (60, 1))
    return Table({f"{i:03}": row for i, row in enumerate(passed)}), Bootstrap(1, draws=1000)


def in_trajectories(rng, plan):
    """Thirty trajectories of four scenarios that share their difficulty."""
    passed = rng.random((120, 5)) < rng.beta(1, 1, 30).repeat(4)[:, None]
    table = Table({f"{i:03}": row for i, row in enumerate(passed)})
    return table, Bootstrap(1, in_clusters(table, 4) if plan["clustered"] else None, draws=1000)


def test_the_scenario_interval_covers_the_truth_as_often_as_it_says():
    # 400 runs have a standard error of 1.1 points.
    assert 0.915 <= coverage(independent, 0.5) <= 0.98


def test_the_cluster_interval_covers_where_the_scenario_interval_is_too_sure():
    # 1,500 runs say 0.947 and 0.74; 400 and 100 have standard errors of 1.1 and 4.4 points.
    assert 0.91 <= coverage(in_trajectories, 0.5, clustered=True) <= 0.98
    assert coverage(in_trajectories, 0.5, clustered=False, runs=100) < 0.85


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": None}, "seed is None"),
        ({"seed": True}, "seed is True"),
        ({"seed": 1, "draws": 0}, "draws is 0"),
        ({"seed": 1, "confidence": 95}, "confidence is 95"),
    ],
)
def test_an_impossible_plan_is_refused(arguments, message):
    with pytest.raises(Refused, match=message):
        Bootstrap(**arguments)


def test_one_scenario_one_cluster_or_a_missing_cluster_is_refused():
    two = Table({"a": [1], "b": [0]})
    with pytest.raises(Refused, match="one scenario"):
        rate(two.only("a"), Bootstrap(1))
    with pytest.raises(Refused, match="one cluster"):
        rate(two, Bootstrap(1, {"a": "x", "b": "x"}))
    with pytest.raises(Refused, match="'b' has no cluster"):
        rate(two, Bootstrap(1, {"a": "x"}))
