"""The facts of this machine that may move what a desktop shows. It starts no session."""

from __future__ import annotations

import functools
import platform
import shutil
import subprocess
from collections.abc import Mapping

from clew.core import digest
from clew.environments.desktop.applications import applications
from clew.environments.desktop.programs import faketime
from clew.environments.desktop.sandbox import confinement

_PACKAGES = (
    "xvfb", "openbox", "libgtk-3-0", "libgtk-4-1", "libcairo2", "libpango-1.0-0", "libfreetype6",
    "libpixman-1-0", "at-spi2-core", "adwaita-icon-theme",
)  # fmt: skip


@functools.lru_cache(maxsize=1)
def facts() -> Mapping[str, str]:
    """Package versions as Debian's `dpkg-query` tells them (`-`: not installed, or no Debian), a
    digest of the fonts, the confinement and the machine."""
    wanted = dict.fromkeys(_PACKAGES)
    for each in applications().values():
        wanted.update(dict.fromkeys(each.packages))
    found = _versions(tuple(wanted))
    return {
        **{name: found.get(name, "-") for name in wanted},
        "fonts": _fonts(), "confinement": confinement(), "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()).strip() or platform.system(),
        "wall clock": "libfaketime" if faketime() else "real",
        "renderer": "Xvfb framebuffer, cairo",
    }  # fmt: skip


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    if shutil.which("dpkg-query") is None:
        return {}
    # The status is 1 as soon as one of the packages is not installed.
    told = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Version}\\n", *packages],
        capture_output=True, text=True,
    )  # fmt: skip
    rows = (line.split(" ") for line in told.stdout.splitlines())
    return {row[0]: row[1] for row in rows if len(row) == 2 and row[1]}


def _fonts() -> str:
    """A digest of the files, families and versions of the system's fonts."""
    if shutil.which("fc-list") is None:
        return "unknown: fontconfig is not installed"
    pattern = "%{file|basename} %{family} %{style} %{fontversion}\n"
    told = subprocess.run(["fc-list", "-f", pattern], capture_output=True, text=True)
    return digest("".join(sorted(told.stdout.splitlines(True))).encode())[:16]
