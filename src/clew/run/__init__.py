"""Runs: a plan of units, wardened workers, accepted results. It names no study and no environment."""
