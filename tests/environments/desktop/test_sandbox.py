"""Nothing in a session reaches the network, the host or another session, and nothing outlives it."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from clew.core import NOTHING, Text
from clew.environments.desktop import sandbox
from clew.environments.desktop.display import DisplayGone

from ._sessions import session

confined = pytest.mark.skipif(
    sandbox.confinement().startswith("none"), reason=f"sessions are {sandbox.confinement()}"
)


def said(opened, script):
    """What a script prints that runs inside an open session, and its exit status."""
    room = opened.display.room
    name = f"probe.{len(room.exits)}.{time.monotonic_ns()}"
    room.start(name, ["/bin/sh", "-c", script], opened.display.environment)
    opened.display.until(lambda: name in room.exits, time.monotonic() + 20, lambda: room.log(name))
    text = Path(room.outside(f"{room._logs}/{name}")).read_text()
    return text, room.exits.pop(name)


@pytest.fixture(scope="module")
def desk():
    with closing(session()) as opened:
        yield opened


@confined
def test_there_is_no_network(desk):
    said_of, _ = said(desk, "cat /proc/net/dev | tail -n +3; cat /proc/net/route | tail -n +2")
    assert [line.split(":")[0].strip() for line in said_of.splitlines()] == ["lo"]


@confined
def test_a_server_of_this_machine_cannot_be_reached(desk):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        text, status = said(desk, f"bash -c '{script}'")
    assert status != 0
    assert "reached" not in text


@confined
def test_the_files_of_this_machine_are_not_there(desk, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("host")
    here = [str(secret), os.path.expanduser("~"), __file__, "/etc/shadow", "/var/log", "/sys/class"]
    for path in here:
        text, status = said(desk, f"cat '{path}' || ls '{path}'")
        assert status != 0, f"{path} is there: {text}"


@confined
def test_programs_of_this_machine_cannot_be_changed(desk):
    text, status = said(desk, "touch /usr/bin/x /etc/fonts/x")
    assert status != 0
    assert "Read-only" in text or "Permission denied" in text


@confined
def test_a_session_is_not_root_and_cannot_become_it(desk):
    text, _ = said(desk, "id -u; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status")
    uid, *lines = text.split("\n")
    assert int(uid) == desk.display.room.uid != 0 or os.geteuid()
    assert "CapEff:\t0000000000000000" in lines
    assert "NoNewPrivs:\t1" in lines


@confined
def test_another_session_is_out_of_reach():
    with closing(session("xterm")) as one, closing(session("xterm")) as other:
        processes = said(
            one, "ls /proc | grep -c '^[0-9]'; cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
        )
        assert processes[0].count("xterm -geometry") == 1
        sockets, _ = said(one, "ls /tmp/.X11-unix; grep -c X11-unix /proc/net/unix")
        names, abstract_and_files = sockets.split()
        assert names == "X0"
        # One display listens here, at its path and at its abstract name, and has clients.
        inside = int(abstract_and_files)
        on_the_host = Path("/proc/net/unix").read_text()
        assert inside > 1
        assert f"/proc/{os.getpid()}" not in on_the_host
        other.act(Text("echo mine > theirs\n"), NOTHING)
        assert said(one, "cat /home/user/theirs")[1] != 0
        before = one.windows()
        other.act(Text("exit\n"), NOTHING)
        assert one.windows() == before


@confined
def test_a_full_disk_is_the_sessions_own(desk):
    text, status = said(desk, "head -c 600M /dev/zero > /home/user/big; echo $?; rm big")
    assert "No space left" in text
    assert status == 0


def test_a_link_out_of_the_home_is_not_followed(desk, tmp_path):
    (tmp_path / "host").write_text("host")
    said(desk, f"ln -s {tmp_path}/host link; ln -s {tmp_path} way; ln -s / .root; echo > real")
    assert list(desk.home.digests()) == ["real"]
    for path in ("link", "way/host", ".root/etc/passwd"):
        with pytest.raises(FileNotFoundError):
            desk.home.read(path)


def test_links_in_place_of_the_clock_and_the_logs_lead_nowhere(desk, tmp_path):
    (tmp_path / "host").write_text("of the host")
    os.chmod(tmp_path, 0o777)
    target = f"{tmp_path}/host"
    said(desk, f"ln -sf {target} /run/clew/clock.new; ln -sf {target} /run/clew/log/xterm.0")
    desk.act(Text("true\n"), NOTHING)
    assert (tmp_path / "host").read_text() == "of the host"
    assert desk.display.room.log("xterm.0") == "(no log)"
    said(desk, "mkfifo /run/clew/clock.new; rm /run/clew/log/xterm.0; mkfifo /run/clew/log/xterm.0")
    desk.act(Text("true\n"), NOTHING)
    assert desk.display.room.log("xterm.0") == "(no log)"


def test_a_screen_whose_memory_is_cut_short_is_a_display_that_is_gone():
    def act(opened):
        opened.act(Text(": > /tmp/Xvfb_screen0\n"), NOTHING)
        opened.act(Text("true\n"), NOTHING)

    with closing(session("xterm")) as opened:
        with pytest.raises(DisplayGone, match="cut short"):
            act(opened)


PROGRAM = """
import sys, time
from clew.environments.desktop import sandbox
if sys.argv[1] == "unconfined":
    sandbox.confinement = lambda: "none: as told by a test"
