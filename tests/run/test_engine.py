"""The engine travels as one zip that any Python can import, and is named by its sources."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile

import pytest

from clew.run.engine import frozen, place, zipped


def test_equal_sources_give_equal_digests():
    assert frozen()[0] == frozen()[0]


def test_a_changed_source_gives_another_digest(tmp_path, monkeypatch):
    import clew

    before = frozen()[0]
    package = tmp_path / "clew"
    package.mkdir()
    (package / "__init__.py").write_text("changed = True\n")
    monkeypatch.setattr(clew, "__file__", str(package / "__init__.py"))
    assert frozen()[0] != before


def test_the_zip_holds_the_sources_unchanged_with_byte_code_beside_them():
    _, files = frozen()
    with zipfile.ZipFile(io.BytesIO(zipped(files))) as archive:
        names = set(archive.namelist())
        assert set(files) <= names
        assert archive.read("clew/core/data.py") == files["clew/core/data.py"]
        assert "clew/core/data.pyc" in names


@pytest.mark.parametrize("damage", ["none", "another magic number"])
def test_workers_import_the_zip_with_or_without_usable_byte_code(tmp_path, damage):
    _, path = place(tmp_path / "engine")
    if damage != "none":
        path = rewritten(path, tmp_path / "other.zip")
    code = (
        f"import sys; sys.path.insert(0, {str(path)!r});"
        " import clew.run.worker as w; print(w.__file__)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert str(path) in ended.stdout
    assert ended.stdout.strip().endswith(".pyc" if damage == "none" else ".py")


def rewritten(path, target):
    """The zip as another Python would meet it: byte code that it cannot use."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            new.writestr(info, b"\0\0\r\n" + data[4:] if info.filename.endswith("c") else data)
    return target


def test_another_process_makes_the_same_zip_to_the_byte():
    code = (
        "import hashlib; from clew.run.engine import frozen, zipped;"
        " print(hashlib.sha256(zipped(frozen()[1])).hexdigest())"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    import hashlib

    assert ended.stdout.strip() == hashlib.sha256(zipped(frozen()[1])).hexdigest()


def test_an_engine_that_somebody_changed_is_replaced_and_never_run(tmp_path):
    _, path = place(tmp_path)
    wanted = path.read_bytes()
    path.write_bytes(b"evil")
    assert place(tmp_path)[1].read_bytes() == wanted


def test_a_placed_engine_is_kept(tmp_path):
    _, path = place(tmp_path)
    before = path.stat().st_mtime_ns
    assert place(tmp_path)[1] == path
    assert path.stat().st_mtime_ns == before
