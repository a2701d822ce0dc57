"""One session's context: its pages, clock, dialogs, downloads, and the one way of asking them.

Everything that is asked of a page goes through `World.do`, which ends in one of three ways: with
the answer; with `Held`, since a dialog opened and the page is held by it; or with an error, since
the page's process died or the page did not answer in time (then Chromium is killed, so that
whatever comes next starts from a new one).
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
import time
from collections.abc import Awaitable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import ConsoleMessage, Dialog, Download, Error, FileChooser, Page

from clew.environments.web.activity import Activity, forget
from clew.environments.web.browser import Browser
from clew.environments.web.dialogs import OpenDialog
from clew.environments.web.origin import Origin
from clew.environments.web.traffic import Traffic

T = TypeVar("T")
#: Where a virtual clock starts: a Monday morning.
EPOCH = datetime(2026, 1, 5, 9, 0, 0, tzinfo=timezone.utc)
#: Proxy of every context: nothing listens on the discard port, so what no route stopped ends there.
NOWHERE = "http://127.0.0.1:9"
TICK_MS = 16
MAX_PAGES = 16
MAX_LISTED = 200
MAX_LINE = 1_000
CLOSE_S = 10.0


class Held(Exception):
    """A dialog opened: the page answers nothing until the dialog is answered."""


@dataclass(frozen=True)
class View:
    """How a session is shown and timed: the start's options, checked."""

    width: int = 1280
    height: int = 720
    virtual: bool = True
    advance_ms: int = 500
    allow: tuple[str, ...] = ()


