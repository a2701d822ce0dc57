"""Web applications in Chromium. The page is the world; what a policy may do to it is in `hands`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from clew.environments.web.chromium import chromium_path

if TYPE_CHECKING:
    from clew.environments.web.applications import Application, install_applications
    from clew.environments.web.environment import Web

__all__ = ["Application", "Web", "chromium_path", "install_applications"]
#: Imported when they are asked for, from these modules: `clew doctor` needs none of them.
_LATER = {
    "Application": "applications",
    "Web": "environment",
    "install_applications": "applications",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
