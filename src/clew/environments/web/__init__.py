"""Web applications in Chromium. The page is the world; what a policy may do to it is in `hands`."""

from typing import TYPE_CHECKING, Any

from clew.environments.web.chromium import chromium_path

if TYPE_CHECKING:
    from clew.environments.web.applications import Application, install_applications
    from clew.environments.web.environment import Web

__all__ = ["Application", "Web", "chromium_path", "install_applications"]


def __getattr__(name: str) -> Any:
    """The parts above, imported when they are asked for: `clew doctor` needs none of them."""
    if name == "Web":
        from clew.environments.web.environment import Web

        return Web
    if name in ("Application", "install_applications"):
        from clew.environments.web import applications

        return getattr(applications, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
