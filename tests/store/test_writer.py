"""What a writer promises: whole lines, blobs before lines, and no loss when there is no room."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import numpy as np
import pytest

from clew.core import Refused, value_digest
from clew.store import Reader, StoreFull, Writer, check
from clew.store.segment import WINDOW_BYTES


def test_a_line_is_a_checksum_a_space_and_compact_json(tmp_path: Path) -> None:
    with Writer(tmp_path, "w") as writer:
        offset = writer.append({"a": [1, 2], "b": "ä"})
    data = (tmp_path / "segments" / "w.jsonl").read_bytes()
    # The checksum is the CRC-32 of ISO 3309, as zlib computes it.
    body = b'{"a":[1,2],"b":"\\u00e4"}'
    assert data[offset:] == b"%08x " % zlib.crc32(body) + body + b"\n"
    assert data[:offset].endswith(b'{"type":"segment","schema":1}\n')


def test_a_line_is_in_the_file_when_append_returns(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "w")
    offset = writer.append({"n": 1})
    assert list(Reader(tmp_path).records("w")) == [(offset, {"n": 1})]
    writer.close()


def test_a_value_can_be_read_when_put_returns(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "w")
    frame = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    digest = writer.put(frame)
    assert digest == value_digest(frame)
    assert np.array_equal(Reader(tmp_path).get(digest), frame)
    writer.close()


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((0, 3), np.float32), np.arange(6, dtype=">i4").reshape(2, 3), np.array(2.5),
        np.zeros((64, 64, 3), np.uint8), b"", b"\x00\xff" * 900, "", "text ä" * 300, None,
        {"tree": [{"role": "button", "name": "OK"}] * 40},
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_every_kind_of_value_comes_back_as_it_was(tmp_path: Path, value: object) -> None:
    with Writer(tmp_path, "w") as writer:
        digest = writer.put(value)
    back = Reader(tmp_path).get(digest)
    assert value_digest(back) == digest
    if isinstance(value, np.ndarray):
        assert np.array_equal(back, value)
        assert back.shape == value.shape
    else:
        assert back == value


def test_equal_values_are_stored_once(tmp_path: Path) -> None:
    with Writer(tmp_path, "w") as writer:
        first = writer.put(np.ones(100))
        size = (tmp_path / "blobs" / "w.pack").stat().st_size
        assert writer.put(np.ones(100)) == first
    assert (tmp_path / "blobs" / "w.pack").stat().st_size == size


def test_files_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    Writer(folder, "w").close()
    assert {p.stat().st_mode & 0o777 for p in folder.rglob("*") if p.is_file()} == {0o600}
    folders = [folder, *(p for p in folder.rglob("*") if p.is_dir())]
    assert {p.stat().st_mode & 0o777 for p in folders} == {0o700}


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    Writer(tmp_path, "w").close()
    with pytest.raises(Refused, match=r"w\.pack exists: give each writer a name of its own"):
        Writer(tmp_path, "w")


@pytest.mark.parametrize("name", ["", "../w", "a/b", ".hidden", "a b"])
def test_a_name_must_be_a_plain_file_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match="writer name"):
        Writer(tmp_path / "run", name)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("record", [{"x": float("nan")}, {"x": object()}])
def test_what_json_cannot_hold_is_refused_and_leaves_no_line(
    tmp_path: Path, record: dict[str, object]
) -> None:
    with Writer(tmp_path, "w") as writer:
        with pytest.raises(Refused, match="cannot be written as JSON"):
            writer.append(record)
    assert list(Reader(tmp_path).records("w")) == []


def test_two_writers_work_side_by_side(tmp_path: Path) -> None:
    with Writer(tmp_path, "a") as a, Writer(tmp_path, "b") as b:
        for n in range(50):
            a.append({"n": n, "blob": a.put(np.full(3, n))})
            b.append({"n": -n, "blob": b.put(np.full(3, -n))})
    reader = Reader(tmp_path)
    for name, sign in (("a", 1), ("b", -1)):
        records = [record for _, record in reader.records(name)]
        assert [r["n"] for r in records] == [sign * n for n in range(50)]
        assert all(np.array_equal(reader.get(r["blob"]), np.full(3, r["n"])) for r in records)
    assert check(tmp_path) == []


def test_the_quota_of_the_folder_refuses_a_write_and_keeps_what_is_there(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "w", quota_bytes=20_000)
    counted = iter(range(100_000))
    with pytest.raises(StoreFull, match=r"has no room for \d+ more bytes \(the quota is 20000"):
        all(writer.append({"n": n}) for n in counted)
    writer.close()
    assert [r["n"] for _, r in Reader(tmp_path).records("w")] == list(range(next(counted) - 1))
    assert 19_900 < (tmp_path / "segments" / "w.jsonl").stat().st_size <= 20_000


def test_the_quota_counts_what_other_writers_hold(tmp_path: Path) -> None:
    with Writer(tmp_path, "big") as big:
        big.put(np.random.default_rng(0).integers(0, 255, 50_000, dtype=np.uint8))
    with pytest.raises(StoreFull) as caught:
        Writer(tmp_path, "w", quota_bytes=40_000)
    assert caught.value.folder == tmp_path
    assert caught.value.needed_bytes > 0
    assert not (tmp_path / "segments" / "w.jsonl").exists()


_FILL = """
    import resource, sys
    from pathlib import Path
    import numpy as np
    from clew.store import StoreFull, Writer
    folder, blobs = Path(sys.argv[1]), sys.argv[2] == "blobs"
    if len(sys.argv) > 3:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
    writer = Writer(folder, "w")
    rng = np.random.default_rng(0)
    try:
        for n in range(1_000_000):
            record = {"n": n, "pad": "x" * 997}
            if blobs:
                record["blob"] = writer.put(rng.integers(0, 255, 1500, dtype=np.uint8))
            writer.append(record)
    except StoreFull as error:
        print(n, error.needed_bytes, error)
