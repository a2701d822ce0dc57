"""How shares and differences are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.report.numbers import between, counted, interval, percent, points, said


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0.0%"), (1.0, "100.0%"), (0.8333, "83.3%"), (0.9996, ">99.9%"), (0.0004, "<0.1%"),
        (0.999, "99.9%"), (0.001, "0.1%"), (1 - 1e-12, "100.0%"), (-1e-12, "0.0%"), (None, "–"),
    ],
)  # fmt: skip
def test_a_share_is_percent_with_one_decimal(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("difference", "text"),
    [
        (0.0, "0.0"), (-0.0, "0.0"), (0.125, "+12.5"), (-0.3, "−30.0"), (1.0, "+100.0"),
        (-1.0, "−100.0"), (0.0004, "<+0.1"), (-0.0004, ">−0.1"), (0.9996, ">+99.9"),
        (-0.9996, "<−99.9"),
    ],
)  # fmt: skip
def test_a_difference_is_signed_percentage_points(difference, text):
    assert points(difference) == text


@given(st.integers(1, 10**6), st.data())
def test_nothing_is_rounded_to_a_certainty_that_it_is_not(trials, data):
    passed = data.draw(st.integers(0, trials))
    assert (percent(passed / trials) == "100.0%") == (passed == trials)
    assert (percent(passed / trials) == "0.0%") == (passed == 0)
    assert (points(passed / trials) == "+100.0") == (passed == trials)
    assert (points(-passed / trials) == "0.0") == (passed == 0)


@given(st.floats(0, 1))
def test_what_is_written_is_true_to_half_of_its_last_digit(share):
    text = percent(share)
    if text[0] == "<":
        assert share < 0.001
    elif text[0] == ">":
        assert share > 0.999
    else:
        assert abs(float(text[:-1]) / 100 - share) <= 0.0005 + 1e-9


def test_an_interval_keeps_the_rule_at_both_ends():
    assert between(0.0002, 0.9999) == "<0.1% to >99.9%"


def test_an_interval_without_width_is_wilsons_and_marked():
    alike = {"rate": 1.0, "low": 1.0, "high": 1.0, "wilson": [0.912, 1.0]}
    assert interval(alike) == (0.912, 1.0)
    assert said(alike) == "91.2% to 100.0% W"
    assert said({**alike, "low": 0.95}) == "95.0% to 100.0%"


def test_an_interval_without_width_and_without_wilsons_is_not_shown():
    alike = {"rate": 1.0, "low": 1.0, "high": 1.0}
    assert interval(alike) is None
    assert said(alike) == "no spread"


def test_nouns_follow_their_count():
    assert [counted(n, "policy", "policies") for n in (1, 2)] == ["1 policy", "2 policies"]
    assert counted(1234, "void") == "1,234 voids"
