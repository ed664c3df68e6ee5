"""Large scenarios without the search for cycles, which they have none of."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_collection"]


@contextmanager
def no_collection() -> Iterator[None]:
    """Keeps Python from looking for cycles of objects.

    It does so again and again while many are made: with 100,000 flows that is a third of the time
    of loading and compiling. What is not in a cycle is freed as ever.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
