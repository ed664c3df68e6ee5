"""Distribution functions of sizes, read from files next to a scenario."""

import functools
from collections.abc import Iterable

from trunkline.scenario import scenario_files, units
from trunkline.scenario.scenario_files import ScenarioFileError

MAX_FILE_BYTES = 10_000_000
_MAX_SIZE_BYTES = 2**50

CdfPoints = tuple[tuple[int, float], ...]
"""Sizes [B] and the share of sizes at or below each [0 to 1]."""


def read_cdf(name: str, folder: str | None) -> CdfPoints:
    """Read a CSV file with columns ``size`` and ``share``: ``10 kB,15 %``.

    name: Relative path under `folder`.
    folder: The scenario's folder.
    Returns: Points with sizes and shares that never fall; the last share is 1.
    Raises ScenarioFileError: Not a regular file under the folder, or not a distribution function.
    """
    return scenario_files.read_scenario_file(name, folder, MAX_FILE_BYTES, _parse_points)


def _parse_points(lines: Iterable[str]) -> CdfPoints:
    parse_size = functools.partial(units.parse_bytes, lowest=0, highest=_MAX_SIZE_BYTES)
    points: list[tuple[int, float]] = []
    parsers = parse_size, units.parse_ratio
    for line, size, share in scenario_files.parse_two_columns(lines, ("size", "share"), parsers):
        if points and (size < points[-1][0] or share < points[-1][1]):
            raise ScenarioFileError("sizes and shares must not fall", line)
        points.append((size, share))
    if not points or points[-1][1] != 1:
        raise ScenarioFileError("the last share must be 100 %")
    if points[0][1] > 0:
        # All that is at or below the first size has it.
        points.insert(0, (points[0][0], 0.0))
    if points[-1][0] == 0:
        raise ScenarioFileError("the largest size must be above 0 B")
    return tuple(points)
