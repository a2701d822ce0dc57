"""The conformance kit: sound environments pass, and each broken promise fails its own test."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from clew.core import NOTHING, Control, Judgement, Refused, Seen, Start, Text
from clew.match import Exact, Pixels
from clew.testing import EnvironmentConformance
from clew.testing.environment import wrong_widths
from clew.testing.unreliable import Unreliable
from clew.testing.unreliable.environment import UnreliableSession

TESTS = sorted(name for name in dir(EnvironmentConformance) if name.startswith("test_"))


class TestUnreliableWithoutFaults(EnvironmentConformance):
    def environment(self):
        return Unreliable()

    def starts(self, environment):
        return [environment.start("count", seed) for seed in (0, 1)]

    def actions(self, start):
        return [Control((value,), "int64") for value in (1, 2, -1, 2, 1, 1, 2, 0, 2, 1, 1, 2)]


class TestTabletop(EnvironmentConformance):
    def environment(self):
        tabletop = pytest.importorskip("clew.environments.tabletop")
        if "frame" in self.channels and not tabletop.frames_available():
            pytest.skip(tabletop.frames_off())
        return tabletop.Tabletop()

    def starts(self, environment):
        task, frames = environment.tasks()[0], {"width": 32, "height": 32}
        return [environment.start(task, seed, frames=frames) for seed in (0, 1)]

    def actions(self, start):
        dice = np.random.default_rng(start.seed)
        return [Control(tuple(dice.uniform(-1, 1, 4).tolist())) for _ in range(6)]


@pytest.mark.slow
class TestTabletopWithFrames(TestTabletop):
    channels = frozenset({"vector", "frame"})


class Kit(TestUnreliableWithoutFaults):
    """The kit, on an environment whose sessions are of the class `broken`."""

    __test__ = False

    def __init__(self, broken: type, made: Callable[[type], Unreliable] | None = None) -> None:
        self._broken, self._made = broken, made or Whole

    def environment(self):
        return self._made(self._broken)


class Whole(Unreliable):
    """Unreliable, with sessions of another class."""

    def __init__(self, session: type) -> None:
        super().__init__()
        self.session = session

    def open(self, start):
        return self.session(start, self._luck)


def failures(kit: EnvironmentConformance) -> dict[str, str]:
    """Test → the sentence it failed with."""
    found = {}
    for name in TESTS:
        try:
            getattr(kit, name)()
        except AssertionError as error:
            found[name] = re.sub(r"line \d+", "line *", str(error).split("\n")[0])
    return found


class Sound(UnreliableSession):
    pass


class LookingMoves(UnreliableSession):
    def observe(self, see):
        seen = super().observe(see)
        self._number += bool(see)
        return seen


class ShownDependsOnLooks(UnreliableSession):
    """Looking leaves something that no snapshot holds and a later act brings to light."""

    looked = 0

    def observe(self, see):
        self.looked += bool(see)
        return super().observe(see)

    def act(self, action, see):
        self._number += self.looked >= 2
        return super().act(action, see)


class ProbeMoves(UnreliableSession):
    def probe(self):
        found = super().probe()
        self._carry += 1
        return found


class TwoProbesDiffer(UnreliableSession):
    probes = 0

    def probe(self):
        self.probes += 1
        return {**super().probe(), "probes": np.array([self.probes])}


class JudgingMoves(UnreliableSession):
    def judge(self):
        self._carry += 1
        return super().judge()


class TwoJudgementsDiffer(UnreliableSession):
    asked = 0

    def judge(self):
        self.asked += 1
        return Judgement(False, 1 / (1 + self.asked))


class ScoreOutside(UnreliableSession):
    def judge(self):
        return Judgement(True, 1.5)


class SeedIgnored(UnreliableSession):
    def __init__(self, start, luck):
        super().__init__(start, luck)
        self._target = 20


class ActionsIgnored(UnreliableSession):
    def act(self, action, see):
        super().act(action, see)
        self._number = self._acts = self._carry = self._late = 0
        return self.observe(see)


class Leaking(Whole):
    """What one session reached is where the next one of the same environment begins."""

    last = 0

    def open(self, start):
        session = super().open(start)
        session._number, whole = self.last, session.act

        def act(action, see):
            seen = whole(action, see)
            self.last = session._number
            return seen

        session.act = act
        return session


class UnfinishedLeaks(Whole):
    """A session that was closed after one act leaves something; others do not."""

    left = 0

    def open(self, start):
        session = super().open(start)
        session._number, self.left, close = self.left, 0, session.close

        def closes():
            self.left = int(session._acts == 1)
            close()

        session.close = closes
        return session


class SharedByAll(UnreliableSession):
    """A world that all environments of this process act on, until a session is opened."""

    moved = [0]  # noqa: RUF012

    def __init__(self, start, luck):
        super().__init__(start, luck)
        self.moved[0] = 0

    def act(self, action, see):
        self.observe(see)
        super().act(action, NOTHING)
        self.moved[0] += 1
        self._number += self.moved[0] > self._acts
        return self.observe(see)


class OmitsField(UnreliableSession):
    def save(self):
        carry, self._carry = self._carry, 0
        state = super().save()
        self._carry = carry
        return state


class LoadsOtherBytes(UnreliableSession):
    def load(self, state):
        super().load(state)
        self._acts += 100


class TakesDamaged(UnreliableSession):
    def load(self, state):
        try:
            super().load(state)
        except Refused:
            return


class DamagedMoves(UnreliableSession):
    def load(self, state):
        self._number += 1
        super().load(state)


class TakesWrongWidths(UnreliableSession):
    def act(self, action, see):
        if isinstance(action, Control):
            action = Control((int(action.values[0]),), "int64")
        return super().act(action, see)


class RefusedMoves(UnreliableSession):
    def act(self, action, see):
        self._carry += not isinstance(action, Control)
        return super().act(action, see)


class ShowsUnasked(UnreliableSession):
    def act(self, action, see):
        super().act(action, see)
        return Seen({"vector": np.zeros(2)})


class ShowsTooLittle(UnreliableSession):
    def act(self, action, see):
        super().act(action, see)
        return Seen()


class AnyChannel(UnreliableSession):
    def observe(self, see):
        return super().observe(see & {"vector"})


class LongRefusals(UnreliableSession):
    def observe(self, see):
        try:
            return super().observe(see)
        except Refused as error:
            raise Refused(f"{error}\nand more") from None


class ClosesOnce(UnreliableSession):
    closed = False

    def close(self):
        assert not self.closed, "close was called twice"
        self.closed = True


KEPT: list = []


class LeavesFiles(UnreliableSession):
    def __init__(self, start, luck):
        super().__init__(start, luck)
        KEPT.append(open(os.devnull))  # noqa: SIM115


class LeavesThreads(UnreliableSession):
    def __init__(self, start, luck):
        super().__init__(start, luck)
        over = threading.Event()
        threading.Thread(target=over.wait, daemon=True).start()
        KEPT.append(over)


class LeavesProcesses(UnreliableSession):
    def __init__(self, start, luck):
        super().__init__(start, luck)
        KEPT.append(subprocess.Popen(["sleep", "600"], start_new_session=True))


class Counting(Whole):
    opened = 0

    def open(self, start):
        self.opened += 1
        return super().open(start)

    def fingerprint(self):
        return {"opened": str(self.opened)}


class Empty(Whole):
    def fingerprint(self):
        return {}


class NumberAsFact(Whole):
    def fingerprint(self):
        return {"version": 3}


@pytest.fixture(autouse=True)
def _nothing_is_left():
    yield
    for kept in KEPT:
        if isinstance(kept, subprocess.Popen):
            kept.kill()
            kept.wait()
        elif isinstance(kept, threading.Event):
            kept.set()
        else:
            kept.close()
    KEPT.clear()


BEFORE = "a session depends on what ran before it in the same environment"
BROKEN = [
    (LookingMoves, Whole, "looking_changes_nothing", "observe changes the state"),
    (ShownDependsOnLooks, Whole, "looking_changes_nothing",
     "the state depends on which channels were looked at"),
    (ProbeMoves, Whole, "probing_changes_nothing", "probe changes the state"),
    (TwoProbesDiffer, Whole, "probing_changes_nothing", "two probes of one state differ"),
    (JudgingMoves, Whole, "a_pure_oracle_changes_nothing", "judge changes the state"),
    (TwoJudgementsDiffer, Whole, "a_pure_oracle_changes_nothing",
     "two judgements of one state differ"),
    (ScoreOutside, Whole, "a_pure_oracle_changes_nothing", "a score lies outside [0, 1]"),
    (SeedIgnored, Whole, "another_seed_gives_another_session", "the seed changes nothing"),
    (ActionsIgnored, Whole, "different_actions_give_different_states",
     "the given actions move nothing: the other tests could not fail"),
    (Sound, UnfinishedLeaks, "a_session_left_in_the_middle_does_not_touch_the_next_one",
     "an unfinished session left something"),
    (SharedByAll, Whole, "two_environments_side_by_side_do_not_touch_each_other",
     "two environments share something"),
    (OmitsField, Whole, "a_snapshot_continues_exactly_in_a_used_session_of_another_seed",
     "a session restored at step 1 goes another way"),
    (LoadsOtherBytes, Whole, "a_snapshot_continues_exactly_in_a_used_session_of_another_seed",
     "saving after a load gives other bytes (step 1)"),
    (TakesDamaged, Whole, "damaged_snapshots_are_refused", "a damaged snapshot was not refused"),
    (DamagedMoves, Whole, "damaged_snapshots_are_refused", "a refused snapshot moved something"),
    (TakesWrongWidths, Whole, "wrong_actions_are_refused_before_anything_moves",
     "Control(values=(0, 0), dtype='int64') was not refused"),
    (RefusedMoves, Whole, "wrong_actions_are_refused_before_anything_moves",
     "the refused Text(text='x', seat='') moved something"),
    (AnyChannel, Whole, "an_unknown_channel_is_refused", "an unknown channel was not refused"),
    (LongRefusals, Whole, "an_unknown_channel_is_refused", "a refusal is one sentence"),
    (ClosesOnce, Whole, "closing_a_session_twice_does_nothing",
     "promise 'closing a session twice does nothing' is broken: close raised AssertionError: "
     "close was called twice (test_environment.py, line *)"),
    (Sound, Counting, "the_fingerprint_is_plain_text_and_does_not_change",
     "the fingerprint changes with use"),
    (Sound, Empty, "the_fingerprint_is_plain_text_and_does_not_change", "the fingerprint is empty"),
    (Sound, NumberAsFact, "the_fingerprint_is_plain_text_and_does_not_change",
     "a fact is not text"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("session", "made", "test", "sentence"),
    BROKEN,
    ids=[f"{session.__name__} in {made.__name__}" for session, made, *_ in BROKEN],
)
def test_a_broken_promise_fails_its_own_test_with_its_sentence(session, made, test, sentence):
    assert failures(Kit(session, made)) == {f"test_{test}": sentence}


def test_an_act_that_shows_too_much_or_too_little_is_told_so():
    test = "test_an_act_shows_what_was_asked_and_nothing_else"
    assert failures(Kit(ShowsUnasked))[test] == "an act shows channels nobody asked for"
    assert failures(Kit(ShowsTooLittle))[test] == "an act does not show the channels asked for"


def test_a_state_that_leaks_into_the_next_session_is_found():
    found = failures(Kit(Sound, Leaking))
    assert found["test_equal_starts_give_equal_sessions_whatever_ran_before"] == BEFORE


@pytest.mark.parametrize(
    ("session", "sentence"),
    [
        (LeavesFiles, "3 closed environments left 3 open files"),
        (LeavesThreads, "3 closed environments left 3 threads"),
        (LeavesProcesses, "3 closed environments left 3 processes"),
    ],
)
def test_what_a_closed_environment_leaves_behind_is_counted(session, sentence):
    with pytest.raises(AssertionError, match=sentence):
        Kit(session).test_closing_frees_everything()


def test_the_leak_of_unreliable_itself_is_found(monkeypatch):
    class Leaky(TestUnreliableWithoutFaults):
        __test__ = False

        def starts(self, environment):
            return [environment.start("count", seed, leak=True) for seed in (0, 1)]

    started, popen = [], subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *a, **k: (KEPT.append(popen(*a, **k)), started.append(1))
    )
    with pytest.raises(AssertionError, match="left 3 processes"):
        Leaky().test_closing_frees_everything()
    assert len(started) == 4


class ForgetsAChannel(UnreliableSession):
    def observe(self, see):
        return Seen({name: {"vector": np.zeros(2)}[name] for name in see})


class LoadsUnchecked(UnreliableSession):
    def load(self, state):
        self._number, self._target, self._acts, self._carry, self._late = json.loads(state)


class AsksForWidth(UnreliableSession):
    def act(self, action, see):
        assert action.values, "no values"
        return super().act(action, see)


class Refuses(UnreliableSession):
    def act(self, action, see):
        raise Refused("the gripper is out of reach")


class ShowsNone(UnreliableSession):
    def act(self, action, see):
        super().act(action, see)


class ActsTooLate(UnreliableSession):
    def act(self, action, see):
        shown = super().act(action, NOTHING)
        return self.observe(see) if see else shown


class JudgesWithABool(UnreliableSession):
    def judge(self):
        return True


class Breaks(Whole):
    def open(self, start):
        raise KeyError(start.task)


LINE = "(test_environment.py, line *)"
TOLD = [
    (ForgetsAChannel, Whole, "an_unknown_channel_is_refused",
     "promise 'an unknown channel is refused' is broken: observe raised KeyError: "
     f"'no such channel' {LINE}"),
    (LoadsUnchecked, Whole, "damaged_snapshots_are_refused",
     "promise 'damaged snapshots are refused' is broken: load raised JSONDecodeError: "
     "Expecting value: line * column 1 (char 0) (decoder.py, line *)"),
    (AsksForWidth, Whole, "wrong_actions_are_refused_before_anything_moves",
     "promise 'wrong actions are refused before anything moves' is broken: act raised "
     f"AttributeError: 'Text' object has no attribute 'values' {LINE}"),
    (ActsTooLate, Whole, "an_unknown_channel_is_refused",
     "an act refused for its channel moved something"),
    (JudgesWithABool, Whole, "a_pure_oracle_changes_nothing",
     "judge returned a bool, not a Judgement"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("session", "made", "test", "sentence"), TOLD, ids=[row[0].__name__ for row in TOLD]
)
def test_an_error_of_the_authors_code_is_a_sentence_that_names_the_method(
    session, made, test, sentence
):
    assert failures(Kit(session, made)) == {f"test_{test}": sentence}


@pytest.mark.parametrize(
    ("session", "made", "sentence"),
    [
        (Refuses, Whole, f"act raised Refused: the gripper is out of reach {LINE}"),
        (Sound, Breaks, f"open raised KeyError: 'count' {LINE}"),
        (ShowsNone, Whole, "act returned a NoneType: it must be an observation (clew.core.Seen)"),
    ],
)
def test_what_breaks_every_promise_is_told_by_each_in_a_sentence(session, made, sentence):
    found = failures(Kit(session, made))
    assert len(found) >= 8
    assert all(said.endswith(sentence) for said in found.values()), found


def test_what_the_authors_own_starts_raise_is_a_sentence_too():
    class Odd(TestUnreliableWithoutFaults):
        __test__ = False

        def starts(self, environment):
            return {}["starts"]

    assert failures(Odd())["test_looking_changes_nothing"] == (
        f"promise 'looking changes nothing' is broken: starts raised KeyError: 'starts' {LINE}"
    )


class Page:
    """A page with a text field and a caret that blinks: no control vectors, snapshots or probe."""

    def __init__(self):
        self.opened = 0

    def start(self, seed):
        return Start("page", "type", seed, options={"clock": "real"})

    def open(self, start):
        self.opened += 1
        return PageSession(start)

    def fingerprint(self):
        return {"page": "1"}

    def close(self):
        return None


class PageSession:
    def __init__(self, start):
        self._text, self._looks = f"draft {start.seed} ", 0
        self._armed_from = time.monotonic() + 0.002

    def observe(self, see):
        if see - {"frame", "text"}:
            raise Refused("a page shows frame and text only")
        frame = np.full((64, 96, 3), 250, np.uint8)
        for i, letter in enumerate(self._text):
            frame[i // 10 * 8 : i // 10 * 8 + 7, i % 10 * 9 : i % 10 * 9 + 7] = (
                250 if letter == " " else ord(letter)
            )
        self._looks += 1
        frame[62, 90] = 250 if self._looks % 4 else 245
        shown = {"frame": frame, "text": self._text}
        return Seen({name: shown[name] for name in sorted(see)})

    def act(self, action, see):
        if not isinstance(action, Text):
            raise Refused(f"a page takes text, not {action}")
        self.observe(see)
        if time.monotonic() >= self._armed_from:  # like a field that ignores hurried typing
            self._text += action.text
        self._armed_from = time.monotonic() + 0.002
        return self.observe(see)

    def close(self):
        return None


class TestPage(EnvironmentConformance):
    channels = frozenset({"frame", "text"})
    match = Pixels(at_least=0.999)
    repeats = 1
    gap_s = 0.003

    def environment(self):
        return Page()

    def starts(self, environment):
        return [environment.start(seed) for seed in (0, 1)]

    def actions(self, start):
        return [Text(letter) for letter in "hello"]


def test_without_a_match_of_its_own_a_blinking_caret_is_a_difference():
    class Strict(TestPage):
        __test__ = False
        match = Exact()

    found = failures(Strict())
    assert found["test_looking_changes_nothing"] == "observe changes the state"


def test_the_authors_match_still_sees_what_it_is_meant_to_see():
    class Typo(PageSession):
        typed = [0]  # noqa: RUF012

        def act(self, action, see):
            self.typed[0] += 1
            return super().act(Text(" ") if self.typed[0] > 5 else action, see)

    class Kit(TestPage):
        __test__ = False

        def environment(self):
            page = Page()
            page.open = Typo
            return page

    test = "test_equal_starts_give_equal_sessions_whatever_ran_before"
    with pytest.raises(AssertionError) as failed:
        getattr(Kit(), test)()
    sentence, why = str(failed.value).split("\n")
    assert sentence == BEFORE
    assert why.startswith(" 1 actions in: frame.identical 0")


def test_where_nothing_takes_control_vectors_one_is_refused():
    assert TestPage().refused(None) == (Control((0.0,)),)


def test_few_repeats_open_few_sessions():
    opened = {}
    for repeats in (1, 3):
        pages = []

        class Counted(TestPage):
            __test__ = False

            def environment(self):
                pages.append(Page())  # noqa: B023
                return pages[-1]  # noqa: B023

        Counted.repeats = repeats
        Counted().test_closing_frees_everything()
        opened[repeats] = sum(page.opened for page in pages)
    assert opened == {1: 2, 3: 4}


def test_golden_states_pin_todays_behaviour():
    class Pinned(TestUnreliableWithoutFaults):
        __test__ = False
        pins = {0: "0" * 64}  # noqa: RUF012

        def golden(self):
            return self.pins

    with pytest.raises(AssertionError, match="start 0 no longer leads to its golden states"):
        Pinned().test_golden_states_are_reached()
    # The digest of the states and vectors of the twelve actions above, computed once. It changes
    # when `unreliable` does, whose runs are then no longer comparable.
    Pinned.pins = {0: "eed8cd0469c207b098cdb53e9e86589c3e65c0560007ee0b958c5f338314ac72"}
    Pinned().test_golden_states_are_reached()


def test_fewer_than_two_starts_prove_nothing():
    class One(TestUnreliableWithoutFaults):
        __test__ = False

        def starts(self, environment):
            return super().starts(environment)[:1]

    with pytest.raises(AssertionError, match="at least two starts"):
        One().test_looking_changes_nothing()


def test_what_an_author_has_to_say_is_asked_for():
    with pytest.raises(NotImplementedError, match="which environment"):
        EnvironmentConformance().test_looking_changes_nothing()


@pytest.mark.parametrize("width", [1, 2, 7])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_wrong_widths_never_holds_the_right_one(width, dtype):
    wrong = wrong_widths(width, dtype)
    assert len(wrong) == 4
    right = [a for a in wrong if isinstance(a, Control) and len(a.values) == width]
    assert all(action.dtype != dtype for action in right)
    assert any(isinstance(action, Text) for action in wrong)
