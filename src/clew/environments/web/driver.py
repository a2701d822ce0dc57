"""Playwright in an event loop of its own thread, asked synchronously. It knows no pages.

Its own thread and not Playwright's synchronous interface, for three reasons: an act that opens a
dialog does not return before the dialog is answered, so it must be left running; every wait needs
a deadline; and the synchronous interface cannot be used twice in a thread, nor where an event
loop runs already.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TypeVar

from playwright.async_api import Playwright, async_playwright

T = TypeVar("T")
START_S = 60.0


class Driver:
    """One Playwright. Free it with `close`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="web", daemon=True)
        self._thread.start()
        self.playwright: Playwright = self.do(async_playwright().start(), START_S)

    def begin(self, work: Awaitable[T]) -> Future[T]:
        """Start something and leave it running; whoever wants its result waits for the future."""
        return asyncio.run_coroutine_threadsafe(_as_coroutine(work), self._loop)

    def do(self, work: Awaitable[T], within_s: float) -> T:
        """Do something and wait for it. Raises `TimeoutError` after `within_s` seconds."""
        future = self.begin(work)
        try:
            return future.result(within_s)
        except FutureTimeout:  # the built-in class from Python 3.11 on only
            if future.done():
                raise
            future.cancel()
            raise TimeoutError(f"no answer within {within_s:g} s") from None

    def close(self) -> None:
        """Stop Playwright and the thread."""
        if self._loop.is_closed():
            return
        try:
            self.do(self.playwright.stop(), START_S)
            self.do(_ended_tasks(), START_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(START_S)
            self._loop.close()


async def _as_coroutine(work: Awaitable[T]) -> T:
    return await work


async def _ended_tasks() -> None:
    """Cancel what was left running: acts under a dialog, answers to pages that are gone."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
