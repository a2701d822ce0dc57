"""A screen settles when it is quiet, at the cap, or after the papers' fixed time; never sooner."""

from __future__ import annotations

import itertools

import pytest

from clew.core import Refused
from clew.environments.gui import PRESETS, Settle, settle_of, settled


def quiet_after(polls: int):
    """Changes at each of the first `polls` looks, then no more."""
    looks = itertools.count()
    return lambda: next(looks) < polls


def test_it_is_quiet_so_many_milliseconds_after_the_last_change():
    notes = settled(Settle(quiet_ms=30, cap_ms=5_000), quiet_after(5), poll_s=0.004)
    assert (notes["reason"], notes["changes"]) == ("quiet", 5)
    assert notes["ms"] >= notes["last_change_ms"] + 30


def test_a_screen_that_never_rests_ends_at_the_cap_and_says_so():
    notes = settled(Settle(quiet_ms=30, cap_ms=60), lambda: True)
    assert notes["reason"] == "cap"
    assert notes["ms"] >= 60


def test_work_in_flight_keeps_it_waiting():
    busy = quiet_after(5)
    notes = settled(Settle(quiet_ms=0, cap_ms=5_000), lambda: False, busy, poll_s=0.004)
    assert (notes["reason"], busy()) == ("quiet", False)
    assert notes["ms"] >= 4 * 4


def test_the_recorded_frame_is_an_extra_condition_and_never_a_shortcut():
    at_once = settled(Settle(quiet_ms=40, cap_ms=5_000), lambda: False, expected=lambda: True)
    assert at_once["reason"] == "quiet"
    assert at_once["ms"] >= 40
    never = settled(Settle(quiet_ms=10, cap_ms=60), lambda: False, expected=lambda: False)
    assert never["reason"] == "unexpected"
    assert never["ms"] >= 60


def test_a_timer_that_is_due_is_waited_for_until_it_has_ended():
    rule, left = Settle(quiet_ms=0, cap_ms=5_000, timers_ms=400), quiet_after(5)
    notes = settled(rule, lambda: False, due=lambda _: left(), poll_s=0.004)
    assert (notes["reason"], 4 * 4 <= notes["ms"] < 400) == ("quiet", True)


def test_a_timer_that_comes_again_and_again_holds_up_no_longer_than_it_counts():
    notes = settled(
        Settle(quiet_ms=0, cap_ms=5_000, timers_ms=60), lambda: False, due=lambda _: True
    )
    assert (notes["reason"], notes["ms"] >= 2 * 60) == ("quiet", True)


def test_a_replay_waits_at_least_the_recorded_time():
    assert settled(Settle(quiet_ms=0), lambda: False, at_least_ms=50)["ms"] >= 50


def test_the_papers_wait_is_fixed():
    assert PRESETS["papers"] == Settle("fixed", 0, 10_000, 0)
    notes = settled(Settle("fixed", 0, 50), lambda: False)
    assert (notes["reason"], notes["ms"] >= 50) == ("fixed", True)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("papres", "'papers'"),
        ({"rule": "quite"}, "'quiet'"),
        ({"quiet": 5}, "'quiet_ms'"),
        ({"cap_ms": -1}, "cap_ms is -1"),
        ({"cap_ms": True}, "cap_ms"),
        (5, "preset's name"),
    ],
)
def test_a_wrong_rule_is_refused_in_one_sentence(option, said):
    with pytest.raises(Refused, match=said):
        settle_of(option)


def test_a_rule_is_read_back_from_its_plain_data():
    for rule in PRESETS.values():
        assert settle_of(rule.json()) == rule
