"""Matchers and presets: what is the same, what is not, and what the evidence says."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.core import Evidence, Match, Moment, Refused, Seen
from clew.match import PRESETS, Exact, Pixels, State, Tree, Unchecked, both, compare, preset


def screen():
    """A 1080p editor: a white page of gray text lines under a toolbar."""
    frame = np.full((1080, 1920, 3), 245, np.uint8)
    frame[:60] = 210
    rng = np.random.default_rng(0)
    for y in range(100, 1000, 24):
        frame[y : y + 12, 200:1400] = np.where(rng.random((12, 1200, 1)) < 0.3, 40, 245)
    return frame


def typed(frame):
    """One more character of 8 by 12 px at the end of a line."""
    frame = frame.copy()
    frame[100:112, 1404:1412] = np.where(np.indices((12, 8)).sum(0)[..., None] % 3, 245, 40)
    return frame


def find_bar(frame):
    """A find bar of 40 px along the lower edge."""
    frame = frame.copy()
    frame[1035:1075] = 225
    frame[1040:1068, 20:400] = 255
    frame[1040, 20:400] = 90
    return frame


def world(**changed):
    probe = {
        "bodies": ["hand", "cube", "ball"],
        "position_m": np.zeros((3, 3)),
        "quaternion_wxyz": np.tile([1.0, 0, 0, 0], (3, 1)),
        "robot": ["hand"],
        "qpos": np.zeros(4),
    }
    return {**probe, **changed}


def moved(body, metres):
    position = np.zeros((3, 3))
    position[body, 0] = metres
    return world(position_m=position)


def seen(**channels):
    return Moment(Seen(channels))


def probed(probe, **channels):
    return Moment(Seen(channels), probe)


FRAME = np.random.default_rng(1).integers(0, 256, (40, 50, 3), dtype=np.uint8)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_match_that_holds_for_a_moment_and_itself(name):
    match: Match = preset(name)
    assert isinstance(match.sees, frozenset)
    moment = probed(world(), frame=FRAME)
    assert match(moment, moment).same


@pytest.mark.parametrize("name", sorted(set(PRESETS) - {"unchecked"}))
def test_comparing_nothing_is_never_the_same(name):
    evidence = preset(name)(Moment(), Moment())
    assert not evidence.same
    assert evidence.notes


def test_unchecked_says_that_nothing_was_compared():
    evidence = Unchecked()(Moment(), Moment())
    assert evidence.same
    assert evidence.notes == {"unchecked": "nothing was compared"}


def test_an_unknown_preset_is_refused_with_the_nearest():
    with pytest.raises(Refused, match="did you mean 'retrace'"):
        preset("retrase")


@pytest.mark.parametrize(("change", "at_least"), [(typed, 0.999), (find_bar, 0.99)])
def test_ssim_does_not_see_a_small_edit_at_1080p_and_the_other_rungs_do(change, at_least):
    before = screen()
    evidence = preset("retrace")(seen(frame=before), seen(frame=change(before)))
    assert evidence.same
    assert at_least < evidence.rungs["frame.ssim"] < 1
    assert evidence.rungs["frame.identical"] == 0
    assert evidence.rungs["frame.changed_rectangles"] >= 1
    assert 0 < evidence.rungs["frame.changed_fraction"] < 0.04
    assert evidence.rungs["frame.worst_tile"] < 0.96


def test_the_changed_place_and_the_settings_of_ssim_are_in_the_notes():
    notes = preset("retrace")(seen(frame=screen()), seen(frame=typed(screen()))).notes
    assert notes["frame.ssim"] == "gaussian11 population gray float64"
    assert notes["frame.changed"].startswith("x 1404, y 100, ")
    assert notes["frame.worst_tile"] == "x 1344, y 64, 64 px"


def test_a_dialog_is_not_the_same_for_retrace():
    dialog = screen()
    dialog[300:700, 500:1400] = 200
    assert not preset("retrace")(seen(frame=screen()), seen(frame=dialog)).same


def test_a_tree_seen_on_both_sides_is_reported_beside_the_pixels():
    one, two = ({"role": "text", "value": value} for value in "ab")
    evidence = preset("retrace")(seen(frame=FRAME, tree=one), seen(frame=FRAME, tree=two))
    assert evidence.same
    assert evidence.rungs["tree.changed"] == 1
    assert not Tree()(seen(tree=one), seen(tree=two)).same


@pytest.mark.parametrize("name", ["retrace", "roborecover", "exact"])
def test_a_recorded_frame_that_was_not_looked_at_is_not_the_same(name):
    evidence = preset(name)(probed(world(), frame=FRAME), probed(world()))
    assert not evidence.same
    assert evidence.notes["frame"] == "missing from the reached moment"


def test_frames_of_two_sizes_are_not_the_same():
    evidence = preset("retrace")(seen(frame=FRAME), seen(frame=FRAME[:-1]))
    assert not evidence.same
    assert "(39, 50, 3) reached" in evidence.notes["frame"]


def test_unlike_frames_smaller_than_the_window_are_not_the_same():
    evidence = preset("retrace")(seen(frame=FRAME[:5]), seen(frame=255 - FRAME[:5]))
    assert not evidence.same
    assert "smaller" in evidence.notes["frame"]


def test_equal_pixels_do_not_suffice_where_both_moments_carry_a_probe():
    evidence = preset("retrace")(probed(world(), frame=FRAME), probed(moved(1, 0.01), frame=FRAME))
    assert not evidence.same
    assert evidence.rungs["frame.identical"] == 1
    assert evidence.rungs["state.objects_mm"] == pytest.approx(10)


class LooksOnly:
    """A matcher of somebody else's that knows nothing of probes."""

    sees = frozenset({"frame"})

    def __call__(self, recorded, reached):
        return Evidence(True, {"verifier": 1.0})


