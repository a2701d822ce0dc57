"""Frames read from shared memory are what the X server itself answers."""

from contextlib import closing

import numpy as np
import pytest
from Xlib import X

from clew.environments.desktop import framebuffer

from ._sessions import session


@pytest.fixture(scope="module")
def desk():
    with closing(session("xterm")) as opened:
        yield opened


def test_a_frame_is_the_picture_that_the_server_gives(desk):
    frame = desk.display.frame.rgb()
    root = desk.display.x.screen().root
    answer = root.get_image(0, 0, 1024, 768, X.ZPixmap, 0xFFFFFFFF)
    bgrx = np.frombuffer(answer.data, np.uint8).reshape(768, 1024, 4)
    # The server leaves the pointer, parked in the corner, out of its answer.
    assert (frame == bgrx[..., 2::-1])[:-24, :-24].all()
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 10


def test_a_frame_is_a_copy_and_not_the_screen_itself(desk):
    frame = desk.display.frame.rgb()
    frame[:] = 7
    assert (desk.display.frame.rgb() != 7).any()


def test_frames_are_the_same_without_opencv(desk, monkeypatch):
    if framebuffer.cv2 is None:
        pytest.skip("OpenCV is not installed: there is one way only")
    fast = desk.display.frame.rgb()
    monkeypatch.setattr(framebuffer, "cv2", None)
    assert (desk.display.frame.rgb() == fast).all()


def test_a_change_is_told_once(desk):
    frame = desk.display.frame
    frame.changed()
    assert not frame.changed()
    gc = desk.display.x.screen().root.create_gc(foreground=0x00FF00)
    desk.display.x.screen().root.fill_rectangle(gc, 900, 700, 1, 1)
    desk.display.x.sync()
    assert frame.changed()
    assert not frame.changed()
    assert frame.rgb()[700, 900].tolist() == [0, 255, 0]


def test_another_file_is_not_taken_for_a_screen(tmp_path):
    (tmp_path / "no_dump").write_bytes(bytes(4096))
    with pytest.raises(OSError, match="no X window dump"):
        framebuffer.Framebuffer(str(tmp_path / "no_dump"))
