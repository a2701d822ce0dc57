"""What a recorder wrote is what `load` gives back, finished or not, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from clew.core import (
    UNSEEN,
    Action,
    Control,
    Decision,
    Element,
    Keys,
    Moment,
    Observation,
    Pointer,
    Refused,
    Scroll,
    Seen,
    Sink,
    Start,
    Step,
    Text,
    Tool,
    Trajectory,
    Wait,
    action_of,
    value_digest,
)
from clew.store import Attempt, Damaged, Locator, Reader, Recorder, Writer, attempts, check, load
from clew.store.lines import encode, framed

START = Start("tabletop", "stack", 7, "d" * 64, 2, {"clock": "real", "screen": [64, 48]})
STEP = Step(Moment(), Control((0.1, -0.2)))

_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
_keys = st.sampled_from(["a", "A", "enter", "f5", "ctrl"])
_pixel = st.integers(-4000, 4000)
_point = st.tuples(_pixel, _pixel)
_widths = {"float16": 16, "float32": 32, "float64": 64}
_controls = st.one_of(
    *(
        st.lists(
            st.floats(width=width, allow_nan=False, allow_infinity=False),
            min_size=1,
            max_size=8,
        ).map(lambda v, d=dtype: Control(tuple(v), d))
        for dtype, width in _widths.items()
    ),
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1).map(
        lambda v: Control(tuple(v), "int32")
    ),
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | _text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_text, inner, max_size=3),
    max_leaves=6,
)
_actions: st.SearchStrategy[Action] = st.one_of(
    _controls,
    st.builds(
        Pointer,
        st.sampled_from(["click", "move", "down", "up"]),
        st.tuples(_point),
        count=st.integers(1, 3),
        modifiers=st.lists(st.sampled_from(["ctrl", "shift"])).map(tuple),
        seat=_text,
    ),
    st.builds(Pointer, st.just("drag"), st.lists(_point, min_size=2, max_size=4).map(tuple)),
    st.builds(Keys, st.just("press"), st.lists(_keys, min_size=1).map(tuple)),
    st.builds(Text, _text),
    st.builds(Scroll, _pixel, _pixel, _pixel, _pixel),
    st.builds(Wait, st.integers(0, 3_600_000)),
    st.builds(Element, _text, _text, st.lists(_text).map(tuple), text=_text),
    st.builds(lambda name, given: Tool.call(name, **given), _text, st.just({"x": 1, "y": [2]})),
)
_arrays = hnp.arrays(
    st.sampled_from([np.uint8, np.float32, np.float64, np.int64]),
    hnp.array_shapes(min_dims=0, max_dims=3, max_side=6),
    elements={"allow_nan": False},
)
_channels = st.dictionaries(_text, _arrays | _json | st.binary(max_size=600), max_size=3)
_seen = st.builds(
    Seen, _channels, st.booleans(), st.dictionaries(_text, _json, max_size=2)
) | st.just(UNSEEN)
_moments = st.builds(Moment, _seen, st.none() | _channels)
_gaps = st.just(0.0) | st.floats(1e-6, 100)


@st.composite
def _trajectories(draw: st.DrawFn) -> tuple[Trajectory, tuple[Decision, ...]]:
    count = draw(st.integers(0, 5))
    moments = [draw(_moments) for _ in range(count + 1)]
    numbers = draw(st.lists(st.integers(-1, 3), min_size=count, max_size=count))
    steps = tuple(Step(moments[t], draw(_actions), numbers[t], draw(_gaps)) for t in range(count))
    decisions = tuple(
        Decision(
            tuple(draw(st.lists(_actions, max_size=2))),
            draw(st.sampled_from(["", "done", "give_up"])),
            draw(_json),
            draw(st.floats(0, 10)),
            draw(st.floats(0, 10)),
        )
        for _ in range(draw(st.integers(0, 3)))
    )
    return Trajectory(START, steps, moments[-1]), decisions


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Writer(tmp_path_factory.mktemp("store"), "w") as writer:
        yield writer
    assert check(writer.folder) == []


def _record(sink: Sink, trajectory: Trajectory, decisions: tuple[Decision, ...] = ()) -> None:
    sink.began(trajectory.start, trajectory.moment(0))
    for number, decision in enumerate(decisions):
        sink.decided(number, decision)
    for t, step in enumerate(trajectory.steps):
        sink.acting(t, step)
        sink.acted(t, trajectory.moment(t + 1))


def _plain(moment: Moment) -> Any:
    """Everything in a moment, by digest, so that moments in memory and on disk compare."""
    seen = moment.seen
    channels = {name: value_digest(seen[name]) for name in seen}
    probe = moment.probe and {name: value_digest(moment.probe[name]) for name in moment.probe}
    return channels, seen.ended, value_digest(seen.notes), probe


@given(given=_trajectories())
@settings(max_examples=120, deadline=None)
def test_any_trajectory_comes_back_as_it_was(shared: Writer, given: tuple[Trajectory, Any]) -> None:
    trajectory, decisions = given
    recorder = Recorder(shared, {"unit": "u"})
    _record(recorder, trajectory, decisions)
    recorder.finish({"outcome": "pass"})
    reader = Reader(shared.folder)
    loaded = load(reader, recorder.locator)
    back = loaded.trajectory
    assert back.start == trajectory.start
    assert back.actions() == trajectory.actions()
    assert back.key() == trajectory.key()
    assert [(s.decision, s.gap_s) for s in back.steps] == [
        (s.decision, s.gap_s) for s in trajectory.steps
    ]
    for t in range(len(trajectory) + 1):
        assert _plain(back.moment(t)) == _plain(trajectory.moment(t))
    assert tuple(loaded.decisions.values()) == decisions
    assert (loaded.about, loaded.finish) == ({"unit": "u"}, {"outcome": "pass"})
    assert attempts(reader, "w")[-1] == Attempt(recorder.locator, loaded.about, loaded.finish)


@given(values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
@settings(max_examples=300, deadline=None)
def test_float32_control_values_are_exact(shared: Writer, values: list[float]) -> None:
    recorder = Recorder(shared, {})
    _record(recorder, Trajectory(START, (Step(Moment(), Control(tuple(values))),)))
    (action,) = load(Reader(shared.folder), recorder.locator).trajectory.actions()
    assert action == Control(tuple(values))


@given(action=_controls, decision=st.integers(-1, 2**40), gap_s=_gaps, t=st.integers(0, 2**40))
@settings(max_examples=300, deadline=None)
def test_the_line_of_a_control_gives_back_the_control_to_the_bit(
    shared: Writer, action: Control, decision: int, gap_s: float, t: int
) -> None:
    recorder = Recorder(shared, {})
    recorder.began(START, Moment())
    recorder.acting(t, Step(Moment(), action, decision, gap_s))
    *_, (offset, line) = Reader(shared.folder).records("w", recorder.locator.start)
    assert action_of(line["action"]) == action
    expected = {"type": "acting", "t": t, "decision": decision, "action": line["action"]}
    if gap_s:
        expected["gap_s"] = gap_s
    path = shared.folder / "segments" / "w.jsonl"
    assert path.read_bytes()[offset:].rstrip(b"\0") == framed(encode(expected).encode())


@pytest.fixture
def writer(tmp_path: Path) -> Any:
    with Writer(tmp_path, "w") as writer:
        yield writer


def test_an_observation_from_the_store_is_an_observation(tmp_path: Path, writer: Writer) -> None:
    recorder = Recorder(writer, {})
    recorder.began(START, Moment(Seen({"vector": np.ones(3)}, notes={"settle": "quiet"})))
    seen = load(Reader(tmp_path), recorder.locator).trajectory.last.seen
    assert isinstance(seen, Observation)
    assert list(seen) == ["vector"]
    assert "vector" in seen
    assert "frame" not in seen
    with pytest.raises(Refused, match="channel 'frame' was not looked at; seen: vector"):
        seen["frame"]


def test_an_action_is_on_disk_before_it_runs(tmp_path: Path, writer: Writer) -> None:
    recorder = Recorder(writer, {"unit": "u"})
    recorder.began(START, Moment())
    recorder.acting(0, STEP)
    assert recorder.locator.end is None
    loaded = load(Reader(tmp_path), recorder.locator)
    assert loaded.trajectory.actions() == (STEP.action,)
    assert loaded.trajectory.last.seen is UNSEEN
    assert loaded.finish is None


def test_an_unfinished_attempt_ends_where_the_next_begins(tmp_path: Path, writer: Writer) -> None:
    broken, whole = Recorder(writer, {"n": 0}), Recorder(writer, {"n": 1})
    broken.began(START, Moment())
    broken.acting(0, STEP)
    _record(whole, Trajectory(START, (STEP,) * 3))
    whole.finish({"outcome": "fail"})
    reader = Reader(tmp_path)
    assert len(load(reader, broken.locator).trajectory) == 1
    assert len(load(reader, whole.locator).trajectory) == 3
    assert attempts(reader, "w") == [
        Attempt(broken.locator, {"n": 0}, None),
        Attempt(whole.locator, {"n": 1}, {"outcome": "fail"}),
    ]


def test_an_attempt_that_another_followed_refuses_more(writer: Writer) -> None:
    first, second = Recorder(writer, {}), Recorder(writer, {})
    first.began(START, Moment())
    second.began(START, Moment())
    for call in (
        lambda: first.acting(0, STEP),
        lambda: first.acted(0, Moment(Seen(ended=True))),
        lambda: first.finish({}),
    ):
        with pytest.raises(Refused, match="is over: record another with a new Recorder"):
            call()


def test_an_attempt_is_recorded_from_its_beginning(writer: Writer) -> None:
    recorder = Recorder(writer, {})
    with pytest.raises(Refused, match="call `began` first"):
        recorder.acting(0, STEP)
    with pytest.raises(Refused, match="recorded nothing yet"):
        _ = recorder.locator


def test_an_attempt_whose_session_never_opened_has_an_end_and_no_trajectory(
    tmp_path: Path, writer: Writer
) -> None:
    recorder = Recorder(writer, {"unit": "u"})
    recorder.finish({"outcome": "void"})
    assert not recorder.begun
    loaded = load(Reader(tmp_path), recorder.locator)
    assert loaded.finish == {"outcome": "void"}
    with pytest.raises(Refused, match="never began"):
        _ = loaded.trajectory


def test_beginning_again_forgets_the_steps_so_far(tmp_path: Path, writer: Writer) -> None:
    recorder = Recorder(writer, {})
    _record(recorder, Trajectory(START, (STEP,) * 4), (Decision(()),))
    other = Start("tabletop", "sort", 1)
    _record(recorder, Trajectory(other, (STEP,) * 2))
    recorder.finish({})
    loaded = load(Reader(tmp_path), recorder.locator)
    assert (loaded.trajectory.start, len(loaded.trajectory)) == (other, 2)
    assert dict(loaded.decisions) == {}


def test_probes_are_left_out_when_asked(tmp_path: Path, writer: Writer) -> None:
    recorder = Recorder(writer, {}, see_probe=False)
    recorder.began(START, Moment(Seen({"text": "x"}), {"robot": ["arm"]}))
    assert load(Reader(tmp_path), recorder.locator).trajectory.last.probe is None


def test_short_plain_data_stands_in_its_line_and_the_rest_in_blobs(
    tmp_path: Path, writer: Writer
) -> None:
    recorder = Recorder(writer, {})
    recorder.began(
        START, Moment(Seen({"short": "x" * 253, "long": "x" * 254, "vec": np.ones(200)}))
    )
    ((_, record),) = Reader(tmp_path).records("w", recorder.locator.start)
    assert record["seen"] == {
        "short": ["x" * 253],
        "long": value_digest("x" * 254),
        "vec": value_digest(np.ones(200)),
    }


def test_a_channel_that_cannot_be_recorded_is_refused_by_name(writer: Writer) -> None:
    with pytest.raises(Refused, match=r"odd\.x is a object"):
        Recorder(writer, {}).began(START, Moment(Seen({"odd": {"x": object()}})))


def test_a_moment_that_shows_nothing_leaves_no_line(tmp_path: Path, writer: Writer) -> None:
    recorder = Recorder(writer, {})
    _record(recorder, Trajectory(START, (STEP,) * 3))
    kinds = [record["type"] for _, record in Reader(tmp_path).records("w")]
    assert kinds == ["attempt", "acting", "acting", "acting"]


def test_a_damaged_line_refuses_its_attempt_alone(tmp_path: Path, writer: Writer) -> None:
    recorders = [Recorder(writer, {"n": n}) for n in range(3)]
    for recorder in recorders:
        _record(recorder, Trajectory(START, (STEP,) * 3))
        recorder.finish({})
    path = tmp_path / "segments" / "w.jsonl"
    data = bytearray(path.read_bytes())
    end = recorders[1].locator.end
    assert end is not None
    data[(recorders[1].locator.start + end) // 2] ^= 1
    path.write_bytes(data)
    reader = Reader(tmp_path)
    for recorder in (recorders[0], recorders[2]):
        assert len(load(reader, recorder.locator).trajectory) == 3
    with pytest.raises(Damaged, match="fails its checksum"):
        load(reader, recorders[1].locator)


def test_a_damaged_first_line_hides_its_attempt_alone_and_is_named(
    tmp_path: Path, writer: Writer
) -> None:
    recorders = [Recorder(writer, {"n": n}) for n in range(3)]
    for recorder in recorders:
        recorder.began(START, Moment())
        recorder.finish({})
    at = recorders[1].locator.start
    path = tmp_path / "segments" / "w.jsonl"
    data = bytearray(path.read_bytes())
    data[at + 40] ^= 1
    path.write_bytes(data)
    reader = Reader(tmp_path)
    assert [a.about["n"] for a in attempts(reader, "w")] == [0, 2]
    assert [(f.kind, f.offset) for f in reader.damage] == [("damaged", at)]


def test_a_line_that_holds_what_looks_like_an_end_ends_nothing(
    tmp_path: Path, writer: Writer
) -> None:
    recorder = Recorder(writer, {})
    note = {"type": "end", "record": {}}
    recorder.began(START, Moment(Seen({"text": '{"type":"end","record":{}}', "data": note})))
    assert attempts(Reader(tmp_path), "w") == [Attempt(recorder.locator, {}, None)]
    recorder.finish({"nested": {"type": "attempt", "about": {}}})
    (found,) = attempts(Reader(tmp_path), "w")
    assert found.locator == recorder.locator


def test_a_missing_step_is_named(tmp_path: Path, writer: Writer) -> None:
    recorder = Recorder(writer, {})
    recorder.began(START, Moment())
    recorder.acting(1, STEP)
    with pytest.raises(Damaged, match="is action 1: action 0 is missing"):
        load(Reader(tmp_path), recorder.locator)


def test_a_missing_blob_is_named_when_it_is_looked_at(tmp_path: Path, writer: Writer) -> None:
    recorder = Recorder(writer, {})
    recorder.began(START, Moment(Seen({"vector": np.ones(300), "text": "here"})))
    (tmp_path / "blobs" / "w.pack").unlink()
    seen = load(Reader(tmp_path), recorder.locator).trajectory.last.seen
    assert seen["text"] == "here"
    with pytest.raises(Damaged, match=value_digest(np.ones(300))):
        seen["vector"]


def test_a_line_of_another_shape_is_refused_with_its_place(tmp_path: Path, writer: Writer) -> None:
    recorder = Recorder(writer, {})
    recorder.began(START, Moment())
    writer.append({"type": "acting", "t": 0})
    with pytest.raises(Damaged, match=r"segment w at byte \d+ is not a line of an attempt"):
        load(Reader(tmp_path), recorder.locator)


def test_a_locator_survives_json_and_names_an_attempt(tmp_path: Path, writer: Writer) -> None:
    recorder = Recorder(writer, {})
    recorder.began(START, Moment())
    assert Locator.of(recorder.locator.json()) == recorder.locator
    with pytest.raises(Refused, match="no attempt starts at byte 0"):
        load(Reader(tmp_path), Locator("w", 0))
    for bad in (
        {},
        {"segment": "w", "start": -1, "end": None},
        {"segment": 1, "start": 0, "end": 3},
    ):
        with pytest.raises(Refused, match="is no locator"):
            Locator.of(bad)


def test_a_short_array_stands_in_its_line_and_comes_back_to_the_bit(tmp_path):
    short = np.array([1.5, -0.0, 3.25], dtype=np.float32)
    with Writer(tmp_path, "w") as writer:
        recorder = Recorder(writer, {})
        recorder.began(START, Moment(Seen({"vector": short})))
        recorder.finish({})
    reader = Reader(tmp_path)
    found = load(reader, recorder.locator).trajectory.last.seen["vector"]
    assert found.dtype == short.dtype
    assert found.tobytes() == short.tobytes()
    assert (tmp_path / "blobs" / "w.pack").stat().st_size < 100
