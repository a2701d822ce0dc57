"""The home of a session seen from outside: files put there and read back, by plain relative paths.

What a session left there is not trusted: nothing follows a link, because the absolute target of
one would be looked for outside the session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath

from clew.core import Refused, digest
from clew.environments.desktop.below import STEP, file_below

#: Longest file that is read back; oracles need documents, not core dumps.
LONGEST = 64 << 20
_PNG = b"\x89PNG\r\n\x1a\n"
#: Chunks of a PNG that hold its pixels, colours and transparency.
_PIXELS = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB"})


class Home:
    """One session's home. `folder` is where this process finds it, `uid` who owns it inside."""

    def __init__(self, folder: str, uid: int) -> None:
        self.folder, self._uid = folder, uid

    def put(self, path: str, content: bytes, modified_s: int) -> None:
        """Write a file, and its folders, as the session's user; `modified_s` is its Unix time."""
        parts = _parts(path)
        at = self.folder
        for part in parts[:-1]:
            at = f"{at}/{part}"
            if not os.path.isdir(at):
                os.mkdir(at, 0o700)
                os.chown(at, self._uid, self._uid)
        at = f"{at}/{parts[-1]}"
        with open(at, "xb") as file:
            file.write(content)
            os.fchown(file.fileno(), self._uid, self._uid)
        for _ in parts:
            os.utime(at, (modified_s, modified_s))
            at = os.path.dirname(at)

    def read(self, path: str) -> bytes:
        """The content of a regular file. Raises `FileNotFoundError` where there is none (a link,
        also on the way, is none), and `OSError` for one over `LONGEST` bytes."""
        plain = "/".join(_parts(path))
        top = os.open(self.folder, STEP)
        try:
            with file_below(top, plain) as file:
                content = file.read(LONGEST + 1)
        except (NotADirectoryError, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            raise FileNotFoundError(f"{path} cannot be read: {error.strerror}") from None
        finally:
            os.close(top)
        if len(content) > LONGEST:
            raise OSError(f"{path} has over {LONGEST} bytes: it is not read")
        return content

    def digests(self) -> dict[str, str]:
        """Path → SHA-256 of every regular file, hidden ones and those in hidden folders left out:
        applications keep their caches there. Of a PNG what it shows counts, not when, where and by
        what it was written: see `lasting`."""
        return {path: digest(lasting(self.read(path))) for path in sorted(self._visible("", 0))}

    def _visible(self, below: str, depth: int) -> Iterator[str]:
        with os.scandir(f"{self.folder}/{below}") as entries:
            found = [entry for entry in entries if not entry.name.startswith(".")]
        for entry in found:
            path = f"{below}{entry.name}"
            if entry.is_dir(follow_symlinks=False) and depth < 16:
                yield from self._visible(f"{path}/", depth + 1)
            elif entry.is_file(follow_symlinks=False):
                yield path


def lasting(content: bytes) -> bytes:
    """`content`; of a PNG only the chunks that move its pixels, as its specification names them.

    GIMP writes the time of day into `tIME`, `eXIf` and texts, and sees the real clock.
    """
    if not content.startswith(_PNG):
        return content
    kept, at = [_PNG], len(_PNG)
    while at + 12 <= len(content):
        end = at + 12 + int.from_bytes(content[at : at + 4], "big")
        if content[at + 4 : at + 8] in _PIXELS:
            kept.append(content[at:end])
        at = end
    return b"".join(kept) if at == len(content) else content


def _parts(path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise Refused(f"home path {path!r} must be relative, without '..'")
    return parts
