"""When a page hangs, Chromium dies, or sessions come by the hundred."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from playwright.async_api import Error

from clew.core import NOTHING, Element, Pointer, Wait
from clew.environments.web import Web

from ._pages import page, play, texts

LOOP = "<button onclick='for(;;);'>Hang</button>"


def children():
    found = Path("/proc/self/task").glob("*/children")
    return [child for file in found for child in file.read_text().split()]


@pytest.mark.slow
def test_a_page_that_never_answers_is_an_error_within_the_limit_and_the_next_start_is_whole(
    tmp_path,
):
    web = Web(answer_s=4.0)
    try:
        start = web.start("open", application=page(tmp_path, LOOP))
        session = web.open(start)
        began = time.monotonic()
        with pytest.raises(RuntimeError, match="did not answer within 4 s"):
            session.act(Pointer("click", ((20, 20),)), NOTHING)
        assert time.monotonic() - began < 15
        session.close()
        again = web.open(start)
        assert texts(again) == ["Page", "Hang"]
        again.close()
    finally:
        web.close()


@pytest.mark.slow
def test_a_killed_chromium_is_an_ordinary_error_and_the_next_start_has_a_new_one(tmp_path):
    web = Web()
    try:
        start = web.start("open", application=page(tmp_path, LOOP))
        session = web.open(start)
        os.kill(web._browser._pid, signal.SIGKILL)
        with pytest.raises(Error, match="closed"):
            session.act(Wait(0), frozenset({"frame"}))
        session.close()
        again = web.open(start)
        assert texts(again) == ["Page", "Hang"]
        again.close()
    finally:
        web.close()


@pytest.mark.slow
def test_an_enormous_tree_is_cut_and_says_so(tmp_path):
    body = "<ul id=u></ul><script>u.innerHTML='<li>item</li>'.repeat(15000)</script>"
    web = Web(answer_s=60.0)
    try:
        session = web.open(web.start("open", application=page(tmp_path, body)))
        seen = session.observe(frozenset({"tree"}))
        assert len(seen["tree"]) == 20_000
        assert seen.notes["tree_cut"] > 0
        session.close()
    finally:
        web.close()


def mentioned(word):
    """Processes whose command line names something."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(file.read_bytes())
    return [line for line in lines if word.encode() in line]


@pytest.fixture
def own_temporary(monkeypatch):
    """A temporary folder that nobody else writes to; short, for Chromium's sockets."""
    folder = Path(tempfile.mkdtemp())
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_hundred_sessions_leave_nothing(own_temporary):
    running = children()
    web = Web()
    start = web.start("office-delete")
    for number in range(100):
        session = web.open(start)
        if number % 10 == 0:  # also one that is closed under an open dialog
            play(session, Element("button", "Delete", ("Kurt",)))
        session.close()
    assert list(web._browser.folder.iterdir()) == [], "sessions left folders"
    web.close()
    assert list(own_temporary.iterdir()) == []
    assert children() == running


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_a_killed_process_left_goes_with_the_next_start(own_temporary):
    started = "from clew.environments.web import Web; import os, signal; w = Web();"
    start = "w.open(w.start('office-delete')); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", started + start], check=False, timeout=60)
    assert len(list(own_temporary.iterdir())) == 1
    until = time.monotonic() + 60
    while mentioned(str(own_temporary)) and time.monotonic() < until:
        time.sleep(0.05)
    web = Web()
    web.fingerprint()
    web.close()
    assert list(own_temporary.iterdir()) == []
