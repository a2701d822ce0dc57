"""Gymnasium both ways: its environments in clew, and clew's as a `gymnasium.Env`. No tasks here."""

from clew.environments.gymnasium.adapter import GymnasiumEnvironment
from clew.environments.gymnasium.export import as_gymnasium

__all__ = ["GymnasiumEnvironment", "as_gymnasium"]
