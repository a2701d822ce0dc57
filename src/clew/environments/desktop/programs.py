"""The programs of this machine that sessions are made of: which are here. It starts no session.

It imports nothing heavy, so that `clew doctor` can ask.
"""

from __future__ import annotations

import functools
import glob
import shutil
from collections.abc import Mapping

from clew.environments.desktop.applications import applications
from clew.environments.desktop.sandbox import confinement

#: Where a session finds its programs.
PATH = "/usr/bin:/bin:/usr/games"
#: Programs that every session needs → Debian's package of each.
_PROGRAMS: Mapping[str, str] = {"Xvfb": "xvfb", "openbox": "openbox", "dbus-daemon": "dbus"}


def lacking() -> list[str]:
    """Debian's packages of the programs that every session needs and that are not here."""
    return [package for program, package in _PROGRAMS.items() if shutil.which(program) is None]


def look() -> tuple[str, str]:
    """For `clew doctor`: what must be installed, and how sessions are here."""
    if needed := lacking():
        return f"an administrator can run: apt-get install {' '.join(needed)}", ""
    confined = confinement()
    how = (
        "not confined" + confined.removeprefix("none") if confined.startswith("none") else confined
    )
    clock = "libfaketime" if faketime() else "real (faketime is not installed)"
    known = applications().values()
    absent = [each.name for each in known if shutil.which(each.command[0], path=PATH) is None]
    there = f"{len(known) - len(absent)} of {len(known)} applications"
    return "", f"sessions: {how}; wall clock: {clock}; {there}" + (
        f" (not installed: {', '.join(absent)})" if absent else ""
    )


@functools.lru_cache(maxsize=1)
def faketime() -> str:
    """The path of libfaketime for threaded programs, empty where it is not installed."""
    patterns = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib*/faketime/libfaketimeMT.so.1")
    return min((path for pattern in patterns for path in glob.glob(pattern)), default="")
