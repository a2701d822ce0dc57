"""Files are put into a session's home and read back; nothing there leads out of it."""

import os

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
    assert os.stat(f"{own.folder}/deep/er/file.txt").st_mtime == 1_000_000_000
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
