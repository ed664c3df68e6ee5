"""Large scenarios without the search for cycles, which they have none of."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MIN_OBJECTS_TO_FREEZE = 100_000  # Objects to be searched from which it is worth leaving them out.
_FROZEN_BY_US: list[bool] = []  # Whether we have frozen the present objects.


@contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Keep Python from looking for cycles of objects, and later from looking through these.

    It does so again and again while many are made: with 100,000 flows that is a third of the time
    of loading and compiling. Objects outside cycles are freed as usual; Python looks for cycles
    again after the next use. Objects that others have frozen stay so, unless we froze too.
    """
    was_on = gc.isenabled()
    gc.disable()
    if _FROZEN_BY_US:
        gc.unfreeze()
        _FROZEN_BY_US.clear()
    try:
        yield
    finally:
        if was_on:
            if gc.get_count()[0] > MIN_OBJECTS_TO_FREEZE:
                gc.freeze()
                _FROZEN_BY_US.append(True)
            gc.enable()
