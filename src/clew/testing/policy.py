"""What every policy promises, as tests that fail in sentences. See `clew.testing.environment`."""

from __future__ import annotations

from dataclasses import replace

from clew.core import Brief, Budget, Decision, Environment, Policy, Start
from clew.replay import begin


class PolicyConformance:
    """Inherit, name the policy, an environment, a start and a brief; pytest runs the rest."""

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

    def test_equal_briefs_and_moments_give_equal_decisions(self) -> None:
        assert self._actions(0) == self._actions(0), "a fresh actor decides otherwise"

    def test_an_actor_holds_all_memory(self) -> None:
        policy = self.policy()
        first = self._actions(0, policy)
        self._actions(1, policy)
        assert self._actions(0, policy) == first, "the policy remembers another actor's attempt"

    def test_decisions_are_decisions(self) -> None:
        environment = self.environment()
        start = self.start(environment)
        policy = self.policy()
        with begin(environment, start, see=policy.sees) as episode:
            decision = policy.begin(self.brief(start)).decide(episode.now.seen)
        environment.close()
        assert isinstance(decision, Decision), "decide must return a Decision"

    def _actions(self, seed: int, policy: Policy | None = None) -> tuple[object, ...]:
        environment = self.environment()
        start = self.start(environment)
        with begin(environment, start) as episode:
            told = replace(self.brief(start), seed=seed)
            episode.rollout(policy or self.policy(), told, Budget(actions=self.steps))
            actions = episode.trajectory.actions()
        environment.close()
        return actions
