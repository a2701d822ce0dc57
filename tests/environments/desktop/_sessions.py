"""What the tests of desktop sessions share: opening one, and why they cannot run here."""

import shutil

import pytest

from clew.core import digest

pytest.importorskip("Xlib", reason="desktop sessions need python-xlib: pip install 'clew[desktop]'")
for _program in ("Xvfb", "openbox", "dbus-daemon", "xterm", "mousepad"):
    if shutil.which(_program) is None:
        pytest.skip(f"desktop sessions need {_program}", allow_module_level=True)

# ruff: noqa: E402 - they need what was looked for above
from clew.environments.desktop.options import options_of
from clew.environments.desktop.session import DesktopSession
from clew.environments.desktop.tasks import Task

FRAME = frozenset({"frame"})
#: A small screen, and less patience than sessions have by default: these applications answer at once.
SMALL = {
    "screen": "1024x768",
    "settle": {"rule": "quiet", "quiet_ms": 60, "cap_ms": 5_000},
}


def session(application="", arguments=(), files=None, **options):
    """A session of one application (none: an empty desktop), without a task's checks."""
    task = Task("test", application, "", 1, (), tuple(arguments), files or {})
    return DesktopSession(task, options_of({**SMALL, **options}))


def frame_digest(seen):
    return digest(seen["frame"].tobytes())
