"""Policies: they choose actions from what they are shown, and touch no environment."""
