"""Files that an application works out on its first run and would work out again in every new home.

They are kept on this machine, by application and version, and put into later homes: GIMP asks 180
plug-ins who they are otherwise. They spare time and change nothing that shows.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from clew.core import canonical_json, digest
from clew.environments.desktop.applications import Application
from clew.environments.desktop.facts import facts
from clew.environments.desktop.home import Home


def kept(application: Application) -> dict[str, bytes]:
    """The files that an earlier session of this application and version left: path → content."""
    found = {}
    for path in application.keeps:
        with contextlib.suppress(FileNotFoundError):
            found[path] = _place(application, path).read_bytes()
    return found


def keep(application: Application, home: Home) -> None:
    """Keep what is not kept yet. Where the cache cannot be written, the next session does without."""
    for path in application.keeps:
        place = _place(application, path)
        if place.exists():
            continue
        with contextlib.suppress(OSError):
            content = home.read(path)
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
                file.write(content)
            os.replace(file.name, place)


def _place(application: Application, path: str) -> Path:
    versions: Mapping[str, str] = {name: facts().get(name, "") for name in application.packages}
    name = digest(canonical_json([application.name, path, dict(versions)], "kept file"))
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(root, "clew", "desktop", name)
