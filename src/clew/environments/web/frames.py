"""From Chromium's PNG to a frame. It encodes nothing and looks at no page."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import numpy.typing as npt

cv2: Any
try:  # an accelerator: half the time of Pillow, which the extra brings
    import cv2
except ImportError:
    cv2 = None

Frame = npt.NDArray[np.uint8]
CAPTURE = {"format": "png", "optimizeForSpeed": True}


async def capture(cdp: Any) -> Frame:
    """What the page shows, uint8 (height, width, 3), RGB."""
    answer = await cdp.send("Page.captureScreenshot", CAPTURE)
    return decoded(base64.b64decode(answer["data"]))


def decoded(png: bytes) -> Frame:
    """The pixels of a PNG, uint8 (height, width, 3), RGB."""
    if cv2 is not None:
        bgr = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR)
        rgb: Frame = cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)
        return rgb
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"), np.uint8)
