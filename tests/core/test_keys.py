"""A key names an intended state: a Merkle chain over the start and the actions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.core import (
    Control,
    Element,
    Keys,
    Moment,
    Pointer,
    Refused,
    Scroll,
    Seen,
    Start,
    Step,
    Text,
    Tool,
    Trajectory,
    Wait,
    action_json,
    next_key,
)

START = Start(
    "tabletop", "pick-place", 7, "ab12", 2,
    {"clock": "stepped", "substeps": 10, "frame": [64, 64], "noise": -0.0, "name": "é"},
)  # fmt: skip
ACTIONS = (
    Control((0.1, -0.0, 1.5)),
    Control((1, 2, 3), "int32"),
    Pointer("click", ((10, 20),), modifiers=("shift", "ctrl")),
    Keys("press", ("ctrl", "a")),
    Text("naïve {secret:PIN} 😀"),
    Scroll(1, 2, dy=-3),
    Wait(250),
    Element("button", "OK", ("dialog", "Save")),
    Tool.call("search", query="x", limit=3, ratio=0.1),
)
#: The keys of START and of ACTIONS after it, computed once with version 1 of the format. They are
#: its contract: a change here renames every recorded scenario, so it needs a new format version.
GOLDEN = (
    "8879ef237ff84c6e3e525101d4dd8c6ae330de48d8c52322e5129ea92235cff8",
    "32bd12c5b1ab18ca3a7318c2eb61d853210e470365a3b3962d2422efd2926275",
    "eeabf7443720b4f1e8abc9d8427af363950e2838dd88fe142be58c2ebc609753",
    "432264892e01abcd020a16427ed60751a4e3cd608a9d7414196817bae93023df",
    "e60c941c6245411bd78d3d13e99812f6e7166cb190fbd91e4e16c8eea687aba5",
    "1ea49853add9e6876c760fa4f0b008e6eff21d005b3aaea0edda276044fc53ce",
    "9a45dbb37e9b47a5a72b98994ea5fee5689c96d061358fa802607e7d98ff01b6",
    "3023ae81918fc7d6bad3dabbf94f64d308b824ef0245d9810eab49b45b3b8e76",
    "93ec02802c36d078500fdf782e3a338d5edd535bc5f7c0ef7ade2e7cc06a1210",
    "68a16b7bc7ff427863edd8432e52d65e61882b6c4fce76153e6c686ffd143e82",
)


def trajectory(actions: Any, start: Start = START) -> Trajectory:
    return Trajectory(start, tuple(Step(Moment(), action) for action in actions))


def keys(actions: Any, start: Start = START) -> list[str]:
    made = trajectory(actions, start)
    return [made.key(t) for t in range(len(made) + 1)]


vectors = st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=2).map(
    lambda values: Control(tuple(values))
)
sequences = st.lists(vectors | st.builds(Wait, st.integers(0, 3)), min_size=1, max_size=8)


def test_golden_keys_are_the_formats_contract():
    assert tuple(keys(ACTIONS)) == GOLDEN


@given(sequences, sequences, sequences)
def test_equal_prefixes_share_keys(prefix, one, other):
    shared = len(prefix) + 1
    assert keys(prefix + one)[:shared] == keys(prefix + other)[:shared] == keys(prefix)


@given(sequences, vectors, st.data())
def test_a_changed_action_changes_every_later_key_and_no_earlier_one(actions, other, data):
    at = data.draw(st.integers(0, len(actions) - 1))
    changed = [*actions[:at], other, *actions[at + 1 :]]
    same = [a == b for a, b in zip(keys(actions), keys(changed))]
    if actions[at] == other:
        assert all(same)
    else:
        assert same == [True] * (at + 1) + [False] * (len(actions) - at)


@given(sequences)
def test_keys_of_a_trajectory_are_all_different(actions):
    assert len(set(keys(actions))) == len(actions) + 1


@given(sequences, st.data())
def test_a_prefix_has_the_keys_of_the_whole(actions, data):
    t = data.draw(st.integers(0, len(actions)))
    warm = trajectory(actions)
    assert warm.key() == keys(actions)[-1]
    for whole in (warm, trajectory(actions)):
        assert whole.prefix(t).key() == keys(actions)[t]
        extended = (*whole.prefix(t).steps, Step(Moment(), Wait(9)))
        assert Trajectory(START, extended).key() == next_key(whole.key(t), Wait(9))


@given(sequences)
def test_what_was_seen_decided_and_waited_is_no_part_of_a_key(actions):
    seen = tuple(
        Step(Moment(Seen({"text": "x"}), {"door": 1}), action, decision=3, gap_s=0.5)
        for action in actions
    )
    assert Trajectory(START, seen).key() == trajectory(actions).key()


@pytest.mark.parametrize(
    "change",
    [
        {"environment": "table"}, {"task": "stack"}, {"seed": 8}, {"definition": "ab13"},
        {"revision": 3}, {"options": {}}, {"options": {**START.options, "substeps": 10.0}},
        {"options": {**START.options, "clock": "virtual"}},
    ],
)  # fmt: skip
def test_every_field_of_a_start_is_part_of_its_key(change):
    assert replace(START, **change).key() != START.key()


def test_the_order_of_options_and_the_sign_of_zero_are_not():
    turned = dict(reversed(START.options.items()))
    assert replace(START, options={**turned, "noise": 0.0}).key() == START.key()
    assert replace(START, options={**turned, "frame": (64, 64)}).key() == START.key()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gain": float("nan")}, r"start\.options\.gain is nan"),
        ({"gains": [0.0, float("inf")]}, r"start\.options\.gains\[1\] is inf"),
        ({"name": "\udc80"}, r"start\.options\.name holds a lone surrogate"),
        ({1: 2}, "has the key 1: keys must be text"),
        ({"x": object()}, r"start\.options\.x is a object"),
    ],
)
def test_options_without_a_canonical_form_are_refused_by_their_place(options, message):
    with pytest.raises(Refused, match=message):
        replace(START, options=options).key()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed -1 of 'pick-place' is not a whole number"),
        ({"seed": True}, "seed True"),
        ({"seed": 1.0}, r"seed 1\.0"),
        ({"options": {"clock": "steped"}}, "clock 'steped' is unknown; did you mean 'stepped'"),
        ({"task": "\ud800"}, "task holds a lone surrogate"),
    ],
)
def test_a_bad_start_is_refused(change, message):
    with pytest.raises(Refused, match=message):
        replace(START, **change)


def test_a_start_reads_back_from_its_json_and_refuses_unknown_fields():
    assert Start.of(START.json()) == START
    with pytest.raises(Refused, match="field 'sead'; did you mean 'seed'"):
        Start.of({**START.json(), "sead": 1})
    with pytest.raises(Refused, match="start is incomplete"):
        Start.of({"environment": "tabletop"})


def test_a_step_outside_a_trajectory_is_refused():
    for t in (-1, 2):
        with pytest.raises(Refused, match=f"step {t} is outside the trajectory: it has 1 actions"):
            trajectory([Wait(1)]).key(t)


def test_rebasing_keeps_the_actions_and_their_gaps_and_forgets_what_was_seen():
    seen = (Step(Moment(Seen({"text": "x"})), Wait(1), decision=2, gap_s=0.25),)
    other = Trajectory(START, seen).rebase(replace(START, seed=8))
    assert other.actions() == (Wait(1),)
    assert (other.steps[0].gap_s, other.steps[0].decision) == (0.25, 2)
    assert list(other.steps[0].before.seen) == []
    assert other.key() == keys([Wait(1)], replace(START, seed=8))[-1]


#: Prints the keys of a start and of actions, both read as JSON.
PROGRAM = """
import json, sys
from clew.core import Start, action_of, next_key
data = json.load(sys.stdin)
key = Start.of(data["start"]).key()
print(key)
for action in data["actions"]:
    key = next_key(key, action_of(action))
    print(key)
"""


def printed_keys(python: str, hash_seed: str) -> list[str]:
    source = str(Path(clew.__file__).parent.parent)
    variables = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": source}
    data = {"start": START.json(), "actions": [action_json(action) for action in ACTIONS]}
    ended = subprocess.run(
        [python, "-c", PROGRAM],
        env=variables, input=json.dumps(data), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ended.stdout.split()


def python_with_numpy(minor: int) -> str | None:
    found = [shutil.which(f"python3.{minor}")]
    found += [str(p) for p in Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python")]
    for python in filter(None, found):
        if not subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode:
            return python
    return None


@pytest.mark.parametrize("hash_seed", ["0", "1", "424242"])
def test_keys_are_the_same_in_every_process(hash_seed):
    assert printed_keys(sys.executable, hash_seed) == list(GOLDEN)


@pytest.mark.parametrize("minor", [10, 11, 12, 13])
def test_keys_are_the_same_in_every_python(minor):
    python = python_with_numpy(minor)
    if python is None:
        pytest.skip(f"no Python 3.{minor} with numpy was found")
    assert printed_keys(python, "0") == list(GOLDEN)
