"""Distribution functions of sizes, read from files beside a scenario."""

import csv
from collections.abc import Iterable

from trunkline.scenario import beside, units
from trunkline.scenario.beside import BesideError
from trunkline.scenario.units import UnitError

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
    rows = csv.reader(lines)
    header = [each.strip() for each in next(rows, [])]
    if sorted(header) != ["share", "size"]:
        raise BesideError("the first line must name the columns size and share", 1)
    at, of = header.index("size"), header.index("share")
    points: list[tuple[int, float]] = []
    for row in rows:
        if not row:
            continue
        if len(row) != 2:
            raise BesideError("two values are expected", rows.line_num)
        try:
            size = units.parse_bytes(row[at].strip(), lowest=0, highest=_HIGHEST)
            share = units.parse_ratio(row[of].strip())
        except UnitError as error:
            hint = f"; {error.hint}" if error.hint else ""
            raise BesideError(f"{error}{hint}", rows.line_num) from None
        if points and (size < points[-1][0] or share < points[-1][1]):
            raise BesideError("sizes and shares must not fall", rows.line_num)
        points.append((size, share))
    if not points or points[-1][1] != 1:
        raise BesideError("the last share must be 100 %")
    if points[0][1] > 0:
        # All that is at or below the first size has it.
        points.insert(0, (points[0][0], 0.0))
    if points[-1][0] == 0:
        raise BesideError("the largest size must be above 0 B")
    return tuple(points)
