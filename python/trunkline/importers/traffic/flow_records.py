"""Records of flows (NetFlow, IPFIX, sFlow as CSV) as demands between nodes."""

import csv
import io
from collections.abc import Iterator, Mapping
from fractions import Fraction

from trunkline.scenario import units
from trunkline.scenario.units import UnitError

_COLUMN_NAMES = {
    "from": ("from", "source", "src", "sa", "srcaddr", "source_address"),
    "to": ("to", "destination", "dst", "da", "dstaddr", "destination_address"),
    "bytes": ("bytes", "ibyt", "octets", "in_bytes", "doctets"),
    "class": ("class", "dscp"),
}
"""What columns are called by us, nfdump and flow-tools."""

_COLUMNS = ("from", "to", "rate")


class RecordError(ValueError):
    """A file that holds no records of flows."""


def build_demand_table(
    content: str, *, covered_time: str, nodes: Mapping[str, str] | None = None
) -> tuple[str, int]:
    """The table of demands that records of flows amount to.

    Parameters
    ----------
    content : str
        CSV: columns for source, destination and bytes, and class if wanted.
    covered_time : str
        Time that the records cover: ``5 min``.
    nodes : mapping of str to str, optional
        Node of each address; records of other addresses are left out. None: nodes are called by
        their addresses.

    Returns
    -------
    (str, int)
        CSV with the columns from, to, rate and, if there are any, class, as `demands: {file: ...}`
        reads it; and the number of records left out.

    Raises
    ------
    RecordError
        A column is missing or a value is no number, with its line.
    """
    try:
        covered_ns = units.parse_time(covered_time, lowest=1)
    except UnitError as error:
        raise RecordError(f"--over: {error}") from None
    rows = _rows(content)
    _, first = next(rows, (1, []))
    header = [each.strip().lower() for each in first]
    columns = {our_name: _find_column(header, names) for our_name, names in _COLUMN_NAMES.items()}
    for our_name in ("from", "to", "bytes"):
        if columns[our_name] is None:
            raise RecordError(
                f"line 1: no column for {our_name}: one of {', '.join(_COLUMN_NAMES[our_name])}"
            )
    sums: dict[tuple[str, ...], int] = {}
    left_out = 0
    for line, row in rows:
        if not row:
            continue
        try:
            ends = [row[columns[key] or 0].strip() for key in ("from", "to")]
            size = units.parse_integer(row[columns["bytes"] or 0].strip())
            class_name = [row[columns["class"]].strip()] if columns["class"] is not None else []
        except IndexError:
            size = None
        if size is None:
            raise RecordError(f"line {line}: bytes is a whole number")
        end_nodes = [nodes.get(each) if nodes is not None else each for each in ends]
        if None in end_nodes or end_nodes[0] == end_nodes[1] or size <= 0:
            left_out += 1
            continue
        key = (*(str(each) for each in end_nodes), *class_name)
        sums[key] = sums.get(key, 0) + size
    if not sums:
        raise RecordError("no record between two nodes")
    table = io.StringIO()
    write = csv.writer(table, lineterminator="\n").writerow
    write([*_COLUMNS, *["class"] * (columns["class"] is not None)])
    for key, size in sums.items():
        rate = max(1, round(Fraction(size * 8 * 10**9, covered_ns)))
        if rate > units.MAX_RATE_BIT_S:
            most = units.format_rate(units.MAX_RATE_BIT_S)
            message = (
                f"{size} bytes from {key[0]} to {key[1]} over {covered_time} are more than {most}"
            )
            raise RecordError(message)
        write([*key[:2], f"{rate} bit/s", *key[2:]])
    return table.getvalue(), left_out


def _rows(content: str) -> Iterator[tuple[int, list[str]]]:
    """Line and fields of each row."""
    rows = csv.reader(content.splitlines())
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        raise RecordError(f"line {rows.line_num}: not CSV: {error}") from None


def _find_column(header: list[str], names: tuple[str, ...]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)
