"""Structural similarity of two frames, computed only where they differ. It decides nothing.

Outside the changed pixels, padded by the window, the SSIM map is exactly 1. So the mean is
1 − Σ(1 − ssim)/N over the padded changes alone, as exact as over the whole frame. With x, y, xy
and dd the window sums of both frames, of their product and of their squared difference, and w the
sum of the window's weights,

    ssim = L·V / ((L + D) · (V + w·dd − D)),  D = (x − y)²,
    L = 2·x·y + w²·C1,  V = 2·(w·xy − x·y) + w²·C2

is equation 13 of Wang et al. (2004) with C1 = (0.01·255)² and C2 = (0.03·255)²; the sample
covariance divides C2 by N/(N − 1). All of it but C1 and C2 is exact in 32-bit integers where the
weights are 1; where they are not, what V loses to rounding stands above and below the line.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from clew.core import Refused, nearest
from clew.match.changes import Frame, changed_words, frame_pair, spans

Array = npt.NDArray[Any]
Piece = tuple[int, int, int, int]
Read = TypeVar("Read")
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
        pieces = self._pieces(a, b)
        if not pieces:
            return Likeness(1.0, 1.0, (0, 0))
        height, width, channels = self._size(a)
        areas = np.outer(_sides(height), _sides(width)) * channels
        lost = np.zeros((len(areas), width))
        for parts in self._losses(a, b, pieces, _by_tile_row):
            for tile_row, x0, columns in parts:
                lost[tile_row, x0 : x0 + len(columns)] += columns
        loss = np.add.reduceat(lost, np.arange(0, width, TILE_PX), axis=1)
        means = loss / areas
        row, column = divmod(int(means.argmax()), means.shape[1])
        worst_at = column * TILE_PX, row * TILE_PX
        mean = 1.0 - float(loss.sum() / areas.sum())
        return Likeness(mean, 1.0 - float(means[row, column]), worst_at)

    def mean(self, a: Frame, b: Frame) -> float:
        """`measure(a, b).mean` to rounding, sooner: no tile is looked at. In `float32`, gray frames
        that changed nearly everywhere go through fast-ssim where it imports."""
        a, b = frame_pair(a, b)
        known = self.engine == "auto" and str(self) == "uniform7 sample gray float32"
        if known and _native() and _nearly_all(a, b):
            return float(_native().ssim(*map(np.ascontiguousarray, self._planes(a, b)[0])))
        pieces = self._pieces(a, b)
        if not pieces:
            return 1.0
        return 1.0 - math.fsum(self._losses(a, b, pieces, _total)) / math.prod(self._size(a))

    def _size(self, frame: Frame) -> tuple[int, int, int]:
        """Height, width and channels of the SSIM map."""
        height, width = (n - len(WINDOWS[self.window]) + 1 for n in frame.shape[:2])
        if min(height, width) < 1:
            raise Refused(
                f"frames of shape {frame.shape} are smaller than the window {self.window}"
            )
        return height, width, 3 if frame.ndim == 3 and self.colour == "rgb" else 1

    def _pieces(self, a: Frame, b: Frame) -> list[Piece]:
        """Disjoint parts (y0, y1, x0, x1) of the SSIM map, no taller than a tile, that hold every
        window with a changed pixel in it."""
        mask, width_px = changed_words(a, b)
        changed, reach = mask.any(axis=1), len(WINDOWS[self.window]) - 1
        runs = spans(changed, reach)
        if not runs:
            return []
        height, width, _ = self._size(a)
        bands = [
            (y0, min(y0 + TILE_PX, last, height))
            for first, last in runs
            for y0 in range(max(0, first - reach), min(last, height), TILE_PX)
        ]
        # All bands in one line, too far apart for a run of words to go from one into the next.
        words, gap = mask.shape[1], (reach + 2) / width_px + 1
        line = np.zeros((len(bands), words + math.ceil(gap)), bool)
        for (y0, y1), flags in zip(bands, line):
            np.logical_or.reduce(mask[y0 : y1 + reach], axis=0, out=flags[:words])
        pieces = []
        for start, stop in spans(line.ravel(), gap):
            band, word = divmod(start, line.shape[1])
            left = max(0, int(word * width_px) - reach)
            right = min(width, math.ceil((word + stop - start) * width_px))
            for x0 in range(left, right, PIECE_PX):
                pieces.append((*bands[band], x0, min(x0 + PIECE_PX, right)))
        return pieces

    def _losses(
        self, a: Frame, b: Frame, pieces: list[Piece], read: Callable[[Piece, Array], Read]
    ) -> Iterator[Read]:
        """What `read` makes of each piece and its 1 − ssim, (height, width), once a channel."""
        reach = len(WINDOWS[self.window]) - 1

        def readings(batch: list[Piece]) -> list[Read]:
            tall = max(y1 - y0 for y0, y1, _, _ in batch) + reach
            tops = [min(y0, len(a) - tall) for y0, _, _, _ in batch]
            sides = [(x0, x1 + reach) for _, _, x0, x1 in batch]
            joined = (_side_by_side(frame, tops, tall, sides) for frame in (a, b))
            found = []
            for pair in self._planes(*joined):
                loss, at = self._loss(*pair), 0
                for top, piece in zip(tops, batch):
                    y0, y1, x0, x1 = piece
                    found.append(read(piece, loss[y0 - top : y1 - top, at : at + x1 - x0]))
                    at += x1 - x0 + reach
            return found

        batches = _batches(pieces, reach)
        if sum((y1 - y0) * (x1 - x0) for y0, y1, x0, x1 in pieces) < THREADS_FROM_PX:
            for batch in batches:
                yield from readings(batch)
        else:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                for found in pool.map(readings, batches):
                    yield from found

    def _planes(self, a: Frame, b: Frame) -> list[tuple[Frame, Frame]]:
        if a.ndim == 2:
            return [(a, b)]
        if self.colour == "rgb":
            return [(a[..., c], b[..., c]) for c in range(3)]
        cv2 = self._cv2()
        gray = _gray if cv2 is None else (lambda frame: cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY))
        return [(gray(a), gray(b))]

    def _loss(self, a: Frame, b: Frame) -> Array:
        """1 − ssim of every window that lies inside these planes, at the window's first pixel. The
        last columns, from which windows reach out on the right, are to be left out."""
        sums, weight = self._sums(a, b)
        (x, xy), (y, dd) = sums
        d = np.subtract(x, y, out=_scratch.array("work", x.shape, x.dtype))
        x *= y
        np.multiply(d, d, out=y)
        x *= 2
        xy *= 2 * weight
        dd *= weight
        # Both planes of a pair at once: (xy, dd) less (x, y), then (y, dd) plus (x, xy).
        sums[:, 1] -= sums[:, 0]
        sums[1] += sums[0]
        n = len(WINDOWS[self.window]) ** 2
        c1, c2 = C1 * weight**2, C2 * weight**2
        c2 *= 1.0 if self.covariance == "population" else (n - 1) / n
        above, below, factor = _scratch.array("work", (3, x.size), self.precision)
        for product, luminance, contrast in ((above, x, xy), (below, y, dd)):
            np.add(luminance, c1, out=product, dtype=self.precision)
            product *= np.add(contrast, c2, out=factor, dtype=self.precision)
        loss: Array = np.subtract(below, above, out=above)
        loss /= below
        return loss.reshape(-1, a.shape[1])

    def _sums(self, a: Frame, b: Frame) -> tuple[Array, int]:
        """Window sums [[x, xy], [y, dd]], (2, 2, pixels), and the weight of a window; the pixels
        as `_loss` has them. Those of `uniform7` are exact integers."""
        cv2, taps = self._cv2(), WINDOWS[self.window]
        exact, side, (height, width) = self.window == "uniform7", len(taps), a.shape
        dtype = np.dtype("int32" if exact else self.precision)
        taps = taps if exact else (taps / taps.sum()).astype(dtype)
        # 16 bits hold d modulo 2**16, and so d² as it is, which is less.
        stack_type = np.uint16 if exact and cv2 else dtype
        stack = _scratch.array("work", (4, height, width), stack_type)
        x, xy, y, dd = stack
        x[...], y[...] = a, b
        np.multiply(x, y, out=xy)
        np.subtract(x, y, out=dd)
        dd *= dd
        rows, inside = stack.reshape(-1, width), (height - side + 1) * width
        sums: Array = _scratch.array("sums", rows.shape, dtype)
        if cv2 is None:
            slide = _slide_sum7 if exact else partial(_slide, taps=taps)
            for plane, total in zip(stack.reshape(4, -1), sums.reshape(4, -1)):
                total[: inside - side + 1] = slide(slide(plane, width), 1)
                total[inside - side + 1 : inside] = 0
        elif exact:
            sums = cv2.boxFilter(rows, cv2.CV_32S, (side, side), sums, (0, 0), normalize=False)
        else:
            sums = cv2.sepFilter2D(rows, -1, taps, taps, sums, (0, 0))
        inner: Array = sums.reshape(2, 2, -1)[..., :inside]
        return inner, side**2 if exact else 1

    def _cv2(self) -> Any:
        return None if self.engine == "numpy" else _opencv()


def ssim(a: Frame, b: Frame, **settings: Any) -> float:
    """Mean SSIM of two frames; `settings` are the fields of `Ssim`, whose errors it raises."""
    return Ssim(**settings).mean(a, b)


class _Scratch(threading.local):
    """Arrays that a thread reuses from piece to piece: fresh memory costs more than the sums."""

    def __init__(self) -> None:
        self.held: dict[str, Array] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """Of any content, over what `name` held before."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if name not in self.held or self.held[name].size < size:
            self.held[name] = np.empty(size, np.uint8)
        typed: Array = self.held[name][:size].view(dtype)
        return typed.reshape(shape)


