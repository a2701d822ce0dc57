"""An environment in another process keeps every promise, and its troubles are named."""

from __future__ import annotations

from contextlib import closing

import pytest

from clew.core import Brief, Budget, Control, Refused, Trouble
from clew.match import Exact
from clew.replay import begin, certify
from clew.run.remote import remote
from clew.testing import EnvironmentConformance
from clew.testing.unreliable import Coin

VECTOR = frozenset({"vector"})


class TestARemoteEnvironmentKeepsEveryPromise(EnvironmentConformance):
    def environment(self):
        return remote("unreliable")

    def starts(self, environment):
        return [environment.start("count", seed) for seed in (0, 1, 2)]

    def actions(self, start):
        return [Control((1,), "int64"), Control((2,), "int64")] * 6

    def refused(self, start):
        return [Control((1.0,)), Control((1, 1), "int64")]


def attempt(options=None):
    with closing(remote("unreliable")) as environment:
        start = environment.start("count", 3, **(options or {}))
        with begin(environment, start, see=VECTOR, probe=True) as episode:
            episode.rollout(Coin(1.0), Brief(), Budget(actions=12))
            return episode.trajectory


def test_certify_replays_in_new_processes():
    certificate = certify(lambda: remote("unreliable"), attempt(), Exact(VECTOR), replays=2)
    assert (certificate.passed, certificate.replays) == (2, 2)


def test_a_crash_of_the_process_is_the_environments_trouble_with_its_signal():
    with closing(remote("unreliable")) as environment:
        start = environment.start("count", 0, crash_on=7, prints=True)
        with begin(environment, start) as episode, pytest.raises(Trouble, match="signal 9"):
            episode.act(Control((7,), "int64"))


def test_a_hang_ends_at_its_deadline():
    with closing(remote("unreliable", deadlines={"act": 0.5})) as environment:
        start = environment.start("count", 0, hang_on=7)
        with begin(environment, start) as episode, pytest.raises(Trouble, match="TimeoutError"):
            episode.act(Control((7,), "int64"))


def test_what_the_far_side_refuses_is_refused_here():
    with closing(remote("unreliable")) as environment:
        with pytest.raises(Refused, match="did you mean 'count'"):
            environment.start("coun")
