"""desktop, a Linux desktop session: real applications under an X server of its own, confined."""

from clew.environments.desktop.environment import Desktop
from clew.environments.desktop.session import DesktopSession

__all__ = ["Desktop", "DesktopSession"]