def test_compare_joins_the_state_to_a_matcher_that_only_looks():
    far = probed(world()), probed(moved(1, 0.01))
    assert compare(LooksOnly(), seen(), seen()).same
    assert not compare(LooksOnly(), *far).same
    assert compare(LooksOnly(), *far).rungs["verifier"] == 1
    assert compare(Unchecked(), *far).same


@pytest.mark.parametrize(("body", "group"), [(0, "robot"), (1, "objects"), (2, "objects")])
@pytest.mark.parametrize(("mm", "same"), [(1.9, True), (2.1, False)])
def test_roborecover_wants_robot_and_objects_within_2_mm(body, group, mm, same):
    evidence = preset("roborecover")(probed(world()), probed(moved(body, mm / 1e3)))
    assert evidence.same is same
    assert evidence.rungs[f"state.{group}_mm"] == pytest.approx(mm)
    assert evidence.notes["state.worst_mm"] == world()["bodies"][body]


def test_roborecover_wants_less_than_2_mm_and_more_than_99_hundredths():
    exactly = world(position_m=np.array([[0, 0, 0], [0.5, 0, 0], [0, 0, 0]]))
    start = world(position_m=np.array([[0, 0, 0], [0.498, 0, 0], [0, 0, 0]]))
    apart = State()(probed(start), probed(exactly)).rungs["state.objects_mm"]
    assert State(limit_mm=apart)(probed(start), probed(exactly)).same
    assert (
        preset("roborecover").state.limit_mm
        < 2.0
        == math.nextafter(preset("roborecover").state.limit_mm, 3)
    )
    assert preset("roborecover").at_least > 0.99
    assert preset("retrace").at_least == 0.99


def test_roborecover_reports_a_turn_and_the_state_preset_decides_by_it():
    turn = world(quaternion_wxyz=np.array([[1.0, 0, 0, 0]] * 2 + [[0, 1.0, 0, 0]]))
    for name, same in (("roborecover", True), ("state", False)):
        evidence = preset(name)(probed(world()), probed(turn))
        assert evidence.same is same
        assert evidence.rungs["state.objects_rad"] == pytest.approx(math.pi)
        assert evidence.rungs["state.robot_rad"] == 0
        assert evidence.notes["state.worst_rad"] == "ball"


@given(st.floats(1e-9, math.pi), st.booleans())
def test_the_angle_of_a_turn_is_found_and_the_sign_of_a_quaternion_is_not(angle, negative):
    turned = world()["quaternion_wxyz"].copy()
    turned[1] = np.array([math.cos(angle / 2), 0, math.sin(angle / 2), 0]) * (-2) ** negative
    evidence = State()(probed(world()), probed(world(quaternion_wxyz=turned)))
    assert evidence.rungs["state.objects_rad"] == pytest.approx(angle, rel=1e-6, abs=1e-12)


