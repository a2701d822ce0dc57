"""The recovery point lies after the last progress, where everything has come to rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.studies.roborecover.point import movement_mm, recovery_point

RULE = {"still_mm": 1.0, "moved_mm_least": 0.2, "window": 3, "earliest": 2, "latest": 30}

_moves = st.lists(st.sampled_from([0.0, 0.2, 0.4, 5.0]), max_size=40)
_rules = st.fixed_dictionaries({
    "still_mm": st.sampled_from([0.5, 1.0, 3.0]), "moved_mm_least": st.sampled_from([0.2, 5.0]),
    "window": st.integers(1, 8),
    "earliest": st.integers(0, 10), "latest": st.integers(0, 50),
})  # fmt: skip


def scored(moves, draw):
    size = len(moves) + 1
    return draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=size, max_size=size))


@given(st.data(), _moves, _rules)
def test_the_point_is_the_first_rest_after_the_last_progress(data, moves, rule):
    scores = scored(moves, data.draw)
    moved = np.array(moves)
    found = recovery_point(moved, scores, **rule)
    progress = scores.index(max(scores))

    def rests(t: int) -> bool:
        window = rule["window"]
        return (
            t >= progress + window and t >= rule["earliest"] and t <= min(len(moves), rule["latest"])
            and np.cumsum([0.0, *moves])[t] - np.cumsum([0.0, *moves])[t - window] < rule["still_mm"]
            and np.cumsum([0.0, *moves])[t] - np.cumsum([0.0, *moves])[progress] >= rule["moved_mm_least"]
        )  # fmt: skip

    resting = [t for t in range(len(moves) + 1) if rests(t)]
    assert found == (resting[0] if resting else None)


@given(_moves, _rules)
def test_an_attempt_in_which_nothing_moves_has_no_deviation(moves, rule):
    still = np.zeros(len(moves))
    assert recovery_point(still, [0.0] * (len(moves) + 1), **rule) is None


@given(st.data(), _moves)
def test_what_happens_later_does_not_move_an_earlier_point(data, moves):
    """Unless it is progress."""
    found = recovery_point(np.array(moves), [0.0] * (len(moves) + 1), **RULE)
    more = data.draw(_moves)
    longer = np.array([*moves, *more])
    if found is not None:
        assert recovery_point(longer, [0.0] * (len(longer) + 1), **RULE) == found


def test_a_deviation_that_the_attempt_repaired_is_not_picked():
    moved = np.array([5.0, 5, 0, 0, 0, 5, 5, 0, 0, 0])
    scores = [0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.9, 0.9, 0.9, 0.9]
    assert recovery_point(moved, scores, **RULE) is None
    fallen = np.array([*moved, 5.0, 0, 0, 0])
    assert recovery_point(fallen, [*scores, 0.1, 0.1, 0.1, 0.1], **RULE) == 14


def test_movement_is_the_largest_of_any_object_and_not_the_robots():
    names = ("hand", "cup", "lid")
    poses = [
        [[0, 0, 0], [0, 0, 0], [1, 0, 0]], [[9, 9, 9], [0.003, 0.004, 0], [1, 0.002, 0]],
        [[0, 0, 0], [0.003, 0.004, 0], [1, 0.002, 0]],
    ]  # fmt: skip
    probes = [
        {"bodies": names, "robot": ("hand",), "position_m": np.array(p, float)} for p in poses
    ]
    assert movement_mm(probes) == pytest.approx([5.0, 0.0])
    alone = [{"bodies": ("hand",), "robot": ("hand",), "position_m": np.zeros((1, 3))}] * 4
    assert movement_mm(alone).tolist() == [0, 0, 0]


def test_an_attempt_in_which_objects_only_settle_has_no_deviation():
    """On the tabletop they sink by 0.15 mm in all when an episode begins."""
    settling = np.array([0.09, 0.04, 0.02] + [0.0] * 30)
    rule = {**RULE, "moved_mm_least": 0.1}
    assert recovery_point(settling, [0.0] * (len(settling) + 1), **rule) is None
