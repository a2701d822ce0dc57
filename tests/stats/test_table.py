from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core import Refused
from clew.stats import Bootstrap, Table, contrast, rate, tabulate, void_rates

TWO_OF_EIGHT = {
    "a": ["pass", "fail", "void", "fail"],
    "b": ["pass", "void", "fail", "fail"],
}


def test_a_scenario_rate_is_over_its_own_attempts():
    table = Table({"b": [1, 0, 0, 0], "a": [True, False]})
    assert table.scenarios == ("a", "b")
    assert table.rates.tolist() == [0.5, 0.25]
    assert table.trials.tolist() == [2, 4]


def test_rows_of_an_array_are_attempts():
    table = Table(dict(zip("ab", np.array([[True, False], [True, True]]))))
    assert table.outcomes == {"a": (1.0, 0.0), "b": (1.0, 1.0)}


def test_a_table_does_not_change():
    given_outcomes = {"a": [1, 0]}
    table = Table(given_outcomes)
    given_outcomes["a"].append(1)
    assert table.outcomes == {"a": (1.0, 0.0)}
    with pytest.raises(TypeError):
        table.outcomes["a"] = (1.0,)


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ({}, "no scenarios"),
        ({"a": []}, "scenario 'a' has no attempts"),
        ({"a": [1], "b": [0, math.nan]}, "attempt 1 of scenario 'b' is NaN"),
        ({"a": [0, None]}, "attempt 1 of scenario 'a' is None"),
        ({"a": ["pass"]}, "`tabulate`"),
        ({"a": [2]}, r"must be in \[0, 1\]"),
        ({"a": [-0.1]}, r"must be in \[0, 1\]"),
        ({"a": [math.inf]}, r"must be in \[0, 1\]"),
        ({"a": [[0, 1], [1]]}, "not a number"),
        ({"a": np.zeros((2, 2))}, "not a number"),
        ({"a": 1}, "give them as a list"),
        ({1: [1]}, "name scenarios with text"),
    ],
)
def test_what_is_no_table_is_refused(outcomes, message):
    with pytest.raises(Refused, match=message):
        Table(outcomes)


def test_only_keeps_the_named_scenarios():
    table = Table({"a": [1], "b": [0], "c": [1]})
    assert table.only(["c", "a"]) == Table({"a": [1], "c": [1]})
    with pytest.raises(Refused, match="'d' is not among the 3 of the table"):
        table.only(["a", "d"])


@pytest.mark.parametrize(
    ("rule", "expected"), [("failed", 2 / 8), ("left_out", 1 / 3), ("passed", 4 / 8)]
)
def test_two_of_eight_with_two_voids_reads_as_its_rule_says(rule, expected):
    table = tabulate(TWO_OF_EIGHT, void=rule)
    assert rate(table, Bootstrap(0)).value == pytest.approx(expected, abs=1e-15)


def test_voids_are_never_dropped_without_being_told_to():
    with pytest.raises(TypeError, match="void"):
        tabulate(TWO_OF_EIGHT)
    with pytest.raises(Refused, match="void rule 'drop'"):
        tabulate(TWO_OF_EIGHT, void="drop")


def test_a_scenario_of_nothing_but_voids_is_named_not_forgotten():
    outcomes = {"a": ["pass"], "b": ["void", "void"], "c": ["fail"]}
    assert tabulate(outcomes, void="left_out").unrated == ("b",)
    assert tabulate(outcomes, void="failed").scenarios == ("a", "b", "c")


def test_a_contrast_across_a_lost_scenario_is_refused_until_it_is_paired():
    a = tabulate({"s": ["pass"], "t": ["void"], "u": ["fail"]}, void="left_out")
    b = tabulate({"s": ["fail"], "t": ["pass"], "u": ["fail"]}, void="left_out")
    with pytest.raises(Refused, match="1 differ, the first is 't'"):
        contrast(a, b, Bootstrap(0))
    assert contrast(a, b.only(a.scenarios), Bootstrap(0)).difference.value == 0.5


def test_unknown_outcomes_and_scheduled_nothing_are_refused():
    with pytest.raises(Refused, match="attempt 1 of scenario 'a' is 'passed'; did you mean 'pass'"):
        tabulate({"a": ["pass", "passed"]}, void="failed")
    with pytest.raises(Refused, match="scenario 'a' has no attempts"):
        tabulate({"a": []}, void="left_out")
    with pytest.raises(Refused, match="no scenarios"):
        tabulate({"a": ["void"]}, void="left_out")


def test_void_rates_show_that_two_of_eight_is_not_a_third():
    rates = void_rates(passed=2, failed=4, void=2)
    assert (rates.failed, rates.left_out, rates.passed) == (0.25, 1 / 3, 0.5)
    assert (rates.scheduled, rates.void) == (8, 2)


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_void_rates_are_ordered_and_equal_without_voids(passed, failed, void):
    if not passed + failed:
        return
    rates = void_rates(passed, failed, void)
    assert rates.failed <= rates.left_out <= rates.passed
    assert (rates.failed == rates.passed) == (void == 0)


def test_void_rates_of_nothing_but_voids_leave_no_middle():
    rates = void_rates(0, 0, 3)
    assert (rates.failed, rates.passed) == (0, 1)
    assert math.isnan(rates.left_out)


@pytest.mark.parametrize("counts", [(0, 0, 0), (-1, 2, 0)])
def test_void_rates_of_no_units_are_refused(counts):
    with pytest.raises(Refused, match=r"no scheduled units|must be >= 0"):
        void_rates(*counts)
