"""Locks of open files: they end with the process that holds them, however it ends. No waiting
queue, no leases, nothing across a network file system that does not support `flock`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from clew.core import Refused


class Lock:
    """An exclusive lock that ends with `release`, with its process, or with the `with` block."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        """Let others in, also where a child that was just forked has not begun its program yet and
        still holds a copy of the file; releasing twice does nothing."""
        if self._fd >= 0:
            import fcntl

            fcntl.flock(self._fd, fcntl.LOCK_UN)
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def lock(path: Path) -> Lock:
    """Hold the lock file `path` (made if absent) alone; it names its holder.

    Raises `Refused`, naming the process and host that hold it, or for a file of anything else.
    Forked children share the lock.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    text = os.pread(fd, 1000, 0).decode("utf-8", "replace").strip()
    if text and not text.startswith("process "):
        os.close(fd)
        raise Refused(f"{path} is no lock file: choose a name that is free")
    if not hold(fd):
        os.close(fd)
        raise Refused(f"{path} is held by {text or 'another process'}: wait, or stop that first")
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    return Lock(fd)


def hold(fd: int) -> bool:
    """Take the exclusive lock of an open file, for as long as it is open; False if it is taken."""
    # Imported where used: a Windows worker imports this module and has no fcntl.
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def held(fd: int, *, shared: bool = False) -> Iterator[None]:
    """The lock of an open file for the length of a block; waits for it."""
    import fcntl

    fcntl.flock(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)
