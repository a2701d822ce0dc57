"""Pictures of a robosuite world as robosuite 1.4 draws them, without its render context.

That one belongs to a simulation and draws whatever its data holds now; this one draws any data.
The settings are robosuite's (collision shapes hidden, an offscreen buffer of at least 640×480 of
which the lower left corner is used), so that every byte is that of LIBERO's own picture.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from clew.core import Refused

#: LIBERO's camera of each channel.
CAMERAS = {"frame": "agentview", "wrist": "robot0_eye_in_hand"}
#: robosuite's smallest offscreen buffer and its largest scene.
_BUFFER = (640, 480)
_MAX_GEOMS = 1000


def _off(why: str) -> Refused:
    return Refused(
        f"frames are off with MUJOCO_GL={os.environ.get('MUJOCO_GL', '')!r}: {why}; install a GL "
        "library (apt-get install -y libosmesa6 libegl1 libgl1), or do not ask for frames"
    )


class Canvas:
    """A GL context with a model's meshes and textures, and a scene."""

    def __init__(self, model: Any, width: int, height: int) -> None:
        import mujoco

        if not hasattr(mujoco, "GLContext"):
            raise _off("no GL library was found when MuJoCo was imported")
        self._mujoco, self._model = mujoco, model
        self.size = (width, height)
        buffer = [max(pair) for pair in zip(self.size, _BUFFER)]
        model.vis.global_.offwidth, model.vis.global_.offheight = buffer
        self._gl = mujoco.GLContext(*buffer)
        self._gl.make_current()
        try:
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except mujoco.FatalError as error:
            raise _off(str(error)) from None
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(model, maxgeom=_MAX_GEOMS)
        self._options = mujoco.MjvOption()
        self._options.geomgroup[0] = 0
        self._options.geomgroup[1] = 1
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED

    def frame(self, data: Any, camera: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """What `camera` sees, upright: uint8 RGB of shape (height, width, 3)."""
        mujoco, (width, height) = self._mujoco, self.size
        self._gl.make_current()
        self._camera.fixedcamid = self._model.camera(camera).id
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self._model, data, self._options, None, self._camera, everything, self._scene
        )
        pixels = np.empty((height, width, 3), dtype=np.uint8)
        area = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(area, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, area, self._context)
        return np.ascontiguousarray(pixels[::-1])

    def close(self) -> None:
        self._gl.make_current()
        self._context.free()
        self._gl.free()
