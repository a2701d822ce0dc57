"""One desktop session: what it shows, what it refuses, how it settles, what becomes of crashes."""

import os
import signal
import time
from contextlib import closing

import numpy as np
import pytest

from clew.core import (
    NOTHING,
    Control,
    Element,
    Keys,
    Pointer,
    Refused,
    Scroll,
    Seen,
    SessionSpent,
    Text,
    Tool,
    Wait,
)  # fmt: skip
from clew.environments.desktop.display import ApplicationCrashed, DisplayGone

from ._sessions import FRAME, frame_digest, session


@pytest.fixture(scope="module")
def xterm():
    with closing(session("xterm")) as opened:
        yield opened


def test_a_session_shows_its_frame_and_its_windows(xterm):
    seen = xterm.observe(frozenset({"frame", "windows"}))
    assert seen["frame"].shape == (768, 1024, 3)
    assert seen["frame"].dtype == np.uint8
    (window,) = seen["windows"]
    assert (window["title"], window["class"], window["active"]) == ("xterm", "XTerm", True)
    x, y, width, height = window["box"]
    white = (seen["frame"][y : y + height, x : x + width] == 255).all(-1).mean()
    assert white > 0.9


def test_an_act_is_done_when_it_shows(xterm):
    before = xterm.observe(FRAME)["frame"]
    seen = xterm.act(Text("echo settled\n"), FRAME)
    assert (seen["frame"] != before).any()
    assert seen.notes["settle"]["reason"] == "quiet"
    assert (seen["frame"] == xterm.observe(FRAME)["frame"]).all()


def test_the_wall_clock_is_the_sessions_own_and_moves_with_each_act():
    with closing(session("xterm", date="2031-02-03 04:05:06", advance_ms=60_000)) as opened:
        if not opened.display.clock_is_virtual:
            pytest.skip("libfaketime is not installed")
        opened.act(Text("date '+%F %T' > now\n"), NOTHING)
        opened.act(Wait(250), NOTHING)
        opened.act(Text("date '+%F %T.%N' | cut -c1-23 >> now\n"), NOTHING)
        assert opened.home.read("now").decode().split("\n")[:2] == [
            "2031-02-03 04:06:06", "2031-02-03 04:08:06.250",
        ]  # fmt: skip


def test_a_replayed_act_also_waits_for_the_recorded_time_and_frame(xterm):
    plain = xterm.act(Wait(0), FRAME)
    xterm.expect(Seen(plain.channels, notes={"settle": {"ms": 600.0}}), 0.5)
    waited = xterm.act(Wait(0), NOTHING).notes["settle"]
    assert waited["reason"] == "quiet"
    assert waited["ms"] >= 300


def test_a_frame_that_never_shows_is_waited_for_until_the_cap():
    rule = {"rule": "quiet", "quiet_ms": 40, "cap_ms": 400}
    with closing(session(settle=rule)) as opened:
        strange = np.full((768, 1024, 3), 7, np.uint8)
        opened.expect(Seen({"frame": strange}), 1.0)
        assert opened.act(Wait(0), NOTHING).notes["settle"]["reason"] == "unexpected"


REFUSED = [
    Control((0.0,)),
    Pointer("click", ((1024, 5),)),
    Pointer("drag", ((5, 5), (5, -1))),
    Scroll(5, 768, dy=1),
    Text("bell \a"),
    Text("{secret:NO_SUCH_SECRET_HERE}"),
    Keys("press", ("f24",), seat="reference"),
    Tool.call("no such tool"),
    Tool.call("launch", application="no such application"),
    Tool.call("focus_window", window="xterm"),
]


@pytest.mark.parametrize("action", REFUSED, ids=str)
def test_what_cannot_be_carried_out_is_refused_before_anything_moves(xterm, action):
    before = xterm.observe(FRAME)["frame"]
    with pytest.raises(Refused):
        xterm.act(action, NOTHING)
    assert (xterm.observe(FRAME)["frame"] == before).all()


def test_an_unknown_channel_is_refused_with_the_nearest_one(xterm):
    with pytest.raises(Refused, match="did you mean 'frame'"):
        xterm.observe(frozenset({"frames"}))


