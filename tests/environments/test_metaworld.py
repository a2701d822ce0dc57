"""Meta-World as an environment; runs in the interpreter that has it and is skipped elsewhere."""

import hashlib
import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

from clew.core import (
    NOTHING,
    Brief,
    Control,
    Described,
    Judged,
    Probed,
    Refused,
    Saved,
    SessionSpent,
    Text,
)
from clew.environments.metaworld import MetaWorld
from clew.environments.metaworld.tasks import INSTRUCTIONS
from clew.environments.offscreen import choose_gl
from clew.policies.metaworld import MetaWorldExpert
from clew.testing import EnvironmentConformance, PolicyConformance
from clew.testing.environment import wrong_widths

if importlib.util.find_spec("metaworld") is None:
    pytest.skip("Meta-World is not in this interpreter", allow_module_level=True)
choose_gl()  # MuJoCo reads it when it is first imported, which a test may do before clew does.

TASKS = (
    "pick-place-v3",
    "push-v3",
    "shelf-place-v3",
    "assembly-v3",
    "peg-insert-side-v3",
    "drawer-open-v3",
)
VECTOR = frozenset({"vector"})
FRAME = frozenset({"frame"})


@pytest.fixture(scope="module")
def environment():
    made = MetaWorld()
    yield made
    made.close()


@pytest.fixture(scope="module")
def other():
    """Another environment object, so other built worlds."""
    made = MetaWorld()
    yield made
    made.close()


@pytest.fixture
def session(environment):
    opened = environment.open(environment.start("pick-place-v3", 3))
    yield opened
    opened.close()


def bare(task, seed):
    """Meta-World alone: a fresh goal-observable environment, and its first observation."""
    from metaworld.env_dict import ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE

    env = ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE[f"{task}-goal-observable"](seed=seed)
    return env, env.reset()[0]


def wild(seed, count):
    return np.random.default_rng(seed).uniform(-1, 1, (count, 4)).astype(np.float32)


def control(values):
    return Control(tuple(values.tolist()), "float32")


def expert(task):
    return MetaWorldExpert().begin(Brief(notes={"task": task}))


def drive(session, task, steps):
    """The expert at work: its actions."""
    actor, seen, actions = expert(task), session.observe(VECTOR), []
    for _ in range(steps):
        actions.extend(actor.decide(seen).actions)
        seen = session.act(actions[-1], VECTOR)
    return actions


def everything(session):
    """All that a session can say of its state, as bytes."""
    probe = session.probe()
    numbers = [value.tobytes() for value in probe.values() if isinstance(value, np.ndarray)]
    seen = session.observe(VECTOR)["vector"].tobytes()
    return session.save(), probe["bodies"], probe["robot"], numbers, seen, session.judge()


def test_it_keeps_every_promise_that_it_makes(environment, session):
    assert isinstance(environment, Described)
    assert isinstance(session, Probed)
    assert isinstance(session, Saved)
    assert isinstance(session, Judged)
    assert (session.exact, session.judging) == (True, "pure")


def test_its_tasks_are_those_of_metaworld_and_each_has_an_instruction(environment):
    from metaworld.env_dict import ENV_CLS_MAP

    assert set(environment.tasks()) == set(ENV_CLS_MAP)
    for task in environment.tasks():
        assert environment.instruction(task).endswith(".")
        assert environment.budget(task) == ENV_CLS_MAP[task].max_path_length


@pytest.mark.parametrize("task", TASKS)
def test_a_session_is_metaworld_itself_bit_for_bit(environment, task):
    environment.open(environment.start(task, 11)).close()
    session = environment.open(environment.start(task, 5))
    env, first = bare(task, 5)
    assert session.observe(VECTOR)["vector"].tobytes() == first.tobytes()
    for values in wild(1, 60):
        vector, _, _, _, info = env.step(values)
        seen = session.act(control(values), VECTOR)
        assert seen["vector"].tobytes() == vector.tobytes()
        assert session.judge().passed == bool(info["success"])
    env.close()
    session.close()


def test_a_seed_means_the_same_whatever_was_opened_before(environment):
    program = """if True:
        import hashlib, json
        from clew.environments.metaworld import MetaWorld
        made, digests = MetaWorld(), {}
        for task in %r:
            session = made.open(made.start(task, 0))
            probe = session.probe()
            data = session.save() + b"".join(
                probe[name].tobytes() for name in ("position_m", "quaternion_wxyz", "qpos", "goal_m")
            )
            digests[task] = hashlib.sha256(data).hexdigest()
        print("digests " + json.dumps(digests))
    """
    done = subprocess.run(
        [sys.executable, "-c", program % (TASKS,)], capture_output=True, text=True, check=True
    )
    (line,) = (each for each in done.stdout.splitlines() if each.startswith("digests "))
    fresh = json.loads(line.partition(" ")[2])
    for task in reversed(TASKS):
        for seed in (5, 0, 7, 0):
            session = environment.open(environment.start(task, seed))
            if seed == 0:
                probe = session.probe()
                data = session.save() + b"".join(
                    probe[name].tobytes()
                    for name in ("position_m", "quaternion_wxyz", "qpos", "goal_m")
                )
                assert hashlib.sha256(data).hexdigest() == fresh[task], task
            for values in wild(seed, 3):
                session.act(control(values), NOTHING)
            session.close()


