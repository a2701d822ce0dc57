from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core import Refused
from clew.stats import agreement

#: Ten subjects, fourteen raters, five categories: the worked example of the article "Fleiss'
#: kappa" in Wikipedia, with P = 0.378, Pe = 0.213 and κ = 0.210.
WORKED = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip

items = st.lists(st.tuples(*[st.sampled_from("xyz")] * 3), min_size=1, max_size=8)


def test_the_worked_example():
    found = agreement([[c for c, n in zip("abcde", row) for _ in range(n)] for row in WORKED])
    assert found.pairwise == pytest.approx(0.378, abs=5e-4)
    assert found.kappa == pytest.approx(0.210, abs=5e-4)
    assert found.unanimous == 0.1
    assert (found.items, found.raters, found.reason) == (10, 14, "")


def test_pairwise_and_unanimous_are_two_different_percentages():
    found = agreement(["AAA", "AAB"])
    # Three and one of three pairs by hand.
    assert (found.pairwise, found.unanimous) == (pytest.approx(4 / 6), 0.5)


@given(items)
def test_pairwise_counts_agreeing_pairs(labels):
    agreeing = [a == b for row in labels for a, b in combinations(row, 2)]
    assert agreement(labels).pairwise == pytest.approx(sum(agreeing) / len(agreeing))


@given(items, st.randoms(use_true_random=False))
def test_neither_order_nor_who_said_it_matters(labels, order):
    mixed = [order.sample(row, len(row)) for row in order.sample(labels, len(labels))]
    assert repr(agreement(mixed)) == repr(agreement(labels))


def test_perfect_agreement_on_two_labels_is_one():
    assert agreement(["AA", "BB"]).kappa == 1


def test_with_one_label_in_use_kappa_is_undefined_not_one():
    found = agreement(["AAA", "AAA"])
    assert math.isnan(found.kappa)
    assert "only the label 'A' was used" in found.reason
    assert (found.pairwise, found.unanimous) == (1, 1)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "no items"),
        (["A", "B"], "at least two"),
        (["AA", "AAB"], "item 1 has 3 labels"),
        ([["A", None]], "item 0 has a label that is missing"),
        ([["A", ""]], "item 0 has a label that is missing"),
    ],
)
def test_what_cannot_be_compared_is_refused(labels, message):
    with pytest.raises(Refused, match=message):
        agreement(labels)
