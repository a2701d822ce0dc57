"""SSIM at 1920 by 1080 against scikit-image with the same settings, in one run.

The peer of a row is `skimage.metrics.structural_similarity` on the same two 8-bit gray frames,
in float64, with the same window and covariance: `uniform7` is its default (7 by 7, sample
covariance), `gaussian11` has σ 1.5 and population covariance. Threads are left as the libraries
set them. Times are medians over rounds of one call of the peer and five of ours, so that both meet
the same machine; `error` is the difference of the two values.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import chain

import numpy as np
from skimage.metrics import structural_similarity

from clew.match import Ssim

HEIGHT, WIDTH = 1080, 1920
ROW = "{:34}{:>11} {:>8} {:>7}{:>9}{:>9}{:>8}{:>8}"
SETTINGS = [
    Ssim(engine="opencv"),
    Ssim(engine="opencv", precision="float32"),
    Ssim(precision="float32"),
    Ssim(engine="numpy"),
    Ssim("gaussian11", "population", engine="opencv"),
    Ssim("gaussian11", "population", engine="numpy"),
]


def main() -> None:
    before = desktop(np.random.default_rng(0))
    cases = {
        "one change, 0.12 % of the area": changed(before, [(500, 700)]),
        "8 scattered changes, 0.93 %": changed(
            before, [(y, 200 * i) for i, y in enumerate(SPREAD)]
        ),
        "every pixel changed": 255 - before // 2 * 2,
    }
    assert (before != cases["every pixel changed"]).all()
    print(ROW.format("", "window", "", "engine", "ms", "skimage", "ratio", "error"))
    for name, after in cases.items():
        for ours in SETTINGS:
            compare(name, ours, before, after)


SPREAD = (40, 900, 300, 650, 120, 1000, 480, 800)


def compare(name: str, ours: Ssim, before: np.ndarray, after: np.ndarray) -> None:
    def peer() -> float:
        return structural_similarity(
            before, after, gaussian_weights=ours.window == "gaussian11",
            use_sample_covariance=ours.covariance == "sample",
        )  # fmt: skip

    error = abs(ours.mean(before, after) - peer())
    rounds = [(timed(peer, 1), timed(lambda: ours.mean(before, after), 5)) for _ in range(9)]
    theirs, took = (statistics.median(chain.from_iterable(times)) for times in zip(*rounds))
    figures = f"{took:.2f}", f"{theirs:.0f}", f"{theirs / took:.0f}×", f"{error:.0e}"
    print(ROW.format(name, ours.window, ours.precision, ours.engine, *figures), flush=True)


def timed(call: Callable[[], float], repeats: int) -> list[float]:
    took = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        took.append(1e3 * (time.perf_counter() - start))
    return took


def desktop(rng: np.random.Generator) -> np.ndarray:
    """A gradient with lines of text-like noise."""
    frame = np.tile(np.linspace(60, 240, WIDTH), (HEIGHT, 1)).astype(np.uint8)
    for y in range(40, HEIGHT - 40, 24):
        frame[y : y + 12, 100:1500] = np.where(rng.random((12, 1400)) < 0.3, 40, 235)
    return frame


def changed(frame: np.ndarray, corners: list[tuple[int, int]]) -> np.ndarray:
    """`frame` with 120 by 20 px inverted at each (y, x)."""
    frame = frame.copy()
    for y, x in corners:
        frame[y : y + 20, x : x + 120] ^= 255
    return frame


if __name__ == "__main__":
    main()
