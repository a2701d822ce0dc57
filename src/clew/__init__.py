"""clew: a running environment is the oracle, and the actions that led to a state are its key."""

__version__ = "0.1.0"
