"""Packet schedules: when each datagram of a flow is sent, and how large it is."""

import csv
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass

from trunkline.scenario import units
from trunkline.scenario.units import UnitError

__all__ = ["Schedule", "ScheduleError", "read"]

MAX_FILE = 200_000_000
_LOWEST, _HIGHEST = 28, 65_535


class ScheduleError(ValueError):
    """A schedule that cannot be used.

    Attributes
    ----------
    line : int
        Line of the file; 0 for the file as a whole.
    """

    def __init__(self, message: str, line: int = 0):
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line


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


def read(name: str, folder: str | None) -> Schedule:
    """Reads a CSV file with columns ``time`` and ``size``, every value with its unit.

    Parameters
    ----------
    name : str
        Relative path under `folder`.
    folder : str or None
        The scenario's folder.

    Returns
    -------
    Schedule
        At least one datagram.

    Raises
    ------
    ScheduleError
        Not a regular file under the folder, or not a schedule.
    """
    if folder is None:
        raise ScheduleError("only a scenario read from a file can name other files")
    if "\0" in name:
        raise ScheduleError("not a file name")
    root = os.path.realpath(folder)
    target = os.path.realpath(os.path.join(root, name))
    if os.path.isabs(name) or os.path.commonpath([root, target]) != root:
        raise ScheduleError("the file must stand under the scenario's folder")
    try:
        descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, encoding="utf-8", newline="") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ScheduleError("not a regular file")
            if status.st_size > MAX_FILE:
                raise ScheduleError(f"larger than {MAX_FILE} bytes")
            return _rows(file)
    except OSError as error:
        raise ScheduleError(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ScheduleError("not UTF-8 text") from None
    except csv.Error as error:
        raise ScheduleError(f"not CSV: {error}") from None
    except ValueError as error:
        if isinstance(error, ScheduleError):
            raise
        raise ScheduleError("not a file name") from None


def _rows(lines: Iterable[str]) -> Schedule:
    rows = csv.reader(lines)
    times: list[int] = []
    sizes: list[int] = []
    header = [each.strip() for each in next(rows, [])]
    if sorted(header) != ["size", "time"]:
        raise ScheduleError("the first line must name the columns time and size", 1)
    at, of = header.index("time"), header.index("size")
    for row in rows:
        if not row:
            continue
        if len(row) != 2:
            raise ScheduleError("two values are expected", rows.line_num)
        try:
            time = units.parse_time(row[at].strip())
            size = units.parse_bytes(row[of].strip(), lowest=_LOWEST, highest=_HIGHEST)
        except UnitError as error:
            hint = f"; {error.hint}" if error.hint else ""
            raise ScheduleError(f"{error}{hint}", rows.line_num) from None
        if times and time < times[-1]:
            raise ScheduleError("times must not fall", rows.line_num)
        times.append(time)
        sizes.append(size)
    if not times:
        raise ScheduleError("holds no datagram")
    return Schedule(tuple(times), tuple(sizes))
