"""Schedules: when each datagram of a flow is sent, or each transfer begins, and how large it is."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from trunkline.scenario import beside, units
from trunkline.scenario.beside import BesideError

MAX_FILE = 200_000_000
_LOWEST, _HIGHEST = 28, 65_535


@dataclass(frozen=True)
class Schedule:
    """Datagrams to send.

    Attributes
    ----------
    times_ns : tuple of int
        Since the flow's start, never falling [ns].
    sizes_bytes : tuple of int
        IP packets [B].
    """

    times_ns: tuple[int, ...]
    sizes_bytes: tuple[int, ...]


def read(
    name: str, folder: str | None, *, lowest: int = _LOWEST, highest: int = _HIGHEST
) -> Schedule:
    """Reads a CSV file with columns ``time`` and ``size``, every value with its unit.

    Parameters
    ----------
    name : str
        Relative path under `folder`.
    folder : str or None
        The scenario's folder.
    lowest, highest : int
        Range of sizes; those of IP packets if left out [B].

    Returns
    -------
    Schedule
        At least one line.

    Raises
    ------
    BesideError
        Not a regular file under the folder, or not a schedule.
    """
    return beside.read(name, folder, MAX_FILE, lambda lines: _rows(lines, lowest, highest))


def _rows(lines: Iterable[str], lowest: int, highest: int) -> Schedule:
    times: list[int] = []
    sizes: list[int] = []
    both = units.parse_time, functools.partial(units.parse_bytes, lowest=lowest, highest=highest)
    for line, time, size in beside.pairs(lines, ("time", "size"), both):
        if times and time < times[-1]:
            raise BesideError("times must not fall", line)
        times.append(time)
        sizes.append(size)
    if not times:
        raise BesideError("holds no line but the first")
    return Schedule(tuple(times), tuple(sizes))
