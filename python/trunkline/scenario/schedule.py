"""Schedules: when each datagram of a flow is sent, or each transfer begins, and how large it is."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from trunkline.scenario import scenario_files, units
from trunkline.scenario.scenario_files import ScenarioFileError

MAX_FILE_BYTES = 200_000_000
_MIN_PACKET_BYTES, _MAX_PACKET_BYTES = 28, 65_535


@dataclass(frozen=True)
class PacketSchedule:
    """Datagrams to send."""

    times_ns: tuple[int, ...]  # Since the flow's start, never falling [ns].
    sizes_bytes: tuple[int, ...]  # IP packets [B].


def read_schedule(
    name: str,
    folder: str | None,
    *,
    lowest: int = _MIN_PACKET_BYTES,
    highest: int = _MAX_PACKET_BYTES,
) -> PacketSchedule:
    """Read a CSV file with columns ``time`` and ``size``, every value with its unit.

    name: Relative path under `folder`.
    folder: The scenario's folder.
    lowest, highest: Range of sizes; those of IP packets if left out [B].
    Returns: At least one line.
    Raises ScenarioFileError: Not a regular file under the folder, or not a schedule.
    """
    return scenario_files.read_scenario_file(
        name, folder, MAX_FILE_BYTES, lambda lines: _parse_schedule(lines, lowest, highest)
    )


def _parse_schedule(lines: Iterable[str], lowest: int, highest: int) -> PacketSchedule:
    times: list[int] = []
    sizes: list[int] = []
    parsers = units.parse_time, functools.partial(units.parse_bytes, lowest=lowest, highest=highest)
    for line, time, size in scenario_files.parse_two_columns(lines, ("time", "size"), parsers):
        if times and time < times[-1]:
            raise ScenarioFileError("times must not fall", line)
        times.append(time)
        sizes.append(size)
    if not times:
        raise ScenarioFileError("holds no line but the first")
    return PacketSchedule(tuple(times), tuple(sizes))
