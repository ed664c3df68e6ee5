"""Schedules: when each datagram of a flow is sent, or each transfer begins, and how large it is."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass

from trunkline.scenario import beside, units
from trunkline.scenario.beside import BesideError
from trunkline.scenario.units import UnitError

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
    rows = csv.reader(lines)
    times: list[int] = []
    sizes: list[int] = []
    header = [each.strip() for each in next(rows, [])]
    if sorted(header) != ["size", "time"]:
        raise BesideError("the first line must name the columns time and size", 1)
    at, of = header.index("time"), header.index("size")
    for row in rows:
        if not row:
            continue
        if len(row) != 2:
            raise BesideError("two values are expected", rows.line_num)
        try:
            time = units.parse_time(row[at].strip())
            size = units.parse_bytes(row[of].strip(), lowest=lowest, highest=highest)
        except UnitError as error:
            hint = f"; {error.hint}" if error.hint else ""
            raise BesideError(f"{error}{hint}", rows.line_num) from None
        if times and time < times[-1]:
            raise BesideError("times must not fall", rows.line_num)
        times.append(time)
        sizes.append(size)
    if not times:
        raise BesideError("holds no line but the first")
    return Schedule(tuple(times), tuple(sizes))
