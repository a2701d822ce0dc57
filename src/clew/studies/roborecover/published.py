"""RoboRecover's published files: scenario JSON and the split's CSV, read, checked and written.

It opens no environment. What the format is was measured on the published files; fields that are not
known here are kept and written back. Everything read is foreign: numbers are checked, a path that
leads out of the folder is refused, and a file whose checksum differs is too.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from clew.core import Refused, nearest

Platform = Literal["libero", "robotwin"]
STAGES = ("Approach", "Contact", "Move", "Place")
TYPES = ("Wrong Target", "Wrong Pose", "Stage Rollback", "Scene Change")
#: The columns of the split's CSV, in order.
COLUMNS = (
    "sample_id", "path", "sha256", "original_sha256", "actions", "replay_prefix_steps",
    "task_name", "s_stage", "d_stage",
)  # fmt: skip
#: The widths that an action of each platform may have: LIBERO's seven; joints, or end effectors.
WIDTHS: Mapping[Platform, tuple[int, ...]] = {"libero": (7,), "robotwin": (14, 16)}
#: Longest file that is read, and the most actions of one: the longest budget is 520.
LARGEST_BYTES, MOST_ACTIONS = 64 << 20, 100_000
_NUMBERS: Mapping[Platform, Mapping[str, int]] = {
    "libero": {"xyz": 3, "quat": 4, "rpy": 3},
    "robotwin": {"joint_vector": 14, "left_endpose": 7, "right_endpose": 7},
}


@dataclass(frozen=True)
class Scenario:
    """One published scenario.

    `task` is `SUITE/NUMBER` for LIBERO and the task's name for RoboTwin, `policy` the source policy,
    `stage` and `kind` the annotation. `actions` are all that the file holds, each a tuple of 7 (LIBERO)
    or 14 or 16 (RoboTwin) floats, not clipped. The recovery point is behind `prefix`, the first
    `annotated_step` + 1 of them; some files hold one less, and then it is what there is. `data` is the
    file's object as it was.
    """

    platform: Platform
    task: str
    instruction: str
    episode: int
    seed: int
    policy: str
    stage: str
    kind: str
    annotated_step: int
    initial_state: Mapping[str, tuple[float, ...]]
    actions: tuple[tuple[float, ...], ...]
    data: Mapping[str, Any] = field(repr=False, compare=False, default_factory=dict)

    @property
    def prefix(self) -> tuple[tuple[float, ...], ...]:
        """The actions that lead to the recovery point."""
        return self.actions[: self.annotated_step + 1]


@dataclass(frozen=True)
class Row:
    """One line of the split's CSV; `path` is relative to its folder, with forward slashes."""

    sample_id: str
    path: str
    sha256: str
    original_sha256: str
    actions: int
    replay_prefix_steps: int
    task_name: str
    s_stage: str
    d_stage: str


def read_scenario(content: bytes, where: str) -> Scenario:
    """The scenario in a file's bytes; `where` names the file in errors.

    Raises `Refused`, naming the field, for what is missing, not finite, of a wrong width, or unknown.
    """
    data = _object(content, where)
    suite = _text(data, "task_suite_name", where)
    platform: Platform = "robotwin" if suite == "robotwin" else "libero"
    step = _count(data, "annotated_step", where)
    actions = _actions(data, platform, where)
    if len(actions) < step:
        raise Refused(
            f"{where}: {len(actions)} actions do not reach annotated_step {step}: none is made up"
        )
    if platform == "libero":
        task = f"{suite}/{_count(data, 'task_id', where)}"
        policy, label = _text(data, "model_name", where), "error_category"
    else:
        task = _text(data, "task_name", where)
        policy, label = _text(data, "policy_name", where), "error_type"
    return Scenario(
        platform, task, _text(data, "task_description", where),
        _count(data, "episode_idx", where), _count(data, "seed", where), policy,
        *_labels(data, label, where), step, _initial_state(data, platform, where), actions, data,
    )  # fmt: skip


