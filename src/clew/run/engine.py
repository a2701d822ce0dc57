"""The engine as one frozen zip, which travels to the workers' interpreters. Not an installer."""

from __future__ import annotations

import contextlib
import io
import os
import zipfile
from pathlib import Path

import clew
from clew.core import Refused, digest

_SUFFIXES = frozenset({".py", ".json", ".txt", ".xml", ".toml", ".html"})
_EPOCH = (1980, 1, 1, 0, 0, 0)


def frozen() -> tuple[str, bytes]:
    """(digest, bytes) of a zip of the running package; equal sources give equal bytes."""
    root = Path(clew.__file__).parent
    if not root.is_dir():
        raise Refused("clew runs from a zip itself: start runs from an installed clew")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for path in sorted(root.rglob("*")):
            if path.suffix in _SUFFIXES and "__pycache__" not in path.parts:
                name = f"clew/{path.relative_to(root).as_posix()}"
                file.writestr(zipfile.ZipInfo(name, _EPOCH), path.read_bytes())
    data = buffer.getvalue()
    return digest(data), data


def place(folder: Path) -> tuple[str, Path]:
    """Write the zip into `folder` (kept if it is there); returns its digest and path."""
    name, data = frozen()
    path = folder / f"engine-{name[:16]}.zip"
    if not path.exists():
        temporary = path.with_suffix(f".{os.getpid()}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise Refused(f"{path} cannot be written: {error.strerror}") from error
    return name, path
