"""The applications that sessions can start, read from `applications.toml`. It starts none."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from clew.core import Refused, nearest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Application:
    """How one application is started and which window tells that it is there.

    `window` is the second part of the window's WM_CLASS; `packages` are the Debian packages whose
    versions belong to the fingerprint. `keeps` are files of the home that spare its next first
    run work (see `kept`).
    """

    name: str
    command: tuple[str, ...]
    window: str
    packages: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    keeps: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """What defines it, for a task's digest."""
        return {
            "command": list(self.command), "class": self.window,
            "environment": dict(self.environment),
        }  # fmt: skip


@functools.lru_cache(maxsize=1)
def applications() -> Mapping[str, Application]:
    """Every declared application by name."""
    return {
        name: Application(
            name, tuple(table["command"]), table["class"], tuple(table.get("packages", ())),
            table.get("environment", {}), tuple(table.get("keeps", ())),
        )
        for name, table in _read("applications.toml").items()
    }  # fmt: skip


def application(name: str) -> Application:
    """One application. Raises `Refused` with the nearest name if it is not declared."""
    known = applications()
    if name not in known:
        raise Refused(f"desktop knows no application {name!r}; {nearest(name, known)}")
    return known[name]


@functools.lru_cache(maxsize=1)
def home_files() -> Mapping[str, str]:
    """The files that every session finds in its home: path → text."""
    found = {path: text.lstrip("\n") for path, text in _read("home.toml").items()}
    found[".config/openbox/rc.xml"] = _text("openbox.xml")
    found[".config/dbus.conf"] = _text("bus.conf")
    return found


def _read(name: str) -> dict[str, Any]:
    data: dict[str, Any] = tomllib.loads(_text(name))
    return data


def _text(name: str) -> str:
    return files("clew.environments.desktop").joinpath(name).read_text("utf-8")