"""


@pytest.mark.parametrize("what", ["lines", "blobs"])
def test_a_file_size_limit_loses_nothing_that_was_appended(tmp_path: Path, what: str) -> None:
    said = _filled(tmp_path, what, str(100_000))
    assert "the limit on the size of a file is reached" in said
    _whole_up_to(tmp_path, int(said.split()[0]))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to mount a small file system")
@pytest.mark.parametrize("what", ["lines", "blobs"])
def test_a_full_disk_loses_nothing_that_was_appended(tmp_path: Path, what: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"mounting is not allowed here: {mounted.stderr.decode().strip()}")
    try:
        said = _filled(disk / "run", what)
        assert "the disk is full" in said
        assert str(disk / "run") in said
        _whole_up_to(disk / "run", int(said.split()[0]))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_writer_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    writer = Writer(tmp_path, "w")
    writer.append({"n": 0})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        with pytest.raises(StoreFull) as caught:
            writer.append({"pad": "x" * 2 * WINDOW_BYTES})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.EFBIG
    offset = writer.append({"n": 1})
    writer.close()
    assert list(Reader(tmp_path).records("w"))[-1] == (offset, {"n": 1})
    assert check(tmp_path) == []


def test_a_killed_process_loses_no_appended_line(tmp_path: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from clew.store import Writer
        writer = Writer(Path(sys.argv[1]), "w")
        for n in range(1_000_000):
            writer.append({"n": n, "blob": writer.put([n])})
            print(n, flush=True)
    """
    argv = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 500:
                process.kill()
                break
        last = [500, *(int(line) for line in process.stdout if line.endswith("\n"))][-1]
    reader = Reader(tmp_path)
    found = [record["n"] for _, record in reader.records("w")]
    assert found == list(range(len(found)))
    assert len(found) > last
    assert all(r["blob"] in reader for _, r in reader.records("w"))


def test_without_zstandard_values_are_written_with_zlib_and_zstd_is_named_when_missing(
    tmp_path: Path,
) -> None:
    pytest.importorskip("zstandard")
    frame = np.zeros((64, 64, 3), np.uint8)
    with Writer(tmp_path, "zstd") as writer:
        digest = writer.put(frame)
    code = """
        import sys
        sys.modules["zstandard"] = None
        from pathlib import Path
        import numpy as np
        from clew.core import Refused
        from clew.store import Reader, Writer
        folder = Path(sys.argv[1])
        try:
            Reader(folder).get(sys.argv[2])
        except Refused as error:
            print(error)
        with Writer(folder, "zlib") as writer:
            other = writer.put(np.ones((64, 64, 3), np.uint8))
        print(int(Reader(folder).get(other).sum()))
    """
    said = _run(code, str(tmp_path), digest).splitlines()
    assert said[0].startswith(f"blob {digest} in ")
    assert said[0].endswith("is compressed with zstd: install zstandard (the extra `fast`)")
    assert said[1] == str(64 * 64 * 3)
    assert b"zlib" in (tmp_path / "blobs" / "zlib.pack").read_bytes()[:8]
    assert check(tmp_path) == []


def _filled(folder: Path, *arguments: str) -> str:
    return _run(_FILL, str(folder), *arguments)


def _run(code: str, *arguments: str) -> str:
    argv = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def _whole_up_to(folder: Path, count: int) -> None:
    reader = Reader(folder)
    assert count > 10
    assert [r["n"] for _, r in reader.records("w")] == list(range(count))
    assert reader.damage == []
    assert check(folder) == []
    data = (folder / "segments" / "w.jsonl").read_bytes()
    assert data.endswith(b"\n")
    assert json.loads(data.splitlines()[-1][9:])["n"] == count - 1
