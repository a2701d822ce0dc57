"""Structural similarity of two frames, computed only where they differ. It decides nothing.

Outside the changed pixels, padded by the window, the SSIM map is exactly 1. So the mean is
1 − Σ(1 − ssim)/N over the padded changes alone, as exact as over the whole frame. With x, y, xy
and dd the window means of both frames, of their product and of their squared difference,

    ssim = L·V / ((L + D/2) · (V + (dd − D)/2)),  D = (x − y)²,
    L = x·y + C1/2,  V = xy − x·y + C2/2

is equation 13 of Wang et al. (2004) with C1 = (0.01·255)² and C2 = (0.03·255)²; the sample
covariance divides C2 by N/(N − 1). Means are of few pixels, never differences of running totals
over a frame; and what V loses to rounding stands above and below the line.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clew.core import Refused, nearest
from clew.match.changes import Frame, changed_words, frame_pair, spans

Array = npt.NDArray[Any]
Piece = tuple[int, int, int, int]
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
#: Side of the tiles of which the worst is reported, in pixels.
TILE_PX = 64
#: Width of one piece of work, which then stays in a processor's cache.
PIECE_PX = 16 * TILE_PX
#: Fewer pixels than this are not worth waking other threads for.
THREADS_FROM_PX = 1 << 18
#: The rows of each separable window; the Gaussian has σ 1.5 and is cut at 3.5 σ.
WINDOWS = {"uniform7": np.ones(7), "gaussian11": np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)}
#: From this share of changed pixels on, whole frames are quicker than their changed parts.
NEARLY_ALL = 0.5
CHOICES = {
    "window": tuple(WINDOWS), "covariance": ("sample", "population"), "colour": ("gray", "rgb"),
    "precision": ("float64", "float32"), "engine": ("auto", "numpy", "opencv"),
}  # fmt: skip


@dataclass(frozen=True)
class Likeness:
    """Mean SSIM, and the lowest mean of a tile with the (x, y) pixel where that tile begins."""

    mean: float
    worst: float
    worst_at: tuple[int, int]


@dataclass(frozen=True)
class Ssim:
    """Which SSIM: window, covariance and colour move the value, precision and engine the cost.

    `uniform7` with `sample` is scikit-image's default, `gaussian11` with `population` that of
    Wang et al. (2004). `gray` is 8-bit Rec. 601 luma in OpenCV's fixed point, `rgb` the mean of
    the channels. Windows that leave the frame do not count, as in scikit-image. `float64` is
    within 1e-9 of it, `float32` within 1e-4.
    """

    window: Literal["uniform7", "gaussian11"] = "uniform7"
    covariance: Literal["sample", "population"] = "sample"
    colour: Literal["gray", "rgb"] = "gray"
    precision: Literal["float64", "float32"] = "float64"
    engine: Literal["auto", "numpy", "opencv"] = "auto"

    def __post_init__(self) -> None:
        for name, valid in CHOICES.items():
            if getattr(self, name) not in valid:
                value = getattr(self, name)
                raise Refused(f"SSIM {name} {value!r} is unknown; {nearest(value, valid)}")
        if self.engine == "opencv" and _opencv() is None:
            raise Refused("SSIM engine 'opencv' needs OpenCV: install clew[fast], or use 'auto'")

    def __str__(self) -> str:
        return f"{self.window} {self.covariance} {self.colour} {self.precision}"

    def measure(self, a: Frame, b: Frame) -> Likeness:
        """The likeness of two frames, uint8 of one shape, (H, W, 3) RGB or (H, W).

        Raises `Refused` as `frame_pair` does, and for unlike frames smaller than the window.
        """
        a, b = frame_pair(a, b)
        mask, width_px = changed_words(a, b)
        rows = np.flatnonzero(mask.any(axis=1))
        if not rows.size:
            return Likeness(1.0, 1.0, (0, 0))
        height, width = (n - len(WINDOWS[self.window]) + 1 for n in a.shape[:2])
        if min(height, width) < 1:
            raise Refused(f"frames of shape {a.shape} are smaller than the window {self.window}")
        tall, wide = (_sides(n) for n in (height, width))
        lost = np.zeros((len(tall), width))
        pieces = list(self._pieces(mask, width_px, rows, height, width))
        for (y0, _, x0, x1), columns in zip(pieces, self._losses(a, b, pieces)):
            lost[y0 // TILE_PX, x0:x1] += columns
        loss = np.add.reduceat(lost, np.arange(0, width, TILE_PX), axis=1)
        means = loss / np.outer(tall, wide)
        row, column = divmod(int(means.argmax()), len(wide))
        worst_at = column * TILE_PX, row * TILE_PX
        mean = 1.0 - float(loss.sum()) / (height * width)
        return Likeness(mean, 1.0 - float(means[row, column]), worst_at)

    def mean(self, a: Frame, b: Frame) -> float:
        """`measure(a, b).mean`, sooner: in `float32`, gray frames that changed nearly everywhere
        go through fast-ssim where it imports (only its mean is known, not where it is lowest)."""
        native = _native() if str(self) == "uniform7 sample gray float32" else None
        if native is not None and self.engine == "auto":
            a, b = frame_pair(a, b)
            if min(a.shape[:2]) >= TILE_PX and (a[::7, ::7] != b[::7, ::7]).mean() > NEARLY_ALL:
                return float(native.ssim(*map(np.ascontiguousarray, self._planes(a, b)[0])))
        return self.measure(a, b).mean

    def _pieces(
        self, mask: Array, width_px: float, changed: Array, height: int, width: int
    ) -> Iterator[Piece]:
        """Disjoint parts (y0, y1, x0, x1) of the SSIM map, each within a row of tiles, that hold
        every window with a changed pixel in it; `changed` are the rows that have one."""
        reach = len(WINDOWS[self.window]) - 1
        tiles = np.append(changed - reach, changed) // TILE_PX
        for row in np.unique(np.clip(tiles, 0, (height - 1) // TILE_PX)).tolist():
            top, bottom = row * TILE_PX, min(row * TILE_PX + TILE_PX, height)
            here = slice(*np.searchsorted(changed, (top, bottom + reach)))
            first, last = int(changed[here][0]), int(changed[here][-1]) + 1
            for w0, w1 in spans(mask[first:last].any(axis=0), (reach + 2) / width_px + 1):
                left, right = int(w0 * width_px) - reach, min(width, math.ceil(w1 * width_px))
                for x0 in range(max(0, left), right, PIECE_PX):
                    yield max(top, first - reach), min(bottom, last), x0, min(x0 + PIECE_PX, right)

    def _losses(self, a: Frame, b: Frame, pieces: list[Piece]) -> Iterator[Array]:
        """Σ(1 − ssim) down the columns of each piece, float64, in the order of `pieces`."""
        reach = len(WINDOWS[self.window]) - 1

        def lost(batch: list[Piece]) -> list[Array]:
            pairs = self._planes(*(_mosaic(frame, batch, reach) for frame in (a, b)))
            columns = [np.zeros(x1 - x0) for _, _, x0, x1 in batch]
            for pair in pairs:
                similar, at = self._map(*pair), 0
                for (y0, y1, x0, x1), column in zip(batch, columns):
                    part = similar[: y1 - y0, at : at + x1 - x0]
                    column += (y1 - y0 - part.sum(axis=0, dtype=np.float64)) / len(pairs)
                    at += x1 - x0 + reach
            return columns

        if sum((y1 - y0) * (x1 - x0) for y0, y1, x0, x1 in pieces) < THREADS_FROM_PX:
            for batch in _batches(pieces):
                yield from lost(batch)
        else:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                for columns in pool.map(lost, _batches(pieces)):
                    yield from columns

    def _planes(self, a: Frame, b: Frame) -> list[tuple[Frame, Frame]]:
        if a.ndim == 2:
            return [(a, b)]
        if self.colour == "rgb":
            return [(a[..., c], b[..., c]) for c in range(3)]
        cv2 = self._cv2()
        gray = _gray if cv2 is None else (lambda frame: cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY))
        return [(gray(a), gray(b))]

    def _map(self, a: Frame, b: Frame) -> Array:
        """The SSIM of every window that lies inside these planes; the formula is at the top."""
        x, y, xy, dd = self._means(a, b)
        n = len(WINDOWS[self.window]) ** 2
        luminance = np.multiply(x, y, out=_scratch.array("luminance", x.shape, x.dtype))
        xy -= luminance
        xy += C2 / 2 * (1.0 if self.covariance == "population" else (n - 1) / n)
        luminance += C1 / 2
        x -= y
        x *= x
        dd -= x
        dd *= 0.5
        dd += xy
        x *= 0.5
        x += luminance
        luminance *= xy
        x *= dd
        luminance /= x
        return luminance

    def _means(self, a: Frame, b: Frame) -> list[Array]:
        """Window means of a, b, a·b and (a − b)², in `precision`."""
        cv2, dtype, taps = self._cv2(), np.dtype(self.precision), WINDOWS[self.window]
        taps = taps / taps.sum()
        if cv2 is None:
            x, y = a.astype(dtype), b.astype(dtype)
            taps = taps.astype(dtype)
            return [_slide(_slide(p, taps).T, taps).T for p in (x, y, x * y, (x - y) ** 2)]
        d, r = cv2.absdiff(a, b), len(taps) // 2
        products = [np.multiply(p, q, dtype=np.uint16) for p, q in ((a, b), (d, d))]
        stack = _scratch.array("stack", (*a.shape, 4), np.uint16)
        stack = cv2.merge([a.astype(np.uint16), b.astype(np.uint16), *products], dst=stack)
        means = _scratch.array("means", stack.shape, dtype)
        depth = cv2.CV_64F if dtype == np.float64 else cv2.CV_32F
        if self.window == "uniform7":
            means = cv2.boxFilter(stack, depth, (7, 7), dst=means)
        else:
            means = cv2.sepFilter2D(stack, depth, taps, taps, dst=means)
        inner = means[r:-r, r:-r]
        planes = [_scratch.array(f"plane {i}", inner.shape[:2], dtype) for i in range(4)]
        return list(cv2.split(inner, planes))

    def _cv2(self) -> Any:
        return None if self.engine == "numpy" else _opencv()


def ssim(a: Frame, b: Frame, **settings: Any) -> float:
    """Mean SSIM of two frames; `settings` are the fields of `Ssim`, whose errors it raises."""
    return Ssim(**settings).mean(a, b)


class _Scratch(threading.local):
    """Arrays that a thread reuses from piece to piece: fresh memory costs more than the sums."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, Any], Array] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        key, size = (name, dtype), math.prod(shape)
        if key not in self.held or self.held[key].size < size:
            self.held[key] = np.empty(size, dtype)
        return self.held[key][:size].reshape(shape)


