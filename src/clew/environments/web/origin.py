"""Where the application under test lives, and what of the network belongs to it.

A folder is answered from memory of this process, without a port; a command serves on loopback; a
URL is somebody else's. Everything that does not belong is blocked, see `traffic`.
"""

from __future__ import annotations

import contextlib
import mimetypes
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from playwright.async_api import Route

from clew.environments.web.applications import Application

#: A secure origin that no name server knows (RFC 6761).
FOLDER_BASE = "https://app.test"
COMMAND_BASE = "http://app.localhost"
READY_S = 60.0
#: Types that a browser insists on; the system's own table would differ between machines.
TYPES: Mapping[str, str] = {
    ".css": "text/css", ".htm": "text/html", ".html": "text/html", ".js": "text/javascript",
    ".json": "application/json", ".map": "application/json", ".mjs": "text/javascript",
    ".png": "image/png", ".svg": "image/svg+xml", ".ttf": "font/ttf", ".txt": "text/plain",
    ".wasm": "application/wasm", ".webp": "image/webp", ".woff": "font/woff",
    ".woff2": "font/woff2", ".xml": "application/xml", ".ico": "image/x-icon",
}  # fmt: skip


class Origin(Protocol):
    """The application while it runs. `start` is where a session begins."""

    base: str
    start: str

    def owns(self, url: str) -> bool:
        """Whether a URL is the application's."""
        ...

    def shown(self, url: str) -> str:
        """A URL as it is recorded: equal in every session."""
        ...

    async def answer(self, route: Route) -> None:
        """Answer one of its own requests."""
        ...

    def bypass(self) -> str:
        """Hosts that the context's proxy, which leads nowhere, does not stop."""
        ...

    def close(self) -> None: ...


def origin_of(application: Application, scratch: Path) -> Origin:
    """The application, running; `scratch` is a folder of the session's own."""
    if application.command:
        return CommandOrigin(application, scratch)
    if application.url:
        return UrlOrigin(application)
    return FolderOrigin(application)


class FolderOrigin:
    """Static files, answered without a server."""

    def __init__(self, application: Application) -> None:
        assert application.folder is not None
        self._folder = application.folder.resolve()
        self.base = FOLDER_BASE
        self.start = f"{FOLDER_BASE}/{application.start}"

    def owns(self, url: str) -> bool:
        return url.startswith(FOLDER_BASE + "/")

    def shown(self, url: str) -> str:
        return url

    async def answer(self, route: Route) -> None:
        file = self._file(unquote(urlsplit(route.request.url).path))
        if file is None:
            await route.fulfill(status=404, content_type="text/plain", body="not found")
            return
        kind = TYPES.get(file.suffix.lower()) or mimetypes.types_map.get(
            file.suffix.lower(), "application/octet-stream"
        )
        if kind.startswith("text/"):
            kind += "; charset=utf-8"
        await route.fulfill(status=200, content_type=kind, body=file.read_bytes())

    def bypass(self) -> str:
        return "<-loopback>"

    def close(self) -> None:
        pass

    def _file(self, path: str) -> Path | None:
        """The file of a path; None for what is not there or not inside."""
        if "\0" in path:
            return None
        file = (self._folder / path.lstrip("/")).resolve()
        if file.is_dir():
            file = file / "index.html"
        inside = file.is_relative_to(self._folder)
        return file if inside and file.is_file() else None


class UrlOrigin:
    """An application that runs elsewhere: its own host is let through."""

    def __init__(self, application: Application) -> None:
        parts = urlsplit(application.url)
        self.base = f"{parts.scheme}://{parts.netloc}"
        self.start = application.url
        self._host = parts.hostname or ""

    def owns(self, url: str) -> bool:
        return _of(url, self.base)

    def shown(self, url: str) -> str:
        return url

    async def answer(self, route: Route) -> None:
        await route.continue_()

    def bypass(self) -> str:
        return f"<-loopback>;{self._host}"

    def close(self) -> None:
        pass


class CommandOrigin:
    """A command that serves on a loopback port, in a copy of its folder, ended with the session.

    Raises `RuntimeError` with the end of its log if it does not become ready.
    """

    def __init__(self, application: Application, scratch: Path) -> None:
        port = application.port or _free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.start = f"{self.base}/{application.start}"
        work = scratch / "application"
        if application.folder is not None:
            shutil.copytree(application.folder, work)
        else:
            work.mkdir()
        self._log = scratch / "application.log"
        words = [word.replace("{port}", str(port)) for word in application.command]
        surroundings = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(work), "PORT": str(port),
            "LC_ALL": "C.UTF-8", "TZ": "UTC",
        }  # fmt: skip
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                words, cwd=work, env=surroundings, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        try:
            self._wait_until_ready(f"{self.base}/{application.ready.lstrip('/')}")
        except BaseException:
            self.close()
            raise

    def owns(self, url: str) -> bool:
        return _of(url, self.base)

    def shown(self, url: str) -> str:
        return COMMAND_BASE + url[len(self.base) :] if _of(url, self.base) else url

    async def answer(self, route: Route) -> None:
        await route.continue_()

    def bypass(self) -> str:
        return f"<-loopback>;{self.base.removeprefix('http://')}"

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _wait_until_ready(self, url: str) -> None:
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        until = time.monotonic() + READY_S
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with direct.open(url, timeout=2):
                    return
            except urllib.error.HTTPError:
                return  # it answers
            except OSError:
                time.sleep(0.02)
        ended = self._process.poll()
        what = "did not answer" if ended is None else f"ended with code {ended}"
        tail = self._log.read_text("utf-8", "replace")[-400:].strip().replace("\n", " | ")
        raise RuntimeError(f"the application {what} before it was ready; its log ends: {tail}")


def _of(url: str, base: str) -> bool:
    return url == base or url.startswith(base + "/")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
