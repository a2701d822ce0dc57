"""Pictures of a MuJoCo world without a display. Not MuJoCo's own `Renderer`.

That one frees its GL context before the buffers that live in it, which damages whatever context
is current then (seen with two renderers under OSMesa). Fixed settings, part of what a frame is:
no shadows, no reflections, no multisampling (12 ms a 128 px frame instead of 111 ms).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from clew.core import Refused

#: Meta-World's cameras; True where the camera hangs upside down and the picture is turned by 180°.
CAMERAS = {
    "topview": False, "corner": True, "corner2": True, "corner3": True, "corner4": True,
    "behindGripper": False, "gripperPOV": False,
}  # fmt: skip
_MAX_GEOMS = 1000


def _off(why: str) -> Refused:
    return Refused(
        f"channel 'frame' is off with MUJOCO_GL={os.environ.get('MUJOCO_GL', '')!r}: {why}; install "
        "a GL library (apt-get install -y libosmesa6 libegl1), or do not ask for frames"
    )


class Camera:
    """One offscreen view of a model: a GL context, its buffers and a scene."""

    def __init__(self, model: Any, name: str, width: int, height: int) -> None:
        import mujoco

        if not hasattr(mujoco, "GLContext"):
            raise _off("no GL library was found when MuJoCo was imported")
        self._mujoco, self._model = mujoco, model
        self.view = (name, width, height)
        self._turned = CAMERAS[name]
        visual = model.vis
        visual.global_.offwidth, visual.global_.offheight = width, height
        visual.quality.offsamples = 0
        self._gl = mujoco.GLContext(width, height)
        self._gl.make_current()
        try:
            self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        except mujoco.FatalError as error:
            raise _off(str(error)) from None
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._scene = mujoco.MjvScene(model, _MAX_GEOMS)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = 0
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0
        self._options = mujoco.MjvOption()
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._camera.fixedcamid = model.camera(name).id

    def frame(self, data: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """What the camera sees: uint8 RGB of shape (height, width, 3); changes nothing in `data`."""
        mujoco, (_, width, height) = self._mujoco, self.view
        self._gl.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self._model, data, self._options, None, self._camera, everything, self._scene
        )
        pixels = np.empty((height, width, 3), dtype=np.uint8)
        area = mujoco.MjrRect(0, 0, width, height)
        mujoco.mjr_render(area, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, area, self._context)
        upright = pixels[:, ::-1] if self._turned else pixels[::-1]
        return np.ascontiguousarray(upright)

    def close(self) -> None:
        self._gl.make_current()
        self._context.free()
        self._gl.free()
