"""What is under test, and the pinned packages that `clew env install web` fetches. It serves none."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import io
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from clew.core import Refused, canonical_json, digest, nearest

if sys.version_info >= (3, 11):
    from importlib.resources.abc import Traversable

    import tomllib
else:
    from importlib.abc import Traversable

    import tomli as tomllib

Say = Callable[[str], None]
#: npm's own default, where its variable names no other.
REGISTRY = "https://registry.npmjs.org"
REGISTRY_VARIABLE = "npm_config_registry"
MAX_BYTES = 256 << 20
FETCH_S = 120.0


@dataclass(frozen=True)
class Application:
    """One application: a folder of static files, a command that serves, or a URL.

    `start` is the first page below the origin. `command` runs in a copy of `folder` (if given) and
    must serve on the loopback `port`, which `{port}` in its words stands for (0: any free one);
    `ready` is a path that answers once it serves. `pin` is what a pinned package is known by.
    """

    folder: Path | None = None
    command: tuple[str, ...] = ()
    url: str = ""
    start: str = ""
    port: int = 0
    ready: str = ""
    pin: str = ""

    def digest(self) -> str:
        """What defines it: its files' contents and its words, not where it lies."""
        files = self.pin or (_contents(self.folder) if self.folder is not None else "")
        words = [files, list(self.command), self.url, self.start, self.port, self.ready]
        return digest(canonical_json(words, "application"))


def application_of(data: Mapping[str, Any], where: str = "option application") -> Application:
    """The application that a start's option or a task file describes. Raises `Refused`."""
    known = {"folder", "command", "url", "start", "port", "ready"}
    for name in data:
        if name not in known:
            raise Refused(f"{where} has the field {name!r}; {nearest(name, known)}")
    for name in ("folder", "url", "start", "ready"):
        if not isinstance(data.get(name, ""), str):
            raise Refused(f"{where}: field {name!r} must be text")
    command = data.get("command", ())
    if not isinstance(command, (list, tuple)) or not all(isinstance(w, str) for w in command):
        raise Refused(f"{where}: field 'command' must be a list of words")
    port = data.get("port", 0)
    if type(port) is not int or not 0 <= port <= 65535:
        raise Refused(f"{where}: port is {port!r}, not a number from 0 to 65535")
    folder, url = data.get("folder", ""), data.get("url", "")
    if bool(url) == bool(folder or command):
        raise Refused(
            f"{where} needs either a url, or a folder, or a command (perhaps in a folder)"
        )
    parts = urlsplit(url)
    if url and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise Refused(f"{where}: url is {url!r}; it must be http:// or https:// with a host")
    path = Path(folder).absolute() if folder else None
    if path is not None and not path.is_dir():
        raise Refused(f"{where}: there is no folder {folder!r}")
    return Application(
        path, tuple(command), url, data.get("start", ""), port, data.get("ready", "")
    )


def packaged(folder: str, start: str = "") -> Application:
    """A folder that lies in this package."""
    return Application(_laid_out(files(__package__).joinpath(folder)), start=start)


def _laid_out(source: Traversable) -> Path:
    """A folder of this package as files: where the package is a zip (in workers), a copy of it
    under `$CLEW_HOME/applications`, named by its content."""
    if isinstance(source, Path):
        return source
    held = dict(_under(source, PurePosixPath()))
    words = {str(path): digest(data) for path, data in held.items()}
    place = home() / "applications" / f"{source.name}-{digest(canonical_json(words))[:16]}"
    if not place.is_dir():
        draft = Path(tempfile.mkdtemp(dir=_made(place.parent)))
        for path, data in held.items():
            _made((draft / path).parent)
            (draft / path).write_bytes(data)
        with contextlib.suppress(OSError):  # another process was sooner, with the same files
            draft.rename(place)
        shutil.rmtree(draft, ignore_errors=True)
    return place


