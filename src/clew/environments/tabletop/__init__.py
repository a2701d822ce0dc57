"""tabletop, the embedded environment: a gripper, blocks, zones and a drawer. Needs mujoco only."""

from clew.environments.tabletop.environment import Tabletop, TabletopSession
from clew.environments.tabletop.gl import frames_available, frames_off

__all__ = ["Tabletop", "TabletopSession", "frames_available", "frames_off"]
