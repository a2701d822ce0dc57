"""A lock has one holder, says who that is, and ends with its process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from clew.core import Refused
from clew.store import lock


def test_the_message_names_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "driver.lock"
    with lock(path):
        holder = f"process {os.getpid()} on {socket.gethostname()}"
        with pytest.raises(Refused, match=f"{path} is held by {holder}"):
            lock(path)
    lock(path).release()


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from clew.store import lock
        held = lock(Path(sys.argv[1]))
        print("held", flush=True)
        sys.stdin.read()
    """
    argv = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "a.lock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(Refused, match=f"held by process {process.pid} on"):
            lock(tmp_path / "a.lock")
        process.kill()
    lock(tmp_path / "a.lock").release()


def test_a_file_of_anything_else_is_never_taken_for_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("precious\n")
    with pytest.raises(Refused, match="is no lock file"):
        lock(path)
    assert path.read_text() == "precious\n"


def test_a_lock_that_is_released_is_free_also_while_a_forked_child_lives(tmp_path: Path) -> None:
    taken = lock(tmp_path / "held")
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tell)
        os.read(told, 1)
        os._exit(0)
    try:
        with pytest.raises(Refused, match="is held by"):
            lock(tmp_path / "held")
        taken.release()
        lock(tmp_path / "held").release()
    finally:
        os.close(tell)
        os.waitpid(child, 0)
        os.close(told)
