"""LIBERO's own tasks, unmodified, as a clew environment. Not a fork: it holds no task code."""

from clew.environments.libero.environment import Libero

__all__ = ["Libero"]
