"""A replay that went wrong by very little is seen, although the pictures are nearly the same."""

from contextlib import closing

import pytest

from clew.core import Moment, Text
from clew.match import compare, preset, ssim

from ._sessions import session

LINE = "The quick brown fox jumps over a wall."
CHANNELS = frozenset({"frame", "windows"})


def typed(text):
    """The moment after a text was typed into the editor, as an episode records it."""
    with closing(session("mousepad", screen="1920x1080")) as opened:
        seen = opened.act(Text(text), CHANNELS)
        return Moment(seen, opened.probe())


@pytest.mark.parametrize("at", [4, 20, len(LINE) - 1])
def test_one_keystroke_of_38_that_is_lost_is_reported_though_the_frames_are_0_99_alike(at):
    assert len(LINE) == 38
    recorded, lost = typed(LINE), typed(LINE[:at] + LINE[at + 1 :])
    assert ssim(recorded.seen["frame"], lost.seen["frame"]) > 0.99
    # The paper's rule, a mean over the screen, lets it pass; its evidence says what it let pass.
    papers = compare(preset("retrace"), recorded, lost)
    assert (papers.same, papers.rungs["frame.identical"]) == (True, 0)
    assert papers.rungs["frame.worst_tile"] < 0.95
    assert papers.notes["frame.changed"].startswith("x ")
    assert not compare(preset("exact"), recorded, lost).same


def test_the_same_keystrokes_are_the_same():
    assert compare(preset("exact"), typed(LINE), typed(LINE)).same
