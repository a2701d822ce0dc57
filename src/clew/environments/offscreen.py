"""How MuJoCo's frames are drawn here without a display, and on which machine.

Not MuJoCo's own `Renderer`: that one frees its GL context before the buffers that live in it, which
damages whatever context is current then (seen with two renderers under OSMesa).
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from clew.core import Refused

_MAX_GEOMS = 1000
_LIBRARIES = {"osmesa": "libOSMesa.so.8", "egl": "libEGL.so.1"}


def choose_gl() -> str:
    """The GL back end of this process, chosen before MuJoCo is imported from what is there.

    A `MUJOCO_GL` that the user has set stays. On macOS, MuJoCo's own default serves.
    """
    if sys.platform.startswith("linux"):
        found = (name for name, library in _LIBRARIES.items() if _loads(library))
        os.environ.setdefault("MUJOCO_GL", next(found, "disable"))
    return os.environ.get("MUJOCO_GL", "default")


@lru_cache(maxsize=1)
def renderer() -> str:
    """The GL renderer and version, which may move a pixel; the back end's name where unknown."""
    chosen = choose_gl()
    if chosen not in _LIBRARIES:
        return chosen
    import mujoco

    try:
        context = mujoco.GLContext(16, 16)
    except (AttributeError, ImportError, RuntimeError) as error:
        return f"{chosen}: off ({type(error).__name__})"
    context.make_current()
    from OpenGL import GL  # type: ignore[import-untyped]

    names = [GL.glGetString(name) or b"" for name in (GL.GL_RENDERER, GL.GL_VERSION)]
    context.free()
    return ", ".join([chosen, *(name.decode() for name in names)])


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def machine() -> dict[str, str]:
    """What of this machine may move a bit of a state or a pixel: facts for a fingerprint."""
    return {"gl": renderer(), "libc": "-".join(platform.libc_ver()), "cpu": _cpu()}


def _cpu() -> str:
    """Architecture and a digest of the CPU's features, which choose the code of maths libraries."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((line for line in file if line.startswith(("flags", "Features"))), "")
    except FileNotFoundError:
        flags = platform.processor()
    return f"{platform.machine()} {hashlib.sha256(flags.encode()).hexdigest()[:12]}"


class Drawing:
    """A GL context with a model's meshes and textures, a scene, and a fixed camera to aim.

    `buffer` is the size of what is drawn into, in pixels, at least that of a picture. Raises
    `Refused` where there is no GL; `what` begins that sentence.
    """

    def __init__(self, model: Any, buffer: Sequence[int], font_scale: str, what: str) -> None:
        import mujoco

        if not hasattr(mujoco, "GLContext"):
            raise _off(what, "no GL library was found when MuJoCo was imported")
        self._mujoco, self._model = mujoco, model
        model.vis.global_.offwidth, model.vis.global_.offheight = buffer
        self._gl = mujoco.GLContext(*buffer)
        self._gl.make_current()
        try:
            scale = getattr(mujoco.mjtFontScale, font_scale)
            self._context = mujoco.MjrContext(model, scale)
        except mujoco.FatalError as error:
            raise _off(what, str(error)) from None
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(model, _MAX_GEOMS)
        self._options = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED

    def close(self) -> None:
        self._gl.make_current()
        self._context.free()
        self._gl.free()

    def _pixels(self, data: Any, width: int, height: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The picture of `data`, uint8 RGB (height, width, 3), its lowest row first."""
        mujoco = self._mujoco
        self._gl.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self._model, data, self._options, None, self._camera, everything, self._scene
        )
        pixels = np.empty((height, width, 3), dtype=np.uint8)
        area = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(area, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, area, self._context)
        return pixels


def _off(what: str, why: str) -> Refused:
    return Refused(
        f"{what} off with MUJOCO_GL={os.environ.get('MUJOCO_GL', '')!r}: {why}; install a GL library "
        "(apt-get install -y libosmesa6 libegl1 libgl1), or do not ask for frames"
    )
