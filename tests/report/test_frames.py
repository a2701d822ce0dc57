"""The gallery: which scenarios are shown, and that their frames are the recorded ones."""

from __future__ import annotations

import base64
import io
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from clew.core import Refused
from clew.report.frames import MOST_BYTES, MOST_FRAMES, gallery, spread

from ._study import frame, run_folder, scenarios


def _pixels(address: str) -> np.ndarray:
    head, _, data = address.partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


def test_every_picture_is_the_recorded_frame(tmp_path):
    found = scenarios()
    shown = gallery(run_folder(tmp_path / "run", found), found)
    assert (len(shown.pictures), shown.without, shown.too_large) == (MOST_FRAMES, 0, 0)
    for picture in shown.pictures:
        np.testing.assert_array_equal(
            _pixels(picture.address), frame(picture.scenario["episode"] % 20)
        )
        assert (picture.width, picture.height) == (64, 48)


def test_pictures_are_spread_over_tasks_and_sources():
    kinds = (
        [("a", "natural")] * 20 + [("b", "natural")] * 3 + [("b", "perturbed"), ("c", "perturbed")]
    )
    many = [
        {"name": f"{i:03}", "task": task, "source": source, "split": "test"}
        for i, (task, source) in enumerate(kinds)
    ]
    counts = Counter((s["task"], s["source"]) for s in spread(many, 8))
    assert counts == {
        ("a", "natural"): 3, ("b", "natural"): 3, ("b", "perturbed"): 1, ("c", "perturbed"): 1,
    }  # fmt: skip


def test_of_equal_scenarios_those_of_the_test_split_are_shown_first():
    many = [
        {"name": str(i), "task": "a", "source": "natural", "split": "train" if i < 5 else "test"}
        for i in range(8)
    ]
    assert [s["name"] for s in spread(many, 3)] == ["5", "6", "7"]


def test_a_scenario_without_a_frame_is_counted(tmp_path):
    found = scenarios(3)
    shown = gallery(run_folder(tmp_path / "run", found, {0: frame(0), 2: frame(2)}), found)
    assert (len(shown.pictures), shown.without) == (2, 1)


def test_the_images_together_stay_within_their_bound(tmp_path):
    found = scenarios(4)
    noise = np.random.default_rng(0).integers(0, 256, (400, 400, 3), dtype=np.uint8)
    shown = gallery(run_folder(tmp_path / "run", found, dict.fromkeys(range(4), noise)), found)
    assert (len(shown.pictures), shown.too_large) == (2, 2)
    assert sum(len(p.address) for p in shown.pictures) < MOST_BYTES * 4 / 3 + 1000


def test_a_scenario_of_another_run_is_refused(tmp_path):
    found = scenarios(2)
    folder = run_folder(tmp_path / "run", found[:1])
    with pytest.raises(Refused, match=r"no stored attempt: write the report from the folder"):
        gallery(folder, found)
