"""Meta-World's own tasks, unmodified, as a clew environment. Not a fork: it holds no task code."""

from clew.environments.metaworld.environment import MetaWorld

__all__ = ["MetaWorld"]
