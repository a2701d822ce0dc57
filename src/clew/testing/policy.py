"""What every policy promises, as tests that fail in sentences. See `clew.testing.environment`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from clew.core import Action, Actor, Brief, Decision, Environment, Observation, Policy, Start
from clew.core.actions import KINDS
from clew.replay import Episode, begin
from clew.testing.promise import promise


class PolicyConformance:
    """Inherit, name the policy, an environment, a start and a brief; pytest runs the rest.

    Actors that are compared are shown the same moments of one session, so that a world on a real
    clock does no harm.
    """

    #: At most so many decisions are compared.
    steps = 20

    def policy(self) -> Policy:
        """The policy under test."""
        raise NotImplementedError("conformance: say which policy to test")

    def environment(self) -> Environment:
        """An environment that it works in."""
        raise NotImplementedError("conformance: say which environment to test in")

    def start(self, environment: Environment) -> Start:
        """Where it begins."""
        raise NotImplementedError("conformance: say where to begin")

    def brief(self, start: Start) -> Brief:
        """What it is told."""
        raise NotImplementedError("conformance: say what it is told")

    @promise
    def test_equal_briefs_and_moments_give_equal_decisions(self) -> None:
        """Two fresh actors that are told and shown the same decide the same."""
        with self._begun(self.policy()) as (episode, brief):
            seen, decided = self._attempt(episode, self.policy().begin(brief))
            again = _decided(self.policy().begin(brief), seen)
        assert again == decided, "a fresh actor decides otherwise"

    @promise
    def test_an_actor_holds_all_memory(self) -> None:
        """What one actor saw and was told changes no other actor of the same policy."""
        policy = self.policy()
        with self._begun(policy) as (episode, brief):
            seen, decided = self._attempt(episode, policy.begin(brief))
            _decided(policy.begin(replace(brief, seed=brief.seed + 1)), seen)
            again = _decided(policy.begin(brief), seen)
        assert again == decided, "the policy remembers another actor's attempt"

    @promise
    def test_decisions_are_decisions(self) -> None:
        """`decide` returns a `Decision` whose actions are actions."""
        policy = self.policy()
        with self._begun(policy) as (episode, brief):
            decision = _decision(policy.begin(brief), episode.now.seen)
        for action in decision.actions:
            assert type(action) in KINDS.values(), (
                f"decide chose {action!r}, which is not an action"
            )

    @contextmanager
    def _begun(self, policy: Policy) -> Iterator[tuple[Episode, Brief]]:
        environment = self.environment()
        try:
            start = self.start(environment)
            with begin(environment, start, see=frozenset(policy.sees)) as episode:
                yield episode, self.brief(start)
        finally:
            environment.close()

    def _attempt(
        self, episode: Episode, actor: Actor
    ) -> tuple[list[Observation], list[tuple[Action, ...]]]:
        """The moments that an actor was shown, and the actions that it decided on each."""
        shown, decided = [], []
        for _ in range(self.steps):
            shown.append(episode.now.seen)
            decision = _decision(actor, shown[-1])
            decided.append(decision.actions)
            for action in decision.actions:
                episode.act(action)
            if decision.stop or episode.now.seen.ended:
                break
        return shown, decided


def _decided(actor: Actor, seen: list[Observation]) -> list[tuple[Action, ...]]:
    return [_decision(actor, moment).actions for moment in seen]


def _decision(actor: Actor, seen: Observation) -> Decision:
    decision = actor.decide(seen)
    assert isinstance(decision, Decision), "decide must return a Decision"
    return decision
