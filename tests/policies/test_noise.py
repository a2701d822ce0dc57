"""Action noise: on the coordinates and steps asked for, seeded by the brief, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from clew.core import UNSEEN, Brief, Control, Decision, Keys, Refused
from clew.policies.noise import Noisy


@dataclass(frozen=True)
class Steady:
    """Decides the same actions every time."""

    actions: tuple = (Control((0.5, -0.5, 0.0, 1.0)),)
    sees: frozenset = frozenset({"vector"})

    def begin(self, brief):
        return self

    def decide(self, seen):
        return Decision(self.actions, raw="the reply", usd=0.25)


def acted(policy, seed, decisions):
    actor = policy.begin(Brief(seed=seed))
    return [a for _ in range(decisions) for a in actor.decide(UNSEEN).actions]


def test_only_the_first_coordinates_of_the_first_steps_are_noised():
    actions = acted(Noisy(Steady(), 0.3, steps=10, coordinates=2), 1, 15)
    plain = Steady().actions[0]
    assert all(a.values[:2] != plain.values[:2] for a in actions[:10])
    assert all(a.values[2:] == plain.values[2:] for a in actions)
    assert actions[10:] == [plain] * 5


def test_noise_has_the_deviation_asked_for():
    still = Steady((Control((0.0, 0.0, 0.0, 1.0)),))
    values = np.array([a.values[:3] for a in acted(Noisy(still, 0.1, steps=2000), 3, 2000)])
    assert values.std() == pytest.approx(0.1, rel=0.05)
    assert abs(values.mean()) < 0.005


def test_noised_coordinates_stay_within_range():
    values = np.array([a.values for a in acted(Noisy(Steady(), 5.0), 2, 60)])
    assert np.abs(values).max() == 1.0


def test_noise_follows_from_the_seed_alone_however_the_policy_chunks():
    single = Steady()
    chunked = Steady(single.actions * 4)
    assert acted(Noisy(single, 0.3), 7, 80) == acted(Noisy(chunked, 0.3), 7, 20)
    assert acted(Noisy(single, 0.3), 7, 80) != acted(Noisy(single, 0.3), 8, 80)


def test_no_noise_is_the_policy_itself_and_its_reply_and_price_are_kept():
    assert acted(Noisy(Steady(), 0.0), 1, 5) == acted(Steady(), 1, 5)
    decision = Noisy(Steady(), 1.0).begin(Brief()).decide(UNSEEN)
    assert (decision.raw, decision.usd) == ("the reply", 0.25)
    assert Noisy(Steady(), 1.0).sees == Steady().sees


def test_what_cannot_be_noised_is_refused():
    for actions in ((Keys("press", ("a",)),), (Control((0.1, 0.2)),)):
        with pytest.raises(Refused, match="noise on 3 coordinates"):
            acted(Noisy(Steady(actions), 0.1), 0, 1)
    for settings in ({"sigma": -1.0}, {"sigma": float("nan")}, {"sigma": 1.0, "steps": -1}):
        with pytest.raises(Refused):
            Noisy(Steady(), **settings)
