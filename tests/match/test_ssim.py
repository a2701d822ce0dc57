"""SSIM against scikit-image's, on both engines; locality, tiles, refusals."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage.metrics import structural_similarity

from clew.core import Refused
from clew.match import Ssim, ssim

ENGINES = ("numpy", "opencv")
#: What the two precisions promise, over every case below.
ERROR = {"float64": 1e-9, "float32": 1e-4}


def peer(a, b, window="uniform7", covariance="sample", colour="gray"):
    """scikit-image with the same settings; `gray` is OpenCV's 8-bit luma."""
    if a.ndim == 3 and colour == "gray":
        a, b = (cv2.cvtColor(f, cv2.COLOR_RGB2GRAY) for f in (a, b))
    return structural_similarity(
        a, b, gaussian_weights=window == "gaussian11",
        use_sample_covariance=covariance == "sample", channel_axis=2 if a.ndim == 3 else None,
    )  # fmt: skip


def noise(seed, *shape):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@st.composite
def frame_pairs(draw):
    """Noise or a flat frame of any small shape, and it with rectangles changed, or other noise."""
    shape = (draw(st.integers(11, 150)), draw(st.integers(11, 150)))
    shape += draw(st.sampled_from([(), (3,)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    flat = draw(st.booleans())
    a = np.full(shape, rng.integers(256), np.uint8) if flat else noise(rng, *shape)
    if draw(st.integers(0, 4)) == 0:
        return a, noise(rng, *shape)
    b = a.copy()
    for _ in range(draw(st.integers(1, 6))):
        y, x = rng.integers(shape[0]), rng.integers(shape[1])
        height, width = rng.integers(1, 30, 2)
        b[y : y + height, x : x + width] ^= np.uint8(rng.integers(1, 256))
    return a, b


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("window", ["uniform7", "gaussian11"])
@given(
    pair=frame_pairs(),
    covariance=st.sampled_from(["sample", "population"]),
    colour=st.sampled_from(["gray", "rgb"]),
    precision=st.sampled_from(["float64", "float32"]),
)
@settings(max_examples=60, deadline=None)
def test_any_change_gives_the_value_of_scikit_image(
    pair, engine, window, covariance, colour, precision
):
    found = ssim(
        *pair, window=window, covariance=covariance, colour=colour,
        precision=precision, engine=engine,
    )  # fmt: skip
    assert abs(found - peer(*pair, window, covariance, colour)) <= ERROR[precision]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("window", ["uniform7", "gaussian11"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_wide_frame_changed_everywhere_gives_the_value_of_scikit_image(engine, window, precision):
    a = cv2.GaussianBlur(noise(0, 470, 2110, 3), (0, 0), 3)
    b = cv2.addWeighted(a, 0.9, 255 - a, 0.1, 0)
    found = ssim(a, b, window=window, engine=engine, precision=precision)
    assert abs(found - peer(a, b, window)) <= ERROR[precision]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("window", ["uniform7", "gaussian11"])
def test_a_bright_flat_frame_loses_nothing_to_cancellation(engine, window):
    a = np.full((700, 900), 255, np.uint8)
    b = a - 1
    b[350, 450] = 0
    for precision, error in ERROR.items():
        found = ssim(a, b, window=window, engine=engine, precision=precision)
        assert abs(found - peer(a, b, window)) <= error


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("window", "size"), [("uniform7", 7), ("gaussian11", 11)])
def test_a_frame_as_small_as_the_window_has_one_window(engine, window, size):
    a, b = noise(1, size, size), noise(2, size, size)
    assert abs(ssim(a, b, window=window, engine=engine) - peer(a, b, window)) <= 1e-9


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("y", "x"), [(0, 0), (0, 199), (149, 0), (149, 199), (63, 64), (70, 133)])
def test_one_pixel_at_an_edge_or_a_seam_counts_in_every_window_that_holds_it(engine, y, x):
    a = noise(3, 150, 200)
    b = a.copy()
    b[y, x] ^= 128
    assert abs(ssim(a, b, engine=engine) - peer(a, b)) <= 1e-9


def test_both_engines_make_the_same_gray_of_every_colour():
    ramp = np.arange(256, dtype=np.uint8)
    for red in range(0, 256, 5):
        colours = np.stack(np.broadcast_arrays(np.uint8(red), ramp[:, None], ramp), axis=-1)
        other = colours[::-1].copy()
        by_numpy, by_opencv = (
            Ssim(engine=engine)._planes(colours, other)[0][0] for engine in ENGINES
        )
        assert np.array_equal(by_numpy, by_opencv)


def test_the_gray_is_within_one_level_of_pillows():
    frame = noise(4, 300, 300, 3)
    ours = Ssim(engine="numpy")._planes(frame, frame)[0][0].astype(int)
    assert np.abs(ours - np.asarray(Image.fromarray(frame).convert("L"))).max() <= 1


def test_far_apart_changes_are_computed_apart():
    a = noise(5, 1080, 1920, 3)
    b = a.copy()
    for y, x in ((10, 10), (500, 900), (505, 1800), (1070, 5)):
        b[y : y + 8, x : x + 8] ^= 255
    asked = []

    class Counted(Ssim):
        def _loss(self, *planes):
            found = super()._loss(*planes)
            asked.append(found.size)
            return found

    assert abs(Counted().measure(a, b).mean - peer(a, b)) <= 1e-9
    assert sum(asked) < 4 * 25 * 25


def test_identical_frames_are_1_and_need_not_hold_a_window():
    assert ssim(noise(6, 40, 40, 3), noise(6, 40, 40, 3)) == 1.0
    assert ssim(noise(6, 3, 3), noise(6, 3, 3)) == 1.0


def test_a_flipped_view_is_read_as_it_looks():
    a, b = noise(7, 60, 70, 3)[::-1, ::-1], noise(8, 60, 70, 3)[::-1, ::-1]
    assert abs(ssim(a, b) - peer(a.copy(), b.copy())) <= 1e-9


def test_the_worst_tile_is_the_one_with_the_lowest_mean():
    a = noise(9, 300, 400)
    b = a.copy()
    b[130:180, 200:250] = 255 - b[130:180, 200:250]
    b[20, 20] ^= 1
    whole = structural_similarity(a, b, full=True)[1][3:-3, 3:-3]
    tiles = {
        (x, y): whole[y : y + 64, x : x + 64].mean()
        for y in range(0, whole.shape[0], 64) for x in range(0, whole.shape[1], 64)
    }  # fmt: skip
    like = Ssim().measure(a, b)
    assert like.worst_at == min(tiles, key=tiles.get) == (192, 128)
    assert like.worst == pytest.approx(min(tiles.values()), abs=1e-9)


def test_the_order_of_the_frames_does_not_matter():
    a, b = noise(10, 90, 120, 3), noise(11, 90, 120, 3)
    assert ssim(a, b) == ssim(b, a)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (noise(0, 20, 20), noise(0, 20, 21), "one size"),
        (noise(0, 20, 20, 4), noise(1, 20, 20, 4), "in RGB"),
        (np.zeros((20, 20)), np.ones((20, 20)), "float64"),
        (noise(0, 6, 20), noise(1, 6, 20), "smaller than the window"),
    ],
)
def test_frames_that_cannot_be_compared_are_refused(a, b, words):
    with pytest.raises(Refused, match=words):
        ssim(a, b)


def test_an_unknown_setting_is_refused_with_the_nearest():
    with pytest.raises(Refused, match="did you mean 'gaussian11'"):
        Ssim(window="gaussian")


@pytest.mark.parametrize("seed", range(4))
def test_the_mean_alone_in_float32_is_within_its_stated_error(seed):
    pytest.importorskip("fast_ssim")
    rng = np.random.default_rng(seed)
    before = rng.integers(0, 256, (270 + seed, 480, 3), dtype=np.uint8)
    after = np.clip(before.astype(int) + rng.integers(-40, 41, before.shape), 0, 255)
    after = after.astype(np.uint8)
    exact = Ssim().measure(before, after).mean
    assert Ssim(precision="float32").mean(before, after) == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("window", ["uniform7", "gaussian11"])
@given(
    shape=st.tuples(st.integers(100, 400), st.integers(100, 700)),
    seed=st.integers(0, 2**32),
    count=st.integers(1, 30),
    largest=st.sampled_from([1, 3, 20, 90]),
    colour=st.sampled_from([(), (3,)]),
    flat=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_scattered_changes_give_the_value_and_the_worst_tile_of_scikit_image(
    engine, window, shape, seed, count, largest, colour, flat
):
    rng = np.random.default_rng(seed)
    a = (
        np.full(shape + colour, rng.integers(256), np.uint8)
        if flat
        else noise(rng, *shape, *colour)
    )
    b = a.copy()
    for _ in range(count):
        height, width = rng.integers(1, largest + 1, 2)
        # From beyond the edge to beyond the other, so that some are cut by it and some touch it.
        y, x = (int(rng.integers(1 - side, n)) for side, n in zip((height, width), shape))
        b[max(0, y) : y + height, max(0, x) : x + width] ^= np.uint8(rng.integers(1, 256))
    kind = Ssim(window, engine=engine)
    assert abs(kind.mean(a, b) - peer(a, b, window)) <= 1e-9
    like = kind.measure(a, b)
    assert abs(like.mean - peer(a, b, window)) <= 1e-9
    worst, tiles = worst_tile(a, b, window)
    assert abs(like.worst - worst) <= 1e-9
    assert abs(tiles[like.worst_at] - worst) <= 1e-9


def worst_tile(a, b, window):
    """The lowest mean of a tile and that of every tile, from the map of scikit-image."""
    if a.ndim == 3:
        a, b = (cv2.cvtColor(f, cv2.COLOR_RGB2GRAY) for f in (a, b))
    r = {"uniform7": 3, "gaussian11": 5}[window]
    whole = structural_similarity(
        a, b, gaussian_weights=window == "gaussian11", full=True
    )[1][r:-r, r:-r]  # fmt: skip
    tiles = {
        (x, y): whole[y : y + 64, x : x + 64].mean()
        for y in range(0, whole.shape[0], 64) for x in range(0, whole.shape[1], 64)
    }  # fmt: skip
    return min(tiles.values()), tiles


def test_the_mean_alone_of_a_small_change_is_the_measured_one():
    before = np.full((200, 300), 90, np.uint8)
    after = before.copy()
    after[50:60, 70:90] = 200
    settings = Ssim(precision="float32")
    assert settings.mean(before, after) == pytest.approx(
        settings.measure(before, after).mean, abs=1e-12
    )
