"""Bytes of a recorded graphical step, and the time that storing takes, against one PNG per step.

Two sessions at 1920 by 1080: scripted tasks of light applications on a plain background, and fifty
steps in an editor before a photographic wallpaper (smooth colours and sensor noise; made here, as
no photograph comes with clew). What is stored is all of it: journal, tree of notes, frames. The
peer writes each step's frame as a PNG of level 6, as the field does.
"""

from __future__ import annotations

import io
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from clew import registry
from clew.core import Action, Keys, Moment, Start, Text
from clew.replay import begin
from clew.store import Recorder, Writer
from clew.store.writer import folder_bytes

SEE = frozenset({"frame"})
PLAIN = ("mousepad-write", "mousepad-replace", "galculator-sum", "xterm-sort", "pcmanfm-folder")
WORDS = ("It was a bright cold day in April and the clocks were striking thirteen . " * 4).split()


class Timed(Recorder):
    """A recorder that notes how long each moment took to store."""

    def __init__(self, writer: Writer, about: dict[str, Any]) -> None:
        super().__init__(writer, about)
        self.seconds: list[float] = []

    def acted(self, t: int, moment: Moment) -> None:
        began = time.perf_counter()
        super().acted(t, moment)
        self.seconds.append(time.perf_counter() - began)


def main() -> None:
    desktop: Any = registry.environment("desktop")
    print(
        f"{'':34}{'steps':>6}{'clew':>12}{'PNG-6':>12}{'ratio':>8}{'storing, ms (median, p95)':>28}"
    )
    plain = [(desktop.start(task), desktop.solution(task)) for task in PLAIN]
    measured("plain suite", desktop, plain, None)
    typed: list[Action] = [Text(f"{word} ") for word in WORDS[:45]]
    typed += [Keys("press", ("ctrl", "a")), *[Keys("press", ("left",))] * 4]
    measured("50 steps, photographic wallpaper", desktop,
             [(desktop.start("mousepad/open"), typed)], photograph())  # fmt: skip
    desktop.close()


def measured(
    name: str, desktop: Any, sessions: Iterable[tuple[Start, Iterable[Action]]],
    wallpaper: Image.Image | None,
) -> None:  # fmt: skip
    png_bytes, steps = 0, 0
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "store")
        with Writer(folder, "w") as writer:
            for start, actions in sessions:
                sink = Timed(writer, {"task": start.task})
                with begin(desktop, start, sink=sink, probe=True) as episode:
                    if wallpaper is not None:
                        hang(episode.session, wallpaper)
                    for action in actions:
                        seen = episode.act(action, see=SEE)
                        png_bytes += png(seen["frame"])
                        steps += 1
                    sink.finish({})
                seconds += sink.seconds
        ours = folder_bytes(folder)
    ms = sorted(1e3 * s for s in seconds)
    print(
        f"{name:34}{steps:6}{ours / steps / 1e3:9.1f} kB{png_bytes / steps / 1e3:9.1f} kB"
        f"{f'1/{png_bytes / ours:.1f}':>8}{statistics.median(ms):15.1f}{ms[int(len(ms) * 0.95)]:10.1f}"
    )


def png(frame: np.ndarray) -> int:
    buffer = io.BytesIO()
    Image.fromarray(frame).save(buffer, "PNG", compress_level=6)
    return len(buffer.getvalue())


def photograph() -> Image.Image:
    """Smooth colours, edges and sensor noise, as of a photograph; 1920 by 1080."""
    rng = np.random.default_rng(0)
    coarse = Image.fromarray(rng.integers(0, 256, (18, 32, 3), np.uint8))
    smooth = np.asarray(coarse.resize((1920, 1080), Image.Resampling.BICUBIC), np.int16)
    noisy = smooth + rng.normal(0, 4, smooth.shape).astype(np.int16)
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


def hang(session: Any, picture: Image.Image) -> None:
    """Put a picture on the root window, and wait until it shows."""
    display = session.display
    screen = display.x.screen()
    pixmap = screen.root.create_pixmap(*picture.size, screen.root_depth)
    pixmap.put_pil_image(pixmap.create_gc(), 0, 0, picture)
    screen.root.change_attributes(background_pixmap=pixmap)
    screen.root.clear_area()
    display.x.sync()
    at = (-20, 20)  # no window is there, and not the parked pointer
    colour = np.asarray(picture)[at]
    deadline = time.monotonic() + 10
    while (session.observe(SEE)["frame"][at] != colour).any():
        assert time.monotonic() < deadline, "the wallpaper does not show"


if __name__ == "__main__":
    main()
