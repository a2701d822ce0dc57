"""How MuJoCo's frames are drawn here without a display, and on which processor. It draws none."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
from functools import lru_cache

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


def cpu() -> str:
    """Architecture and a digest of the CPU's features, which choose the code of maths libraries."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((line for line in file if line.startswith(("flags", "Features"))), "")
    except FileNotFoundError:
        flags = platform.processor()
    return f"{platform.machine()} {hashlib.sha256(flags.encode()).hexdigest()[:12]}"
