"""Settings of all tests: how long an example takes is never a failure."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("clew", deadline=None)
settings.load_profile("clew")
