"""A store folder as one file, and back. The file is a zip with a manifest; it is never trusted.

`pack` writes equal bytes for equal content (and an equal zlib). `unpack` checks everything that
it can before it writes, writes into a folder beside the target, and renames that when all is well.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from clew.core import Refused
from clew.store import index
from clew.store.errors import write_error

#: Version of the packed form; see `clew.store.lines.SCHEMA` for what is inside.
PACK_SCHEMA = 1
MANIFEST = "clew-pack.json"
#: What a pack may claim to hold unless the caller says otherwise: 64 GiB.
LIMIT_BYTES = 64 << 30
#: The longest name and path in bytes; file systems take 255, and paths 4,096 with their folder's.
NAME_BYTES, PATH_BYTES = 255, 1024
_LARGEST_MANIFEST = 256 << 20
_CHUNK = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


def pack(folder: Path, file: Path) -> None:
    """Write all of `folder` except its index and lock files into the new file `file` (0600).

    Raises `Refused` if `file` exists or `folder` holds anything but plain files and folders,
    `StoreFull` where there is no room.
    """
    folder, file = Path(folder), Path(file)
    if not folder.is_dir():
        raise Refused(f"{folder} is not a folder: nothing to pack")
    if os.path.lexists(file):
        raise Refused(f"{file} exists: name a new file, or remove it first")
    members = _members(folder, file)
    try:
        fd, name = tempfile.mkstemp(prefix=f".{file.name[:40]}.", dir=file.parent)
    except OSError as error:
        raise _unwritten(error, file, 0) from None
    draft = Path(name)
    try:
        with open(fd, "wb") as out:
            with zipfile.ZipFile(out, "w") as archive:
                listed = [_packed(archive, folder, member) for member in members]
                manifest = {"format": "clew pack", "schema": PACK_SCHEMA, "members": listed}
                archive.writestr(_info(MANIFEST), json.dumps(manifest, indent=1).encode())
            out.flush()
            os.fsync(out.fileno())
        os.rename(draft, file)
    except OSError as error:
        raise _unwritten(error, file, sum(m.stat().st_size for m in members)) from error
    finally:
        draft.unlink(missing_ok=True)


def unpack(file: Path, folder: Path, *, limit_bytes: int = LIMIT_BYTES) -> None:
    """Restore what `pack` wrote into the new folder `folder`.

    Raises `Refused`, leaving nothing behind, for an existing target, an unknown schema version,
    a member outside the folder, twice, unlisted, a link or of another digest, and for more bytes
    than `limit_bytes` or the disk has room for.
    """
    file, folder = Path(file), Path(folder)
    if os.path.lexists(folder):
        raise Refused(f"{folder} exists: name a new folder, or remove it first")
    if not file.is_file():
        raise Refused(f"{file} does not exist: nothing to unpack")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name[:40]}.", dir=folder.parent))
    except OSError as error:
        raise _unwritten(error, folder, 0) from None
    try:
        with zipfile.ZipFile(file) as archive:
            infos = _checked_names(archive, file)
            listed = _checked_manifest(archive, infos, file)
            _check_room(listed, draft, file, limit_bytes)
            for name, member in listed.items():
                _extract(archive, infos[name], member, draft, file)
        os.rename(draft, folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
        raise Refused(f"{file} is not a whole pack: {error}; fetch it again") from None
    except OSError as error:
        raise _unwritten(error, folder, file.stat().st_size) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _unwritten(error: OSError, path: Path, needed_bytes: int) -> Exception:
    """`StoreFull` where there is no room, otherwise `Refused` with what the system said."""
    full = write_error(error, path.parent, needed_bytes)
    if full is not error:
        return full
    return Refused(f"{path} cannot be written: {error.strerror or error}; choose another place")


def _members(folder: Path, file: Path) -> list[Path]:
    found = []
    for path in sorted(folder.rglob("*"), key=lambda p: p.relative_to(folder).as_posix()):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise Refused(f"{path} is not a plain file: remove it, a pack holds plain files only")
        derived = path.name.startswith(index.NAME) or path.name.endswith(".lock")
        if path.is_file() and not derived and path != file:
            found.append(path)
    return found


def _packed(archive: zipfile.ZipFile, folder: Path, path: Path) -> dict[str, Any]:
    """Copy one file into the archive as it is now; its entry of the manifest."""
    name = path.relative_to(folder).as_posix()
    sha256, left = hashlib.sha256(), path.stat().st_size
    member = {"name": name, "size": left}
    with open(path, "rb") as source, archive.open(_info(name), "w", force_zip64=True) as target:
        while left:
            chunk = source.read(min(_CHUNK, left))
            if not chunk:
                raise Refused(f"{path} became shorter while it was packed: pack it when it rests")
            target.write(chunk)
            sha256.update(chunk)
            left -= len(chunk)
    return {**member, "sha256": sha256.hexdigest()}


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system = 3
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    # Blobs are compressed already.
    stored = name.endswith(".pack")
    info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    return info


def _checked_names(archive: zipfile.ZipFile, file: Path) -> dict[str, zipfile.ZipInfo]:
    infos: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.orig_filename
        if _escapes(name) or info.filename != name:
            raise Refused(f"{file} has the member {name!r}, which leaves the folder: do not use it")
        if name in infos:
            raise Refused(f"{file} has the member {name!r} twice: do not use it")
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or info.flag_bits & 1:
            raise Refused(f"{file} has the member {name!r}, which is no plain file: do not use it")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refused(
                f"{file} has the member {name[:60]!r} compressed in a way that no version of clew"
                " writes: do not use it"
            )
        if max(map(_name_bytes, name.split("/"))) > NAME_BYTES or _name_bytes(name) > PATH_BYTES:
            raise Refused(
                f"{file} has the member {name[:60] + '…'!r}, whose name is too long for a file's:"
                " do not use it"
            )
        infos[name] = info
    return infos


def _name_bytes(name: str) -> int:
    return len(name.encode("utf-8", "surrogatepass"))


def _escapes(name: str) -> bool:
    parts = name.split("/")
    odd = any(sign in name for sign in ("\\", "\0", ":"))
    return odd or PurePosixPath(name).is_absolute() or any(p in ("", ".", "..") for p in parts)


def _checked_manifest(
    archive: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo], file: Path
) -> dict[str, dict[str, Any]]:
    """The manifest's members by name: exactly those of the archive."""
    info = infos.get(MANIFEST)
    if info is None or info.file_size > _LARGEST_MANIFEST:
        raise Refused(f"{file} is not a pack: it has no {MANIFEST}")
    try:
        manifest = json.loads(archive.read(info))
        schema = manifest["schema"]
        listed = {str(member["name"]): member for member in manifest["members"]}
        known = all(
            isinstance(m["size"], int) and m["size"] >= 0 and isinstance(m["sha256"], str)
            for m in listed.values()
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused(f"{file} has a {MANIFEST} that cannot be read: fetch it again") from None
    if schema != PACK_SCHEMA:
        raise Refused(
            f"{file} has pack schema {schema!r}, this version of clew reads {PACK_SCHEMA}: "
            "unpack it with the version that wrote it"
        )
    if not known or len(listed) != len(manifest["members"]):
        raise Refused(f"{file} has a {MANIFEST} that names a member twice or without its digest")
    different = sorted(set(listed) ^ (set(infos) - {MANIFEST}))
    if different:
        raise Refused(f"{file} and its {MANIFEST} differ in {different[0]!r}: do not use it")
    return listed


def _check_room(
    listed: dict[str, dict[str, Any]], draft: Path, file: Path, limit_bytes: int
) -> None:
    claimed = sum(member["size"] for member in listed.values())
    if claimed > limit_bytes:
        raise Refused(
            f"{file} claims {claimed} bytes, the limit is {limit_bytes}: raise the limit if you "
            "trust it"
        )
    free = shutil.disk_usage(draft).free
    if claimed > free:
        raise Refused(f"{file} needs {claimed} bytes and {draft.parent} has {free}: free space")


def _extract(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, member: dict[str, Any], draft: Path, file: Path
) -> None:
    path = draft / info.filename
    sha256, size = hashlib.sha256(), 0
    try:
        for parent in reversed(path.relative_to(draft).parents):
            (draft / parent).mkdir(mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except (FileExistsError, NotADirectoryError):
        raise Refused(f"{file} has the member {info.filename!r} twice: do not use it") from None
    with open(fd, "wb") as target:
        for chunk in _chunks(archive, info, member["size"]):
            sha256.update(chunk)
            size += len(chunk)
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())
    if size != member["size"] or sha256.hexdigest() != member["sha256"]:
        raise Refused(
            f"{file} has the member {info.filename!r}, which is not what was packed: fetch it again"
        )


def _chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: int) -> Iterator[bytes]:
    """The member's bytes, at most one more than it claims."""
    with archive.open(info) as source:
        left = size + 1
        while left and (chunk := source.read(min(_CHUNK, left))):
            left -= len(chunk)
            yield chunk