def test_a_secret_is_typed_and_not_its_name(xterm, monkeypatch):
    monkeypatch.setenv("CLEW_TEST_SECRET", "opensesame")
    xterm.act(Text("echo {secret:CLEW_TEST_SECRET} > told\n"), NOTHING)
    assert xterm.home.read("told") == b"opensesame\n"


def test_a_window_is_found_by_its_title_or_the_notes_say_not(xterm):
    assert "not_found" in xterm.act(Tool.call("focus_window", title="nowhere"), NOTHING).notes
    xterm.act(Tool.call("launch", application="mousepad"), NOTHING)
    assert [w.name for w in xterm.windows() if w.active] == ["Mousepad"]
    xterm.act(Tool.call("focus_window", title="xterm"), NOTHING)
    assert [w.name for w in xterm.windows() if w.active] == ["XTerm"]


def test_an_element_is_pressed_and_a_pixel_act_tells_what_it_hit():
    tree = frozenset({"tree"})
    with closing(session("mousepad")) as opened:
        seen = opened.act(Element("menu", "Help"), tree)
        assert seen.notes["element"]["name"] == "Help"
        about = next(n for n in seen["tree"] if n["name"].strip() == "About")
        x, y, width, height = about["box"]
        seen = opened.act(Pointer("click", ((x + width // 2, y + height // 2),)), tree)
        assert seen.notes["hit"]["name"].strip() == "About"
        assert any(n["role"] == "dialog" for n in seen["tree"])
        seen = opened.act(Element("button", "No Such Button"), NOTHING)
        assert "No Such Button" in seen.notes["not_found"]


def test_an_application_that_crashes_is_an_error_with_the_end_of_its_log():
    with closing(session("xterm")) as opened:
        with pytest.raises(ApplicationCrashed, match=r"xterm was killed by signal 11"):
            opened.act(Text("kill -SEGV $PPID\n"), NOTHING)


def test_an_application_that_is_closed_is_not_one_that_crashes():
    with closing(session("xterm")) as opened:
        opened.act(Text("exit\n"), NOTHING)
        assert opened.observe(frozenset({"windows"}))["windows"] == []


def test_an_application_without_a_window_is_an_error_in_bounded_time():
    with pytest.raises((TimeoutError, ApplicationCrashed), match=r"xterm.*bad command line option"):
        session("xterm", ["-no-such-option"])


@pytest.mark.parametrize(
    ("server", "application", "said"),
    [("Xvfb", "xterm", r"display|X server"), ("dbus-daemon", "mousepad", r"\bbus\b")],
)
def test_a_server_that_dies_is_the_sessions_trouble_and_no_crash_of_its_clients(
    server, application, said
):
    opened = session(application)
    pid = next(pid for pid in opened.display.room.processes() if command_of(pid).startswith(server))
    os.kill(pid, signal.SIGKILL)
    ends = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}/cmdline") and command_of(pid) and time.monotonic() < ends:
        time.sleep(0.005)
    with pytest.raises(DisplayGone, match=said):
        many(opened, 20)
    opened.close()


def many(opened, acts):
    for _ in range(acts):
        opened.act(Text("x"), FRAME)


def command_of(pid):
    with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
        return file.read()


def test_a_closed_session_cannot_act():
    opened = session()
    opened.close()
    opened.close()
    with pytest.raises(SessionSpent):
        opened.act(Wait(0), NOTHING)


@pytest.mark.slow
@pytest.mark.parametrize("application", ["xterm", "mousepad", "galculator", "gnome-calculator"])
def test_fresh_sessions_are_equal_to_the_byte(application):
    found = set()
    for _ in range(4):
        with closing(session(application)) as opened:
            first = frame_digest(opened.observe(FRAME))
            found.add((first, frame_digest(opened.act(Text("12+3"), FRAME))))
    assert len(found) == 1


@pytest.mark.slow
def test_four_side_by_side_are_equal_to_one_alone():
    def run(opened):
        return [frame_digest(opened.act(Text(word), FRAME)) for word in ("one ", "two\n", "√é")]

    with closing(session("mousepad")) as opened:
        alone = run(opened)
    together = [session("mousepad") for _ in range(4)]
    try:
        found = [run(each) for each in together]
    finally:
        for each in together:
            each.close()
    assert found == [alone] * 4
