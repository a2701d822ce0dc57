from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from clew.core import Refused
from clew.stats import wilson


@given(st.integers(1, 500), st.data(), st.floats(0.5, 0.999))
def test_it_is_scipys_wilson_interval(trials, data, confidence):
    successes = data.draw(st.integers(0, trials))
    peer = binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    assert wilson(successes, trials, confidence) == pytest.approx((peer.low, peer.high), abs=1e-12)


def test_three_of_three_replays_say_no_more_than_forty_four_percent():
    # 1 / (1 + z²/3), z = 1.959964: the closed form of the lower bound when all trials succeed.
    assert wilson(3, 3) == (pytest.approx(0.4385030, abs=1e-7), 1.0)


def test_no_trials_say_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(0, 300), st.data())
def test_bounds_hold_the_rate_and_stay_probabilities(trials, data):
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials)
    assert 0 <= low <= high <= 1
    if trials:
        assert low <= successes / trials <= high


@pytest.mark.parametrize("trials", range(1, 60))
def test_no_success_starts_at_zero_and_no_failure_ends_at_one_exactly(trials):
    assert (wilson(0, trials)[0], wilson(trials, trials)[1]) == (0, 1)


@given(st.integers(1, 300), st.data())
def test_failures_mirror_successes(trials, data):
    successes = data.draw(st.integers(0, trials))
    low, high = wilson(successes, trials)
    assert wilson(trials - successes, trials) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize("trials", [5, 20, 100])
def test_its_mean_coverage_is_nominal(trials):
    # Exact, by enumeration. Mean coverage of the Wilson interval is near nominal even for small n:
    # Brown, Cai and DasGupta, Statistical Science 16 (2001).
    p = np.linspace(0.005, 0.995, 199)[:, None]
    k = np.arange(trials + 1)
    low, high = np.array([wilson(int(i), trials) for i in k]).T
    covered = (binom.pmf(k, trials, p) * ((low <= p) & (p <= high))).sum(axis=1)
    assert covered.mean() == pytest.approx(0.95, abs=0.015)
    assert covered.min() > 0.82


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (0, -1)])
def test_impossible_counts_are_refused(successes, trials):
    with pytest.raises(Refused, match="successes"):
        wilson(successes, trials)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, float("nan")])
def test_a_confidence_that_is_no_probability_is_refused(confidence):
    with pytest.raises(Refused, match="confidence"):
        wilson(1, 2, confidence)
