"""RoboRecover's published files are read as they are, and what is wrong in them is named."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core import Refused
from clew.studies.roborecover.published import (
    STAGES,
    TYPES,
    Scenario,
    read_scenario,
    read_split,
    row_of,
    turn_between,
    write_scenario,
    write_split,
)

LIBERO = {
    "task_suite_name": "libero_10",
    "task_id": 5,
    "episode_idx": 3,
    "seed": 7,
    "task_description": "put both mugs on the plates",
    "data_type": "natural",
    "model_name": "pi05",
    "error_category": "Contact - Wrong Pose",
    "s_stage": "Contact",
    "d_stage": "Wrong Pose",
    "annotated_step": 2,
    "initial_state": {
        "xyz": [0.1, 0.2, 0.3],
        "quat": [0.0, 0.0, 0.0, 1.0],
        "rpy": [0.0, 0.0, 0.0],
        "gripper": 0.04,
    },
    "actions": [[0.0] * 6 + [-1.0], [1.5] * 7, [0.25] * 7, [-2.0] * 7],
}
ROBOTWIN = {
    "task_suite_name": "robotwin",
    "task_name": "stack_bowls",
    "task_config": "demo_clean",
    "task_description": "stack the bowls",
    "episode_idx": 0,
    "seed": 100001,
    "policy_name": "x-vla",
    "error_type": "Approach - Wrong Target",
    "annotated_step": 1,
    "initial_state": {
        "joint_vector": [0.0] * 14,
        "left_endpose": [0.0] * 7,
        "right_endpose": [0.0] * 7,
        "left_gripper": 1.0,
        "right_gripper": 1.0,
    },
    "actions": [[0.5] * 14] * 2,
}


def scenario(data=LIBERO, **changed) -> Scenario:
    return read_scenario(json.dumps({**data, **changed}).encode(), "a.json")


def test_a_libero_scenario_is_read_and_its_prefix_ends_behind_the_annotated_step():
    read = scenario()
    assert (read.platform, read.task, read.policy) == ("libero", "libero_10/5", "pi05")
    assert (read.stage, read.kind, read.episode, read.seed) == ("Contact", "Wrong Pose", 3, 7)
    assert read.initial_state["gripper"] == (0.04,)
    assert len(read.prefix) == 3
    assert read.actions[3] == (-2.0,) * 7, "what lies outside [-1, 1] stays"


def test_a_file_may_hold_one_action_less_than_the_prefix_and_none_is_made_up():
    assert len(scenario(annotated_step=4).prefix) == 4
    with pytest.raises(Refused, match="4 actions do not reach annotated_step 5"):
        scenario(annotated_step=5)


def test_a_robotwin_scenario_has_its_labels_in_one_text():
    read = scenario(ROBOTWIN)
    assert (read.platform, read.task, read.policy) == ("robotwin", "stack_bowls", "x-vla")
    assert (read.stage, read.kind) == ("Approach", "Wrong Target")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"actions": [[0.0] * 6]}, "action 0 has 6 numbers: libero takes 7"),
        ({"actions": [[0.0] * 7, [0.0] * 6 + [math.nan]] * 2}, "action 1 has nan.*not finite"),
        ({"actions": [[0.0] * 6 + [math.inf]]}, "action 0 has inf"),
        ({"actions": [[0.0] * 6 + [True]]}, "action 0 has True"),
        ({"actions": [[0.0] * 6 + [10**400]]}, "action 0 has 1000"),
        ({"actions": []}, "'actions' must be a list of 1"),
        ({"actions": [3]}, "action 0 is not a list"),
        ({"task_id": "5"}, "'task_id' is '5'"),
        ({"seed": -1}, "'seed' is -1"),
        ({"episode_idx": True}, "'episode_idx' is True"),
        ({"task_description": ""}, "'task_description' must be text"),
        ({"s_stage": "Contakt"}, "s_stage 'Contakt' is unknown; did you mean 'Contact'"),
        ({"d_stage": ["Wrong Pose"]}, "d_stage .* is unknown"),
        ({"initial_state": {"xyz": [0, 0, 0]}}, "initial_state needs 'quat' of 4 numbers"),
        ({"initial_state": []}, "'initial_state' must be an object"),
    ],
)
def test_what_is_wrong_in_a_scenario_is_named_by_its_field(changed, said):
    with pytest.raises(Refused, match=f"^a.json: .*{said}"):
        scenario(**changed)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"a": 1}'])
def test_what_is_no_scenario_is_refused(content):
    with pytest.raises(Refused, match=r"^a\.json"):
        read_scenario(content, "a.json")


_numbers = st.floats(-1e6, 1e6)


@given(
    actions=st.lists(st.tuples(*[_numbers] * 7), min_size=1, max_size=5),
    stage=st.sampled_from(STAGES), kind=st.sampled_from(TYPES), seed=st.integers(0, 2**40),
    instruction=st.text(st.characters(codec="utf-8"), min_size=1),
)  # fmt: skip
def test_a_scenario_that_is_written_reads_back_equal_and_keeps_strange_fields(
    actions, stage, kind, seed, instruction
):
    made = replace(
        scenario(strange={"kept": [1]}), actions=tuple(actions), stage=stage, kind=kind, seed=seed,
        annotated_step=len(actions) - 1, instruction=instruction,
    )  # fmt: skip
    again = read_scenario(write_scenario(made), "b.json")
    assert again == made
    assert again.data["strange"] == {"kept": [1]}
    assert write_scenario(again) == write_scenario(made)


@pytest.fixture
def split(tmp_path):
    """A folder with a split of two scenarios, and what writes it anew with changed rows."""
    rows = []
    for i, data in enumerate((LIBERO, ROBOTWIN)):
        made = scenario(data)
        path = f"test/{i}.json"
        (tmp_path / "test").mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(write_scenario(made))
        rows.append(row_of(made, f"s{i}", path))

    def write(number=0, **changed):
        told = [replace(row, **changed) if i == number else row for i, row in enumerate(rows)]
        (tmp_path / "test.csv").write_text(write_split(told))
        return tmp_path

    return write


def test_a_split_that_is_written_reads_back(split):
    found = list(read_split(split(), "test.csv"))
    assert [row.sample_id for row, _ in found] == ["s0", "s1"]
    assert [each for _, each in found] == [scenario(), scenario(ROBOTWIN)]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sha256": "0" * 64}, "line 2: the checksum of test/0.json is .*fetch the file again"),
        ({"path": "../test/0.json"}, "line 2: the path .* leads out of the folder"),
        ({"path": "/etc/passwd"}, "line 2: the path .* leads out of the folder"),
        ({"path": "test\\0.json"}, "leads out of the folder"),
        ({"path": "link/passwd"}, "leads out of the folder by a link"),
        ({"path": "test/9.json"}, "cannot be read"),
        ({"actions": 9}, "line 2: actions is 9, and test/0.json has 4"),
        ({"replay_prefix_steps": 4}, "replay_prefix_steps is 4, and test/0.json has 3"),
        ({"task_name": "libero_10/6"}, "task_name is 'libero_10/6'"),
        ({"s_stage": "Move"}, "s_stage is 'Move'"),
        ({"sample_id": "s1"}, "line 3: sample 's1' is on line 2 already"),
        ({"actions": "many"}, "actions is 'many', not a number"),
    ],
)
def test_a_row_that_its_file_does_not_bear_out_is_refused(split, changed, said):
    folder = split(**changed)
    os.symlink("/etc", folder / "link")
    with pytest.raises(Refused, match=said):
        list(read_split(folder, "test.csv"))


def test_a_split_without_a_column_says_which(split):
    folder = split()
    text = (folder / "test.csv").read_text().replace("original_sha256", "sum")
    (folder / "test.csv").write_text(text)
    with pytest.raises(Refused, match="no column 'original_sha256'"):
        list(read_split(folder, "test.csv"))


def test_a_quaternion_of_either_order_and_sign_is_near():
    xyzw = (0.1, 0.2, 0.3, 0.927)
    for reading in (xyzw, (0.927, 0.1, 0.2, 0.3), tuple(-v for v in xyzw)):
        assert turn_between(reading, xyzw) < 1e-6
    # Golden: a quarter turn about z.
    assert turn_between((0, 0, math.sqrt(0.5), math.sqrt(0.5)), (0, 0, 0, 1)) == pytest.approx(
        math.pi / 2
    )
    with pytest.raises(Refused, match="all zeros"):
        turn_between((0, 0, 0, 0), xyzw)
