"""The policies' kit: sound policies pass, and each broken promise is told in its sentence."""

from __future__ import annotations

import numpy as np
import pytest

from clew.core import Brief, Control, Decision
from clew.testing import PolicyConformance
from clew.testing.unreliable import Coin, Unreliable

VECTOR = frozenset({"vector"})


class TestCoin(PolicyConformance):
    def policy(self):
        return Coin(0.5)

    def environment(self):
        return Unreliable()

    def start(self, environment):
        return environment.start("count")

    def brief(self, start):
        return Brief("Bring the number to its target.")


class Remembers:
    """Holds its memory in the policy, so that attempts touch each other."""

    sees = VECTOR

    def __init__(self):
        self.turn = 0

    def begin(self, brief):
        return self

    def decide(self, seen):
        self.turn += 1
        return Decision((Control((self.turn,), "int64"),))


class Dices(Remembers):
    """Draws from the machine's own luck, whatever its seed."""

    def decide(self, seen):
        return Decision((Control((int(np.random.default_rng().integers(1 << 40)),), "int64"),))


class Actions(Remembers):
    def decide(self, seen):
        return (Control((1,), "int64"),)


def kit(policy):
    class Kit(TestCoin):
        __test__ = False

        def policy(self):
            return policy()

    return Kit()


def test_a_policy_that_remembers_other_attempts_is_found():
    with pytest.raises(AssertionError, match="remembers another actor's attempt"):
        kit(Remembers).test_an_actor_holds_all_memory()


def test_a_policy_with_luck_of_its_own_is_found():
    with pytest.raises(AssertionError, match="a fresh actor decides otherwise"):
        kit(Dices).test_equal_briefs_and_moments_give_equal_decisions()


def test_what_is_no_decision_is_found():
    with pytest.raises(AssertionError, match="decide must return a Decision"):
        kit(Actions).test_decisions_are_decisions()


class Forgets(Remembers):
    def decide(self, seen):
        return Decision((seen.channels["frame"],))


class Invents(Remembers):
    def decide(self, seen):
        return Decision(("forward",))


class TooWide(Remembers):
    def decide(self, seen):
        return Decision((Control((1, 2), "int64"),))


@pytest.mark.parametrize(
    ("policy", "test", "sentence"),
    [
        (Forgets, "decisions_are_decisions",
         r"promise 'decisions are decisions' is broken: decide raised KeyError: 'frame' \("),
        (Invents, "decisions_are_decisions", "decide chose 'forward', which is not an action"),
        (TooWide, "an_actor_holds_all_memory",
         "promise 'an actor holds all memory' is broken: act raised Refused: unreliable takes"),
    ],
)  # fmt: skip
def test_what_a_policy_breaks_is_a_sentence_that_names_the_method(policy, test, sentence):
    with pytest.raises(AssertionError, match=sentence):
        getattr(kit(policy), f"test_{test}")()


def test_a_world_that_moves_by_itself_does_no_harm_to_a_sound_policy():
    """Each session shows another number; the decisions follow what is shown."""

    class Ticking(Unreliable):
        opened = [0]  # noqa: RUF012

        def open(self, start):
            session = super().open(start)
            self.opened[0] += 1
            session._number = 3 * self.opened[0]
            return session

    class Follows(Remembers):
        def decide(self, seen):
            return Decision((Control((int(seen["vector"][0]) % 3 + 1,), "int64"),))

    class Kit(TestCoin):
        __test__ = False

        def environment(self):
            return Ticking()

        def policy(self):
            return Follows()

    Kit().test_equal_briefs_and_moments_give_equal_decisions()
    Kit().test_an_actor_holds_all_memory()


def test_what_an_author_has_to_say_is_asked_for():
    with pytest.raises(NotImplementedError, match="which policy"):
        PolicyConformance().test_decisions_are_decisions()
