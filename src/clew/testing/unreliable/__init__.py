"""A deliberately unreliable environment, to test what measures others. Not a task of any study."""

from clew.testing.unreliable.environment import Unreliable
from clew.testing.unreliable.policies import Coin

__all__ = ["Coin", "Unreliable"]
