"""Pictures of a Meta-World world.

Fixed settings, part of what a frame is: no shadows, no reflections, no multisampling (12 ms a
128 px frame instead of 111 ms).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.environments.offscreen import Drawing

#: Meta-World's cameras; True where the camera hangs upside down and the picture is turned by 180°.
CAMERAS = {
    "topview": False, "corner": True, "corner2": True, "corner3": True, "corner4": True,
    "behindGripper": False, "gripperPOV": False,
}  # fmt: skip


class Camera(Drawing):
    """One offscreen view of a model."""

    def __init__(self, model: Any, name: str, width: int, height: int) -> None:
        self.view = (name, width, height)
        self._turned = CAMERAS[name]
        model.vis.quality.offsamples = 0
        super().__init__(model, (width, height), "mjFONTSCALE_100", "channel 'frame' is")
        for flag in ("mjRND_SHADOW", "mjRND_REFLECTION"):
            self._scene.flags[getattr(self._mujoco.mjtRndFlag, flag)] = 0
        self._camera.fixedcamid = model.camera(name).id

    def frame(self, data: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """What the camera sees: uint8 RGB of shape (height, width, 3); changes nothing in `data`."""
        pixels = self._pixels(data, *self.view[1:])
        upright = pixels[:, ::-1] if self._turned else pixels[::-1]
        return np.ascontiguousarray(upright)
