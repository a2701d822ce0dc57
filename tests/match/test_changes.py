"""Changed rectangles and fraction."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.match import changes


def frame(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def test_identical_frames_have_no_changes():
    found = changes(frame(20, 30, 3), frame(20, 30, 3))
    assert (found.rectangles, found.fraction) == ((), 0.0)


def test_two_far_apart_changes_are_two_tight_rectangles():
    a = frame(200, 301, 3)
    b = a.copy()
    b[10:14, 20:27] ^= 1
    b[12:40, 250:260, 1] ^= 255
    found = changes(a, b)
    assert found.rectangles == ((250, 12, 10, 28), (20, 10, 7, 4))
    assert found.fraction == (10 * 28 + 7 * 4) / (200 * 301)


def test_near_changes_are_one_rectangle():
    a = frame(100, 100)
    b = a.copy()
    b[50, 50] ^= 1
    b[53, 60] ^= 1
    assert changes(a, b).rectangles == ((50, 50, 11, 4),)


@given(
    st.integers(1, 60), st.integers(1, 60), st.sampled_from([(), (3,)]),
    st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=12),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_rectangles_cover_every_changed_pixel_and_do_not_overlap(height, width, colour, points):
    a = frame(height, width, *colour)
    b = a.copy()
    for y, x in points:
        b[y % height, x % width] ^= 7
    found = changes(a, b)
    covered = np.zeros((height, width), int)
    for x, y, w, h in found.rectangles:
        covered[y : y + h, x : x + w] += 1
    changed = (a != b).reshape(height, width, -1).any(axis=2)
    assert covered.max(initial=0) <= 1
    assert covered[changed].all()
    assert found.fraction == changed.mean()
