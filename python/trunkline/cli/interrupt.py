"""Ctrl-C while the engine computes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def interruptible(work: Callable[[], T]) -> T:
    """Do work that may stay inside the engine for long, so that Ctrl-C still ends it at once.

    Python delivers a signal to the main thread only between its own instructions, so the main
    thread must not be the one inside the engine. An interrupted computation is abandoned; it dies
    with the process, and has written nothing.

    Parameters
    ----------
    work : callable
        What to do; it returns the result.

    Returns
    -------
    object
        What ``work`` returned.

    Raises
    ------
    BaseException
        What ``work`` raised, or KeyboardInterrupt.
    """
    results: list[T] = []
    faults: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work())
        except BaseException as fault:  # also a panic of the engine, raised again below
            faults.append(fault)

    thread = threading.Thread(target=body, name="engine", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.1)
    if faults:
        raise faults[0]
    return results[0]
