"""Where two frames differ, to the pixel. It says nothing about whether that matters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.core import Refused

Frame = npt.NDArray[np.uint8]

#: Changed pixels with fewer unchanged rows or columns than this between them are one rectangle.
NEAR_PX = 16


@dataclass(frozen=True)
class Changes:
    """`rectangles` are (x, y, width, height) in pixels, largest first; `fraction` is of pixels."""

    rectangles: tuple[tuple[int, int, int, int], ...]
    fraction: float


def changes(a: Frame, b: Frame) -> Changes:
    """The changed rectangles and fraction of two frames; `Refused` as `frame_pair` does."""
    a, b = frame_pair(a, b)
    mask, width_px = changed_words(a, b)
    found, count = [], 0
    for y0, y1 in spans(mask.any(axis=1), NEAR_PX):
        for w0, w1 in spans(mask[y0:y1].any(axis=0), NEAR_PX / width_px):
            x0, x1 = int(w0 * width_px), math.ceil(w1 * width_px)
            pixels = a[y0:y1, x0:x1] != b[y0:y1, x0:x1]
            if pixels.ndim == 3:
                pixels = pixels[..., 0] | pixels[..., 1] | pixels[..., 2]
            ys, xs = (np.flatnonzero(pixels.any(axis=axis)).tolist() for axis in (1, 0))
            found.append((x0 + xs[0], y0 + ys[0], xs[-1] - xs[0] + 1, ys[-1] - ys[0] + 1))
            count += int(np.count_nonzero(pixels))
    found.sort(key=lambda box: -box[2] * box[3])
    return Changes(tuple(found), count / max(1, a.shape[0] * a.shape[1]))


def frame_pair(a: Any, b: Any) -> tuple[Frame, Frame]:
    """Both as contiguous uint8 (H, W) or (H, W, 3); `Refused` for another kind or two shapes."""
    frames = np.asarray(a), np.asarray(b)
    for frame in frames:
        if frame.dtype != np.uint8 or frame.ndim not in (2, 3) or frame.shape[2:] not in ((), (3,)):
            raise Refused(
                f"a frame is {frame.dtype} of shape {frame.shape}: "
                "it must be uint8 of shape (H, W, 3) in RGB, or (H, W)"
            )
    if frames[0].shape != frames[1].shape:
        raise Refused(
            f"frames of shape {frames[0].shape} and {frames[1].shape} cannot be compared: "
            "record both at one size"
        )
    return np.ascontiguousarray(frames[0]), np.ascontiguousarray(frames[1])


def changed_words(a: Frame, b: Frame) -> tuple[npt.NDArray[Any], float]:
    """What differs, bool (H, words), and the width of a word in pixels.

    A word is the widest integer that divides a row: those compare as fast as memory is read.
    """
    row_bytes = math.prod(a.shape[1:])
    size = next(n for n in (8, 4, 2, 1) if row_bytes % n == 0)
    one, other = (f.reshape(len(f), row_bytes).view(f"u{size}") for f in (a, b))
    return one != other, size / math.prod(a.shape[2:])


def spans(flags: npt.ArrayLike, gap: float) -> list[tuple[int, int]]:
    """Half-open runs of true flags; true flags at most `gap` places apart are in one run."""
    at = np.flatnonzero(flags)
    if not at.size:
        return []
    breaks = np.flatnonzero(at[1:] - at[:-1] > gap)
    starts = [int(at[0]), *at[breaks + 1].tolist()]
    stops = [*(at[breaks] + 1).tolist(), int(at[-1]) + 1]
    return list(zip(starts, stops))
