"""PNG files hold exactly the array; pillow is the judge."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from clew.core import Refused
from clew.report.png import png

from ._study import frame

_shapes = st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3))


def _read(data: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(data)) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        image.load()
        return np.asarray(image)


@settings(deadline=None)
@given(hnp.arrays(np.uint8, _shapes))
def test_any_frame_comes_back_exactly(pixels):
    np.testing.assert_array_equal(_read(png(pixels)), pixels)


@pytest.mark.parametrize("filtered", ["none", "sub", "up", "average", "paeth"])
def test_every_row_filter_comes_back_exactly(filtered):
    """Pictures of noise around what one filter predicts, so that this filter is taken."""
    rng = np.random.default_rng(3)
    pixels = np.zeros((24, 32, 3), np.int64)
    for y in range(24):
        for x in range(32):
            left = pixels[y, x - 1] if x else 0
            up = pixels[y - 1, x] if y else 0
            corner = pixels[y - 1, x - 1] if x and y else 0
            if filtered == "none":
                guess = 0
            elif filtered == "sub":
                guess = left if x else rng.integers(0, 256, 3)
            elif filtered == "up":
                guess = up if y else rng.integers(0, 256, 3)
            elif filtered == "average":
                guess = (left + up) // 2 + 60
            else:
                guess = left + up - corner + rng.integers(0, 9, 3)
            pixels[y, x] = (guess + rng.integers(0, 4, 3)) % 256
    image = pixels.astype(np.uint8)
    np.testing.assert_array_equal(_read(png(image)), image)


def test_a_view_is_written_as_it_looks():
    pixels = frame(3)[::-1, ::2]
    np.testing.assert_array_equal(_read(png(pixels)), pixels)


def test_filters_make_a_smooth_picture_small():
    assert len(png(np.repeat(np.arange(256, dtype=np.uint8), 768).reshape(256, 256, 3))) < 2000


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((4, 4, 3), np.float32), np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
    ],
)  # fmt: skip
def test_anything_but_rgb_bytes_is_refused(pixels):
    with pytest.raises(Refused, match="must be uint8"):
        png(pixels)