@pytest.mark.parametrize("task", TASKS)
def test_a_state_saved_in_mid_grasp_continues_bit_for_bit_in_a_used_session(
    environment, other, task
):
    first = environment.open(environment.start(task, 2))
    drive(first, task, 55)
    state = first.save()
    used = other.open(other.start(task, 9))
    drive(used, task, 20)
    used.load(state)
    assert everything(used) == everything(first)
    actor = expert(task)
    for values in [*wild(3, 10), *[None] * 50]:
        seen = first.observe(VECTOR)
        action = actor.decide(seen).actions[0] if values is None else control(values)
        first.act(action, NOTHING)
        used.act(action, NOTHING)
        assert everything(used) == everything(first)
    first.close()
    used.close()


def test_the_oracle_agrees_with_metaworld_over_a_solved_episode(session):
    env, vector = bare("pick-place-v3", 3)
    actor, seen, verdicts = expert("pick-place-v3"), session.observe(VECTOR), []
    for _ in range(70):
        (action,) = actor.decide(seen).actions
        vector, _, _, _, info = env.step(np.asarray(action.values, dtype=np.float32))
        seen = session.act(action, VECTOR)
        assert seen["vector"].tobytes() == vector.tobytes()
        verdicts.append(session.judge().passed)
        assert verdicts[-1] == bool(info["success"])
    assert not verdicts[0]
    assert verdicts[-1]
    env.close()


def test_looking_probing_and_judging_change_nothing(session):
    drive(session, "pick-place-v3", 40)
    before = session.save()
    for _ in range(2):
        session.observe(VECTOR)
        session.probe()
        session.judge()
        session.save()
    assert session.save() == before


def test_what_is_shown_is_a_copy(session):
    session.observe(VECTOR)["vector"][:] = 0
    session.probe()["qpos"][:] = 0
    assert session.observe(VECTOR)["vector"].any()
    assert session.probe()["qpos"].any()


def test_two_sessions_of_one_task_run_side_by_side(environment):
    start = environment.start("push-v3", 1)
    alone = environment.open(start)
    for values in wild(4, 20):
        alone.act(control(values), NOTHING)
    expected = alone.save()
    alone.close()
    left, right = environment.open(start), environment.open(environment.start("push-v3", 2))
    for values in wild(4, 20):
        left.act(control(values), NOTHING)
        right.act(control(-values), NOTHING)
    assert left.save() == expected
    left.close()
    right.close()


def test_a_session_goes_on_past_the_published_limit(environment):
    session = environment.open(environment.start("reach-v3", 0))
    for _ in range(environment.budget("reach-v3") + 5):
        seen = session.act(Control((0.0, 0.0, 0.0, 0.0)), NOTHING)
        assert not seen.ended
    session.close()


def test_the_probe_names_every_body_and_those_of_the_robot(session):
    probe = session.probe()
    assert probe["position_m"].shape == (len(probe["bodies"]), 3)
    assert probe["quaternion_wxyz"].shape == (len(probe["bodies"]), 4)
    assert {"base", "hand", "leftpad", "mocap"} <= set(probe["robot"])
    assert "obj" in probe["bodies"]
    assert "obj" not in probe["robot"]
    # The last three numbers of the observation are the goal, as Meta-World defines it.
    assert probe["goal_m"].tolist() == session.observe(VECTOR)["vector"][-3:].tolist()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (Control((0.0, 0.0, 0.0)), "4 numbers of float32"),
        (Control((0.0, 0.0, 0.0, 0.0), "float64"), "4 numbers of float32"),
        (Text("up"), "control vector, not a Text"),
    ],
)
def test_a_wrong_action_is_refused_before_anything_moves(session, action, message):
    before = session.save()
    with pytest.raises(Refused, match=message):
        session.act(action, NOTHING)
    with pytest.raises(Refused, match="did you mean 'vector'"):
        session.act(Control((1.0, 1.0, 1.0, 1.0)), frozenset({"vectors"}))
    assert session.save() == before


@pytest.mark.parametrize(
    ("task", "seed", "options", "message"),
    [
        ("pick-place-v2", 0, {}, "did you mean 'pick-place-v3'"),
        ("pick-place-v3", 1 << 32, {}, "too large"),
        ("pick-place-v3", 0, {"camra": "corner"}, "did you mean 'camera'"),
        ("pick-place-v3", 0, {"camera": "corner9"}, "did you mean 'corner"),
        ("pick-place-v3", 0, {"width": 1}, "whole number from 16"),
        ("pick-place-v3", 0, {"clock": "real"}, "'stepped' only"),
    ],
)
def test_a_start_that_cannot_be_meant_is_refused(environment, task, seed, options, message):
    with pytest.raises(Refused, match=message):
        environment.start(task, seed, **options)


