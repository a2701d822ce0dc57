"""A public conformance kit: any environment or policy author runs it on theirs. Needs pytest."""

from clew.testing.environment import EnvironmentConformance
from clew.testing.policy import PolicyConformance

__all__ = ["EnvironmentConformance", "PolicyConformance"]