def test_bodies_are_paired_by_name_not_by_place():
    swapped = world(
        bodies=["ball", "hand", "cube"], position_m=moved(2, 1.0)["position_m"][[2, 0, 1]]
    )
    assert preset("state")(probed(moved(2, 1.0)), probed(swapped)).same


def test_a_body_on_one_side_only_is_named_and_not_the_same():
    fewer = {
        **world(), "bodies": ["hand", "cube"], "position_m": np.zeros((2, 3)),
        "quaternion_wxyz": np.tile([1.0, 0, 0, 0], (2, 1)),
    }  # fmt: skip
    evidence = preset("state")(probed(world()), probed(fewer))
    assert not evidence.same
    assert evidence.notes["state.bodies"] == "ball on one side only"
    assert evidence.rungs["state.objects_mm"] == 0


@pytest.mark.parametrize("name", ["roborecover", "exact", "state"])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("channel", ["position_m", "quaternion_wxyz", "qpos"])
def test_what_is_not_a_number_is_never_the_same_even_on_both_sides(name, bad, channel):
    probe = world(**{channel: np.full_like(world()[channel], bad)})
    evidence = preset(name)(probed(probe, frame=FRAME), probed(probe, frame=FRAME))
    assert not evidence.same
    assert "number" in evidence.notes[f"state.{channel}"]
    assert all(math.isfinite(value) for value in evidence.rungs.values())


def test_another_array_is_a_rung_of_its_own():
    evidence = State()(probed(world()), probed(world(qpos=np.array([0, 0.25, -0.5, 0]))))
    assert evidence.same
    assert evidence.rungs["state.qpos"] == 0.5


def test_another_array_of_another_shape_is_not_the_same():
    evidence = State()(probed(world()), probed(world(qpos=np.zeros(5))))
    assert not evidence.same
    assert "(5,) reached" in evidence.notes["state.qpos"]


@pytest.mark.parametrize(("gap", "same"), [(1e-9, True), (1e-3, False)])
def test_where_no_bodies_are_named_the_other_arrays_decide(gap, same):
    assert State()(probed({"qpos": np.zeros(3)}), probed({"qpos": np.full(3, gap)})).same is same
    assert not State()(probed({}), probed({})).same


def test_a_probe_whose_arrays_do_not_fit_its_names_is_refused():
    with pytest.raises(Refused, match=r"position_m of shape \(2, 3\)"):
        State()(probed(world()), probed(world(position_m=np.zeros((2, 3)))))
    with pytest.raises(Refused, match="'cube' twice"):
        State()(probed(world()), probed(world(bodies=["hand", "cube", "cube"])))


@pytest.mark.parametrize(
    "other",
    [
        probed(world(qpos=np.full(4, 1e-300)), frame=FRAME, vector=np.zeros(3)),
        probed(world(), frame=FRAME ^ (np.indices(FRAME.shape).sum(0) == 0), vector=np.zeros(3)),
        probed(world(), frame=FRAME, vector=-np.zeros(3)),
        probed(world(), frame=FRAME, vector=np.zeros(3, np.float32)),
        probed(world(), frame=FRAME),
        probed({**world(), "extra": 1}, frame=FRAME, vector=np.zeros(3)),
        seen(frame=FRAME, vector=np.zeros(3)),
    ],
)
def test_exact_wants_every_channel_and_the_whole_probe_bit_for_bit(other):
    moment = probed(world(), frame=FRAME, vector=np.zeros(3))
    assert Exact()(moment, moment).same
    assert not Exact()(moment, other).same


def test_exact_needs_no_probe_where_none_was_recorded():
    assert Exact()(seen(frame=FRAME), seen(frame=FRAME)).same


def test_arrays_without_values_are_noted_and_prove_nothing():
    empty = probed({"contacts": np.zeros((0, 3))})
    for name in ("state", "roborecover", "exact"):
        evidence = preset(name)(empty, empty)
        assert not evidence.same
        assert evidence.notes["state.contacts"].startswith("empty on both sides")
        assert not evidence.rungs
    beside = probed({"contacts": np.zeros((0, 3)), "qpos": np.zeros(2)})
    assert all(preset(name)(beside, beside).same for name in ("state", "exact"))
    other = probed({"contacts": np.zeros((0, 2)), "qpos": np.zeros(2)})
    assert not State()(beside, other).same


