"""Which Chromium, started how, and what of it may move a state. It starts none.

Nothing here imports Playwright, so `clew doctor` can ask.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from clew.core import Refused

#: Names on PATH, the first that is there is taken.
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
#: What makes frames equal to the byte over processes, machines of one fingerprint, and load.
FLAGS = (
    "--font-render-hinting=none", "--disable-lcd-text", "--force-color-profile=srgb",
    "--hide-scrollbars", "--disable-gpu", "--blink-settings=imageAnimationPolicy=2",
    # One renderer for a page and its frames: one tree, one input queue, a page in half the time.
    "--disable-site-isolation-trials", "--disable-features=IsolateOrigins,site-per-process",
    # The only way out that neither the routes nor the proxy of a context see.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)  # fmt: skip


def chromium_path() -> Path | None:
    """`$CLEW_CHROMIUM`, else a Chromium on PATH, else the newest of Playwright's own; else None."""
    named = os.environ.get("CLEW_CHROMIUM")
    if named:
        return Path(named) if os.access(named, os.X_OK) else None
    for name in NAMES:
        if found := shutil.which(name):
            return Path(found)
    return _playwrights_own()


def required_chromium() -> Path:
    """As `chromium_path`; raises `Refused` with what to install."""
    found = chromium_path()
    if found is None:
        named = os.environ.get("CLEW_CHROMIUM")
        what = f"CLEW_CHROMIUM names {named!r}, which cannot be run" if named else "there is none"
        raise Refused(
            f"environment 'web' needs Chromium, and {what}; run: apt-get install chromium, or: "
            "playwright install chromium"
        )
    return found


def look() -> tuple[str, str]:
    """For `clew doctor`: what must be installed, and which Chromium is found."""
    try:
        return "", f"Chromium: {required_chromium()}"
    except Refused as error:
        return str(error), ""


def _playwrights_own() -> Path | None:
    folder = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if folder and folder != "0":
        top = Path(folder)
    elif sys.platform == "darwin":
        top = Path.home() / "Library" / "Caches" / "ms-playwright"
    else:
        top = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ms-playwright"
    binaries = [*top.glob("chromium-*/chrome-linux*/chrome")]
    binaries += top.glob("chromium-*/chrome-mac*/*.app/Contents/MacOS/*")
    return max(binaries, key=_revision, default=None)


def _revision(binary: Path) -> int:
    for part in binary.parts:
        if part.startswith("chromium-") and part[9:].isdigit():
            return int(part[9:])
    return 0


@lru_cache(maxsize=1)
def fonts() -> str:
    """A digest of the fonts that fontconfig finds (`unlisted` without fontconfig)."""
    lister = shutil.which("fc-list")
    if lister is None:
        return "unlisted"
    listed = subprocess.run(
        [lister, "--format=%{file|basename} %{fontversion}\n"],
        capture_output=True, check=False, timeout=30,
    )  # fmt: skip
    names = sorted(set(listed.stdout.splitlines()))
    return f"{len(names)} files " + hashlib.sha256(b"\n".join(names)).hexdigest()[:16]
