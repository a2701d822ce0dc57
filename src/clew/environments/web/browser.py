"""One running Chromium, kept for many sessions. What happens in a session is in `world`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, Error, Page

from clew.environments.web.chromium import FLAGS, required_chromium
from clew.environments.web.driver import Driver
from clew.environments.web.scratch import Scratch

LAUNCH_S = 60.0
CLOSE_S = 20.0


class Browser:
    """A Chromium process with a private profile and home. Free it with `close`.

    `folder` is its own, for the files of its sessions; it goes with the browser.
    """

    def __init__(self) -> None:
        path = required_chromium()
        self._scratch = Scratch()
        self.folder = self._scratch.folder / "sessions"
        self.folder.mkdir()
        home = self._scratch.folder / "home"
        home.mkdir()
        try:
            with self._scratch.as_temporary():
                self.driver = Driver()
        except BaseException:
            self._scratch.close()
            raise
        try:
            self._browser = self.driver.do(
                self.driver.playwright.chromium.launch(
                    executable_path=path, args=list(FLAGS), env=_surroundings(home),
                    # As users have it: a page opens windows only when it was clicked.
                    ignore_default_args=["--disable-popup-blocking"],
                    handle_sigint=False, handle_sigterm=False, handle_sighup=False,
                ), LAUNCH_S,
            )  # fmt: skip
            self._pid = self.driver.do(self._browsers_pid(), LAUNCH_S)
        except BaseException:
            self.driver.close()
            self._scratch.close()
            raise
        self._spare: tuple[Mapping[str, Any], Future[tuple[BrowserContext, Page]]] | None = None
        self.version = str(self._browser.version)

    @property
    def alive(self) -> bool:
        return self._browser.is_connected()

    def context(self, **options: Any) -> BrowserContext:
        """A new context: its own cookies, storage and cache, nothing of any other."""
        return self.driver.do(self._browser.new_context(**options), LAUNCH_S)

    def fresh(self, options: Mapping[str, Any]) -> tuple[BrowserContext, Page]:
        """A context that was never used, and its empty page; one made ahead if it fits."""
        spare, self._spare = self._spare, None
        if spare is not None and spare[0] == options:
            return spare[1].result(LAUNCH_S)
        if spare is not None:
            self.driver.do(_discarded(spare[1]), LAUNCH_S)
        return self.driver.do(self._made(options), LAUNCH_S)

    def make_ahead(self, options: Mapping[str, Any]) -> None:
        """Begin with a context for the next session, which most likely has the same options."""
        if self._spare is None:
            self._spare = (options, self.driver.begin(self._made(options)))

    def kill(self) -> None:
        """End a Chromium that does not answer."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        """End Chromium and Playwright, and remove the private folder; twice does nothing."""
        try:
            self.driver.do(self._browser.close(), CLOSE_S)
        except (Error, TimeoutError):
            self.kill()
        finally:
            self.driver.close()
            self._scratch.close()

    async def _made(self, options: Mapping[str, Any]) -> tuple[BrowserContext, Page]:
        context = await self._browser.new_context(**options)
        return context, await context.new_page()

    async def _browsers_pid(self) -> int:
        cdp = await self._browser.new_browser_cdp_session()
        answer = await cdp.send("SystemInfo.getProcessInfo")
        await cdp.detach()
        return next(int(p["id"]) for p in answer["processInfo"] if p["type"] == "browser")


async def _discarded(making: Future[tuple[BrowserContext, Page]]) -> None:
    context, _ = await asyncio.wrap_future(making)
    await context.close()


def _surroundings(home: Path) -> dict[str, str | float | bool]:
    """The browser's environment: the same in every shell, without the user's secrets."""
    return {
        "PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "TZ": "UTC",
        "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "TMPDIR": str(home),
    }  # fmt: skip