def test_plain_data_of_a_probe_is_compared_whole():
    one, other = probed({"page": [[1], [1, 2]], "mode": "idle"}), probed({"page": [[1], [1, 3]]})
    assert State()(one, one).same
    assert State()(one, one).rungs == {"state.mode": 0.0, "state.page": 0.0}
    assert State()(one, other).notes["state.page"] == "differs"


@pytest.mark.parametrize("name", ["retrace", "roborecover", "exact"])
@pytest.mark.parametrize("side", ["recorded", "reached"])
def test_a_probe_on_one_side_only_is_not_the_same_and_says_which(name, side):
    with_probe, without = probed(world(), frame=FRAME), seen(frame=FRAME)
    moments = (without, with_probe) if side == "recorded" else (with_probe, without)
    evidence = preset(name)(*moments)
    assert not evidence.same
    assert evidence.notes["probe"] == f"missing from the {side} moment"


def test_compare_misses_a_recorded_probe_and_leaves_an_unrecorded_one_to_the_matcher():
    assert not compare(LooksOnly(), probed(world()), seen()).same
    assert compare(LooksOnly(), seen(), probed(world())).same


@pytest.mark.parametrize("shape", [(0, 0, 3), (0, 50, 3), (40, 0, 3), (0, 0)])
@pytest.mark.parametrize("name", ["retrace", "roborecover", "exact"])
def test_frames_without_a_pixel_prove_nothing(name, shape):
    moment = seen(frame=np.zeros(shape, np.uint8))
    evidence = preset(name)(moment, moment)
    assert not evidence.same
    assert str(shape) in evidence.notes["frame"]


def test_a_frame_without_a_pixel_beside_an_equal_probe_is_not_the_same_for_those_who_look():
    moment = probed(world(), frame=np.zeros((0, 0, 3), np.uint8))
    assert not preset("retrace")(moment, moment).same
    assert not preset("roborecover")(moment, moment).same


@pytest.mark.parametrize("name", ["roborecover", "state", "exact"])
@pytest.mark.parametrize("left_out", [("position_m",), ("position_m", "quaternion_wxyz")])
def test_bodies_without_positions_are_never_the_same(name, left_out):
    moment = probed({k: v for k, v in world().items() if k not in left_out}, frame=FRAME)
    evidence = preset(name)(moment, moment)
    assert not evidence.same
    assert evidence.notes["state.position_m"] == "of the bodies is on neither side"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bodies": []}, r"position_m of shape \(3, 3\): for its bodies it is \(0, 3\)"),
        ({"bodies": 3}, "no lists of names"),
        ({"bodies": "hand"}, r"position_m of shape \(3, 3\): for its bodies it is \(4, 3\)"),
        ({"bodies": [["hand"], "cube", "ball"]}, "no lists of names"),
        ({"bodies": [1, 2, 3]}, "the body 1: its name must be text"),
        ({"robot": None}, "no lists of names"),
        ({"position_m": [[0, 0, 0], [1], [2]]}, "position_m that is no array of numbers"),
        ({"position_m": ["x", "y", "z"]}, "position_m that is no array of numbers"),
    ],
)
def test_a_probe_that_breaks_its_names_is_refused_in_a_sentence(change, says):
    with pytest.raises(Refused, match=says):
        State()(probed(world(**change)), probed(world(**change)))


def test_a_tree_without_nodes_proves_nothing():
    evidence = Tree()(seen(tree=[]), seen(tree=[]))
    assert not evidence.same
    assert evidence.notes == {"tree": "without a node on both sides"}
    assert not Tree()(seen(tree=[]), seen(tree={"role": "window"})).same


def test_both_sees_and_reports_everything_and_wants_all():
    match = both(State(), Tree(), Pixels(channel="wrist"))
    assert match.sees == {"tree", "wrist"}
    one = probed(world(), tree={"role": "text"}, wrist=FRAME)
    assert match(one, one).same
    assert {"state.robot_mm", "tree.changed", "wrist.ssim"} <= set(match(one, one).rungs)
    other = probed(world(), tree={"role": "button"}, wrist=FRAME)
    assert not match(one, other).same
    with pytest.raises(Refused, match="at least one"):
        both()
