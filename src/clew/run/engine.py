"""The engine as one frozen zip, which travels to the workers' interpreters. Not an installer."""

from __future__ import annotations

import importlib.util
import io
import marshal
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import clew
from clew.core import Refused, digest
from clew.run.code import digest_of, listing
from clew.run.folder import write_private

_EPOCH = (1980, 1, 1, 0, 0, 0)


def frozen() -> tuple[str, dict[str, bytes]]:
    """(digest, files by name) of the running package; equal sources give equal digests."""
    root = Path(clew.__file__).parent
    if not root.is_dir():
        raise Refused("clew runs from a zip itself: start runs from an installed clew")
    files = {f"clew/{name}": data for name, data in listing(root).items()}
    return digest_of(files), files


def zipped(files: Mapping[str, bytes]) -> bytes:
    """The files as a zip, with byte code for this Python beside them: it starts workers sooner,
    and another Python passes over it (PEP 552, unchecked)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as file:
        for name, data in files.items():
            file.writestr(zipfile.ZipInfo(name, _EPOCH), data)
            if name.endswith(".py"):
                # Version 2 has no references, whose flags depend on what else is alive: equal
                # sources give equal bytes.
                code = marshal.dumps(compile(data, name, "exec", dont_inherit=True), 2)
                head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
                file.writestr(zipfile.ZipInfo(f"{name}c", _EPOCH), head + code)
    return buffer.getvalue()


@lru_cache(maxsize=1)
def _whole() -> tuple[str, bytes]:
    name, files = frozen()
    return name, zipped(files)


def place(folder: Path) -> tuple[str, Path]:
    """Write the zip into `folder`; returns the sources' digest and the zip's path.

    A zip that is there already is kept only if it is, to the byte, what would be written: a run's
    folder may have come from elsewhere, and its engine is not run.
    """
    name, data = _whole()
    path = folder / f"engine-{digest(data)[:16]}.zip"
    if not path.is_file() or path.read_bytes() != data:
        write_private(path, data)
    return name, path
