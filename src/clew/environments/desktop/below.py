"""Files below a folder that a session may write to, reached without following a link.

A session puts links where it likes, and outside of it they would lead into the host.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import IO

#: Of a folder that is only a step on the way.
STEP = os.O_PATH | os.O_DIRECTORY


@contextlib.contextmanager
def folder_below(top: int, path: str) -> Iterator[tuple[int, str]]:
    """A descriptor of the folder of `path`, which is relative to the folder `top`, and the last name.

    Raises `OSError` where a part of the way is missing or no folder (a link is none).
    """
    *folders, name = path.split("/")
    at = os.dup(top)
    try:
        for folder in folders:
            deeper = os.open(folder, STEP | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = deeper
        yield at, name
    finally:
        os.close(at)


@contextlib.contextmanager
def file_below(top: int, path: str) -> Iterator[IO[bytes]]:
    """A regular file, open for reading. Raises as `folder_below`; for another kind of file
    `FileNotFoundError`, and never waits for one."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with (
        folder_below(top, path) as (folder, name),
        open(os.open(name, flags, dir_fd=folder), "rb") as file,
    ):
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise FileNotFoundError(f"{path} is not a regular file")
        yield file
