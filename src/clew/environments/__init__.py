"""Environments, one package each: they implement `clew.core` protocols and run no study."""
