"""Lines through memory: each is in the file when `append` returns, whatever ends the writer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.store import Reader, Writer
from clew.store.errors import StoreFull
from clew.store.lines import framed, read_lines
from clew.store.segment import WINDOW_BYTES, Segment

KILLED = """
import os, signal, sys
from clew.store import Writer
writer = Writer(sys.argv[1], "w")
for n in range(int(sys.argv[2])):
    writer.append({"type": "x", "n": n, "padding": "y" * 1000})
os.kill(os.getpid(), signal.SIGKILL)
"""


def segment(path: Path, allow=lambda needed, wanted: max(needed, wanted)) -> tuple[Segment, int]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    return Segment(fd, path.parent, allow), fd


@given(st.lists(st.integers(0, 3 * WINDOW_BYTES), max_size=8))
def test_lines_of_any_length_stand_one_behind_the_other(tmp_path_factory, lengths):
    path = tmp_path_factory.mktemp("segment") / "s"
    lines, fd = segment(path)
    bodies = [b"%d" % n * length for n, length in enumerate(lengths)]
    offsets = [lines.append(body) for body in bodies]
    expected = [sum(len(framed(b)) for b in bodies[:n]) for n in range(len(bodies))]
    assert offsets == expected
    lines.close()
    os.close(fd)
    assert path.read_bytes() == b"".join(framed(body) for body in bodies)


def test_a_line_can_be_read_at_once_and_what_is_not_written_yet_is_no_damage(tmp_path):
    lines, fd = segment(tmp_path / "s")
    lines.append(b"{}")
    assert (tmp_path / "s").stat().st_size == WINDOW_BYTES
    assert list(read_lines(tmp_path / "s")) == [(0, len(framed(b"{}")), b"{}")]
    lines.close()
    os.close(fd)


def test_zeros_where_lines_were_promised_are_torn(tmp_path):
    path = tmp_path / "s"
    path.write_bytes(framed(b"{}") + bytes(100))
    (_, (at, _, finding)) = read_lines(path, 0, 50)
    assert (at, finding.kind) == (len(framed(b"{}")), "torn")


@pytest.mark.parametrize("count", [1, 70, 300])
def test_no_line_is_lost_when_its_writer_is_killed(tmp_path, count):
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(count)]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    reader = Reader(tmp_path)
    assert [record["n"] for _, record in reader.records("w")] == list(range(count))
    assert reader.damage == []


def test_a_quota_that_is_smaller_than_a_window_is_used_up_and_kept(tmp_path):
    quota = 20_000
    writer = Writer(tmp_path, "w", quota_bytes=quota)
    counted = iter(range(1000))
    with pytest.raises(StoreFull, match="quota"):
        all(writer.append({"n": n, "padding": "y" * 100}) for n in counted)
    count = next(counted) - 1
    assert count > 80
    writer.close()
    assert sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file()) <= quota
    assert [record["n"] for _, record in Reader(tmp_path).records("w")] == list(range(count))


def test_a_full_disk_is_an_error_and_appends_nothing(tmp_path, monkeypatch):
    lines, fd = segment(tmp_path / "s")
    lines.append(b"{}")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "posix_fallocate", full)
        with pytest.raises(StoreFull):
            lines.append(b"x" * WINDOW_BYTES)
    lines.append(b"[]")
    lines.close()
    os.close(fd)
    assert (tmp_path / "s").read_bytes() == framed(b"{}") + framed(b"[]")
