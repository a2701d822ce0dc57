"""The environment `desktop`: which tasks there are, opening them, what it runs on."""

from __future__ import annotations

import functools
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clew.core import Action, Fingerprint, Key, Refused, Start, nearest
from clew.environments.desktop import programs
from clew.environments.desktop.applications import application
from clew.environments.desktop.facts import facts
from clew.environments.desktop.options import filled, options_of
from clew.environments.desktop.pool import Pool
from clew.environments.desktop.session import DesktopSession
from clew.environments.desktop.tasks import Task, tasks_of
from clew.environments.desktop.tasks import tasks as own_tasks

NAME = "desktop"
#: Raised when equal actions mean another state.
REVISION = 1


class Desktop:
    """Real applications on a screen of their own. Implements Environment and Described.

    `warm` sessions of a start that was opened twice are made ready in the background. `tasks` are
    task files of your own, in the form of those in `clew.environments.desktop.tasks`.
    """

    def __init__(self, warm: int = 1, tasks: Sequence[str] = ()) -> None:
        self._tasks = dict(own_tasks())
        for path in [tasks] if isinstance(tasks, str) else tasks:
            self._tasks.update(tasks_of(Path(path)))
        self._pool = Pool(warm)
        self._opened: Counter[Key] = Counter()
        self._sessions: list[DesktopSession] = []

    def tasks(self) -> tuple[str, ...]:
        """The task names."""
        return tuple(self._tasks)

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        """The start of `task`; options are `screen` "WIDTHxHEIGHT", `settle` (a preset's name or
        a table), `date` "YYYY-MM-DD HH:MM:SS" and `advance_ms`, the wall clock of applications.

        Nothing in a desktop is random: every seed means the same session.
        """
        return Start(NAME, task, seed, self._task(task).definition(), REVISION, filled(options))

    def instruction(self, task: str) -> str:
        """What a policy is told to do."""
        return self._task(task).instruction

    def budget(self, task: str) -> int:
        """The task's full number of actions."""
        return self._task(task).budget

    def solution(self, task: str) -> tuple[Action, ...]:
        """Actions that solve the task."""
        return self._task(task).solution

    def open(self, start: Start) -> DesktopSession:
        """A session of `start`, its application open and the screen quiet.

        Raises `Refused` if it is not a start of this very desktop or a program is not installed;
        otherwise as `DesktopSession`, in bounded time, with nothing left behind.
        """
        task = self._checked(start)
        key, options = start.key(), options_of(start.options)
        make = functools.partial(DesktopSession, task, options)
        session = self._pool.take(key) or make()
        self._sessions = [*(each for each in self._sessions if each.is_open), session]
        self._opened[key] += 1
        if self._opened[key] > 1:
            self._pool.prepare(key, make)
        return session

    def fingerprint(self) -> Fingerprint:
        """Versions of the X server, window manager, toolkits, fonts and applications, and whether
        sessions are confined."""
        return facts()

    def close(self) -> None:
        """End every session; the environment can be used again afterwards."""
        self._pool.close()
        for session in self._sessions:
            session.close()
        self._sessions.clear()
        self._opened.clear()

    def _checked(self, start: Start) -> Task:
        if start.environment != NAME:
            raise Refused(f"a start of {start.environment!r} cannot be opened by {NAME!r}")
        task = self._task(start.task)
        definition = task.definition()
        if start.definition != definition or start.revision != REVISION:
            raise Refused(
                f"the start of {start.task!r} has definition {start.definition[:12]!r}, revision "
                f"{start.revision}; this desktop has {definition[:12]!r}, {REVISION}: make the start "
                "again, or use the version of clew that made it"
            )
        lacking = programs.lacking()
        if task.application and shutil.which(application(task.application).command[0]) is None:
            lacking.append(application(task.application).packages[0])
        if lacking:
            raise Refused(
                f"{start.task!r} needs programs that are not installed here; "
                f"an administrator can run: apt-get install {' '.join(lacking)}"
            )
        return task

    def _task(self, name: str) -> Task:
        if name not in self._tasks:
            raise Refused(f"desktop has no task {name!r}; {nearest(name, self._tasks)}")
        return self._tasks[name]
