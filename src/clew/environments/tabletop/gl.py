"""Imports mujoco and renders off screen where GL can be had; says why frames are off if not.

It knows no task. It leaves a MUJOCO_GL that the user set as it was, and makes its own GL context,
so that it does not matter who imported mujoco first.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from clew.core import Refused

#: Headless backends in order of preference, and the library that each one loads.
_HEADLESS = {
    "osmesa": ("libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"),
    "egl": ("libEGL.so.1",),
}
_OFF = frozenset({"disable", "disabled", "off", "false", "0"})
APT = ("libosmesa6", "libegl1", "libgl1")
MAX_GEOMS = 200


def _loads(names: tuple[str, ...]) -> bool:
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


def _import_mujoco() -> Any:
    """The mujoco module, imported so that a broken GL library does not break the physics.

    mujoco picks a backend once, when it is first imported, and some versions cannot be imported
    at all when that backend's library does not load.
    """
    if "mujoco" in sys.modules or sys.platform != "linux":
        return import_module("mujoco")
    chosen = os.environ.get("MUJOCO_GL", "")
    if not chosen:
        usable = (name for name, libraries in _HEADLESS.items() if _loads(libraries))
        chosen = next(usable, "")
        if chosen:
            os.environ["MUJOCO_GL"] = chosen
    try:
        return import_module("mujoco")
    except (ImportError, AttributeError, OSError, RuntimeError):
        os.environ["MUJOCO_GL"] = "disable"
        try:
            return import_module("mujoco")
        finally:
            os.environ["MUJOCO_GL"] = chosen


mujoco: Any = _import_mujoco()


@lru_cache(maxsize=1)
def _backend() -> tuple[Any, str, str]:
    """(context class, GL renderer and version, "") of the first that works, or why none does."""
    chosen = os.environ.get("MUJOCO_GL", "").lower().strip()
    if chosen in _OFF:
        return None, "off", f"MUJOCO_GL is {chosen!r}"
    names = [chosen] if chosen in _HEADLESS else list(_HEADLESS) if not chosen else ["glfw"]
    if sys.platform == "darwin":
        names = ["cgl"]
    reasons = []
    for name in names:
        # A GL stack breaks in many ways, each with an error type of its own; all mean the same.
        try:
            context_of = import_module(f"mujoco.{name}").GLContext
            return context_of, f"{name}: {_described(context_of)}", ""
        except Exception as error:  # noqa: BLE001
            line = (str(error).splitlines() or [""])[0]
            reasons.append(f"{name} does not work ({type(error).__name__}: {line})")
    return None, "off", ", ".join(reasons)


def _described(context_of: Any) -> str:
    context = context_of(16, 16)
    try:
        context.make_current()
        opengl = import_module("OpenGL.GL")
        words = [opengl.glGetString(name) for name in (opengl.GL_RENDERER, opengl.GL_VERSION)]
    finally:
        context.free()
    if not all(words):
        raise RuntimeError("no GL context could be made")
    return ", ".join(word.decode() for word in words)


def frames_available() -> bool:
    """True when this process can render frames."""
    return _backend()[0] is not None


def renderer() -> str:
    """The backend, GL renderer and version, or `off`."""
    return _backend()[1]


def frames_off() -> str:
    """Why frames are off and what turns them on, as one sentence; empty when they are on."""
    why = _backend()[2]
    if not why:
        return ""
    return (
        f"frames are off: {why}; for frames install GL (apt-get install -y {' '.join(APT)}) and "
        "leave MUJOCO_GL unset, or ask for the channel 'vector' only"
    )


class Renderer:
    """Renders one model at one size, without shadows and reflections.

    Raises `Refused` where frames are off.
    """

    def __init__(self, model: Any, width: int, height: int) -> None:
        context_of = _backend()[0]
        if context_of is None:
            raise Refused(frames_off())
        self._model = model
        self._size = (width, height)
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._option, self._camera = mujoco.MjvOption(), mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._scene = mujoco.MjvScene(model, MAX_GEOMS)
        for flag in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self._scene.flags[flag] = 0
        self._window = context_of(width, height)
        self._window.make_current()
        # The off-screen buffer as small as the frame: a software renderer clears all of it.
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)

    def render(self, data: Any, camera: int) -> Any:
        """A frame of `data`, whose poses are up to date; uint8 (height, width, 3), RGB."""
        width, height = self._size
        self._camera.fixedcamid = camera
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self._model, data, self._option, None, self._camera, everything, self._scene
        )
        self._window.make_current()
        upside_down = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_render(self._rect, self._scene, self._context)
        mujoco.mjr_readPixels(upside_down, None, self._rect, self._context)
        return np.ascontiguousarray(upside_down[::-1])

    def close(self) -> None:
        """Free the context; closing twice does nothing."""
        if self._window is not None:
            self._window.make_current()
            self._context.free()
            self._window.free()
            self._window = None
