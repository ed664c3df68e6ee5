"""Distribution functions of sizes, read from files beside a scenario."""

import functools
from collections.abc import Iterable

from trunkline.scenario import beside, units
from trunkline.scenario.beside import BesideError

MAX_FILE = 10_000_000
_HIGHEST = 2**50

Points = tuple[tuple[int, float], ...]
"""Sizes [B] and the share of sizes at or below each [0 to 1]."""


def read(name: str, folder: str | None) -> Points:
    """Reads a CSV file with columns ``size`` and ``share``: ``10 kB,15 %``.

    Parameters
    ----------
    name : str
        Relative path under `folder`.
    folder : str or None
        The scenario's folder.

    Returns
    -------
    tuple
        Points with sizes and shares that never fall; the last share is 1.

    Raises
    ------
    BesideError
        Not a regular file under the folder, or not a distribution function.
    """
    return beside.read(name, folder, MAX_FILE, _rows)


def _rows(lines: Iterable[str]) -> Points:
    sizes = functools.partial(units.parse_bytes, lowest=0, highest=_HIGHEST)
    points: list[tuple[int, float]] = []
    both = sizes, units.parse_ratio
    for line, size, share in beside.pairs(lines, ("size", "share"), both):
        if points and (size < points[-1][0] or share < points[-1][1]):
            raise BesideError("sizes and shares must not fall", line)
        points.append((size, share))
    if not points or points[-1][1] != 1:
        raise BesideError("the last share must be 100 %")
    if points[0][1] > 0:
        # All that is at or below the first size has it.
        points.insert(0, (points[0][0], 0.0))
    if points[-1][0] == 0:
        raise BesideError("the largest size must be above 0 B")
    return tuple(points)
