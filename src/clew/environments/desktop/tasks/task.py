"""What a task is: an application, files, an instruction, a solution, checks. It starts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from clew.core import Action, canonical_json, digest
from clew.environments.desktop import oracles
from clew.environments.desktop.applications import Application, application, home_files
from clew.environments.desktop.home import Home
from clew.environments.desktop.x11 import Window
from clew.environments.gui import Node


class Desk(Protocol):
    """What an oracle may look at; none of it changes anything."""

    @property
    def home(self) -> Home: ...
    def windows(self) -> list[Window]: ...
    def nodes(self) -> tuple[Node, ...]: ...


@dataclass(frozen=True)
class Task:
    """One task. `application` is started (empty: none) with `arguments` after its command; `files`
    are put into the home before: path → content, and `tables` are what some are made from. `solution` are actions that do it; it is done
    when all of `checks` (see `oracles`) hold."""

    name: str
    application: str
    instruction: str
    budget: int
    checks: tuple[Mapping[str, Any], ...]
    arguments: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    solution: tuple[Action, ...] = ()
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def launched(self) -> Application | None:
        """The application as this task starts it."""
        if not self.application:
            return None
        declared = application(self.application)
        return replace(declared, command=(*declared.command, *self.arguments))

    def definition(self) -> str:
        """A digest of all that defines a start of it: the application and its command, its files
        (those made from tables by their tables: the bytes are their libraries') and the session's,
        the instruction, the checks."""
        contents = {**self.files, **{p: t.encode() for p, t in home_files().items()}}
        launched = self.launched()
        data = {
            "application": launched.json() if launched else None,
            "files": {p: self.tables.get(p) or digest(content) for p, content in contents.items()},
            "instruction": self.instruction,
            "checks": [dict(check) for check in self.checks],
        }
        return digest(canonical_json(data, f"task {self.name}"))

    def oracle(self, desk: Desk) -> Mapping[str, bool]:
        """Which checks hold now, by their number and name."""
        held = oracles.judge(self.checks, _World(desk)).parts
        return {name: bool(value) for name, value in held.items()}

    def unmet(self, desk: Desk) -> list[str]:
        """Why the checks that do not hold do not."""
        found = (oracles.unmet(check, _World(desk)) for check in self.checks)
        return [why for why in found if why]


@dataclass(frozen=True)
class _World:
    """A desk as the checks see it."""

    desk: Desk

    @property
    def home(self) -> Path:
        return Path(self.desk.home.folder)

    def nodes(self) -> Sequence[Node]:
        return self.desk.nodes()

    def windows(self) -> Sequence[Mapping[str, Any]]:
        return [window.json() for window in self.desk.windows()]