class World:
    """A fresh context with one page. Free it with `close`."""

    def __init__(
        self, browser: Browser, origin: Origin, view: View, seed: int, storage: Mapping[str, Any],
        answer_s: float, scratch: Path,
    ) -> None:  # fmt: skip
        self.browser, self.origin, self.view = browser, origin, view
        self.traffic = Traffic(origin, view.allow)
        self.pages: list[Page] = []
        self.saving = 0
        self.downloads: list[dict[str, str]] = []
        self.console: list[str] = []
        self.said: list[str] = []
        self.answered: list[dict[str, str]] = []
        self.chooser: FileChooser | None = None
        self.pages_refused = 0
        self._answer_s, self._until = answer_s, 0.0
        self._dialogs: list[OpenDialog] = []
        self._interrupted: Future[None] = Future()
        self._crashed = False
        self._left_running: list[Future[Any]] = []
        self._activity: dict[Page, Activity] = {}
        self._scratch = Path(tempfile.mkdtemp(prefix="downloads-", dir=scratch))
        self.allow_time()
        self.options = _context_options(view, origin, storage)
        self.context, page = browser.fresh(self.options)
        try:
            self.do(self._prepare(page, seed))
        except BaseException:
            self.close()
            raise

    def begin_act(self, more_s: float = 0.0) -> None:
        """A new act: windows that its predecessor asked for and never got are not waited for."""
        for activity in list(self._activity.values()):
            activity.opening = 0
        self.allow_time(more_s)

    def allow_time(self, more_s: float = 0.0) -> None:
        """From now on, everything asked for must be answered within the limit."""
        self._until = time.monotonic() + self._answer_s + more_s

    def do(self, work: Awaitable[T]) -> T:
        """The answer to what is asked; see the module's docstring for how else it ends."""
        future = self.browser.driver.begin(work)
        left = max(0.0, self._until - time.monotonic())
        waited: tuple[Future[Any], ...] = (future, self._interrupted)
        wait(waited, left, FIRST_COMPLETED)
        if future.done():
            return future.result()
        if self._crashed:
            raise RuntimeError("the page's process crashed")
        if self._dialogs:
            self._left_running.append(future)
            raise Held
        self.browser.kill()
        raise RuntimeError(f"the page did not answer within {self._answer_s:g} s")

    @property
    def page(self) -> Page:
        """The page in front: the newest that is open, unless another was chosen."""
        if not self.pages:
            raise RuntimeError("the application closed its last page")
        return self.pages[-1]

    @property
    def dialog(self) -> OpenDialog | None:
        """The dialog that holds the page."""
        return self._dialogs[0] if self._dialogs else None

    @property
    def busy(self) -> bool:
        """Whether something is on its way that will change the page."""
        at_work = any(activity.busy for activity in list(self._activity.values()))
        return at_work or self.traffic.in_flight or self.saving > 0

    @property
    def changes(self) -> tuple[int, ...]:
        """Figures that differ whenever something has changed."""
        at_work = sum(activity.changes for activity in list(self._activity.values()))
        return at_work, self.traffic.changes, len(self.pages), self.saving

    def activity(self) -> Activity:
        """What the page in front is at; it is watched from now on."""
        page = self.page
        if page not in self._activity:
            self._activity[page] = self.do(self._watched(page))
        return self._activity[page]

    def cdp(self) -> Any:
        """The protocol session of the page in front."""
        return self.activity().cdp

    def caught_up(self) -> None:
        """Wait until all that the last act set off is known: a frame of the page in front."""
        self.do(self.activity().next_frame())

    def bring_to_front(self, page: Page) -> None:
        """Choose another open page."""
        self.pages.remove(page)
        self.pages.append(page)
        self.do(page.bring_to_front())

    def advance(self, ms: int) -> None:
        """Let time pass on the page's clock."""
        if self.view.virtual:
            self.do(self.context.clock.run_for(ms))

    async def tick(self) -> None:
        """A moment of the hands, on the page's clock."""
        if self.view.virtual:
            await self.context.clock.run_for(TICK_MS)

    def answer_dialog(self, accept: bool) -> None:
        """Answer the open dialog, and let what it held run on. May raise `Held` again."""
        opened = self._dialogs.pop(0)
        if not self._dialogs:
            self._interrupted = Future()
        word = "accepted" if accept else "dismissed"
        if len(self.answered) < MAX_LISTED:
            self.answered.append({**opened.json(), "answer": word, "text": opened.draft})
        if accept:
            text = opened.draft if opened.kind == "prompt" else None
            self.do(opened.dialog.accept(text) if text is not None else opened.dialog.accept())
        else:
            self.do(opened.dialog.dismiss())
        while self._left_running:
            self.do(_either(self._left_running.pop(0)))

    def close(self) -> None:
        """Close the context and remove its downloads; what no longer answers is killed."""
        try:
            self.browser.driver.do(self.context.close(), CLOSE_S)
        except (Error, TimeoutError):
            self.browser.kill()
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)

    async def _prepare(self, page: Page, seed: int) -> None:
        context = self.context
        prelude = files(__package__).joinpath("prelude.js").read_text("utf-8")
        await context.add_init_script(prelude.replace("SEED", str(seed)))
        await self.traffic.attach(context)
        if self.view.virtual:
            # Without `install` before it, between which real time would go into the page's.
            await context.clock.pause_at(EPOCH)
        self._opened(page)  # here, since listeners may be added in the driver's thread alone
        context.on("page", self._opened)
        context.on("dialog", self._asked)
        context.on("console", self._said)
        context.on("weberror", lambda error: self._log(str(error.error)))

    async def _watched(self, page: Page) -> Activity:
        return await Activity(await self.context.new_cdp_session(page)).watch()

    def _opened(self, page: Page) -> None:
        for activity in self._activity.values():
            activity.opening = max(0, activity.opening - 1)
        if len(self.pages) >= MAX_PAGES:
            self.pages_refused += 1
            forget(page.close())
            return
        self.pages.append(page)
        page.on("close", self._closed)
        page.on("crash", self._crash)
        page.on("download", self._download)
        page.on("filechooser", self._choose)

    def _closed(self, page: Page) -> None:
        self._activity.pop(page, None)
        if page in self.pages:
            self.pages.remove(page)

    def _crash(self, _: Page) -> None:
        self._crashed = True
        self._interrupt()

    def _asked(self, dialog: Dialog) -> None:
        self._dialogs.append(OpenDialog(dialog, self.view.width, self.view.height))
        self._interrupt()

    def _interrupt(self) -> None:
        if not self._interrupted.done():
            self._interrupted.set_result(None)

    def _said(self, message: ConsoleMessage) -> None:
        if len(self.said) < MAX_LISTED:
            self.said.append(message.text[:MAX_LINE])
        if message.type == "error":
            self._log(message.text)

    def _log(self, text: str) -> None:
        if len(self.console) < MAX_LISTED:
            self.console.append(text[:MAX_LINE])

    def _choose(self, chooser: FileChooser) -> None:
        self.chooser = chooser

    def _download(self, download: Download) -> None:
        self.saving += 1
        forget(self._save(download))

    async def _save(self, download: Download) -> None:
        try:
            path = self._scratch / str(len(self.downloads))
            await download.save_as(path)
            data = path.read_bytes()
            self.downloads.append(
                {
                    "name": download.suggested_filename[:255],
                    "sha256": hashlib.sha256(data).hexdigest(),
                    "path": str(path),
                }
            )
        finally:
            self.saving -= 1


def _context_options(view: View, origin: Origin, storage: Mapping[str, Any]) -> dict[str, Any]:
    bypass = [origin.bypass(), *(allowed.partition("://")[2] for allowed in view.allow)]
    options: dict[str, Any] = {
        "viewport": {"width": view.width, "height": view.height}, "device_scale_factor": 1,
        "locale": "en-US", "timezone_id": "UTC", "color_scheme": "light",
        "reduced_motion": "reduce", "service_workers": "block", "accept_downloads": True,
        "proxy": {"server": NOWHERE, "bypass": ";".join(bypass)},
    }  # fmt: skip
    if storage:
        options["storage_state"] = dict(storage)
    return options


async def _either(future: Future[Any]) -> None:
    """Wait for what was left running; what became of it no longer matters."""
    await asyncio.wait([asyncio.wrap_future(future)])
