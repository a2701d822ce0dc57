"""Planning makes very many objects and no cycles: no garbage collection meanwhile. Nothing else."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def planning() -> Iterator[None]:
    """Inside, nothing is collected; behind it, collection is as it was before.

    The collector looks again and again at all that is kept: with 100,000 units it takes a quarter
    of the time of planning them.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
