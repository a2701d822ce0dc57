"""Action noise around any policy that emits control vectors; a source of deviations, not a policy.

RoboRecover §4.2: part of its scenarios come from trajectories whose translational coordinates
were perturbed in the first steps of an attempt (there 150), so that the deviation is one that the
robot itself brought about and not an edited state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clew.core import (
    Action,
    Actor,
    Brief,
    Channels,
    Control,
    Decision,
    Observation,
    Policy,
    Refused,
)

#: Sets the noise's random stream apart from the policy's, which is seeded by `brief.seed` alone.
_STREAM = 0x6E6F697365


@dataclass(frozen=True)
class Noisy:
    """`policy` with Gaussian noise of `sigma` on the first `coordinates` of its first `steps`.

    `sigma` is in units of the action; noised coordinates are clipped to [−1, 1]. Steps are
    counted from the attempt's own first action. The noise follows from `brief.seed`: action t of
    an attempt gets the same noise whatever the policy does and however it chunks.
    """

    policy: Policy
    sigma: float
    steps: int = 60
    coordinates: int = 3

    def __post_init__(self) -> None:
        if not self.sigma >= 0.0:
            raise Refused(f"sigma is {self.sigma}: noise needs a standard deviation from 0 on")
        if self.steps < 0 or self.coordinates < 1:
            raise Refused(
                f"noise on {self.coordinates} coordinates in {self.steps} steps: it needs at "
                "least 1 coordinate and no negative steps"
            )

    @property
    def sees(self) -> Channels:
        return self.policy.sees

    def begin(self, brief: Brief) -> _NoisyActor:
        return _NoisyActor(self, self.policy.begin(brief), brief.seed)


class _NoisyActor:
    def __init__(self, noisy: Noisy, actor: Actor, seed: int) -> None:
        self._noisy, self._actor = noisy, actor
        self._rng = np.random.default_rng((seed, _STREAM))
        self._acted = 0

    def decide(self, seen: Observation) -> Decision:
        """The policy's decision with noise on its actions; raw reply and price stay."""
        decision = self._actor.decide(seen)
        return replace(decision, actions=tuple(self._noised(a) for a in decision.actions))

    def _noised(self, action: Action) -> Action:
        if self._acted >= self._noisy.steps:
            return action
        count = self._noisy.coordinates
        if not isinstance(action, Control) or len(action.values) < count:
            raise Refused(
                f"noise on {count} coordinates needs a Control of at least as many values, and "
                f"the policy decided {action!r}"
            )
        self._acted += 1
        noise = self._noisy.sigma * self._rng.standard_normal(count)
        moved = np.clip(np.asarray(action.values[:count]) + noise, -1.0, 1.0)
        return Control((*moved.tolist(), *action.values[count:]), action.dtype)
