"""Tables as the packet engine hands them over: a kind and little-endian bytes for each column."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

RawTable = dict[str, tuple[str, bytes]]
_FLOAT_COLUMNS: Final = frozenset(
    ("delay_mean_ns", "jitter_ns", "wait_mean_ns", "queue_mean_packets", "value", "fct_mean_ns")
) | {"slowdown_mean"}
"""Columns of real numbers; all others hold whole ones."""


def make_raw_table(columns: Mapping[str, Sequence[float]]) -> RawTable:
    """Make a table by its columns."""
    return {
        name: ("f64", array("d", cells).tobytes())
        if name in _FLOAT_COLUMNS
        else ("i64", array("q", cells).tobytes())
        for name, cells in columns.items()
    }


def make_raw_table_from_rows(names: Sequence[str], rows: Iterable[Sequence[float]]) -> RawTable:
    """Make a table by its rows."""
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return make_raw_table(dict(zip(names, columns, strict=True)))
