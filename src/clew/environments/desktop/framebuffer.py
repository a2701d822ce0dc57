"""The screen of an X server as its own shared memory holds it. Reading it asks the server nothing.

Xvfb writes an XWD file (X Window Dump, version 7; `X11/XWDFile.h`) whose pixels it draws into:
32 bits each, blue first; the fourth byte holds anything and is ignored.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import cv2
except ImportError:
    cv2 = None  # type: ignore[assignment]

_HEADER = struct.Struct(">25I")
_XWD_VERSION = 7
_COLOUR_BYTES = 12
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Framebuffer:
    """One screen, mapped. Raises `OSError` for a file that is not there or not such a dump."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
        head = _HEADER.unpack_from(self._map)
        size, version, width, height = head[0], head[1], head[4], head[5]
        bits, line, colours = head[11], head[12], head[19]
        if version != _XWD_VERSION or bits != 32 or line != 4 * width:
            raise OSError(f"{path} is no X window dump of 32 bits a pixel")
        start = size + colours * _COLOUR_BYTES
        pixels = np.frombuffer(self._map, np.uint8, height * line, start)
        self._live: NDArray[np.uint8] = pixels.reshape(height, width, 4)
        self._last = self._live.copy()

    def rgb(self) -> NDArray[np.uint8]:
        """The screen now, uint8 (height, width, 3): a copy."""
        self._check_whole()
        return _rgb(self._live)

    def changed(self) -> bool:
        """Whether the screen differs from what it was when this was last asked."""
        self._check_whole()
        if not _memcmp(self._live.ctypes.data, self._last.ctypes.data, self._last.nbytes):
            return False
        np.copyto(self._last, self._live)
        return True

    def _check_whole(self) -> None:
        """Raise `ConnectionError` if a process of the session cut the file short: to read memory
        behind its end would kill this process."""
        if self._map.size() < len(self._map):
            raise ConnectionError("the screen's memory was cut short")

    def close(self) -> None:
        """Let go of the memory; nothing can be read afterwards."""
        self._live = self._last = np.empty((0, 0, 4), np.uint8)
        self._map.close()


def _rgb(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if cv2 is not None:
        converted: Any = cv2.cvtColor(pixels, cv2.COLOR_BGRA2RGB)
        return np.asarray(converted)
    rgb = np.empty((*pixels.shape[:2], 3), np.uint8)
    for channel in range(3):
        rgb[..., channel] = pixels[..., 2 - channel]
    return rgb
