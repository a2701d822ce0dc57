"""The one boundary attributes what plug-ins raise; clew's own errors pass it unchanged."""

from __future__ import annotations

import pytest

from clew.core import (
    Cause,
    Diverged,
    Evidence,
    Refused,
    SessionSpent,
    Trouble,
    boundary,
    nearest,
    outcome_of,
)

PARTIES = ("policy", "candidate", "environment", "judge", "harness", "plan")


@pytest.mark.parametrize("party", PARTIES)
def test_a_plain_error_becomes_trouble_of_the_party_whose_code_ran(party):
    with pytest.raises(Trouble) as trouble, boundary(party, "crash"):
        raise ValueError("the arm\nfell off")
    cause = trouble.value.cause
    assert (cause.party, cause.kind) == (party, "crash")
    assert cause.detail.startswith("ValueError: the arm (test_a_plain_error_becomes_trouble")
    assert "\n" not in cause.detail
    assert isinstance(trouble.value.__cause__, ValueError)


def test_even_an_error_that_is_no_exception_is_attributed():
    class Odd(BaseException):
        pass

    with pytest.raises(Trouble), boundary("environment"):
        raise Odd


@pytest.mark.parametrize(
    "error",
    [
        Refused("no"), SessionSpent("spent"), Diverged(3, Evidence(False)),
        Trouble(Cause("judge", "error")), KeyboardInterrupt(), SystemExit(3), GeneratorExit(),
    ],
)  # fmt: skip
def test_our_own_errors_and_a_users_interrupt_pass_unchanged(error):
    with pytest.raises(type(error)) as raised, boundary("environment"):
        raise error
    assert raised.value is error


def test_an_inner_boundary_keeps_the_attribution():
    with pytest.raises(Trouble) as trouble, boundary("harness"), boundary("policy"):
        raise OSError("gone")
    assert trouble.value.cause.party == "policy"


def test_a_detail_is_bounded_and_can_always_be_recorded():
    with pytest.raises(Trouble) as trouble, boundary("policy"):
        raise ValueError("\ud800" + "x" * 10_000)
    assert len(trouble.value.cause.detail) < 700
    assert trouble.value.cause.detail.encode("utf-8")


def test_what_breaks_by_the_policys_or_the_candidates_doing_is_a_fail_and_else_void():
    outcomes = {party: outcome_of(Cause(party, "crash")) for party in PARTIES}
    assert {party for party, outcome in outcomes.items() if outcome == "fail"} == {
        "policy",
        "candidate",
    }
    assert set(outcomes.values()) == {"fail", "void"}


def test_a_cause_reads_back():
    cause = Cause("judge", "deadline", "10 s")
    assert Cause.of(cause.json()) == cause


def test_a_divergence_says_where_and_by_how_much():
    evidence = Evidence(False, {"position_mm": 2.9}, {"body": "cup"})
    diverged = Diverged(12, evidence)
    assert str(diverged) == (
        "the state after 12 actions is not the recorded one: position_mm 2.9, body cup"
    )
    assert diverged.attempts == (evidence,)


def test_a_wrong_word_is_answered_with_the_nearest_or_with_all():
    assert nearest("sead", ["seed", "task"]) == "did you mean 'seed'?"
    assert nearest("qqq", ["seed", "task"]) == "valid: seed, task"
