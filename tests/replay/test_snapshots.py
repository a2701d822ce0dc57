"""A snapshot is served only where it gives what a cold replay gives, and withdrawn once it does not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.core import Control, Evidence, Moment, Refused, Step, Trajectory, value_digest
from clew.match import preset
from clew.replay import Snapshots, begin, reconstruct
from clew.replay.snapshots import GOING_ON
from clew.testing.unreliable import Unreliable

from ._worlds import VECTOR, Tape, World, count

STATE = preset("state")


class Seeing:
    """The state of both probes, and asks for the vector."""

    sees = VECTOR

    def __call__(self, recorded: Moment, reached: Moment) -> Evidence:
        return STATE(recorded, reached)


def recorded(environment, start, actions) -> Trajectory:
    with begin(environment, start, see=VECTOR, probe=True) as episode:
        for action in actions:
            episode.act(action)
        return episode.trajectory


def world_recorded(world, *values) -> Trajectory:
    return recorded(world, world.start(), [count(v) for v in values])


def contents(episode) -> tuple:
    """Everything that can be known of the state an episode is in."""
    now = episode.now
    seen = {name: value_digest(now.seen[name]) for name in now.seen}
    probe = {name: value_digest(value) for name, value in now.probe.items()}
    return seen, probe, episode.session.save()


def afterwards(episode, actions) -> list:
    found = [contents(episode)]
    for action in actions:
        episode.act(action, see=VECTOR, probe=True)
        found.append(contents(episode))
    return found


@settings(max_examples=40)
@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=25), st.lists(st.integers(-3, 3), max_size=12)
)
def test_a_served_state_equals_a_cold_replay_and_goes_on_like_it(values, more):
    environment = Unreliable(np.random.default_rng(0))
    whole = recorded(environment, environment.start("count", 3), map(count, values))
    snapshots = Snapshots(environment, audit=0.0)
    for t in range(1, len(values) + 1):
        part = whole.prefix(t)
        assert snapshots.offer(environment, part, Seeing())
        with reconstruct(environment, part, Seeing(), snapshots=snapshots) as served:
            assert served.snapshot
            assert served.trajectory.key() == part.key()
            found = afterwards(served, map(count, more))
        with reconstruct(environment, part, Seeing()) as cold:
            assert not cold.snapshot
            assert afterwards(cold, map(count, more)) == found
    assert (snapshots.served, snapshots.refused) == (len(values), 0)


def test_served_states_of_tabletop_equal_cold_replays():
    tabletop = pytest.importorskip("clew.environments.tabletop")
    environment = tabletop.Tabletop()
    dice = np.random.default_rng(5)
    for task in environment.tasks()[:2]:
        actions = [Control(tuple(dice.uniform(-1, 1, 4).tolist())) for _ in range(18)]
        whole = recorded(environment, environment.start(task, 4), actions[:12])
        snapshots = Snapshots(environment, audit=0.0)
        for t in range(1, 13):
            part = whole.prefix(t)
            assert snapshots.offer(environment, part, Seeing())
            with reconstruct(environment, part, Seeing(), snapshots=snapshots) as served:
                assert served.snapshot
                found = afterwards(served, actions[12:])
            with reconstruct(environment, part, Seeing()) as cold:
                assert afterwards(cold, actions[12:]) == found
    environment.close()


@settings(max_examples=40)
@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=25), st.lists(st.integers(-3, 3), max_size=20)
)
def test_a_snapshot_that_leaves_out_a_field_that_matters_is_never_served(values, more):
    environment = Unreliable(np.random.default_rng(0))
    start = environment.start("count", 3, omit=True)
    whole = recorded(environment, start, map(count, values))
    snapshots = Snapshots(environment, audit=0.0)
    kept = 0
    for t in range(1, len(values) + 1):
        part = whole.prefix(t)
        kept += snapshots.offer(environment, part, Seeing())
        with reconstruct(environment, part, Seeing(), snapshots=snapshots) as episode:
            found = [seen for seen, _, _ in afterwards(episode, map(count, more))]
        with reconstruct(environment, part, Seeing()) as cold:
            assert [seen for seen, _, _ in afterwards(cold, map(count, more))] == found
    # Where the field happens to be zero, leaving it out loses nothing.
    empty = sum(sum(values[:t]) % 3 == 0 for t in range(len(values)))
    assert (kept, snapshots.refused) == (empty, len(values) - empty)


def test_a_field_that_shows_only_after_a_while_is_found_missing():
    class Late(World):
        """`hidden` moves the number from the fifth act on, and `save` leaves it out."""

        def open(self, start):
            session = super().open(start)
            act, save = session.act, session.save

            def acts(action, see):
                session.hidden += 1
                if session.acts > 5:
                    session.number += session.hidden
                return act(action, see)

            def saves():
                hidden, session.hidden = session.hidden, 0.0
                state = save()
                session.hidden = hidden
                return state

            session.act, session.save = acts, saves
            session.probe = lambda: {"number": np.array([session.number])}
            return session

    world = Late()
    snapshots = Snapshots(world)
    assert not snapshots.offer(world, world_recorded(world, 1, 2), STATE)
    assert snapshots.refused == 1
    assert GOING_ON >= 5


def spoiled(from_session: int, upto: int = 1 << 30):
    """Loads go wrong, by one part in a billion, in the sessions counted from `from_session`."""

    def breaks(session, place):
        if place == "load" and from_session <= len(session.world.sessions) < upto:
            session.number += 1e-9

    return breaks


def test_an_exact_proof_compares_every_bit_where_the_matcher_would_be_content():
    world = World(spoiled(0))
    trajectory = world_recorded(world, 1, 2)
    nearly = replace(trajectory.last, probe={"number": np.array([3.0 + 1e-9, 2, 0])})
    assert STATE(trajectory.last, nearly).same
    snapshots = Snapshots(world)
    assert not snapshots.offer(world, trajectory, STATE)
    assert snapshots.refused == 1
    with reconstruct(world, trajectory, STATE, snapshots=snapshots) as episode:
        assert not episode.snapshot
    assert snapshots.served == 0


def test_an_approximate_snapshot_is_held_to_the_matcher():
    class Approximate(World):
        def open(self, start):
            session = super().open(start)
            session.exact = False
            return session

    near, far = (
        Approximate(spoiled(0)),
        Approximate(lambda s, place: setattr(s, "number", 9.0) if place == "load" else None),
    )
    for world, kept in ((near, True), (far, False)):
        snapshots = Snapshots(world)
        assert snapshots.offer(world, world_recorded(world, 1, 2), STATE) is kept
        assert snapshots.refused == (not kept)


def test_the_proof_loads_into_a_used_session_of_another_seed():
    loads = []

    def breaks(session, place):
        if place == "load":
            loads.append((session.start_seed, len(session.received)))

    class Seeded(World):
        def open(self, start):
            session = super().open(start)
            session.start_seed = start.seed
            return session

    world = Seeded(breaks)
    trajectory = recorded(world, world.start(seed=4), [count(1), count(2), count(3)])
    assert Snapshots(world).offer(world, trajectory, STATE)
    assert loads == [(5, 2)]


def test_where_there_is_no_other_seed_the_proof_uses_the_same():
    class Last(World):
        def open(self, start):
            if start.seed > 0:
                raise Refused("world has one seed")
            return super().open(start)

    world = Last()
    assert Snapshots(world).offer(world, world_recorded(world, 1, 2), STATE)
    assert world.left_open == 0


def test_a_snapshot_that_its_environment_refuses_to_load_is_not_proven():
    def breaks(session, place):
        if place == "load":
            raise Refused("this is a snapshot of another seed")

    world = World(breaks)
    snapshots = Snapshots(world)
    assert not snapshots.offer(world, world_recorded(world, 1, 2), STATE)
    assert (snapshots.refused, world.left_open) == (1, 0)


def test_an_audit_catches_what_went_wrong_later_and_withdraws_it():
    withdrawn: list[str] = []
    bad = [False]

    def breaks(session, place):
        if bad[0] and place == "load":
            session.number += 1

    world = World(breaks)
    trajectory = world_recorded(world, 1, 2)
    snapshots = Snapshots(world, audit=1.0, on_withdrawn=withdrawn.append)
    assert snapshots.offer(world, trajectory, STATE)
    with reconstruct(world, trajectory, STATE, snapshots=snapshots) as episode:
        name = episode.snapshot
    assert (snapshots.served, snapshots.audited, withdrawn) == (1, 1, [])
    bad[0] = True
    with reconstruct(world, trajectory, STATE, snapshots=snapshots) as episode:
        assert not episode.snapshot
        assert episode.now.probe["number"][0] == 3
    assert withdrawn == [name]
    assert snapshots.withdrawn == {name}
    assert snapshots.serve(world, trajectory, STATE) is None
    assert (snapshots.served, snapshots.size_bytes, world.left_open) == (1, 0, 0)


def test_what_was_withdrawn_never_comes_back():
    bad = [False]

    def breaks(session, place):
        if bad[0] and place == "load":
            session.number += 1

    world = World(breaks)
    trajectory = world_recorded(world, 1, 2)
    snapshots = Snapshots(world, audit=1.0)
    assert snapshots.offer(world, trajectory, STATE)
    bad[0] = True
    assert snapshots.serve(world, trajectory, STATE) is None
    bad[0] = False
    assert not snapshots.offer(world, trajectory, STATE)
    assert snapshots.serve(world, trajectory, STATE) is None


def test_the_share_of_audits_is_that_asked_for_and_seeded():
    world = World()
    trajectory = world_recorded(world, 1)
    counts = []
    for seed in (1, 1, 2):
        snapshots = Snapshots(world, audit=0.2, seed=seed)
        snapshots.offer(world, trajectory, STATE)
        for _ in range(200):
            snapshots.serve(world, trajectory, STATE).close()
        counts.append(snapshots.audited)
    assert counts[0] == counts[1] != counts[2]
    assert all(20 <= count <= 60 for count in counts)  # 40 expected, 3.5 deviations


def test_the_bound_in_bytes_holds_and_the_longest_unused_goes_first():
    world = World()
    parts = [world_recorded(world, v, 1) for v in (1, 2, 3)]
    with begin(world, world.start()) as episode:
        episode.act(count(1))
        size = len(episode.session.save())
    snapshots = Snapshots(world, limit_bytes=2 * size, audit=0.0)
    assert all(snapshots.offer(world, part, STATE) for part in parts[:2])
    snapshots.serve(world, parts[0], STATE).close()
    assert snapshots.offer(world, parts[2], STATE)
    assert snapshots.size_bytes == 2 * size
    assert snapshots.serve(world, parts[1], STATE) is None
    for part in (parts[0], parts[2]):
        snapshots.serve(world, part, STATE).close()


def test_a_snapshot_larger_than_the_bound_is_not_kept_and_nothing_goes_for_it():
    world = World()
    trajectory = world_recorded(world, 1)
    snapshots = Snapshots(world, limit_bytes=3)
    assert not snapshots.offer(world, trajectory, STATE)
    assert snapshots.size_bytes == 0
    assert snapshots.serve(world, trajectory, STATE) is None


def test_a_name_says_which_state_of_which_content_where():
    world, other = World(), World()
    other.fingerprint = lambda: {"world": "2"}
    names = []
    for place in (world, other):
        trajectory = world_recorded(place, 1, 2)
        snapshots = Snapshots(place, audit=0.0)
        snapshots.offer(place, trajectory, STATE)
        with snapshots.serve(place, trajectory, STATE) as episode:
            names.append(episode.snapshot.split("-"))
    assert names[0][0] == names[1][0] == trajectory.key()[:16]
    assert names[0][1] != names[1][1]
    assert names[0][2] == names[1][2]


def test_nothing_is_kept_of_a_start_or_of_what_cannot_be_saved():
    class Bare(World):
        def open(self, start):
            session = super().open(start)
            bare = type("Bare", (), {})()
            for name in ("observe", "act", "probe", "close"):
                setattr(bare, name, getattr(session, name))
            return bare

    for world, values in ((World(), ()), (Bare(), (1, 2))):
        trajectory = world_recorded(world, *values)
        snapshots = Snapshots(world)
        assert not snapshots.offer(world, trajectory, STATE)
        assert snapshots.serve(world, trajectory, STATE) is None
        assert world.left_open == 0


def test_on_a_real_clock_nothing_is_kept_since_time_is_not_saved():
    environment = Unreliable()
    start = environment.start("count", arm_ms=1)
    trajectory = Trajectory(start, [Step(Moment(), count(1))])
    assert not Snapshots(environment).offer(environment, trajectory, STATE)


def test_an_offer_twice_is_proven_once():
    world = World()
    trajectory = world_recorded(world, 1, 2)
    snapshots = Snapshots(world)
    assert snapshots.offer(world, trajectory, STATE)
    opened = len(world.sessions)
    assert snapshots.offer(world, trajectory, STATE)
    assert len(world.sessions) == opened


def test_a_proof_stops_where_the_environment_ends_the_episode():
    class Strict(World):
        def open(self, start):
            session = super().open(start)
            act = session.act

            def acts(action, see):
                assert session.acts < self.ends_at, "acted after the end"
                return act(action, see)

            session.act = acts
            return session

    world = Strict(ends_at=4)
    assert Snapshots(world).offer(world, world_recorded(world, 1, 2), STATE)


@pytest.mark.parametrize("place", ["save", "load", "act"])
def test_a_proof_that_breaks_leaves_no_session_open(place):
    broken = [False]

    def breaks(session, here):
        if broken[0] and here == place:
            raise ValueError("broken")

    world = World(breaks)
    trajectory = world_recorded(world, 1, 2)
    snapshots = Snapshots(world, audit=0.0)
    if place != "save":
        assert snapshots.offer(world, trajectory, STATE)
    broken[0] = True
    with pytest.raises(Exception, match="environment"):
        (snapshots.offer if place == "save" else snapshots.serve)(world, trajectory, STATE)
    assert world.left_open == 0


def test_the_sink_of_a_serving_has_the_target_and_what_was_asked_to_be_seen():
    world, tape = World(), Tape()
    trajectory = world_recorded(world, 1, 2)
    snapshots = Snapshots(world, audit=0.0)
    snapshots.offer(world, trajectory, STATE)
    options = {"snapshots": snapshots, "sink": tape, "see": VECTOR}
    with reconstruct(world, trajectory, STATE, **options) as episode:
        assert episode.now.seen["vector"] == 3
    assert [line[:2] for line in tape.lines[1:]] == [("acting", 1), ("acted", 1)]
    assert tape.trajectory().last.seen["vector"] == 3


def test_a_state_is_saved_one_action_before_the_target():
    world = World()
    trajectory = world_recorded(world, 5, 7)
    snapshots = Snapshots(world)
    snapshots.offer(world, trajectory, STATE)
    (kept,) = snapshots._kept.values()
    assert json.loads(kept.state) == [5.0, 1, 0.0]
