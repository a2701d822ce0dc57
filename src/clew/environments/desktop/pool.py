"""The next session, made ready in the background before it is asked for. At most `size` wait."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from clew.core import Key
from clew.environments.desktop.session import DesktopSession

Make = Callable[[], DesktopSession]


class Pool:
    """Pristine sessions by the key of their start. Size 0 keeps none and starts no thread."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._ready: dict[Key, list[Future[DesktopSession]]] = {}
        self._worker: ThreadPoolExecutor | None = None

    def take(self, key: Key) -> DesktopSession | None:
        """A session of that start, still untouched; waits for one in the making.

        None where none was prepared, or it failed: then the caller makes its own, and meets
        whatever is wrong itself.
        """
        waiting = self._ready.get(key, [])
        while waiting:
            made = waiting.pop(0)
            if made.exception() is None:
                session = made.result()
                if session.pristine():
                    return session
                session.close()
        return None

    def prepare(self, key: Key, make: Make) -> None:
        """Have a session of that start ready, in place of the oldest of another one."""
        if self._size < 1 or len(self._ready.get(key, [])) >= self._size:
            return
        if sum(map(len, self._ready.values())) >= self._size:
            self._drop(next(each for each in self._ready if self._ready[each]))
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "clew-desktop-warm")
        # The last key in the dictionary is the one that was asked for last.
        waiting = self._ready.pop(key, [])
        self._ready[key] = [*waiting, self._worker.submit(make)]

    def wait(self) -> None:
        """Wait until what is in the making is ready, or has failed."""
        for waiting in self._ready.values():
            for made in waiting:
                made.exception()

    def close(self) -> None:
        """End what nobody took; the pool can be used again afterwards."""
        for key in list(self._ready):
            while self._ready[key]:
                self._drop(key)
        if self._worker is not None:
            self._worker.shutdown()
            self._worker = None

    def _drop(self, key: Key) -> None:
        made = self._ready[key].pop(0)
        if not made.cancel() and made.exception() is None:
            made.result().close()