def write_scenario(scenario: Scenario) -> bytes:
    """The scenario as a file: its `data`, with what the fields say now. `read_scenario` gives it back."""
    data = {**scenario.data}
    if scenario.platform == "libero":
        data["task_suite_name"], _, number = scenario.task.rpartition("/")
        data["task_id"] = int(number)
        data["model_name"] = scenario.policy
    else:
        data["task_suite_name"] = "robotwin"
        data["task_name"], data["policy_name"] = scenario.task, scenario.policy
    data |= {
        "task_description": scenario.instruction, "episode_idx": scenario.episode,
        "seed": scenario.seed, "s_stage": scenario.stage, "d_stage": scenario.kind,
        "annotated_step": scenario.annotated_step,
        "initial_state": {
            name: values[0] if name.endswith("gripper") and len(values) == 1 else list(values)
            for name, values in scenario.initial_state.items()
        },
        "actions": [list(action) for action in scenario.actions],
    }  # fmt: skip
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def read_split(folder: Path, name: str) -> Iterator[tuple[Row, Scenario]]:
    """The rows of the CSV file `name` of `folder` with their scenarios, each checked against its row.

    Raises `Refused`, naming the line, for a missing column, a path out of the folder, a checksum, a
    number of actions, a task or a label that differs from the file's, and a sample that comes twice.
    """
    text = _content(folder, name, f"split {name!r}").decode("utf-8-sig", "replace")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    absent = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
    if absent:
        raise Refused(f"split {name!r} has no column {absent[0]!r}; it needs {', '.join(COLUMNS)}")
    seen: dict[str, int] = {}
    for number, values in enumerate(rows, 2):
        where = f"split {name!r}, line {number}"
        row = _row(values, where)
        for identity in (f"sample {row.sample_id!r}", f"path {row.path!r}"):
            if identity in seen:
                raise Refused(f"{where}: {identity} is on line {seen[identity]} already")
            seen[identity] = number
        content = _content(folder, row.path, where)
        found = hashlib.sha256(content).hexdigest()
        if found != row.sha256.lower():
            raise Refused(
                f"{where}: the checksum of {row.path} is {found[:12]}…, not {row.sha256[:12]}…: "
                "fetch the file again"
            )
        scenario = read_scenario(content, row.path)
        _must_agree(row, scenario, where)
        yield row, scenario


def row_of(scenario: Scenario, sample_id: str, path: str, original_sha256: str = "") -> Row:
    """The row of a scenario that is written to `path` by `write_scenario`."""
    sha256 = hashlib.sha256(write_scenario(scenario)).hexdigest()
    return Row(
        sample_id, path, sha256, original_sha256 or sha256, len(scenario.actions),
        len(scenario.prefix), scenario.task, scenario.stage, scenario.kind,
    )  # fmt: skip


