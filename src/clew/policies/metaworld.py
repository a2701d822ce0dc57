"""Meta-World's own scripted experts, unmodified, as a policy. Not a learned policy, and no noise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from clew.core import Brief, Channels, Control, Decision, Observation, Refused, nearest


class MetaWorldExpert:
    """The expert that Meta-World ships for the task that the brief names (`notes["task"]`).

    It sees `vector` (39 numbers, goal included) and decides one `Control` of 4 float32 at a time,
    exactly as the expert returns it: a step towards a far point exceeds 1, and Meta-World clips.
    """

    sees: Channels = frozenset({"vector"})

    def begin(self, brief: Brief) -> MetaWorldExpertActor:
        from metaworld.policies import ENV_POLICY_MAP

        task = brief.notes.get("task", "")
        if task not in ENV_POLICY_MAP:
            raise Refused(
                f"the brief's note 'task' is {task!r}: Meta-World has no expert for it; "
                f"{nearest(task, ENV_POLICY_MAP)}"
            )
        # Every far move would print it: Meta-World clips, and says that it does.
        warnings.filterwarnings("ignore", message=r"Constant\(s\) may be too high")
        return MetaWorldExpertActor(ENV_POLICY_MAP[task]())


class MetaWorldExpertActor:
    """One expert at work. Meta-World's experts remember nothing, so there is nothing to recall."""

    def __init__(self, expert: Any) -> None:
        self._expert = expert

    def decide(self, seen: Observation) -> Decision:
        action = np.asarray(self._expert.get_action(seen["vector"]), dtype=np.float32)
        return Decision((Control(tuple(action.tolist()), "float32"),))

    def recall(self, seen: Observation, decision: Decision) -> None:
        """Nothing: an expert's next action depends on the next observation alone."""
