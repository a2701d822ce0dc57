"""Verbs on trajectories: reconstruct, resume, certify, value. They raise or measure; they store nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal, cast

from clew.core import (  # isort: skip
    NOTHING, Brief, Budget, Certificate, Channels, Decision, Diverged, Environment, Evidence,
    Judged, Judgement, Match, Moment, Oracle, Policy, Refused, Session, Sink, Trajectory, Trouble,
    boundary,
)  # fmt: skip
from clew.replay.episode import Episode, begin, closed_on_failure, expect, opened
from clew.replay.snapshots import Snapshots
from clew.stats import wilson


def reconstruct(
    environment: Environment, trajectory: Trajectory, match: Match, *,
    check: Literal["target", "every"] = "target", see: Channels = NOTHING, probe: bool = False,
    snapshots: Snapshots | None = None, sink: Sink | None = None, attempts: int = 1,
    pace: float = 1.0,
) -> Episode:  # fmt: skip
    """An episode at the trajectory's end, reached by its own actions.

    The target decides; with `check="every"` each recorded moment on the way is compared too and
    kept in `Episode.path` (mismatches there are evidence, not failure). `see` and `probe` are
    what the episode records from the target on. Recorded gaps are kept on a real clock,
    multiplied by `pace`. A snapshot that misses is no attempt: only cold replays are. After
    `attempts` misses raises `Diverged` with every attempt's evidence.
    """
    if attempts < 1:
        raise Refused(f"reconstruct with {attempts} attempts: at least one is needed")
    missed: list[Evidence] = []
    while len(missed) < attempts:
        episode = None
        if snapshots is not None:
            episode = snapshots.serve(environment, trajectory, match, sink, see)
        if episode is None:
            episode = replayed(environment, trajectory, match, check, sink, pace, see)
        with closed_on_failure(episode):
            evidence = episode.compare(match, trajectory.last)
        if evidence.same:
            episode.path += (evidence,)
            episode.see, episode.probe = see, probe
            return episode
        episode.close()
        if episode.snapshot:
            snapshots = None
        else:
            missed.append(evidence)
    raise Diverged(len(trajectory), missed[-1], tuple(missed))


def replayed(
    environment: Environment, trajectory: Trajectory, match: Match,
    check: Literal["target", "every"] = "target", sink: Sink | None = None, pace: float = 1.0,
    see: Channels = NOTHING,
) -> Episode:  # fmt: skip
    """A cold replay of all actions; the last moment is seen as `match` needs it, and `see`."""
    every, wanted, last = check == "every", match.sees | see, len(trajectory)
    looked = [t == last or (every and _recorded(trajectory.moment(t))) for t in range(last + 1)]
    with closed_on_failure(opened(environment, trajectory.start, sink=sink)) as episode:
        if looked[0]:
            episode.look(wanted, True)
        episode.began()
        for t, step in enumerate(trajectory.steps):
            if looked[t]:
                episode.path += (episode.compare(match, trajectory.moment(t)),)
            shown = wanted if looked[t + 1] else NOTHING
            expect(episode.session, trajectory.moment(t + 1), pace)
            episode.act(step.action, see=shown, probe=looked[t + 1], gap_s=step.gap_s * pace)
    return episode


def _recorded(moment: Moment) -> bool:
    return moment.probe is not None or any(True for _ in moment.seen)


def resume(
    environment: Environment, broken: Trajectory, decisions: Sequence[Decision], policy: Policy,
    brief: Brief, budget: Budget, match: Match, *,
    since: int = 0, until: Oracle | None = None, see: Channels = NOTHING, probe: bool = False,
    sink: Sink | None = None,
) -> tuple[Episode, str]:  # fmt: skip
    """The same attempt, carried on from where infrastructure broke it.

    The first `since` actions are the attempt's given prefix; what follows was decided by
    `policy`, whose recorded `decisions` are carried out again while a fresh actor is rebuilt from
    them, and then it goes on. `match` compares the moments that decisions were made on. Returns
    the episode and what stopped it. Raises `Diverged` when a decision no longer meets its moment.
    """
    options: dict[str, Any] = {"see": see, "probe": probe, "sink": sink}
    if since:
        episode = reconstruct(environment, broken.prefix(since), match, **options)
    else:
        episode = begin(environment, broken.start, **options)
    with closed_on_failure(episode):
        stop = episode.rollout(policy, brief, budget, until, decisions, broken, match)
    return episode, stop


def certify(
    fresh: Callable[[], Environment], trajectory: Trajectory, match: Match, replays: int = 3, *,
    pace: float = 1.0,
) -> Certificate:  # fmt: skip
    """`replays` cold replays, a new environment each; never from a snapshot.

    `fresh` must return an environment in a new process for the certificate to speak of cold
    replays. A divergence is the result and is not retried; an error of the environment counts as
    not reproduced and is named in `troubles`. `pace` multiplies the recorded gaps.
    """
    if replays < 1:
        raise Refused(f"certify with {replays} replays: at least one is needed")
    fingerprint: Mapping[str, str] = {}
    paths: list[tuple[Evidence, ...]] = []
    troubles: list[str | None] = []
    passed = 0
    for _ in range(replays):
        path: tuple[Evidence, ...] = ()
        trouble = None
        try:
            with boundary("environment"), closing(fresh()) as environment:
                fingerprint = environment.fingerprint()
                with replayed(environment, trajectory, match, "every", pace=pace) as episode:
                    path = (*episode.path, episode.compare(match, trajectory.last))
        except Trouble as error:
            if error.cause.party != "environment":
                raise
            path, trouble = (), str(error)
        passed += bool(path) and path[-1].same
        paths.append(path)
        troubles.append(trouble)
    return Certificate(
        trajectory.key(), fingerprint, passed, replays, tuple(paths), wilson(passed, replays),
        pace, tuple(troubles),
    )  # fmt: skip


def value(
    environment: Environment, trajectory: Trajectory, policy: Policy, at: Sequence[int],
    repeats: int, *,
    match: Match, brief: Brief, budget: Budget, snapshots: Snapshots | None = None,
) -> Mapping[int, tuple[int, int]]:  # fmt: skip
    """(successes, trials) when `policy` takes over after each t of `at` actions.

    Where the outcome is decided. It is not monotone in t, so it is measured, not bisected; give
    the pairs to `clew.stats.wilson` for intervals. Trial i of time t is briefed with the seed
    `brief.seed + i`; a trial succeeds when the task's own oracle passes at any step.
    """
    found: dict[int, tuple[int, int]] = {}
    for t in at:
        successes = 0
        for i in range(repeats):
            told = replace(brief, seed=brief.seed + i)
            with reconstruct(environment, trajectory.prefix(t), match, snapshots=snapshots) as e:
                e.rollout(policy, told, budget, own_oracle)
                successes += e.judge().passed
        found[t] = (successes, repeats)
    return found


def own_oracle(session: Session) -> Judgement:
    """The task's own pure oracle, to be asked after every action (`until`)."""
    if getattr(session, "judging", "") != "pure":  # isinstance of a protocol costs 50 µs a step
        raise Refused("this session has no pure oracle: it cannot be asked at every step")
    return cast("Judged", session).judge()
