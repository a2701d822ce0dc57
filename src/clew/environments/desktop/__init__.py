"""desktop, a Linux desktop session: real applications under an X server of its own, confined."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.environments.desktop.environment import Desktop
    from clew.environments.desktop.session import DesktopSession

__all__ = ["Desktop", "DesktopSession"]


def __getattr__(name: str) -> Any:
    """The parts above, imported when they are asked for: `clew doctor` needs none of them."""
    if name == "Desktop":
        from clew.environments.desktop.environment import Desktop

        return Desktop
    if name == "DesktopSession":
        from clew.environments.desktop.session import DesktopSession

        return DesktopSession
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