_scratch = _Scratch()


def _batches(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """Neighbours in the list, together about as wide as one piece may be."""
    batch: list[Piece] = []
    for piece in pieces:
        if batch and sum(x1 - x0 for _, _, x0, x1 in (*batch, piece)) > PIECE_PX:
            yield batch
            batch = []
        batch.append(piece)
    yield batch


def _mosaic(frame: Frame, batch: list[Piece], reach: int) -> Frame:
    """The padded pieces side by side, so that small ones share the cost of a call; 0 elsewhere."""
    parts = [frame[y0 : y1 + reach, x0 : x1 + reach] for y0, y1, x0, x1 in batch]
    if len(parts) == 1:
        return parts[0]
    height, width = max(len(p) for p in parts), sum(p.shape[1] for p in parts)
    whole, at = np.zeros((height, width, *frame.shape[2:]), np.uint8), 0
    for part in parts:
        whole[: len(part), at : at + part.shape[1]] = part
        at += part.shape[1]
    return whole


def _sides(length: int) -> Array:
    """The sides of the tiles along `length`; the last may be smaller."""
    return np.minimum(TILE_PX, length - np.arange(0, length, TILE_PX))


def _gray(frame: Frame) -> Frame:
    r, g, b = (frame[..., c].astype(np.int32) for c in range(3))
    return ((9798 * r + 19235 * g + 3735 * b + (1 << 14)) >> 15).astype(np.uint8)


def _slide(plane: Array, taps: Array) -> Array:
    """The mean of neighbouring rows, weighted by symmetric `taps`."""
    r, n = len(taps) // 2, len(plane) - len(taps) + 1
    total: Array = taps[r] * plane[r : r + n]
    for k in range(r):
        total += taps[k] * (plane[k : k + n] + plane[2 * r - k : 2 * r - k + n])
    return total


@cache
def _native() -> Any:
    try:
        import fast_ssim
    except (ImportError, OSError):
        return None
    return fast_ssim


@cache
def _opencv() -> Any:
    try:
        import cv2
    except ImportError:
        return None
    return cv2
