"""A private folder that outlives its process by no more than one start. It knows no browser."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "clew-web-"
_LOCK = "in-use"


class Scratch:
    """A folder under the system's temporary one, locked while its owner lives.

    Making one removes those of owners that were killed: their locks are free.
    """

    def __init__(self) -> None:
        _sweep(Path(tempfile.gettempdir()))
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = os.open(self.folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    @contextmanager
    def as_temporary(self) -> Iterator[None]:
        """Processes that are started inside put their temporary files into it as well."""
        before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = str(self.folder)
        try:
            yield
        finally:
            if before is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = before

    def close(self) -> None:
        """Remove it; twice does nothing."""
        _remove(self.folder)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _sweep(top: Path) -> None:
    for folder in top.glob(f"{PREFIX}*"):
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        except OSError:  # just being made, or somebody else's
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            _remove(folder)
        finally:
            os.close(lock)


def _remove(folder: Path) -> None:
    """The lock goes last: what a dying Chromium still writes to is left for the next start."""
    for entry in folder.iterdir() if folder.is_dir() else ():
        if entry.name != _LOCK:
            shutil.rmtree(entry, ignore_errors=True)
    if folder.is_dir() and [entry.name for entry in folder.iterdir()] == [_LOCK]:
        shutil.rmtree(folder, ignore_errors=True)
