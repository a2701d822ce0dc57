"""Turns whatever breaks a promise into one sentence that names the method. It tests nothing."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from clew.core import Trouble

Kit = TypeVar("Kit")
_HERE = str(Path(__file__).parent)
#: The kit's own files; `unreliable` beside them is an environment like any other.
_KIT = frozenset(f"{_HERE}/{name}.py" for name in ("promise", "environment", "policy"))


def promise(test: Callable[[Kit], None]) -> Callable[[Kit], None]:
    """A test of the kit: what the author's code raises fails it in a sentence.

    The kit's own assertions, and what it asks its author for, pass unchanged.
    """
    words = test.__name__.removeprefix("test_").replace("_", " ")

    @functools.wraps(test)
    def told(kit: Kit) -> None:
        try:
            test(kit)
        except Exception as error:
            if isinstance(error, (AssertionError, NotImplementedError)) and _is_the_kits(error):
                raise
            raise AssertionError(f"promise {words!r} is broken: {_said(error)}") from error

    return told


def _is_the_kits(error: Exception) -> bool:
    return traceback.extract_tb(error.__traceback__)[-1].filename in _KIT


def _said(error: Exception) -> str:
    """The method that the kit called, what it raised, and where."""
    if isinstance(error, Trouble):  # the engine ran the code, and says whose it was
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    last = max((i for i, frame in enumerate(frames) if frame.filename in _KIT), default=0)
    called = frames[last + 1].name if last + 1 < len(frames) else "what a method returned"
    text = (str(error).strip().splitlines() or [""])[0][:300]
    where = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"
    return f"{called} raised {type(error).__name__}: {text} ({where})"
