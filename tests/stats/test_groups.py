from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from clew.core import Refused
from clew.stats import Bootstrap, Table, macro, rate

from ._tables import outcomes, random_table


def test_groups_weigh_alike_whatever_their_size():
    table = Table({"a": [1, 1], "b": [0, 0], "c": [0, 1], "d": [0, 0]})
    found = macro(table, {"a": "x", "b": "y", "c": "y", "d": "y"}, Bootstrap(1))
    # (1 + (0 + 1/2 + 0) / 3) / 2 by hand; the scenario-weighted rate is 3/8.
    assert found.mean.value == pytest.approx(7 / 12, abs=1e-15)
    assert found.rates == {"x": 1.0, "y": pytest.approx(1 / 6)}
    assert found.sizes == {"x": 1, "y": 3}
    assert found.name == "Macro-2"


def test_its_interval_is_scipys_with_empty_groups_left_out_of_a_draw():
    table = random_table(1, scenarios=30)
    number = np.array([0] * 2 + [1] * 8 + [2] * 20)
    groups = {name: f"g{g}" for name, g in zip(table.scenarios, number)}
    emptied = 0

    def statistic(drawn, axis):
        nonlocal emptied
        inside = number[drawn][None] == np.arange(3).reshape(3, *[1] * drawn.ndim)
        sizes = inside.sum(axis=-1)
        if drawn.ndim == 2:
            emptied = int((sizes == 0).any(axis=0).sum())
        with np.errstate(invalid="ignore"):
            return np.nanmean((inside * table.rates[drawn]).sum(axis=-1) / sizes, axis=0)

    peer = stats.bootstrap(
        (np.arange(30),), statistic, vectorized=True, method="percentile",
        n_resamples=10_000, rng=np.random.default_rng(5),
    )  # fmt: skip
    found = macro(table, groups, Bootstrap(5))
    assert (found.mean.low, found.mean.high) == pytest.approx(
        tuple(peer.confidence_interval), abs=1e-12
    )
    assert found.incomplete == emptied > 0


def test_the_expected_share_of_draws_empties_a_group_of_two():
    table = random_table(1, scenarios=200)
    groups = {name: "rare" if i < 2 else "rest" for i, name in enumerate(table.scenarios)}
    # (1 − 2/200)^200 = 0.134 of draws hold neither of the two.
    assert macro(table, groups, Bootstrap(1)).incomplete / 10_000 == pytest.approx(0.134, abs=0.015)


@given(outcomes)
def test_one_group_is_the_plain_rate(data):
    table, plan = Table(data), Bootstrap(1, draws=50)
    found = macro(table, dict.fromkeys(data, "all"), plan)
    assert found.mean == rate(table, plan)
    assert (found.name, found.incomplete) == ("Macro-1", 0)


@given(outcomes)
def test_macro_means_are_probabilities(data):
    groups = {name: "vowel" if name in "ae" else "other" for name in data}
    found = macro(Table(data), groups, Bootstrap(1, draws=50)).mean
    assert 0 <= found.low <= found.high <= 1
    assert 0 <= found.value <= 1


def test_a_scenario_without_a_group_is_refused():
    with pytest.raises(Refused, match="'b' has no group"):
        macro(Table({"a": [1], "b": [0]}), {"a": "x"}, Bootstrap(1))
