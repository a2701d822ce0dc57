"""desktop, a Linux desktop session: real applications under an X server of its own, confined."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.environments.desktop.environment import Desktop
    from clew.environments.desktop.session import DesktopSession

__all__ = ["Desktop", "DesktopSession"]
#: Imported when they are asked for, from these modules: `clew doctor` needs none of them.
_LATER = {"Desktop": "environment", "DesktopSession": "session"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
