"""What a page is at: frames that load, requests in flight, frames drawn. It only counts.

The counts come from the page's own protocol session, in the order in which things happened there:
after a frame of the page (`next_frame`) whatever an act set off is known. Events that come another
way may be late on a loaded machine, and a settling that misses them is not repeatable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any

from playwright.async_api import Error

Event = Mapping[str, Any]
#: Requests that stay open for as long as a page likes: nothing waits for them.
ENDLESS = frozenset({"EventSource", "WebSocket", "Media", "Ping"})
#: For a world of its own, where the clock is not the page's: the next frame that is really drawn.
_NEXT_FRAME = "new Promise((done) => requestAnimationFrame(() => done()))"
#: A picture too small to look at: that it comes at all is what tells of a change.
SCREENCAST = {"format": "jpeg", "quality": 1, "maxWidth": 16, "maxHeight": 16}


class Activity:
    """Of one page, from when its protocol session `cdp` is watched."""

    def __init__(self, cdp: Any) -> None:
        self.cdp = cdp
        self.changes = 0
        self.opening = 0
        self._loading: set[str] = set()
        self._requests: dict[str, str] = {}

    @property
    def busy(self) -> bool:
        """Whether something is on its way that will change the page."""
        return bool(self._loading or self._requests or self.opening > 0)

    async def watch(self) -> Activity:
        """Begin to count."""
        cdp = self.cdp
        cdp.on("Page.screencastFrame", self._drew)
        cdp.on("Page.windowOpen", self._will_open)
        cdp.on("Page.frameStartedLoading", self._started)
        cdp.on("Page.frameStoppedLoading", self._stopped)
        cdp.on("Page.frameDetached", self._stopped)
        cdp.on("Page.frameNavigated", self._navigated)
        cdp.on("Network.requestWillBeSent", self._asked)
        cdp.on("Network.loadingFinished", self._answered)
        cdp.on("Network.loadingFailed", self._answered)
        await asyncio.gather(
            *(cdp.send(f"{domain}.enable") for domain in ("Page", "DOM", "Network")),
            cdp.send("Page.startScreencast", SCREENCAST),
        )
        return self

    async def next_frame(self) -> None:
        """Wait for the page's next frame: pointer moves are delivered and observers run with it."""
        send = self.cdp.send
        try:
            top = (await send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
            world = {"frameId": top, "worldName": "frames"}
            context = (await send("Page.createIsolatedWorld", world))["executionContextId"]
            wait = {"expression": _NEXT_FRAME, "contextId": context, "awaitPromise": True}
            await send("Runtime.evaluate", wait)
        except Error:  # the document was replaced meanwhile: a round trip is all there is
            await send("Runtime.getIsolateId")

    def _drew(self, event: Event) -> None:
        self.changes += 1
        forget(self.cdp.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]}))

    def _will_open(self, _: Event) -> None:
        self.opening += 1

    def _started(self, event: Event) -> None:
        self.changes += 1
        self._loading.add(event["frameId"])

    def _stopped(self, event: Event) -> None:
        self.changes += 1
        self._loading.discard(event["frameId"])

    def _navigated(self, event: Event) -> None:
        """A new document in front: what its predecessor had asked for is over."""
        frame = event["frame"]
        if "parentId" not in frame:
            loader = frame["loaderId"]
            self._requests = {r: of for r, of in self._requests.items() if of == loader}

    def _asked(self, event: Event) -> None:
        if event.get("type") not in ENDLESS:
            self.changes += 1
            self._requests[event["requestId"]] = event.get("loaderId", "")

    def _answered(self, event: Event) -> None:
        self.changes += 1
        self._requests.pop(event["requestId"], None)


def forget(work: Awaitable[Any]) -> None:
    """Run something in this loop whose failure means only that its page is gone."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
