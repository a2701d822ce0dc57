"""Whether the points of an act are on the screen. It moves nothing."""

from __future__ import annotations

from clew.core import Action, Pointer, Refused, Scroll


def check_on_screen(action: Action, width: int, height: int) -> None:
    """Raises `Refused` for a point of an act that is outside a screen of this size in pixels."""
    if not isinstance(action, (Pointer, Scroll)):
        return
    for x, y in action.path if isinstance(action, Pointer) else ((action.x, action.y),):
        if not (0 <= x < width and 0 <= y < height):
            raise Refused(f"point ({x}, {y}) is outside the screen of {width}x{height}")
