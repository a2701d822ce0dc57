"""What goes over the network: what is blocked, what is in flight, what was asked for. It acts not."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Error, Request, Route, WebSocketRoute

from clew.environments.web.origin import Origin

#: Requests that stay open for as long as a page likes: nothing waits for them.
ENDLESS = frozenset({"eventsource", "websocket", "media", "ping"})
PARSED_MS = 3_000
MAX_LISTED = 2_000
MAX_URL = 2_000


class Traffic:
    """The requests of one session. Off-origin ones are aborted, save to the `allowed` origins."""

    def __init__(self, origin: Origin, allowed: tuple[str, ...]) -> None:
        self._origin, self._allowed = origin, allowed
        self._in_flight: set[Request] = set()
        self._listed: dict[Request, dict[str, Any]] = {}
        self._sockets: list[dict[str, Any]] = []
        self.changes = 0
        self._turn = asyncio.Lock()

    async def attach(self, context: BrowserContext) -> None:
        """Listen to a context, and answer or block all that it asks for."""
        context.on("request", self._asked)
        context.on("response", lambda response: self._note(response.request, response.status))
        context.on("requestfinished", self._over)
        context.on("requestfailed", self._over)
        await context.route("**/*", self._answer)
        await context.route_web_socket(lambda _: True, self._socket)

    @property
    def in_flight(self) -> bool:
        """Whether an answer is still to come; requests of pages that are gone count no more."""
        for request in list(self._in_flight):
            if _gone(request):
                self._in_flight.discard(request)
        return bool(self._in_flight)

    def listed(self) -> list[dict[str, Any]]:
        """Requests in one order, whichever came first: method, url, status, blocked."""
        rows = [*self._listed.values(), *self._sockets]
        return sorted(rows, key=lambda r: (r["url"], r["method"], str(r["status"])))

    def blocked(self) -> list[str]:
        """The off-origin URLs that were asked for, each once."""
        return sorted({row["url"] for row in self.listed() if row["blocked"]})

    def allows(self, url: str) -> bool:
        """Whether a request may go out."""
        if self._origin.owns(url):
            return True
        parts = urlsplit(url)
        scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
        return f"{scheme}://{parts.netloc}" in (*self._allowed, self._origin.base)

    async def _answer(self, route: Route) -> None:
        if route.request.resource_type == "image":
            await _parsed(route.request)
        # One after the other: what a page does with its answers may depend on their order.
        async with self._turn:
            if self._origin.owns(route.request.url):
                await self._origin.answer(route)
            elif self.allows(route.request.url):
                await route.continue_()
            else:
                await route.abort("blockedbyclient")

    async def _socket(self, socket: WebSocketRoute) -> None:
        allowed = self.allows(socket.url)
        if len(self._sockets) < MAX_LISTED:
            self._sockets.append(self._row("WEBSOCKET", socket.url))
        if allowed:
            socket.connect_to_server()
        else:
            await socket.close(code=1008, reason="blocked")

    def _asked(self, request: Request) -> None:
        if urlsplit(request.url).scheme not in ("http", "https"):
            return
        self.changes += 1
        if request.resource_type not in ENDLESS:
            self._in_flight.add(request)
        if len(self._listed) < MAX_LISTED:
            self._listed[request] = self._row(request.method, request.url)

    def _over(self, request: Request) -> None:
        self.changes += 1
        self._in_flight.discard(request)

    def _note(self, request: Request, status: int) -> None:
        if request in self._listed:
            self._listed[request]["status"] = status

    def _row(self, method: str, url: str) -> dict[str, Any]:
        return {
            "method": method, "url": self._origin.shown(url)[:MAX_URL], "status": None,
            "blocked": not self.allows(url),
        }  # fmt: skip


async def _parsed(request: Request) -> None:
    """Wait until the document that asked is parsed.

    No document waits for its images, but its scripts may do one thing or another when one is there
    before they are: so images come last.
    """
    with contextlib.suppress(Error):  # the document is gone, or parses longer than that
        await request.frame.wait_for_load_state("domcontentloaded", timeout=PARSED_MS)


def _gone(request: Request) -> bool:
    """Whether the page that asked is closed."""
    try:
        return request.frame.is_detached() or request.frame.page.is_closed()
    except Error:  # a navigation whose page has not come yet
        return False
