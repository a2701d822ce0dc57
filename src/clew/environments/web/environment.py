"""The environment `web`: its tasks, its starts, one Chromium for many sessions."""

from __future__ import annotations

import hashlib
import platform
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from clew.core import Action, Fingerprint, Refused, Start, nearest
from clew.environments.gui import settle_of
from clew.environments.web.applications import Application, application_of
from clew.environments.web.browser import Browser
from clew.environments.web.chromium import fonts
from clew.environments.web.origin import origin_of
from clew.environments.web.session import WebSession, start_view
from clew.environments.web.tasks import REVISION, Task, own_tasks, tasks_of
from clew.environments.web.world import World

NAME = "web"
_DEFAULTS: Mapping[str, Any] = {
    "clock": "virtual",
    "screen": {"width": 1280, "height": 720},
    "settle": "quiet",
    "advance_ms": 500,
    "allow": [],
}
ANSWER_S = 20.0


class Web:
    """Web applications in Chromium. Implements Environment and Described.

    `tasks` are task files of your own (see `tasks`); `answer_s` is how long a page may take to
    answer an act, before it counts as hung and Chromium is killed.
    """

    def __init__(self, tasks: Sequence[str] = (), answer_s: float = ANSWER_S) -> None:
        self._tasks = own_tasks()
        for path in [tasks] if isinstance(tasks, str) else tasks:
            self._tasks.update(tasks_of(Path(path)))
        self._answer_s = answer_s
        self._browser: Browser | None = None

    def tasks(self) -> tuple[str, ...]:
        """The task names."""
        return tuple(self._tasks)

    def start(self, task: str, seed: int = 0, **options: Any) -> Start:
        """The start of `task`.

        Options are `clock` (`virtual` or `real`), `screen` {"width", "height"}, `settle` (a
        preset's name or a table, see `gui.settle_of`), `advance_ms` (how far the virtual clock
        goes per act), `allow` (origins that may be reached besides the application's own) and
        `application` (another application for the same task: {"folder"}, {"command"} or {"url"}).
        """
        found = self._task(task)
        filled = {**_DEFAULTS, **options}
        _check_options(filled)
        filled["settle"] = settle_of(filled["settle"]).json()
        definition = found.definition(_application(found, filled))
        return Start(NAME, task, seed, definition, REVISION, filled)

    def instruction(self, task: str) -> str:
        """What a policy is told to do."""
        return self._task(task).instruction

    def budget(self, task: str) -> int:
        """The task's full number of actions."""
        return self._task(task).budget

    def solution(self, task: str) -> tuple[Action, ...]:
        """Actions that solve the task from the seed `solution_seed` says."""
        return self._task(task).solution

    def solution_seed(self, task: str) -> int:
        """The seed that `solution` is for."""
        return self._task(task).seed

    def open(self, start: Start) -> WebSession:
        """A session of `start`. Raises `Refused` if it is not a start of this very web."""
        if start.environment != NAME:
            raise Refused(f"a start of {start.environment!r} cannot be opened by {NAME!r}")
        task, options = self._task(start.task), {**_DEFAULTS, **start.options}
        _check_options(options)
        application = _application(task, options)
        definition = task.definition(application)
        if (start.definition, start.revision) != (definition, REVISION):
            raise Refused(
                f"the start of {start.task!r} has definition {start.definition[:12]!r}, revision "
                f"{start.revision}; this web has {definition[:12]!r}, {REVISION}: make the start "
                "again, or use the version of clew, or of the application, that made it"
            )
        return self._opened(start, task, application, options)

    def fingerprint(self) -> Fingerprint:
        """Versions of Chromium and Playwright, the fonts, the machine and its C library."""
        return {
            "chromium": self._running().version,
            "playwright": version("playwright"),
            "fonts": fonts(),
            "machine": platform.machine(),
            "libc": " ".join(platform.libc_ver()).strip() or platform.system(),
        }

    def close(self) -> None:
        """End Chromium; the environment can be used again afterwards."""
        if self._browser is not None:
            browser, self._browser = self._browser, None
            browser.close()

    def _opened(
        self, start: Start, task: Task, application: Application, options: Mapping[str, Any]
    ) -> WebSession:
        browser = self._running()
        scratch = Path(tempfile.mkdtemp(prefix="session-", dir=browser.folder))
        try:
            (scratch / "files").mkdir()
            for name, text in task.files.items():
                (scratch / "files" / name).write_text(text, encoding="utf-8")
            origin = origin_of(application, scratch)
            try:
                world = World(
                    browser, origin, start_view(options), _page_seed(start.seed),
                    _storage(task, origin.base), self._answer_s, scratch,
                )  # fmt: skip
                try:
                    return WebSession(world, task.checks, settle_of(options["settle"]), scratch)
                except BaseException:
                    world.close()
                    raise
            except BaseException:
                origin.close()
                raise
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise

    def _running(self) -> Browser:
        """The browser; a new one when it was killed."""
        if self._browser is not None and not self._browser.alive:
            self.close()
        if self._browser is None:
            self._browser = Browser()
        return self._browser

    def _task(self, task: str) -> Task:
        if task not in self._tasks:
            raise Refused(f"web has no task {task!r}; {nearest(task, self._tasks)}")
        return self._tasks[task]


def _application(task: Task, options: Mapping[str, Any]) -> Application:
    if "application" in options:
        return application_of(options["application"])
    return task.application()


def _check_options(options: Mapping[str, Any]) -> None:
    known = {*_DEFAULTS, "application"}
    for name in options:
        if name not in known:
            raise Refused(f"web has no option {name!r}; {nearest(name, known)}")
    start_view(options)
    settle_of(options["settle"])


def _page_seed(seed: int) -> int:
    """32 bits for the pages' chances; neighbouring seeds share nothing."""
    return int.from_bytes(hashlib.sha256(b"web %d" % seed).digest()[:4], "big")


def _storage(task: Task, base: str) -> Mapping[str, Any]:
    if not task.local:
        return {}
    items = [{"name": name, "value": value} for name, value in sorted(task.local.items())]
    return {"cookies": [], "origins": [{"origin": base, "localStorage": items}]}
