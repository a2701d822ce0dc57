"""Web applications in Chromium. The page is the world; what a policy may do to it is in `hands`."""

from clew.environments.web.applications import Application, install_applications
from clew.environments.web.chromium import chromium_path
from clew.environments.web.environment import Web

__all__ = ["Application", "Web", "chromium_path", "install_applications"]
