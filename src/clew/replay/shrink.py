"""Shrinking: a 1-minimal action list with the same judgement, every candidate really run.

Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
TSE 28(2), 2002). Discrete actions are deleted. Control steps are held, not deleted: time goes on,
and the vector is replaced by the one that stands still.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clew.core import Action, Control, Environment, Judgement, Moment, Refused, Step, Trajectory
from clew.replay.episode import begin

Hold = Callable[[Control], Control]


def zero(action: Control) -> Control:
    """The zero vector of the same width: it stands still where controls are increments."""
    return Control((0,) * len(action.values), action.dtype)


def shrink(
    environment: Environment, trajectory: Trajectory, keep: Callable[[Judgement], bool], *,
    hold: Hold = zero,
) -> Trajectory:  # fmt: skip
    """The trajectory of a 1-minimal action list whose judgement still satisfies `keep`.

    1-minimal: taking away (or holding) any single remaining action breaks `keep`. Raises `Refused`
    when the given trajectory does not satisfy it itself.
    """
    actions = trajectory.actions()
    found: dict[str, Trajectory | None] = {}

    def run(kept: Sequence[int]) -> Trajectory | None:
        steps = [Step(Moment(), a) for a in _without(actions, set(kept), hold)]
        candidate = Trajectory(trajectory.start, tuple(steps))
        key = candidate.key()
        if key not in found:
            with begin(environment, trajectory.start) as episode:
                for step in candidate.steps:
                    episode.act(step.action)
                episode.look(frozenset(), True)
                found[key] = episode.trajectory if keep(episode.judge()) else None
        return found[key]

    kept = [i for i, a in enumerate(actions) if not isinstance(a, Control) or hold(a) != a]
    best = run(kept)
    if best is None:
        raise Refused("shrink: the given trajectory does not have the judgement that is to be kept")
    if (empty := run([])) is not None:
        return empty
    pieces = 2
    while len(kept) >= 2:
        size = -(-len(kept) // pieces)
        rests = [kept[:i] + kept[i + size :] for i in range(0, len(kept), size)]
        smaller = next((rest for rest in rests if run(rest) is not None), None)
        if smaller is not None:
            kept, pieces = smaller, max(pieces - 1, 2)
        elif size == 1:
            break
        else:
            pieces = min(pieces * 2, len(kept))
    return run(kept) or best


def _without(actions: Sequence[Action], kept: set[int], hold: Hold) -> list[Action]:
    """The actions with those outside `kept` deleted, or held where they are control steps."""
    left: list[Action] = []
    for i, action in enumerate(actions):
        if i in kept:
            left.append(action)
        elif isinstance(action, Control):
            left.append(hold(action))
    return left
