"""What is privileged about a session: for matchers and oracles, never for policies. It changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from playwright.async_api import Error, Page

from clew.environments.gui import Node
from clew.environments.web.tree import Tree
from clew.environments.web.world import Held, World

_STORAGE = "(() => ({local: {...localStorage}, session: {...sessionStorage}}))()"
_SELECTED = """([selector, attribute]) => [...document.querySelectorAll(selector)].map((e) =>
  attribute ? e.getAttribute(attribute) : e.value !== undefined && e.matches(
  'input,textarea,select') ? e.value : e.innerText)"""


def probe(world: World) -> dict[str, Any]:
    """What lies behind the page, as plain data in a fixed order.

    `storage`: origin → local and session (None while a dialog holds the page); `cookies`;
    `downloads`: name and SHA-256; `console`: errors; `requests`: method, url, status, blocked;
    `blocked`: off-origin URLs; `dialogs`: those answered; `pages`: their URLs, the front one last.
    """
    cookies = world.browser.driver.do(world.context.cookies(), 20.0)
    return {
        "storage": storage(world),
        "cookies": sorted(
            ({k: c.get(k, "") for k in ("name", "value", "domain", "path")} for c in cookies),
            key=lambda c: (c["domain"], c["path"], c["name"]),
        ),
        "downloads": [{"name": d["name"], "sha256": d["sha256"]} for d in world.downloads],
        "console": list(world.console),
        "requests": world.traffic.listed(),
        "blocked": world.traffic.blocked(),
        "dialogs": list(world.answered),
        "pages": [world.origin.shown(page.url) for page in world.pages],
    }


def storage(world: World) -> dict[str, Any] | None:
    """Local and session storage of the origins of the open pages."""
    if world.dialog is not None:
        return None
    found: dict[str, Any] = {}
    for page in list(world.pages):
        if not page.url.startswith(("http://", "https://")):
            continue
        origin = "/".join(world.origin.shown(page.url).split("/", 3)[:3])
        held = _read(world, page, _STORAGE)
        if held is not None:
            found[origin] = held
    return found


class Reader:
    """What oracles may read; each thing is read once."""

    def __init__(self, world: World, tree: Callable[[], Tree]) -> None:
        self._world, self._read_tree = world, tree
        self._tree: Tree | None = None

    def nodes(self) -> tuple[Node, ...]:
        if self._tree is None:
            self._tree = self._read_tree()
        return self._tree.nodes

    def url(self) -> str:
        return self._world.origin.shown(self._world.page.url)

    def title(self) -> str:
        return str(_read(self._world, self._world.page, "document.title") or "")

    def stored(self, area: str, key: str) -> str | None:
        """An item of `local` or `session` storage, or a cookie's value."""
        if area == "cookie":
            cookies = self._world.browser.driver.do(self._world.context.cookies(), 20.0)
            return next((str(c["value"]) for c in cookies if c["name"] == key), None)
        for areas in (storage(self._world) or {}).values():
            if key in areas[area]:
                return str(areas[area][key])
        return None

    def selected(self, selector: str, attribute: str) -> list[str]:
        """Values, texts or an attribute of the elements that a CSS selector finds, in order."""
        found = _read(self._world, self._world.page, _SELECTED, [selector, attribute])
        return [str(text) for text in found or () if text is not None]

    def downloaded(self, name: str) -> bytes | None:
        """The newest download of a name."""
        for download in reversed(self._world.downloads):
            if download["name"] == name:
                return Path(download["path"]).read_bytes()
        return None

    def console(self) -> list[str]:
        """All that the pages wrote to the console, errors and the rest."""
        return list(self._world.said)

    def dialogs(self) -> list[Mapping[str, str]]:
        return list(self._world.answered)


def _read(world: World, page: Page, script: str, argument: Any = None) -> Any:
    """The value of a script that only reads; None where a page is held or has no storage."""
    if world.dialog is not None:
        return None
    try:
        return world.do(page.evaluate(script, argument))
    except Held:
        return None
    except Error:
        if not world.browser.alive:
            raise
        return None  # an error page, or one that may not use storage
