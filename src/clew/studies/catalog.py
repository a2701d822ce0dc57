"""The studies by name, each imported when a plan asks for it; and plan files."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from clew.core import Refused, nearest
from clew.run.drive import Study

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

STUDIES: Mapping[str, str] = {"roborecover": "clew.studies.roborecover"}


def read(file: Path) -> Study:
    """The study of a plan file. Raises `Refused`, naming the file and the field."""
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise Refused(f"there is no plan {file}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{file} cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{file} is not TOML: {error}") from None
    return made(data, file)


def made(data: Mapping[str, Any], file: Path) -> Study:
    """The study of a plan's data; `file` is named in messages."""
    name = data.get("study")
    if name is None:
        raise Refused(f"{file}: 'study' is missing; {nearest('', STUDIES)}")
    if not isinstance(name, str) or name not in STUDIES:
        raise Refused(f"{file}: there is no study {name!r}; {nearest(name, STUDIES)}")
    return cast("Study", importlib.import_module(STUDIES[name]).study(data, file))
