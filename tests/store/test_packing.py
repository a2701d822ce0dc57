"""A pack gives back what went in, equal content gives equal bytes, and a hostile one gives nothing."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.core import Refused
from clew.store import Index, Writer, pack, unpack
from clew.store.packing import MANIFEST

_names = st.from_regex(r"[a-z0-9]{1,6}(/[a-z0-9]{1,6}){0,2}\.(jsonl|pack)", fullmatch=True)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    with Writer(folder, "w") as writer:
        writer.append({"blob": writer.put("x" * 5000)})
    return folder


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@given(files=st.dictionaries(_names, st.binary(max_size=300), max_size=5))
@settings(max_examples=40, deadline=None)
def test_what_was_packed_comes_back(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    base = tmp_path_factory.mktemp("pack")
    for folder in ("a", "b"):
        for name, data in sorted(files.items(), reverse=folder == "b"):
            path = base / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (base / folder).mkdir(exist_ok=True)
        pack(base / folder, base / f"{folder}.clewpack")
    assert (base / "a.clewpack").read_bytes() == (base / "b.clewpack").read_bytes()
    unpack(base / "a.clewpack", base / "back")
    assert _contents(base / "back") == files


def test_a_pack_is_private_and_leaves_the_index_and_locks_out(store: Path, tmp_path: Path) -> None:
    Index(store).refresh()
    (store / "driver.lock").touch()
    file = tmp_path / "run.clewpack"
    pack(store, file)
    assert file.stat().st_mode & 0o777 == 0o600
    unpack(file, tmp_path / "back")
    assert set(_contents(tmp_path / "back")) == {"segments/w.jsonl", "blobs/w.pack"}
    modes = {p.stat().st_mode & 0o777 for p in (tmp_path / "back").rglob("*") if p.is_file()}
    assert modes == {0o600}
    assert (tmp_path / "back" / "blobs").stat().st_mode & 0o777 == 0o700


def test_nothing_that_exists_is_overwritten(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.clewpack"
    pack(store, file)
    with pytest.raises(Refused, match=r"run\.clewpack exists"):
        pack(store, file)
    with pytest.raises(Refused, match="run exists"):
        unpack(file, store)


def test_a_link_in_a_store_is_refused(store: Path, tmp_path: Path) -> None:
    (store / "link").symlink_to("/etc/passwd")
    with pytest.raises(Refused, match="link is not a plain file"):
        pack(store, tmp_path / "run.clewpack")
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def _member(name: str, data: bytes) -> dict[str, object]:
    return {"name": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _written(
    file: Path, files: list[tuple[str | zipfile.ZipInfo, bytes]], **changes: object
) -> None:
    """A pack with these members and a manifest that lists them, changed as asked."""
    listed = [_member(m.filename if isinstance(m, zipfile.ZipInfo) else m, d) for m, d in files]
    manifest = {"format": "clew pack", "schema": 1, "members": listed, **changes}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in files:
            archive.writestr(member, data)
        archive.writestr(MANIFEST, json.dumps(manifest))


def _link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    "name", ["/etc/x", "../x", "a/../../x", "a\\..\\x", "c:x", "a//x", "./x", "a/", "..", "a/./x"]
)
def test_a_member_that_leaves_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    _written(tmp_path / "bad", [("fine", b"1"), (name, b"2")])
    _refused(tmp_path, "which leaves the folder")


_BAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link": (lambda f: _written(f, [(_link("x"), b"/etc/passwd")]), "'x', which is no plain file"),
    "a digest mismatch": (
        lambda f: _written(f, [("x", b"12")], members=[_member("x", b"13")]),
        "'x', which is not what was packed",
    ),
    "a member longer than it claims": (
        lambda f: _written(f, [("x", b"0" * 99)], members=[_member("x", b"0")]),
        "'x', which is not what was packed",
    ),
    "an unlisted member": (
        lambda f: _written(f, [("x", b"1"), ("y", b"2")], members=[_member("x", b"1")]),
        "differ in 'y'",
    ),
    "a missing member": (
        lambda f: _written(f, [], members=[_member("x", b"1")]),
        "differ in 'x'",
    ),
    "a manifest that lists twice": (
        lambda f: _written(f, [("x", b"1")], members=[_member("x", b"1")] * 2),
        "names a member twice",
    ),
    "a manifest of another shape": (
        lambda f: _written(f, [("x", b"1")], members=[{"name": "x"}]),
        "cannot be read",
    ),
    "an unknown schema": (
        lambda f: _written(f, [], schema=2),
        "has pack schema 2, this version of clew reads 1",
    ),
    "a file under a file": (lambda f: _written(f, [("x", b"1"), ("x/y", b"2")]), "'x/y' twice"),
    "a name that no file can have": (
        lambda f: _written(f, [("n" * 300, b"1")]),
        "whose name is too long for a file's",
    ),
    "a path that no file can have": (
        lambda f: _written(f, [("/".join(["n" * 200] * 30), b"1")]),
        "whose name is too long for a file's",
    ),
    "lzma": (
        lambda f: _compressed(f, zipfile.ZIP_LZMA),
        "'x' compressed in a way that no version of clew writes",
    ),
    "bzip2": (
        lambda f: _compressed(f, zipfile.ZIP_BZIP2),
        "'x' compressed in a way that no version of clew writes",
    ),
    "no zip": (lambda f: _bytes(f, b"no zip at all"), "is not a whole pack"),
    "no manifest": (lambda f: zipfile.ZipFile(f, "w").close(), f"has no {MANIFEST}"),
    "too many bytes": (lambda f: _written(f, [("x", bytes(2_000_001))]), "claims 2000001 bytes"),
}  # fmt: skip


def _compressed(file: Path, method: int) -> None:
    """A member compressed by another method, and its stream damaged."""
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x", bytes(range(256)) * 9, compress_type=method)
        listed = [_member("x", bytes(range(256)) * 9)]
        archive.writestr(
            MANIFEST, json.dumps({"format": "clew pack", "schema": 1, "members": listed})
        )
    data = bytearray(file.read_bytes())
    data[60] ^= 0xFF
    file.write_bytes(bytes(data))


def test_a_place_that_cannot_be_written_is_a_sentence(store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="x cannot be written: No such file or directory"):
        pack(store, tmp_path / "nowhere" / "x")
    pack(store, tmp_path / "good")
    with pytest.raises(Refused, match=r"x cannot be written: (Not a directory|File exists)"):
        unpack(tmp_path / "good", tmp_path / "file" / "x")
    with pytest.raises(Refused, match="cannot be written: File name too long"):
        pack(store, tmp_path / ("n" * 300))


def _bytes(file: Path, data: bytes) -> None:
    file.write_bytes(data)


@pytest.mark.parametrize(("write", "said"), _BAD.values(), ids=_BAD)
def test_a_pack_is_refused_for(tmp_path: Path, write: Callable[[Path], None], said: str) -> None:
    write(tmp_path / "bad")
    _refused(tmp_path, said)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_twice_is_refused(tmp_path: Path) -> None:
    _written(tmp_path / "bad", [("x", b"1"), ("x", b"1")])
    _refused(tmp_path, "'x' twice")


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_changed_byte_never_changes_what_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    base = tmp_path_factory.mktemp("pack")
    (base / "a").mkdir()
    (base / "a" / "x.jsonl").write_bytes(b"line\n" * 40)
    (base / "a" / "y.pack").write_bytes(bytes(range(200)))
    pack(base / "a", base / "bad")
    whole = bytearray((base / "bad").read_bytes())
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    (base / "bad").write_bytes(whole)
    try:
        unpack(base / "bad", base / "back")
    except Refused:
        assert not (base / "back").exists()
    else:
        assert _contents(base / "back") == _contents(base / "a")


def _refused(tmp_path: Path, said: str) -> None:
    before = set(tmp_path.iterdir())
    with pytest.raises(Refused, match=said):
        unpack(tmp_path / "bad", tmp_path / "back", limit_bytes=2_000_000)
    assert set(tmp_path.iterdir()) == before
