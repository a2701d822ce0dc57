"""Says what can run here, and what to type for the rest. It looks; it imports nothing heavy.

Packages are looked up without importing them and own environments by their stamp, so the answer
is about what is installed, not about whether it works: `clew.testing` is for that. A plug-in that
needs programs too looks for them itself.
"""

from __future__ import annotations

import ctypes.util
import importlib
import os
import platform
import shutil
import sys
from collections.abc import Iterator

from clew.core.errors import Refused, nearest
from clew.environment_install import home, interpreter
from clew.registry import KINDS, Manifest, manifest, manifests, problems

#: Ways to draw frames without a screen: the libraries of each, and Debian's packages of them.
OFFSCREEN = {
    "egl": {"EGL": "libegl1", "GL": "libgl1"},
    "osmesa": {"OSMesa": "libosmesa6"},
}
#: What else `MUJOCO_GL` may be on Linux, as MuJoCo's `gl_context.py` and `tabletop` read it.
FRAMES_OFF = ("disable", "disabled", "off", "false", "0")
IN_A_WINDOW = ("glfw", "glx", "enable", "enabled", "on", "true", "1")
_PLURAL = {"environment": "environments", "policy": "policies"}


def lines() -> Iterator[str]:
    """The report: Python, disk and frames, then one line per environment and policy."""
    yield f"python   {platform.python_version()} at {sys.executable}"
    yield f"disk     {_disk()}"
    yield f"frames   {_frames()}"
    for kind in KINDS:
        found = manifests(kind)
        yield ""
        yield _PLURAL[kind] + ("" if found else ": none")
        for name, each in found.items():
            remedy, remark = remedy_of(each), ""
            if each.look and not remedy:
                remedy, remark = looked(each)
            state = "missing" if remedy else each.status
            yield f"  {name:<20} {state:<16} {remedy or each.summary}"
            if remark:
                yield f"{'':40}{remark}"
    for sentence in problems():
        yield f"\nleft out: {sentence}"


def remedy_of(found: Manifest) -> str:
    """What must be done before this plug-in can run; empty if nothing."""
    if found.environment:
        return remedy_of(manifest("environment", found.environment))
    if not found.own_environment:
        return found.install_command() if found.missing() else ""
    try:
        installed = interpreter(found.name)
    except Refused as error:
        return str(error)
    return "" if installed else found.install_command()


def looked(found: Manifest) -> tuple[str, str]:
    """What a plug-in that could be imported says of this machine; see `Manifest.look`."""
    module, _, name = found.look.partition(":")
    try:
        remedy, remark = getattr(importlib.import_module(module), name)()
    except Exception as error:  # noqa: BLE001 - another package's: the other lines are still wanted
        return f"its look at this machine failed: {type(error).__name__}: {error}", ""
    return str(remedy), str(remark)


def _disk() -> str:
    place = home()
    while not place.exists():
        place = place.parent
    return f"{shutil.disk_usage(place).free / 1e9:.0f} GB free for {home()}"


def _frames() -> str:
    if sys.platform != "linux":
        return "drawn by the system's own OpenGL"
    chosen = os.environ.get("MUJOCO_GL", "").lower().strip()
    if chosen:
        return _frames_by(chosen)
    able = [way for way in OFFSCREEN if not _lacking(way)]
    if able:
        return f"on, by {' or '.join(able)}"
    packages = " ".join(package for way in OFFSCREEN for package in _lacking(way))
    return f"off: no OpenGL library; an administrator can run: apt-get install {packages}"


def _frames_by(chosen: str) -> str:
    """What a `MUJOCO_GL` that the user has set leads to."""
    named = f"MUJOCO_GL is {chosen!r}"
    if chosen in FRAMES_OFF:
        return f"off: {named}; unset it to have them"
    if chosen in IN_A_WINDOW:
        screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        if screen:
            return f"on, by a window on the display {screen} ({named})"
        return f"off: {named}, which needs a display; unset it to draw without one"
    if chosen not in OFFSCREEN:
        return f"off: {named}, which MuJoCo does not know: unset it ({nearest(chosen, OFFSCREEN)})"
    if packages := _lacking(chosen):
        run = f"an administrator can run: apt-get install {' '.join(packages)}"
        return f"off: {named}, whose library is not here; unset it, or {run}"
    return f"on, by {chosen} ({named})"


def _lacking(way: str) -> list[str]:
    """Debian's packages of the libraries that a way of drawing needs and that are not here."""
    return [
        package
        for library, package in OFFSCREEN[way].items()
        if not ctypes.util.find_library(library)
    ]
