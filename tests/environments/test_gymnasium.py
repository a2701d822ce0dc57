"""Gymnasium in both directions."""

import importlib.util
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from clew.core import (
    NOTHING,
    Control,
    Described,
    Judged,
    Judgement,
    Refused,
    Saved,
    Seen,
    SessionSpent,
    Start,
    Text,
)
from clew.environments.gymnasium import GymnasiumEnvironment, as_gymnasium
from clew.testing import EnvironmentConformance
from clew.testing.environment import wrong_widths

VECTOR = frozenset({"vector"})


class Walk(gymnasium.Env):
    """A walk from a random cell; being at 5 or beyond is a success and ends it."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012

    def __init__(self, render_mode=None, stride=1, actions="discrete", observations="box"):
        self.render_mode, self.stride = render_mode, stride
        self.action_space = {
            "discrete": spaces.Discrete(2),
            "multi": spaces.MultiDiscrete([2, 3]),
            "bits": spaces.MultiBinary(2),
            "tuple": spaces.Tuple([spaces.Discrete(2)]),
        }[actions]
        self.observation_space = {
            "box": spaces.Box(-99, 99, (1,), np.float32),
            "dict": spaces.Dict(a=spaces.Box(-99, 99, (1,), np.float64), b=spaces.Discrete(2)),
            "picture": spaces.Box(0, 255, (4, 6, 3), np.uint8),
            "text": spaces.Text(20),
            "sequence": spaces.Sequence(spaces.Discrete(2)),
        }[observations]
        self.observations = observations

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(-3, 0))
        return self.seen(), {}

    def step(self, action):
        self.at += self.stride * (1 if np.ravel(action)[0] else -1)
        return self.seen(), 0.0, self.at >= 5, False, {"is_success": self.at >= 5}

    def seen(self):
        return {
            "box": np.array([self.at], np.float32),
            "dict": {"a": np.array([self.at], np.float64), "b": 1},
            "picture": np.full((4, 6, 3), self.at + 100, np.uint8),
            "text": f"at {self.at}",
            "sequence": (),
        }[self.observations]

    def render(self):
        return np.full((4, 6, 3), self.at + 100, np.uint8)


gymnasium.register("ClewWalk-v0", entry_point=Walk, max_episode_steps=20)


class Countdown:
    """A clew environment of our own: a number that each action pulls towards zero."""

    def tasks(self):
        return ("zero",)

    def start(self, task, seed=0, **options):
        if task != "zero":
            raise Refused(f"no task {task!r}")
        return Start("countdown", task, seed, options={"clock": "stepped", **options})

    def instruction(self, task):
        return "Reach zero."

    def budget(self, task):
        return 8

    def open(self, start):
        return CountdownSession(start.seed)

    def fingerprint(self):
        return {}

    def close(self):
        pass


class CountdownSession:
    judging = "pure"

    def __init__(self, seed):
        self.state = np.random.default_rng(seed).uniform(1, 2, 2)

    def observe(self, see=NOTHING):
        shown = {"vector": self.state.copy(), "frame": np.full((4, 4, 3), 7, np.uint8)}
        return Seen({name: shown[name] for name in see}, ended=bool(self.state[0] < -3))

    def act(self, action, see=NOTHING):
        if not isinstance(action, Control) or action.dtype != "float32":
            raise Refused("float32 only")
        self.state = self.state + np.asarray(action.values)
        return self.observe(see)

    def judge(self):
        near = bool(np.abs(self.state).max() < 0.5)
        return Judgement(near, float(near))

    def close(self):
        pass


PULL = spaces.Box(-1, 1, (2,), np.float32)


@pytest.fixture
def walk():
    return GymnasiumEnvironment("ClewWalk-v0")


def opened(environment, seed=0, **options):
    return environment.open(environment.start(environment.tasks()[0], seed, **options))


def test_equal_starts_and_actions_give_equal_observations_whatever_ran_before():
    cartpole = GymnasiumEnvironment("CartPole-v1")
    actions = [Control((int(i % 3 == 0),), "int64") for i in range(12)]

    def run(seed):
        session = opened(cartpole, seed)
        seen = [session.observe(VECTOR), *(session.act(action, VECTOR) for action in actions)]
        session.close()
        return [each["vector"].tobytes() for each in seen], [each.ended for each in seen]

    first = run(3)
    assert run(4) != first
    assert run(3) == first


def test_a_session_is_what_gymnasium_gives_bit_for_bit():
    env = gymnasium.make("Pendulum-v1")
    first, _ = env.reset(seed=8)
    session = opened(GymnasiumEnvironment("Pendulum-v1"), 8)
    assert session.observe(VECTOR)["vector"].tobytes() == first.tobytes()
    for torque in np.random.default_rng(0).uniform(-2, 2, 30).astype(np.float32):
        expected, *_ = env.step(np.array([torque]))
        seen = session.act(Control((float(torque),), "float32"), VECTOR)
        assert seen["vector"].tobytes() == expected.tobytes()
    session.close()


def test_it_is_described_and_cannot_be_saved(walk):
    assert isinstance(walk, Described)
    assert walk.budget("ClewWalk-v0") == 20
    assert "CartPole-v1" in GymnasiumEnvironment().tasks()
    assert not isinstance(opened(walk), Saved)


def test_only_an_environment_that_reports_success_is_judged(walk):
    assert not isinstance(opened(GymnasiumEnvironment("CartPole-v1")), Judged)
    session = opened(walk)
    assert isinstance(session, Judged)
    while not session.act(Control((1,), "int64"), NOTHING).ended:
        assert not session.judge().passed
    assert session.judge().passed


def test_an_act_after_the_end_is_not_executed_and_says_so(walk):
    session = opened(walk)
    while not (last := session.act(Control((1,), "int64"), VECTOR)).ended:
        pass
    again = session.act(Control((0,), "int64"), VECTOR)
    assert again.ended
    assert again["vector"].tolist() == last["vector"].tolist()
    assert "not_executed" in again.notes


def test_the_published_limit_ends_an_episode(walk):
    session = opened(walk)
    ended = [session.act(Control((0,), "int64"), NOTHING).ended for _ in range(20)]
    assert ended == [False] * 19 + [True]


def test_how_it_is_made_is_part_of_the_start_and_of_its_key(walk):
    long = GymnasiumEnvironment("ClewWalk-v0", stride=2)
    start = long.start("ClewWalk-v0", 1)
    assert start.options["make"] == {"stride": 2}
    assert start.key() != walk.start("ClewWalk-v0", 1).key()
    session = walk.open(start)
    before = session.observe(VECTOR)["vector"][0]
    assert session.act(Control((1,), "int64"), VECTOR)["vector"][0] == before + 2


@pytest.mark.parametrize(
    ("observations", "channel", "shape", "dtype"),
    [
        ("box", "vector", (1,), np.float32),
        ("dict", "vector", (3,), np.float64),
        ("picture", "frame", (4, 6, 3), np.uint8),
    ],
)
def test_array_observations_have_a_channel(walk, observations, channel, shape, dtype):
    session = opened(walk, make={"observations": observations})
    value = session.observe(frozenset({channel}))[channel]
    assert (value.shape, value.dtype) == (shape, dtype)


def test_text_and_rendered_frames_have_channels(walk):
    session = opened(walk, make={"observations": "text", "render_mode": "rgb_array"})
    seen = session.observe(frozenset({"text", "frame"}))
    assert seen["text"].startswith("at -")
    assert seen["frame"].shape == (4, 6, 3)
    with pytest.raises(Refused, match="no channel 'frame'"):
        opened(walk).observe(frozenset({"frame"}))


def test_what_cannot_be_shown_or_done_is_refused_when_it_is_opened(walk):
    with pytest.raises(Refused, match="cannot be shown"):
        opened(walk, make={"observations": "sequence"})
    with pytest.raises(Refused, match="no control vector"):
        opened(walk, make={"actions": "tuple"})


@pytest.mark.parametrize(
    ("actions", "good", "bad", "message"),
    [
        ("discrete", Control((1,), "int64"), Control((2,), "int64"), "no action"),
        ("discrete", Control((1,), "int64"), Control((1.0,), "float32"), "1 of int64"),
        ("discrete", Control((1,), "int64"), Text("up"), "not a Text"),
        ("multi", Control((1, 2), "int64"), Control((1, 3), "int64"), "no action"),
        ("multi", Control((1, 2), "int64"), Control((1,), "int64"), "2 of int64"),
        ("bits", Control((1, 0), "int8"), Control((1, 2), "int8"), "no action"),
    ],
)
def test_a_wrong_action_is_refused_before_anything_moves(walk, actions, good, bad, message):
    session = opened(walk, make={"actions": actions})
    before = session.observe(VECTOR)["vector"][0]
    with pytest.raises(Refused, match=message):
        session.act(bad, NOTHING)
    assert session.observe(VECTOR)["vector"][0] == before
    assert session.act(good, VECTOR)["vector"][0] == before + 1


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("CartPole-v9", {}, "did you mean 'CartPole-v1'"),
        ("CartPole-v1", {"maek": {}}, "did you mean 'make'"),
        ("CartPole-v1", {"make": 3}, "not an object"),
        ("CartPole-v1", {"clock": "real"}, "'stepped' only"),
    ],
)
def test_a_start_that_cannot_be_meant_is_refused(task, options, message):
    with pytest.raises(Refused, match=message):
        GymnasiumEnvironment().start(task, 0, **options)


def test_a_closed_session_is_spent(walk):
    session = opened(walk)
    session.close()
    session.close()
    with pytest.raises(SessionSpent):
        session.act(Control((0,), "int64"), NOTHING)


@pytest.mark.parametrize("see", [("vector",), ("frame", "vector")])
def test_a_clew_environment_passes_gymnasiums_own_check(see):
    env = as_gymnasium(Countdown(), "zero", PULL, see=see, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env)
    env.close()


def test_the_reward_is_the_oracles_and_the_budget_truncates():
    env = as_gymnasium(Countdown(), "zero", PULL)
    start, info = env.reset(seed=5)
    assert start.tolist() == opened(Countdown(), 5).observe(VECTOR)["vector"].tolist()
    assert info == {"is_success": False}
    rewards, truncations = [], []
    for _ in range(8):
        _, reward, terminated, truncated, info = env.step(np.full(2, -0.5, np.float32))
        assert reward == float(info["is_success"])
        assert not terminated
        rewards.append(reward)
        truncations.append(truncated)
    assert 1.0 in rewards
    assert rewards[-1] == 0.0
    assert truncations == [False] * 7 + [True]


def test_it_terminates_where_the_session_ends():
    env = as_gymnasium(Countdown(), "zero", PULL)
    env.reset(seed=5)
    ended = [env.step(np.array([-1.0, 0.0], np.float32))[2] for _ in range(6)]
    assert ended[0] is False
    assert ended[-1] is True


def test_a_seed_is_the_starts_and_no_seed_draws_from_the_last_one():
    env = as_gymnasium(Countdown(), "zero", PULL)
    draws = []
    for _ in range(2):
        env.reset(seed=9)
        draws.append([env.reset()[0].tolist() for _ in range(3)])
    assert draws[0] == draws[1]
    assert draws[0][0] != draws[0][1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action_space": spaces.MultiBinary(2)}, "must be a Box or a Discrete"),
        ({"render_mode": "human"}, "must be None or 'rgb_array'"),
        ({"see": ()}, "name at least one channel"),
    ],
)
def test_what_gymnasium_cannot_have_is_refused(arguments, message):
    with pytest.raises(Refused, match=message):
        as_gymnasium(Countdown(), "zero", **{"action_space": PULL, **arguments})


def test_there_and_back_again_gives_the_same_episode(walk):
    env = as_gymnasium(walk, "ClewWalk-v0", spaces.Discrete(2))
    plain = gymnasium.make("ClewWalk-v0")
    assert env.reset(seed=2)[0].tolist() == plain.reset(seed=2)[0].tolist()
    for action in (0, 1, 1, 1, 1, 1, 1, 1, 1, 1):
        ours, theirs = env.step(action), plain.step(action)
        assert ours[0].tolist() == theirs[0].tolist()
        assert ours[2:4] == theirs[2:4]
        if ours[2]:
            break
    assert ours[1] == 1.0


@pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="the tabletop needs mujoco")
def test_the_tabletop_passes_gymnasiums_own_check():
    tabletop = pytest.importorskip("clew.environments.tabletop")
    environment = tabletop.Tabletop()
    task = environment.tasks()[0]
    probe = as_gymnasium(environment, task, spaces.Box(-1, 1, (4,), np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(probe, skip_render_check=True)
    environment.close()


class TestConformanceOfCartPole(EnvironmentConformance):
    def environment(self):
        return GymnasiumEnvironment("CartPole-v1")

    def starts(self, environment):
        return [environment.start("CartPole-v1", seed) for seed in (0, 1)]

    def actions(self, start):
        return [Control((i % 2,), "int64") for i in range(8)]

    def refused(self, start):
        return [Control((0, 0), "int64"), Control((0.0,), "float32"), Text("left")]


class TestConformanceOfPendulum(EnvironmentConformance):
    def environment(self):
        return GymnasiumEnvironment("Pendulum-v1")

    def starts(self, environment):
        return [environment.start("Pendulum-v1", seed) for seed in (0, 1)]

    def actions(self, start):
        return [Control((0.5,), "float32")] * 8

    def refused(self, start):
        return wrong_widths(1)
