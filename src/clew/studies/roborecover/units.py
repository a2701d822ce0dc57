"""What workers do for a RoboRecover study: one function per kind of unit. Plain data in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clew import registry
from clew.core import (
    NOTHING,
    Brief,
    Budget,
    Channels,
    Described,
    Judgement,
    Policy,
    Refused,
    Session,
    Start,
    Trajectory,
    nearest,
)
from clew.match import compare, preset
from clew.replay import Episode, own_oracle, reconstruct
from clew.run.bench import Bench
from clew.store import Recorder
from clew.studies.roborecover.point import movement_mm, recovery_point

FRAME: Channels = frozenset({"frame"})


def rollout(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """One attempt from an initial state; a failed one is searched for its recovery point."""
    environment = _described(bench, arguments["environment"])
    task = arguments["task"]
    start = _start(environment, task, arguments)
    scores: list[float] = []

    def until(session: Session) -> Judgement:
        judgement = own_oracle(session)
        scores.append(judgement.score)
        return judgement

    rolled = bench.attempt(
        Trajectory(start), policy_of(bench, arguments["policy"]), _brief(environment, task, bench.seed),
        _budget(environment, task),
        match=preset("state"), until=until, probe=arguments["point"] is not None,
    )  # fmt: skip
    passed = rolled.judgement.passed
    values: dict[str, Any] = {
        "solved": passed and rolled.actions == 0,
        "outcome": "pass" if passed else "fail", "stop": rolled.stop, "actions": rolled.actions,
        "score": rolled.judgement.score, "best_score": max(scores),
    }  # fmt: skip
    if not passed and arguments["point"] is not None:
        trajectory = rolled.episode.trajectory
        probes = [trajectory.moment(t).probe or {} for t in range(len(trajectory) + 1)]
        values["point"] = recovery_point(movement_mm(probes), scores, **arguments["point"])
        if values["point"] is not None:
            values["key"] = trajectory.key(values["point"])
    return values


def scenario(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """Rebuild a recovery state cold, check it against the attempt it comes from, record how it
    looks. `solved` says that the state already satisfies the task."""
    origin = bench.load(inputs[0]).trajectory.prefix(arguments["point"])
    environment = bench.environment(arguments["environment"])
    recorder = Recorder(bench.writer, {"unit": bench.unit, "key": origin.key()})
    with reconstruct(environment, origin, preset("state"), sink=recorder) as episode:
        framed = bool(arguments["frames"]) and _framed(episode)
        solved = episode.judge().passed
        recorder.acted(len(origin) - 1, episode.now)
        recorder.finish({"passed": solved})
    bench.about["attempt"] = recorder.locator.json()
    return {"key": origin.key(), "actions": len(origin), "solved": solved, "framed": framed}


def validate(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """One cold replay in a new process against the scenario's recorded state and frame."""
    recorded = bench.load(inputs[0]).trajectory
    framed = "frame" in recorded.last.seen
    match = preset("roborecover") if framed else preset("state")
    environment = bench.environment(arguments["environment"])
    with reconstruct(environment, recorded, preset("unchecked")) as episode:
        reached = episode.look(FRAME if framed else NOTHING, True)
        evidence = compare(match, recorded.last, reached)
    return {
        "outcome": "pass" if evidence.same else "fail",
        "rungs": dict(evidence.rungs), "notes": dict(evidence.notes),
    }  # fmt: skip


def trial(bench: Bench, arguments: Mapping[str, Any], inputs: Sequence[Any]) -> dict[str, Any]:
    """One policy takes over at a scenario's state, with no history and the full budget."""
    origin = bench.load(inputs[0]).trajectory
    environment = _described(bench, origin.start.environment)
    task = origin.start.task
    rolled = bench.attempt(
        origin, policy_of(bench, arguments["policy"]), _brief(environment, task, bench.seed),
        _budget(environment, task), match=preset("state"), until=own_oracle,
    )  # fmt: skip
    return {
        "outcome": "pass" if rolled.judgement.passed else "fail",
        "stop": rolled.stop, "actions": rolled.actions,
    }  # fmt: skip


def policy_of(bench: Bench, spec: Mapping[str, Any]) -> Policy:
    """The policy that a plan's entry describes, wrapped in noise where it says so."""
    try:
        policy = bench.policy(spec["policy"], **spec["arguments"])
    except Refused as error:
        raise Refused(f"the plan's 'policies': {error}") from error
    for part in ("begin", "sees"):
        if not hasattr(policy, part):
            raise Refused(
                f"policy {spec['policy']!r} is no policy: it has no {part!r} (docs/extending.md)"
            )
    return registry.policy("noisy", policy=policy, **spec["noise"]) if spec["noise"] else policy


def _framed(episode: Episode) -> bool:
    """Record how the present moment looks; False where frames cannot be drawn."""
    try:
        episode.look(FRAME, True)
    except Refused:
        return False
    return True


def _described(bench: Bench, name: str) -> Described:
    environment = bench.environment(name)
    if not isinstance(environment, Described):
        raise Refused(f"environment {name!r} does not list its tasks: it cannot be studied")
    return environment


def _start(environment: Described, task: str, arguments: Mapping[str, Any]) -> Start:
    """The start that a plan's fields describe; what it refuses names the field."""
    if task not in environment.tasks():
        raise Refused(
            f"the plan's 'tasks' has {task!r}, and environment {arguments['environment']!r} has no"
            f" such task; {nearest(task, environment.tasks())}"
        )
    try:
        return environment.start(task, arguments["seed"], **arguments["options"])
    except Refused as error:
        raise Refused(f"the plan's 'options' with task {task!r}: {error}") from error


def _budget(environment: Described, task: str) -> Budget:
    """The task's full number of actions; twice as many decisions end a policy that never acts."""
    actions = environment.budget(task)
    return Budget(actions=actions, decisions=2 * actions)


def _brief(environment: Described, task: str, seed: int) -> Brief:
    return Brief(environment.instruction(task), notes={"task": task}, seed=seed)
