"""RoboRecover: do policies recover from deviations that are rebuilt by replaying action prefixes?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.studies.roborecover.plan import parse
from clew.studies.roborecover.stages import RoboRecover


def study(data: Mapping[str, Any], file: Path) -> RoboRecover:
    """The study of a plan. Raises `Refused`, naming the file and the field."""
    return RoboRecover(parse(data, file), data)


__all__ = ["RoboRecover", "study"]
