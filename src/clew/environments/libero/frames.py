"""Pictures of a robosuite world as robosuite 1.4 draws them, without its render context.

That one belongs to a simulation and draws whatever its data holds now; this one draws any data.
The settings are robosuite's (collision shapes hidden, an offscreen buffer of at least 640×480 of
which the lower left corner is used), so that every byte is that of LIBERO's own picture.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clew.environments.offscreen import Drawing

#: LIBERO's camera of each channel.
CAMERAS = {"frame": "agentview", "wrist": "robot0_eye_in_hand"}
#: robosuite's smallest offscreen buffer.
_BUFFER = (640, 480)


class Canvas(Drawing):
    """Pictures of one size of a model, by any of its cameras."""

    def __init__(self, model: Any, width: int, height: int) -> None:
        self.size = (width, height)
        buffer = [max(pair) for pair in zip(self.size, _BUFFER)]
        super().__init__(model, buffer, "mjFONTSCALE_150", "frames are")
        self._options.geomgroup[0] = 0
        self._options.geomgroup[1] = 1

    def frame(self, data: Any, camera: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """What `camera` sees, upright: uint8 RGB of shape (height, width, 3)."""
        self._camera.fixedcamid = self._model.camera(camera).id
        return np.ascontiguousarray(self._pixels(data, *self.size)[::-1])
