"""Tasks read from data files. A file describes the tasks of one application; it starts none.

application = "mousepad"         # one of applications.toml

[[tasks]]
name = "mousepad-milk"
instruction = "…"
budget = 10                      # actions
arguments = ["list.txt"]         # after the application's command; the folder is the home
solution = [{ kind = "text", text = "milk" }, { kind = "keys", verb = "press", keys = ["ctrl", "s"] }]
checks = [{ check = "file_text", path = "list.txt", equals = "milk\n" }]

[tasks.files]                    # put into the home
"list.txt" = "…"                 # text, or a table: base64, or a document that `fixtures` builds
"photo.png" = { base64 = "…" }
"""

from __future__ import annotations

import base64
import binascii
import functools
import sys
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from clew.core import Refused, action_of, nearest
from clew.environments.desktop.applications import application, applications
from clew.environments.desktop.oracles import validated
from clew.environments.desktop.tasks.task import Task

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FILE = {"application", "tasks"}
_TASK = {"name", "instruction", "budget", "arguments", "files", "solution", "checks"}


@functools.lru_cache(maxsize=1)
def tasks() -> Mapping[str, Task]:
    """The tasks that come with clew, by name: those of the data files, and for each application
    that it is open."""
    found = [*(_open(name) for name in applications())]
    for file in sorted(files(__package__).iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            found += _read(file.read_text("utf-8"), file.name)
    return _by_name(found)


def tasks_of(path: Path) -> Mapping[str, Task]:
    """The tasks of a user's file. Raises `Refused`, naming the place, for what is wrong in it."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise Refused(f"task file {str(path)!r} cannot be read: {error.strerror}") from None
    return _by_name(list(_read(text, str(path))))


def _open(name: str) -> Task:
    checks = ({"check": "window", "window_class": application(name).window},)
    return Task(f"{name}/open", name, f"Wait until {name} is open.", 1, checks)


def _by_name(found: list[Task]) -> Mapping[str, Task]:
    named = {task.name: task for task in found}
    if len(named) < len(found):
        names = [task.name for task in found]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise Refused(f"more than one task has the name {twice[0]!r}: rename all but one")
    return named


def _read(text: str, where: str) -> Iterator[Task]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{where} is not TOML: {error}") from None
    _known(data, _FILE, where)
    if not isinstance(data.get("application"), str):
        raise Refused(f"{where}: field 'application' must be the name of one")
    application(data["application"])
    for number, one in enumerate(data.get("tasks", ())):
        place = f"{where}, task {one.get('name', number)!r}"
        _known(one, _TASK, place)
        yield _task(one, data["application"], place)


def _task(one: Mapping[str, Any], application: str, where: str) -> Task:
    for name in ("name", "instruction"):
        if not isinstance(one.get(name), str) or not one[name]:
            raise Refused(f"{where}: field {name!r} must be text")
    budget = one.get("budget", 30)
    if type(budget) is not int or budget < 1:
        raise Refused(f"{where}: budget is {budget!r}, not a number of actions")
    arguments = one.get("arguments", [])
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        raise Refused(f"{where}: field 'arguments' must be a list of texts")
    actions, files = one.get("solution", ()), one.get("files", {})
    return Task(
        one["name"], application, one["instruction"], budget,
        validated(one.get("checks"), where), tuple(arguments),
        {path: _content(path, each, where) for path, each in files.items()},
        tuple(action_of(a, f"{where}, action {i}") for i, a in enumerate(actions)),
        {path: each for path, each in files.items() if _is_table(each)},
    )  # fmt: skip


def _content(path: str, given: Any, where: str) -> bytes:
    if isinstance(given, str):
        return given.encode("utf-8")
    if not isinstance(given, dict):
        raise Refused(f"{where}: the file {path!r} is {given!r}, neither text nor a table")
    if not _is_table(given):
        try:
            return base64.b64decode(given["base64"], validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise Refused(f"{where}: the file {path!r} is not base64: {error}") from None
    from clew.environments.desktop.tasks.fixtures import built

    return built(path, given)


def _is_table(given: Any) -> bool:
    return isinstance(given, dict) and set(given) != {"base64"}


def _known(data: Mapping[str, Any], known: set[str], where: str) -> None:
    for name in data:
        if name not in known:
            raise Refused(f"{where} has the field {name!r}; {nearest(name, known)}")