_scratch = _Scratch()


def _total(_: Piece, loss: Array) -> float:
    return float(np.add.reduce(loss, axis=None, dtype=np.float64))


def _by_tile_row(piece: Piece, loss: Array) -> list[tuple[int, int, Array]]:
    """The sums down the columns, each with its row of tiles and its first x."""
    y0, y1, x0, _ = piece
    found = []
    for tile_row in range(y0 // TILE_PX, (y1 - 1) // TILE_PX + 1):
        top, bottom = max(y0, tile_row * TILE_PX), tile_row * TILE_PX + TILE_PX
        columns = np.add.reduce(loss[top - y0 : bottom - y0], dtype=np.float64)
        found.append((tile_row, x0, columns))
    return found


def _batches(pieces: list[Piece], reach: int) -> Iterator[list[Piece]]:
    """Pieces of like height, together about as large as one piece may be."""
    batch: list[Piece] = []
    tall = wide = 0
    for piece in sorted(pieces, key=lambda piece: piece[0] - piece[1]):
        y0, y1, x0, x1 = piece
        wide += x1 - x0 + reach
        if batch and tall * wide > TILE_PX * PIECE_PX:
            yield batch
            batch, wide = [], x1 - x0 + reach
        if not batch:
            tall = y1 - y0 + reach
        batch.append(piece)
    yield batch


def _side_by_side(frame: Frame, tops: list[int], tall: int, sides: list[tuple[int, int]]) -> Frame:
    """Parts of a frame as one, all `tall`, so that small ones share the cost of a call."""
    parts = [frame[top : top + tall, x0:x1] for top, (x0, x1) in zip(tops, sides)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _nearly_all(a: Frame, b: Frame) -> bool:
    if min(a.shape[:2]) < TILE_PX:
        return False
    return float((a[::7, ::7] != b[::7, ::7]).mean()) > NEARLY_ALL


def _sides(length: int) -> Array:
    """The sides of the tiles along `length`; the last may be smaller."""
    return np.minimum(TILE_PX, length - np.arange(0, length, TILE_PX))


def _gray(frame: Frame) -> Frame:
    r, g, b = (frame[..., c].astype(np.int32) for c in range(3))
    return ((9798 * r + 19235 * g + 3735 * b + (1 << 14)) >> 15).astype(np.uint8)


def _slide_sum7(flat: Array, step: int) -> Array:
    """Σ flat[i + k·step] over 7 k, for every i where the last is still there."""
    n = len(flat) - 6 * step
    three = flat[: n + 4 * step] + flat[step : n + 5 * step]
    three += flat[2 * step :]
    seven: Array = three[:n] + three[3 * step : n + 3 * step]
    seven += flat[6 * step :]
    return seven


def _slide(flat: Array, step: int, taps: Array) -> Array:
    """Σ taps[k]·flat[i + k·step], for every i where the last is still there; `taps` mirror."""
    last = len(taps) - 1
    n, r = len(flat) - last * step, last // 2
    total: Array = taps[r] * flat[r * step : r * step + n]
    for k in range(r):
        far = (last - k) * step
        total += taps[k] * (flat[k * step : k * step + n] + flat[far : far + n])
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
