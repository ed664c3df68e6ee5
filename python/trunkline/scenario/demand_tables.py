"""Tables of demands: the offered load by source and destination."""

import csv
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from trunkline.scenario import scenario_files, units
from trunkline.scenario.scenario_files import ScenarioFileError
from trunkline.scenario.units import RATE, UnitError

MAX_FILE_BYTES = 200_000_000
DEMAND_COLUMNS = ("from", "to", "rate")


class DemandRow(NamedTuple):
    """A demand of a table."""

    # source, target: Nodes.
    source: str
    target: str
    rate: int  # Offered load [bit/s]; may be 0.
    class_: str = ""  # Class of its packets; empty: the table has no such column.
    line: int = 0  # Line of the file, if it is of one.


def read_demand_table(name: str, folder: str | None) -> list[DemandRow]:
    """Read a CSV file with the columns ``from``, ``to``, ``rate`` and, if wanted, ``class``.

    Or a square matrix: an empty first cell, then the nodes; each further line a node, then what it
    offers to each. The diagonal and empty cells do not count.

    name: Relative path under `folder`.
    folder: The scenario's folder.
    Returns: In the order of the file.
    Raises ScenarioFileError: Not a regular file under the folder, or not such a table.
    """
    return scenario_files.read_scenario_file(name, folder, MAX_FILE_BYTES, parse_demand_table)


def parse_demand_table(lines: Iterable[str]) -> list[DemandRow]:
    """Parse the rows of a table. Raises ScenarioFileError: A line that is no demand."""
    table = csv.reader(lines)
    first = [each.strip() for each in next(table, [])]
    if len(first) > 2 and not first[0]:
        return _parse_square_matrix(table, first[1:])
    header = [each.lower() for each in first]
    if sorted(header) not in (sorted(DEMAND_COLUMNS), sorted([*DEMAND_COLUMNS, "class"])):
        message = "the first line must name the columns from, to and rate, and class"
        raise ScenarioFileError(f"{message}; or be empty, then the nodes of a square matrix", 1)
    source, target, rate = (header.index(each) for each in DEMAND_COLUMNS)
    class_ = header.index("class") if "class" in header else None
    found = []
    parsed_rates: dict[str, int] = {}
    for row in table:
        if not row:
            continue
        if len(row) != len(header):
            raise ScenarioFileError(f"{len(header)} values are expected", table.line_num)
        words = [each.strip() for each in row]
        class_name = "" if class_ is None else words[class_]
        rate_text = words[rate]
        if rate_text not in parsed_rates:
            parsed_rates[rate_text] = _parse_rate(rate_text, table.line_num)
        found.append(
            DemandRow(
                words[source], words[target], parsed_rates[rate_text], class_name, table.line_num
            )
        )
    if not found:
        raise ScenarioFileError("holds no demand")
    return found


def _parse_square_matrix(table: Iterable[list[str]], names: list[str]) -> list[DemandRow]:
    """Parse a square matrix without its first line."""
    lines = ((line, [each.strip() for each in row]) for line, row in enumerate(table, 2) if row)
    found = [
        DemandRow(source, target, _parse_rate(value, line), "", line)
        for line, source, target, value in iterate_matrix_cells(lines, names, 1)
        if value not in ("", "0") and source != target
    ]
    if not found:
        raise ScenarioFileError("holds no demand")
    return found


def iterate_matrix_cells(
    rows: Iterable[tuple[int, list[str]]], names: list[str], first_line: int
) -> Iterator[tuple[int, str, str, str]]:
    """Iterate over a square matrix: a line a source, which it begins with; a column a destination.

    rows: Lines behind the first, with their numbers.
    names: Names of the columns, in the first line.
    Yields: Line, source, destination and text of each cell, those of the diagonal too.
    Raises ScenarioFileError: A node twice, a line of another length, or of a node without a column.
    """
    duplicate = next(
        (name for position, name in enumerate(names) if name in names[:position]), None
    )
    if duplicate is not None:
        raise ScenarioFileError(f"node {duplicate} has two columns", first_line)
    sources_seen: set[str] = set()
    for line, (source, *values) in rows:
        if len(values) != len(names):
            raise ScenarioFileError(f"a node and {len(names)} values are expected", line)
        if source in sources_seen or source not in names:
            fault = "two lines" if source in sources_seen else "no column"
            raise ScenarioFileError(f"node {source} has {fault}", line)
        sources_seen.add(source)
        for target, value in zip(names, values, strict=True):
            yield line, source, target, value


def _parse_rate(text: str, line: int) -> int:
    """Parse an offered load, to the nearest bit/s: a table is often computed."""
    if text.startswith("-"):
        raise ScenarioFileError(f"a demand cannot be negative: {text[:40]}", line)
    try:
        exact: Fraction = units.parse_quantity(text, RATE)
    except UnitError as error:
        hint = f"; {error.hint}" if error.hint else ""
        raise ScenarioFileError(f"{error}{hint}", line) from None
    if exact.numerator > units.MAX_RATE_BIT_S * exact.denominator:
        raise ScenarioFileError(
            f"a demand is at most {units.format_rate(units.MAX_RATE_BIT_S)}", line
        )
    return exact.numerator if exact.denominator == 1 else math.floor(exact + Fraction(1, 2))