def _under(folder: Traversable, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, bytes]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _under(one, path / one.name)
        else:
            yield path / one.name, one.read_bytes()


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def pinned(name: str, start: str = "") -> Application:
    """An installed package. Raises `Refused` if it is unknown or not installed."""
    facts = packages().get(name)
    if facts is None:
        raise Refused(f"there is no pinned application {name!r}; {nearest(name, packages())}")
    place = place_of(name)
    if not place.is_dir():
        raise Refused(f"application {name!r} is not installed ({place}); run: clew env install web")
    return Application(place / facts["root"], start=start, pin=f"{name} {facts['integrity']}")


@lru_cache(maxsize=1)
def packages() -> Mapping[str, Mapping[str, str]]:
    """The pinned packages by name: version, integrity, licence, root, about."""
    found: dict[str, dict[str, str]] = tomllib.loads(
        files(__package__).joinpath("applications.toml").read_text("utf-8")
    )
    return found


def place_of(name: str) -> Path:
    """Where a package is, or would be: `$CLEW_HOME/applications/NAME-VERSION`."""
    return home() / "applications" / f"{name}-{packages()[name]['version']}"


def home() -> Path:
    """As `clew.environment_install.home`, which environments may not import."""
    if os.environ.get("CLEW_HOME"):
        return Path(os.environ["CLEW_HOME"]).absolute()
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data, "clew").absolute()


def missing_applications() -> tuple[str, ...]:
    """Pinned packages that are not installed."""
    return tuple(name for name in packages() if not place_of(name).is_dir())


def install_applications(say: Say = print) -> list[Path]:
    """Fetch, verify and unpack the pinned packages that are missing; returns where all are.

    Offline when all are there. Raises `Refused` if one cannot be fetched, is not what was pinned,
    or holds a path that leads out of its folder.
    """
    for name in missing_applications():
        facts = packages()[name]
        say(f"fetching {name} {facts['version']} ({facts['licence']})")
        unpack(verified(_fetched(name), facts["integrity"], name), place_of(name), name)
    return [place_of(name) for name in packages()]


def verified(tarball: bytes, integrity: str, name: str) -> bytes:
    """The tarball, or `Refused` if its SHA-512 is not the pinned one."""
    found = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    if found != integrity:
        raise Refused(
            f"application {name!r}: the registry sent something else than was pinned ({found[:20]}… "
            f"is not {integrity[:20]}…); nothing was installed"
        )
    return tarball


def unpack(tarball: bytes, place: Path, name: str) -> None:
    """Unpack regular files to `place`, which appears whole or not at all. Raises `Refused`."""
    half = place.with_name(place.name + ".half")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(tarball), mode="r:gz") as archive:
            for member in archive:
                if member.isdir():
                    continue
                path = PurePosixPath(member.name)
                if not member.isreg() or path.is_absolute() or ".." in path.parts:
                    raise Refused(
                        f"application {name!r} holds {member.name!r}, which is no plain file inside "
                        "its folder; nothing was installed"
                    )
                total += member.size
                if total > MAX_BYTES:
                    raise Refused(f"application {name!r} unpacks to over {MAX_BYTES >> 20} MiB")
                target = half / path
                target.parent.mkdir(parents=True, exist_ok=True)
                source = archive.extractfile(member)
                assert source is not None  # it is a regular file
                target.write_bytes(source.read())
        os.replace(half, place)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise Refused(f"application {name!r}: the tarball cannot be read: {error}") from None
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _fetched(name: str) -> bytes:
    registry = os.environ.get(REGISTRY_VARIABLE, REGISTRY).rstrip("/")
    url = f"{registry}/{name}/-/{name}-{packages()[name]['version']}.tgz"
    try:
        with urllib.request.urlopen(url, timeout=FETCH_S) as answer:
            data: bytes = answer.read(MAX_BYTES)
            return data
    except OSError as error:
        raise Refused(
            f"application {name!r} cannot be fetched from {registry}: {error}; set "
            "npm_config_registry to a registry that can be reached, and run it again"
        ) from None


def _contents(folder: Path) -> str:
    """A digest of the files of a folder."""
    found = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        inside = path.relative_to(folder).as_posix()
        found.update(f"{inside}\0{digest(path.read_bytes())}\n".encode())
    return found.hexdigest()