def write_split(rows: Sequence[Row]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([getattr(row, column) for column in COLUMNS] for row in rows)
    return text.getvalue()


def _must_agree(row: Row, scenario: Scenario, where: str) -> None:
    pairs = {
        "actions": (row.actions, len(scenario.actions)),
        "replay_prefix_steps": (row.replay_prefix_steps, len(scenario.prefix)),
        "task_name": (row.task_name, scenario.task),
        "s_stage": (row.s_stage, scenario.stage),
        "d_stage": (row.d_stage, scenario.kind),
    }
    for column, (told, found) in pairs.items():
        if told != found:
            raise Refused(f"{where}: {column} is {told!r}, and {row.path} has {found!r}")


def _row(values: Mapping[str, Any], where: str) -> Row:
    short = [column for column in COLUMNS if not isinstance(values.get(column), str)]
    if short:
        raise Refused(f"{where} ends before its column {short[0]!r}")
    numbers = {}
    for column in ("actions", "replay_prefix_steps"):
        text = values[column].strip()
        if not (text.isascii() and text.isdigit() and len(text) < 9):
            raise Refused(f"{where}: {column} is {text!r}, not a number of actions")
        numbers[column] = int(text)
    return Row(**{**{column: values[column] for column in COLUMNS}, **numbers})


def _content(folder: Path, path: str, where: str) -> bytes:
    """The bytes of a file below the folder."""
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path:
        raise Refused(f"{where}: the path {path!r} leads out of the folder")
    inside, top = os.path.realpath(folder / pure), os.path.realpath(folder)
    if os.path.commonpath([inside, top]) != top:
        raise Refused(f"{where}: the path {path!r} leads out of the folder by a link")
    try:
        with open(inside, "rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise Refused(f"{where}: {path} cannot be read: {error.strerror}") from None
    if len(content) > LARGEST_BYTES:
        raise Refused(f"{where}: {path} has over {LARGEST_BYTES} bytes: it is no scenario")
    return content


def _object(content: bytes, where: str) -> Mapping[str, Any]:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{where} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise Refused(f"{where} is not a JSON object")
    return data


def _text(data: Mapping[str, Any], name: str, where: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(f"{where}: field {name!r} must be text")
    return value


def _count(data: Mapping[str, Any], name: str, where: str) -> int:
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise Refused(f"{where}: field {name!r} is {value!r}, not a whole number from 0 on")
    return value


def _actions(
    data: Mapping[str, Any], platform: Platform, where: str
) -> tuple[tuple[float, ...], ...]:
    given = data.get("actions")
    if not isinstance(given, list) or not 0 < len(given) <= MOST_ACTIONS:
        raise Refused(f"{where}: field 'actions' must be a list of 1 to {MOST_ACTIONS} actions")
    widths = WIDTHS[platform]
    actions = tuple(_vector(each, f"{where}: action {i}") for i, each in enumerate(given))
    for i, action in enumerate(actions):
        if len(action) not in widths or len(action) != len(actions[0]):
            fits = " or ".join(map(str, widths))
            raise Refused(
                f"{where}: action {i} has {len(action)} numbers: {platform} takes {fits}, "
                "the same in every action"
            )
    return actions


def _vector(given: Any, where: str) -> tuple[float, ...]:
    if not isinstance(given, list):
        raise Refused(f"{where} is not a list of numbers")
    for value in given:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Refused(f"{where} has {value!r}, which is no number")
        if not -1e300 < value < 1e300:  # also NaN
            raise Refused(f"{where} has {value!r}, which is not finite: it cannot be executed")
    return tuple(map(float, given))


def _initial_state(
    data: Mapping[str, Any], platform: Platform, where: str
) -> Mapping[str, tuple[float, ...]]:
    given = data.get("initial_state")
    if not isinstance(given, dict):
        raise Refused(f"{where}: field 'initial_state' must be an object")
    found = {
        name: _vector(value if isinstance(value, list) else [value], f"{where}: initial {name}")
        for name, value in given.items()
    }
    for name, width in _NUMBERS[platform].items():
        if len(found.get(name, ())) != width:
            raise Refused(f"{where}: initial_state needs {name!r} of {width} numbers")
    return found


def _labels(data: Mapping[str, Any], field: str, where: str) -> tuple[str, str]:
    """Stage and type; `field` may hold both as one text, `Approach - Wrong Pose`."""
    joined = data.get(field)
    stage, _, kind = joined.partition(" - ") if isinstance(joined, str) else ("", "", "")
    stage, kind = data.get("s_stage") or stage, data.get("d_stage") or kind
    for name, word, valid in (("s_stage", stage, STAGES), ("d_stage", kind, TYPES)):
        if word not in valid:
            raise Refused(f"{where}: {name} {word!r} is unknown; {nearest(str(word), valid)}")
    return stage, kind


def turn_between(published: Sequence[float], xyzw: Sequence[float]) -> float:
    """The angle in radians between a published quaternion and one that is known to be xyzw.

    The published files hold xyzw and wxyz: the nearer reading counts. Shape (4,) each, of either
    sign and any length; raises `Refused` for one of length 0.
    """
    lengths = math.hypot(*published) * math.hypot(*xyzw)
    if not lengths:
        raise Refused("an orientation is all zeros: it is no quaternion")
    readings = (published, (*published[1:], published[0]))
    dots = [abs(sum(a * b for a, b in zip(reading, xyzw))) / lengths for reading in readings]
    return 2 * math.acos(min(1.0, max(dots)))
