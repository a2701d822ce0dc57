"""Units are named by what they are; what is accepted is a pure function of the log."""

from __future__ import annotations

import hashlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core import Cause, Refused
from clew.run.units import Result, Unit, accepted

_units = st.sampled_from(["u1", "u2", "u3"])
_snapshots = st.sampled_from(["", "s1", "s2"])
_results = st.builds(
    lambda unit, outcome, n, snapshot: Result(
        unit, outcome, {"n": n}, None, {"snapshot": snapshot} if snapshot else {}
    ).json(),
    _units, st.sampled_from(["pass", "fail", "void"]), st.integers(0, 9), _snapshots,
)  # fmt: skip
_withdrawals = st.builds(
    lambda name: {"type": "withdrawn", "snapshot": name}, st.sampled_from(["s1", "s2"])
)
_others = st.sampled_from([{"type": "begun", "driver": "d"}, {"type": "ended", "driver": "d"}])
_logs = st.lists(_results | _withdrawals | _others, max_size=20)


def told(log) -> dict[str, Result]:
    """What a log of these records accepts."""
    results = [Result.of(r) for r in log if r["type"] == "result"]
    return accepted(results, {r["snapshot"] for r in log if r["type"] == "withdrawn"})


def reference(log) -> dict:
    """The rule, said another way."""
    bad = {r["snapshot"] for r in log if r["type"] == "withdrawn"}
    good = [r for r in log if r["type"] == "result" and r["about"].get("snapshot") not in bad]
    found = {}
    for unit in {r["unit"] for r in good}:
        mine = [r for r in good if r["unit"] == unit]
        scored = [r for r in mine if r["outcome"] != "void"]
        found[unit] = Result.of(scored[0] if scored else mine[-1])
    return found


@given(_logs)
def test_the_first_scored_result_counts_and_until_then_the_last_void(log):
    assert told(log) == reference(log)


@given(_logs, _logs)
def test_more_log_never_changes_a_scored_result_unless_its_snapshot_is_withdrawn(log, more):
    before, after = told(log), told(log + more)
    bad = {r["snapshot"] for r in more if r["type"] == "withdrawn"}
    for unit, result in before.items():
        if result.outcome != "void" and result.about.get("snapshot") not in bad:
            assert after[unit] == result


@given(_logs)
def test_reading_the_log_twice_accepts_nothing_twice(log):
    assert told(log + log) == told(log)


def test_a_withdrawal_counts_wherever_it_stands():
    used = Result("u", "pass", {}, None, {"snapshot": "s"}).json()
    cold = Result("u", "fail").json()
    gone = {"type": "withdrawn", "snapshot": "s"}
    assert told([used, gone]) == told([gone, used]) == {}
    assert told([used, gone, cold])["u"].outcome == "fail"
    assert told([cold, used, gone])["u"].outcome == "fail"


def test_a_unit_is_named_by_its_work_alone():
    unit = Unit("m:f", "e", {"a": 1, "b": [1.0, -0.0]}, ("i",))
    assert unit.digest == Unit("m:f", "e", {"b": (1.0, 0.0), "a": 1}, ("i",)).digest
    assert unit.digest == Unit("m:f", "e", unit.arguments, ("i",), "group", True).digest
    others = [
        Unit("m:g", "e", unit.arguments, ("i",)), Unit("m:f", "d", unit.arguments, ("i",)),
        Unit("m:f", "e", {"a": 2, "b": [1.0, 0.0]}, ("i",)), Unit("m:f", "e", unit.arguments),
    ]  # fmt: skip
    assert len({u.digest for u in [unit, *others]}) == 5
    assert 0 <= unit.seed < 2**32
    assert unit.seed == int(unit.digest[:8], 16)


def test_a_units_name_is_stable():
    """Golden: the SHA-256 of the identity as it stands here; a change would orphan every run."""
    identity = b'clew unit 1\n["m:f","e",{"a":1},["i"]]'
    golden = "91b4367fa16ba0404a698b62087008dd"
    assert Unit("m:f", "e", {"a": 1}, ("i",)).digest == golden
    assert hashlib.sha256(identity).hexdigest()[:32] == golden


def test_arguments_that_are_not_plain_data_are_refused():
    with pytest.raises(Refused, match="only plain JSON data"):
        _ = Unit("m:f", "e", {"a": object()}).digest


def test_a_result_survives_its_json():
    result = Result("u", "void", {"x": [1]}, Cause("judge", "error", "late"), {"seconds": 1.0})
    assert Result.of(result.json()) == result
    assert Result.of(Result("u", "pass").json()) == Result("u", "pass")
    assert (result.unit, result.outcome, result.values) == ("u", "void", {"x": [1]})
    assert (result.cause, result.about) == (Cause("judge", "error", "late"), {"seconds": 1.0})
    assert Result("u", "pass").cause is None


def test_results_that_differ_in_anything_are_not_equal():
    result = Result("u", "fail", {"x": 1}, None, {"seconds": 1.0})
    others = [
        Result("v", "fail", {"x": 1}, None, {"seconds": 1.0}),
        Result("u", "pass", {"x": 1}, None, {"seconds": 1.0}),
        Result("u", "fail", {"x": 2}, None, {"seconds": 1.0}),
        Result("u", "fail", {"x": 1}, Cause("policy", "crash"), {"seconds": 1.0}),
        Result("u", "fail", {"x": 1}),
    ]  # fmt: skip
    assert all(result != other for other in others)


def test_what_a_result_says_cannot_be_changed_through_it():
    values = {"x": [1]}
    result = Result("u", "pass", values)
    values["x"].append(2)
    result.values["x"].append(3)
    assert result.values == {"x": [1]}


def test_a_result_is_kept_in_a_few_hundred_bytes():
    about = {
        "fingerprint": "7a076d924d96d9d0", "seconds": 0.04594,
        "attempt": {"segment": "6b0deb78-d37d96b8-2", "start": 58335, "end": 90573},
    }  # fmt: skip
    result = Result("u" * 32, "pass", {"stop": "until", "actions": 67, "score": 1.0}, None, about)
    kept = [result, *(getattr(result, name) for name in Result.__slots__)]
    assert sum(map(sys.getsizeof, kept)) < 600


def test_a_result_that_json_cannot_hold_is_refused():
    with pytest.raises(Refused, match="cannot be written as JSON"):
        Result("u", "pass", {"x": object()})