def test_a_state_of_another_task_or_damaged_bytes_are_refused_and_harm_nothing(
    environment, session
):
    before = session.save()
    stranger = environment.open(environment.start("push-v3", 3))
    with pytest.raises(Refused, match="open its own task"):
        session.load(stranger.save())
    with pytest.raises(Refused, match="Meta-World state"):
        session.load(before[:-1])
    stranger.close()
    assert session.save() == before


def test_a_closed_session_is_spent(environment):
    session = environment.open(environment.start("push-v3", 0))
    session.close()
    session.close()
    with pytest.raises(SessionSpent):
        session.act(Control((0.0, 0.0, 0.0, 0.0)), NOTHING)


def test_an_expert_is_refused_a_task_that_metaworld_does_not_have():
    with pytest.raises(Refused, match="did you mean 'push-v3'"):
        MetaWorldExpert().begin(Brief(notes={"task": "push-v2"}))


@pytest.mark.parametrize(
    ("task", "goal"),
    [
        # Meta-World 3.1.1 alone: SawyerPickPlaceV3GoalObservable(seed=3)._target_pos, and so on.
        ("pick-place-v3", [-0.011838031269872706, 0.8029876210878567, 0.16420830609867776]),
        ("drawer-open-v3", [0.002165521039532603, 0.54, 0.09]),
    ],
)
def test_the_goal_of_a_seed_is_the_golden_one(environment, task, goal):
    session = environment.open(environment.start(task, 3))
    assert session.probe()["goal_m"] == pytest.approx(goal, abs=1e-12)
    session.close()


def test_a_task_is_not_solved_before_anything_was_done(environment):
    """Meta-World's reset observation of window-close is older than its window."""
    session = environment.open(environment.start("window-close-v3", 0))
    assert not session.judge().passed
    session.close()


@pytest.mark.parametrize("camera", ["corner2", "gripperPOV"])
def test_frames_of_equal_states_are_equal_and_change_nothing(environment, other, camera):
    pytest.importorskip("OpenGL")
    options = {"camera": camera, "width": 96, "height": 64}
    first = environment.open(environment.start("shelf-place-v3", 4, **options))
    second = other.open(other.start("shelf-place-v3", 4, **options))
    for values in wild(5, 5):
        first.act(control(values), FRAME)
        second.act(control(values), NOTHING)
    before = second.save()
    frames = [session.observe(FRAME)["frame"] for session in (first, second)]
    assert frames[0].shape == (64, 96, 3)
    assert frames[0].dtype == np.uint8
    assert frames[0].std() > 10
    assert frames[0].tobytes() == frames[1].tobytes()
    assert second.save() == before == first.save()
    first.close()
    second.close()


@pytest.mark.slow
@pytest.mark.parametrize("task", sorted(INSTRUCTIONS))
def test_nothing_of_a_task_is_hidden_from_a_saved_state(task):
    """For every task: fresh equality, model arrays, random draws, and exact continuation."""
    from clew.environments.metaworld.world import _MODEL, World

    world, twin = World(task), World(task)
    model = world.env.model
    names = [name for name in dir(model) if isinstance(getattr(model, name, None), np.ndarray)]
    built = {name: getattr(model, name).copy() for name in names}
    world.seed(7)
    env, first = bare(task, 7)
    assert world.vector.tobytes() == first.tobytes()
    env.close()
    draws = json.dumps(world.env.np_random.bit_generator.state, default=str)
    global_draws = np.random.get_state()[1].tobytes()
    for values in wild(8, 30):
        world.step(values)
    state = world.save()
    twin.seed(8)
    for values in wild(9, 30):
        twin.step(values)
    twin.load(state)
    assert twin.save() == state
    for values in wild(10, 60):
        world.step(values)
        twin.step(values)
        assert twin.save() == world.save()
    assert json.dumps(world.env.np_random.bit_generator.state, default=str) == draws
    assert np.random.get_state()[1].tobytes() == global_draws
    for name in set(names) - set(_MODEL):
        assert getattr(model, name).tobytes() == built[name].tobytes(), name
    world.close()
    twin.close()


@pytest.mark.slow
class TestConformance(EnvironmentConformance):
    channels = frozenset({"vector", "frame"})

    def environment(self):
        return MetaWorld()

    def starts(self, environment):
        frame = {"width": 32, "height": 32}
        return [environment.start("push-v3", seed, **frame) for seed in (0, 1)]

    def actions(self, start):
        return [control(values) for values in wild(start.seed, 8)]

    def refused(self, start):
        return wrong_widths(4)


@pytest.mark.slow
class TestExpertConformance(PolicyConformance):
    def policy(self):
        return MetaWorldExpert()

    def environment(self):
        return MetaWorld()

    def start(self, environment):
        return environment.start("push-v3", 0)

    def brief(self, start):
        return Brief(notes={"task": start.task})
