from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core import Refused
from clew.stats import Bootstrap, Table, pass_at_k, rate, success_at_k

PLAN = Bootstrap(1, draws=50)
#: Tables whose scenarios all have six attempts.
of_six = st.lists(
    st.lists(st.sampled_from([0, 1]), min_size=6, max_size=6), min_size=2, max_size=6
).map(lambda rows: Table({str(i): row for i, row in enumerate(rows)}))


def test_pass_at_k_of_a_hand_computed_case():
    # 1 − C(3, 2) / C(5, 2) = 0.7 for two passes in five; 1 − 0 for five in five.
    table = Table({"a": [1, 0, 0, 1, 0], "b": [1] * 5})
    assert pass_at_k(table, 2, PLAN).value == pytest.approx((0.7 + 1) / 2, abs=1e-15)


@given(of_six, st.integers(1, 6))
def test_pass_at_k_is_the_mean_over_all_choices_of_k_attempts(table, k):
    chances = [
        np.mean([any(chosen) for chosen in combinations(row, k)]) for row in table.outcomes.values()
    ]
    assert pass_at_k(table, k, PLAN).value == pytest.approx(np.mean(chances), abs=1e-12)


@given(st.integers(1, 2000), st.data())
def test_pass_at_k_is_the_published_product_for_large_numbers(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    # The numerically stable product of Chen et al. 2021, figure 3.
    published = 1.0 if n - c < k else 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))
    table = Table(dict.fromkeys("ab", [1] * c + [0] * (n - c)))
    assert pass_at_k(table, k, PLAN).value == pytest.approx(published, abs=1e-11)


@given(of_six)
def test_both_grow_with_k_from_the_rate(table):
    for figure in (pass_at_k, success_at_k):
        values = [figure(table, k, PLAN).value for k in range(1, 7)]
        assert values == sorted(values)
    assert pass_at_k(table, 1, PLAN).value == pytest.approx(rate(table, PLAN).value, abs=1e-15)


@given(of_six)
def test_both_are_the_same_when_every_attempt_is_used(table):
    assert pass_at_k(table, 6, PLAN).value == success_at_k(table, 6, PLAN).value


def test_success_at_k_looks_at_the_first_k_attempts_only():
    table = Table({"a": [0, 0, 1], "b": [0, 1, 1], "c": [1, 0, 0], "d": [0, 0, 1]})
    assert [success_at_k(table, k, PLAN).value for k in (1, 2, 3)] == [0.25, 0.5, 1]


@pytest.mark.parametrize("figure", [pass_at_k, success_at_k])
def test_too_few_attempts_no_k_and_partial_scores_are_refused(figure):
    table = Table({"a": [1, 0], "b": [1]})
    with pytest.raises(Refused, match="'b' has 1 attempts"):
        figure(table, 2, PLAN)
    with pytest.raises(Refused, match="k = 0"):
        figure(table, 0, PLAN)
    with pytest.raises(Refused, match="scores between 0 and 1"):
        figure(Table({"a": [0.5], "b": [1]}), 1, PLAN)
