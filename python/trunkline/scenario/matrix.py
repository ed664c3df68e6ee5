"""Tables of demands: who offers how much load to whom."""

import csv
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from trunkline.scenario import beside, units
from trunkline.scenario.beside import BesideError
from trunkline.scenario.units import RATE, UnitError

MAX_FILE = 200_000_000
COLUMNS = ("from", "to", "rate")


class Row(NamedTuple):
    """A demand of a table.

    Attributes
    ----------
    source, target : str
        Nodes.
    rate : int
        Offered load [bit/s]; may be 0.
    class_ : str
        Class of its packets; empty: the table has no such column.
    line : int
        Line of the file.
    """

    source: str
    target: str
    rate: int
    class_: str
    line: int


def read(name: str, folder: str | None) -> list[Row]:
    """Reads a CSV file with the columns ``from``, ``to``, ``rate`` and, if wanted, ``class``.

    Or a square matrix: an empty first cell, then the nodes; each further line a node, then what it
    offers to each. The diagonal and empty cells do not count.

    Parameters
    ----------
    name : str
        Relative path under `folder`.
    folder : str or None
        The scenario's folder.

    Returns
    -------
    list of Row
        In the order of the file.

    Raises
    ------
    BesideError
        Not a regular file under the folder, or not such a table.
    """
    return beside.read(name, folder, MAX_FILE, rows)


def rows(lines: Iterable[str]) -> list[Row]:
    """Rows of a table.

    Raises
    ------
    BesideError
        A line that is no demand.
    """
    table = csv.reader(lines)
    first = [each.strip() for each in next(table, [])]
    if len(first) > 2 and not first[0]:
        return _square(table, first[1:])
    header = [each.lower() for each in first]
    if sorted(header) not in (sorted(COLUMNS), sorted([*COLUMNS, "class"])):
        message = "the first line must name the columns from, to and rate, and class"
        raise BesideError(f"{message}; or be empty, then the nodes of a square matrix", 1)
    source, target, rate = (header.index(each) for each in COLUMNS)
    class_ = header.index("class") if "class" in header else None
    found = []
    loads: dict[str, int] = {}
    for row in table:
        if not row:
            continue
        if len(row) != len(header):
            raise BesideError(f"{len(header)} values are expected", table.line_num)
        words = [each.strip() for each in row]
        kind = "" if class_ is None else words[class_]
        written = words[rate]
        if written not in loads:
            loads[written] = _rate(written, table.line_num)
        found.append(Row(words[source], words[target], loads[written], kind, table.line_num))
    if not found:
        raise BesideError("holds no demand")
    return found


def _square(table: Iterable[list[str]], names: list[str]) -> list[Row]:
    """Rows of a square matrix: a line a source, which it begins with; a column a destination."""
    found: list[Row] = []
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise BesideError(f"node {twice} has two columns", 1)
    seen: set[str] = set()
    for line, row in enumerate(table, 2):
        if not row:
            continue
        source, *values = [each.strip() for each in row]
        if len(values) != len(names):
            raise BesideError(f"a node and {len(names)} values are expected", line)
        if source in seen or source not in names:
            what = "two lines" if source in seen else "no column"
            raise BesideError(f"node {source} has {what}", line)
        seen.add(source)
        for target, value in zip(names, values, strict=True):
            if value not in ("", "0") and source != target:
                found.append(Row(source, target, _rate(value, line), "", line))
    if not found:
        raise BesideError("holds no demand")
    return found


def _rate(text: str, line: int) -> int:
    """An offered load, to the nearest bit/s: a table is often computed."""
    if text.startswith("-"):
        raise BesideError(f"a demand cannot be negative: {text[:40]}", line)
    try:
        exact: Fraction = units.parse_quantity(text, RATE)
    except UnitError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise BesideError(f"{error}{hint}", line) from None
    if exact.numerator > units.MAX_RATE_BIT_S * exact.denominator:
        raise BesideError(f"a demand is at most {units.format_rate(units.MAX_RATE_BIT_S)}", line)
    return exact.numerator if exact.denominator == 1 else math.floor(exact + Fraction(1, 2))
