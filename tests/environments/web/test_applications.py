"""Applications: a command that serves, and tarballs that are what was pinned, and stay inside."""

import base64
import hashlib
import io
import sys
import tarfile

import pytest

from clew.core import Refused
from clew.environments.web.applications import packages, unpack, verified

from ._pages import texts

SERVE = [sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1"]


def tarball(*members):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def member(name, data=b"x", kind=tarfile.REGTYPE, link=""):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(data) if kind == tarfile.REGTYPE else 0, kind, link
    return info, data if kind == tarfile.REGTYPE else b""


def test_a_command_serves_a_copy_of_its_folder_under_a_constant_origin(web, tmp_path):
    (tmp_path / "index.html").write_text("<title>served</title><h1>Served</h1>")
    application = {"command": SERVE, "folder": str(tmp_path)}
    session = web.open(web.start("open", application=application))
    process = session._world.origin._process
    assert "Served" in texts(session)
    assert session.observe(frozenset({"url"}))["url"] == "http://app.localhost/"
    session.close()
    assert process.poll() is not None


def test_a_command_that_ends_at_once_is_an_error_with_its_log(web):
    command = [sys.executable, "-c", "print('cannot start'); raise SystemExit(3)"]
    with pytest.raises(RuntimeError, match=r"ended with code 3.*cannot start"):
        web.open(web.start("open", application={"command": command}))


def test_every_package_is_pinned_by_version_and_digest():
    assert len(packages()) >= 3
    for facts in packages().values():
        assert facts["integrity"].startswith("sha512-")
        assert facts["version"][0].isdigit()
        assert facts["licence"] in ("MIT", "BSD-2-Clause", "Apache-2.0", "ISC")


def test_a_tarball_that_is_not_the_pinned_one_is_refused():
    data = tarball(member("package/index.html"))
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    assert verified(data, integrity, "x") == data
    with pytest.raises(Refused, match="something else than was pinned"):
        verified(data + b"!", integrity, "x")


@pytest.mark.parametrize(
    "bad",
    [
        member("../escape"), member("/absolute"), member("package/../../escape"),
        member("package/link", kind=tarfile.SYMTYPE, link="/etc/passwd"),
        member("package/hard", kind=tarfile.LNKTYPE, link="package/index.html"),
        member("package/device", kind=tarfile.CHRTYPE),
    ],
)  # fmt: skip
def test_a_member_that_is_no_plain_file_inside_is_refused_and_nothing_is_left(tmp_path, bad):
    place = tmp_path / "app"
    with pytest.raises(Refused, match="nothing was installed"):
        unpack(tarball(member("package/index.html"), bad), place, "x")
    assert list(tmp_path.iterdir()) == []


def test_a_good_tarball_appears_whole(tmp_path):
    unpack(tarball(member("package/a/index.html", b"hi")), tmp_path / "app", "x")
    assert (tmp_path / "app/package/a/index.html").read_bytes() == b"hi"


def test_a_tarball_that_is_cut_off_is_refused(tmp_path):
    data = tarball(member("package/index.html", b"x" * 100_000))
    with pytest.raises(Refused, match="cannot be read"):
        unpack(data[:60], tmp_path / "app", "x")
    assert list(tmp_path.iterdir()) == []
