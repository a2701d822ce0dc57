"""Shrinking gives a 1-minimal action list that was really run and keeps the judgement."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core import Control, Judgement, Moment, Refused, Seen, Start, Step, Text, Trajectory
from clew.replay import begin, shrink

from ._worlds import World, count


class Notes:
    """Remembers what was typed and how often a control moved; judged by `rule`."""

    def __init__(self, rule):
        self.rule, self.runs, self.left_open = rule, [], 0

    def open(self, start):
        return _NotesSession(self)

    def start(self):
        return Start("notes", "type")


class _NotesSession:
    judging = "pure"

    def __init__(self, notes):
        self.notes, self.said, self.ticks = notes, [], 0
        notes.left_open += 1
        notes.runs.append(self)

    def observe(self, see):
        return Seen()

    def act(self, action, see):
        if isinstance(action, Control):
            self.ticks += 1
            if any(action.values):
                self.said.append(action.values)
        else:
            self.said.append(action.text)
        return Seen()

    def probe(self):
        return {"said": len(self.said)}

    def judge(self):
        return Judgement(self.notes.rule(self), 0.0)

    def close(self):
        self.notes.left_open -= 1


def passed(judgement):
    return judgement.passed


def meant(notes, actions) -> Trajectory:
    return Trajectory(notes.start(), [Step(Moment(), action) for action in actions])


def holds(notes, actions) -> bool:
    with begin(notes, notes.start()) as episode:
        for action in actions:
            episode.act(action)
        return episode.judge().passed


def stands_still(action) -> bool:
    return isinstance(action, Control) and not any(action.values)


def without(actions, i):
    """The actions with the i-th taken away, or held where it is a control step."""
    held = [Control((0.0,) * len(actions[i].values))] if isinstance(actions[i], Control) else []
    return [*actions[:i], *held, *actions[i + 1 :]]


WORDS = [Text(word) for word in "abcdefgh"]


@given(st.permutations(WORDS), st.sets(st.sampled_from("abcdefgh")))
def test_exactly_the_needed_actions_are_kept_in_order(words, needed):
    notes = Notes(lambda session: needed <= set(session.said))
    found = shrink(notes, meant(notes, words), passed)
    assert found.actions() == tuple(word for word in words if word.text in needed)
    assert notes.left_open == 0


MIXED = st.lists(
    st.one_of(
        st.sampled_from("abc").map(Text), st.sampled_from([0.0, 0.5]).map(lambda v: Control((v,)))
    ),
    max_size=9,
)


@given(MIXED, st.integers(0, 3), st.sampled_from(["", "a", "ab"]))
def test_taking_away_any_remaining_action_breaks_the_judgement(actions, least, letters):
    def rule(session):
        return len(session.said) >= least and set(letters) <= set(session.said)

    notes = Notes(rule)
    if not holds(notes, actions):
        with pytest.raises(Refused, match="does not have the judgement"):
            shrink(notes, meant(notes, actions), passed)
        return
    left = list(shrink(notes, meant(notes, actions), passed).actions())
    assert holds(notes, left)
    for i, action in enumerate(left):
        if not stands_still(action):
            assert not holds(notes, without(left, i))


@given(MIXED)
def test_control_steps_are_held_so_that_time_goes_on(actions):
    ticks = sum(isinstance(action, Control) for action in actions)
    notes = Notes(lambda session: True)
    found = shrink(notes, meant(notes, actions), passed)
    assert found.actions() == (Control((0.0,)),) * ticks


def test_a_judgement_that_needs_two_distant_actions_together_keeps_both():
    # 1-minimal, not only locally: neither half of the list has both.
    notes = Notes(lambda session: session.said[:1] == ["a"] and session.said[-1:] == ["h"])
    assert shrink(notes, meant(notes, WORDS), passed).actions() == (Text("a"), Text("h"))


def test_any_judgement_can_be_kept_also_a_failure():
    world = World(goal=5)
    values = [1, 2, -9, 3, 4]
    trajectory = Trajectory(world.start(), [Step(Moment(), count(v)) for v in values])
    found = shrink(world, trajectory, lambda judgement: not judgement.passed)
    assert [int(action.values[0]) for action in found.actions()] == [0] * 5
    wanted = shrink(
        World(goal=4),
        Trajectory(world.start(), trajectory.steps[:2] + trajectory.steps[3:]),
        passed,
    )
    assert [int(action.values[0]) for action in wanted.actions()] == [0, 0, 0, 4]


def test_how_a_control_is_held_can_be_said():
    notes = Notes(lambda session: "a" in session.said)
    open_hand = Control((0.0, -1.0))
    actions = [Control((0.3, 1.0)), Text("a"), Control((0.1, -1.0))]
    found = shrink(notes, meant(notes, actions), passed, hold=lambda action: open_hand)
    assert found.actions() == (open_hand, Text("a"), open_hand)


def test_the_result_was_really_run_and_its_end_was_probed():
    notes = Notes(lambda session: "c" in session.said)
    found = shrink(notes, meant(notes, WORDS), passed)
    assert found.last.probe == {"said": 1}
    assert ["c"] in [session.said for session in notes.runs]


def test_no_candidate_is_run_twice():
    notes = Notes(lambda session: {"a", "d", "h"} <= set(session.said))
    shrink(notes, meant(notes, WORDS), passed)
    lists = [tuple(session.said) for session in notes.runs]
    assert len(lists) == len(set(lists))


def test_a_trajectory_without_the_judgement_is_refused():
    notes = Notes(lambda session: False)
    with pytest.raises(Refused, match="does not have the judgement that is to be kept"):
        shrink(notes, meant(notes, WORDS), passed)
    assert notes.left_open == 0


def test_an_empty_trajectory_shrinks_to_itself():
    notes = Notes(lambda session: True)
    assert shrink(notes, meant(notes, []), passed).actions() == ()


def test_a_final_oracle_is_enough():
    world = World(goal=3, judging="final")
    trajectory = Trajectory(world.start(), [Step(Moment(), count(v)) for v in (1, 3, 1)])
    found = shrink(world, trajectory, passed)
    assert np.count_nonzero([action.values[0] for action in found.actions()]) == 1
