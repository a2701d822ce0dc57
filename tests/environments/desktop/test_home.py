"""Files are put into a session's home and read back; nothing there leads out of it."""

import os
import zlib

import pytest

from clew.core import Refused, digest
from clew.environments.desktop import home
from clew.environments.desktop.home import Home


@pytest.fixture
def own(tmp_path):
    return Home(str(tmp_path), os.getuid())


def test_a_file_is_read_back_as_it_was_put_and_bears_the_sessions_date(own):
    own.put("deep/er/file.txt", b"content", 1_000_000_000)
    assert own.read("deep/er/file.txt") == b"content"
    for path in ("deep/er/file.txt", "deep/er", "deep"):  # an archive of it has the folders' dates
        assert os.stat(f"{own.folder}/{path}").st_mtime == 1_000_000_000
    assert own.digests() == {"deep/er/file.txt": digest(b"content")}


def test_hidden_files_are_read_but_not_listed(own):
    own.put(".cache/x", b"1", 0)
    own.put("seen", b"2", 0)
    assert own.read(".cache/x") == b"1"
    assert list(own.digests()) == ["seen"]


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "nul\0"])
def test_a_path_out_of_the_home_is_refused(own, path):
    with pytest.raises(Refused, match="relative"):
        own.read(path)
    with pytest.raises(Refused, match="relative"):
        own.put(path, b"", 0)


def test_what_is_no_regular_file_is_not_read(own):
    os.mkfifo(f"{own.folder}/pipe")
    os.mkdir(f"{own.folder}/folder")
    os.symlink("/etc/passwd", f"{own.folder}/link")
    os.symlink("/etc", f"{own.folder}/way")
    for path in ("pipe", "folder", "link", "way/passwd", "nothing"):
        with pytest.raises(FileNotFoundError):
            own.read(path)
    assert own.digests() == {}


def test_a_file_without_end_is_not_read_into_memory(own, monkeypatch):
    monkeypatch.setattr(home, "LONGEST", 8)
    own.put("big", b"123456789", 0)
    with pytest.raises(OSError, match="over 8 bytes"):
        own.read("big")


def chunk(kind, body=b""):
    return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")


def test_a_picture_is_what_it_shows_and_not_when_it_was_written(own):
    def picture(*chunks):
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)

    pixels = [chunk(b"IHDR", bytes(13)), chunk(b"IDAT", b"pixels"), chunk(b"IEND")]
    plain = picture(*pixels)
    dated = picture(pixels[0], chunk(b"tIME", b"1234567"), chunk(b"zTXt", b"exif"), *pixels[1:])
    other = picture(pixels[0], chunk(b"IDAT", b"other"), pixels[2])
    assert home.lasting(dated) == home.lasting(plain) == plain
    assert home.lasting(other) != home.lasting(plain)
    for broken in (dated[:-1], dated + b"more", dated[:20]):
        assert home.lasting(broken) == broken
    own.put("a.png", plain, 0)
    own.put("b.png", dated, 0)
    assert len(set(own.digests().values())) == 1