from clewtest import session
opened = session("xterm")
from clew.core import NOTHING, Text
opened.act(Text("setsid sleep 1000 & sleep 2000 &\\n"), NOTHING)
print("open", *opened.display.room.processes(), flush=True)
sys.stdin.readline()
opened.close()
print("closed", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def short_path():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_a_temporary_folder_with_a_long_name_does_not_stop_an_unconfined_session(
    tmp_path, monkeypatch
):
    long = tmp_path / ("long" * 20)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    monkeypatch.setattr(sandbox, "confinement", lambda: "none: as told by a test")
    with closing(session("xterm")) as opened:
        assert not opened.display.room.home.startswith(str(long))


@pytest.mark.parametrize("way", ["confined", "unconfined"])
@pytest.mark.parametrize("end", ["close", "kill"])
def test_nothing_is_left_however_a_session_ends(way, end, tmp_path, short_path):
    if way == "confined" and sandbox.confinement().startswith("none"):
        pytest.skip(f"sessions are {sandbox.confinement()}")
    here = Path(__file__).parent
    (tmp_path / "clewtest.py").write_text((here / "_sessions.py").read_text())
    environment = {**os.environ, "TMPDIR": str(short_path), "PYTHONPATH": str(tmp_path)}
    driver = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, way], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    word, *pids = driver.stdout.readline().split()
    assert word == "open"
    started = {pid: when for pid in pids if (when := born(pid))}
    assert len(started) > 6
    if end == "close":
        driver.stdin.write("\n")
        driver.stdin.flush()
        assert driver.stdout.readline() == "closed\n"
    else:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    deadline = time.monotonic() + 10
    while any(born(pid) == when for pid, when in started.items()) or list(
        short_path.glob("clew-desktop-*")
    ):
        assert time.monotonic() < deadline, "something of the session is left"
        time.sleep(0.02)
    driver.kill()
    driver.communicate()


def born(pid):
    """When a process was started, in ticks; None if it is gone (a zombie is)."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None
    return None if words[0] == "Z" else words[19]


@pytest.mark.slow
def test_a_hundred_sessions_leave_no_process_file_or_thread():
    def held():
        fds = len(os.listdir("/proc/self/fd"))
        children = sum(
            len(p.read_text().split()) for p in Path("/proc/self/task").glob("*/children")
        )
        return fds, children, len(list(Path("/tmp").glob("clew-desktop-*")))

    with closing(session()):
        pass
    before = held()
    for _ in range(100):
        with closing(session()) as opened:
            opened.act(Text("x"), NOTHING)
    assert held() == before
