"""Columns from raw ones: names in place of indices, seconds, rates, ratios.

Plain Python on purpose: importing an array library takes longer than a small run.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from trunkline import _core
from trunkline.results import dscp
from trunkline.results.schemas import SCHEMAS
from trunkline.results.table import Column, LazyColumn, resolve_column

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from trunkline.network.types import NetworkData

RawTable = Mapping[str, tuple[str, bytes]]
Valid = list[bool] | None

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""Quantiles of delay that tables have: probabilities, by their name in columns."""

_STRUCT_FORMATS = {"i64": "q", "f64": "d", "u32": "I", "u8": "B"}


class RawRows:
    """A raw table. columns: Little-endian numbers by column, as an engine returns them."""

    def __init__(self, columns: RawTable) -> None:
        self._columns = columns
        self._lists: dict[str, list[Any]] = {}

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def column(self, name: str, valid: Valid = None) -> Column:
        """A column without conversion; 64-bit numbers are not copied."""
        kind, data = self._columns[name]
        values = memoryview(data).cast(_STRUCT_FORMATS[kind])  # type: ignore[call-overload]
        if kind in ("i64", "f64"):
            return Column(values, valid)
        return make_int_column(values.tolist(), valid)

    def to_data_frame(self) -> pl.DataFrame:
        """All of it as a data frame; numbers are not copied."""
        import numpy as np
        import polars as pl

        return pl.DataFrame(
            {
                name: np.frombuffer(data, _STRUCT_FORMATS[kind])
                for name, (kind, data) in self._columns.items()
            }
        )

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._lists:
            kind, data = self._columns[name]
            self._lists[name] = memoryview(data).cast(_STRUCT_FORMATS[kind]).tolist()  # type: ignore[call-overload]
        return self._lists[name]


def read_int_columns(columns: RawTable, *names: str) -> dict[str, NDArray[np.int64]]:
    """Read columns of 64-bit integers of a raw table as arrays, without a copy.

    names: Those to read; all if left out.
    """
    import numpy as np

    return {name: np.frombuffer(columns[name][1], dtype="<i8") for name in names or columns}


def make_int_column(values: Iterable[int], valid: Valid = None) -> Column:
    """Make a column of integers."""
    return Column(memoryview(array("q", values)), valid)


def make_float_column(values: Iterable[float], valid: Valid = None) -> Column:
    """Make a column of doubles."""
    return Column(memoryview(array("d", values)), valid)


def make_seconds_column(values_ns: Iterable[float], valid: Valid = None) -> Column:
    """Nanoseconds in seconds."""
    return make_float_column([value / 1e9 for value in values_ns], valid)


def make_rate_column(counted_bytes: Iterable[int], measured_s: float) -> Column:
    """Make a column of bytes over the measured time, in bit/s."""
    return make_float_column([count * 8 / measured_s for count in counted_bytes])


def make_ratio_column(parts: Sequence[int], totals: Sequence[int]) -> Column:
    """Make a column of parts over wholes; null where the whole is zero."""
    pairs = zip(parts, totals, strict=True)
    return make_float_column(
        [part / total if total > 0 else 0.0 for part, total in pairs],
        make_mask(total > 0 for total in totals),
    )


def make_mask(valid: Iterable[bool]) -> Valid:
    """Make a mask of the rows that are not null; None if all are."""
    listed = list(valid)
    return None if all(listed) else listed


def make_text_column(given: Iterable[Any], text: Callable[[Any], str | None]) -> Column:
    """Make a column of texts, few of which differ."""
    return Column(list(map(functools.cache(text), given)))


def make_name_column(items: Sequence[str], indices: Iterable[int]) -> Column:
    """Make a column of the names at these indices; null where the index is outside the list."""
    return Column(list(map(dict(enumerate(items)).get, indices)))


def make_network_name_column(
    network: NetworkData, key: Literal["nodes", "links", "flows", "paths"], indices: Iterable[int]
) -> Column:
    """Make a column of names of the network's nodes, links, flows or paths at these indices."""
    return make_name_column([item["name"] for item in network[key]], indices)


def build_class_namer(network: NetworkData) -> Callable[[int, int], str | None]:
    """A function from link and class of its port to the name of the class, if there is one."""
    ports = [[each["name"] for each in port["classes"]] for port in network["ports"]]
    port_of = [link["port"] for link in network["links"]]

    def class_name(link: int, index: int) -> str | None:
        if not 0 <= link < len(port_of):
            return None
        named = ports[port_of[link]]
        return named[index] if 0 <= index < len(named) else None

    return class_name


def make_class_column(network: NetworkData, rows: RawRows) -> Column:
    """Make a column of class names from a table's ``link`` and ``class`` columns."""
    class_name = build_class_namer(network)
    return make_text_column(
        zip(rows["link"], rows["class"], strict=True), lambda pair: class_name(*pair)
    )


_NAME_COLUMN_MAKERS: dict[str, Callable[[RawRows, NetworkData], Column]] = {
    "flow": lambda rows, network: make_network_name_column(network, "flows", rows["flow"]),
    "link": lambda rows, network: make_network_name_column(network, "links", rows["link"]),
    "node": lambda rows, network: make_network_name_column(network, "nodes", rows["node"]),
    "path": lambda rows, network: make_network_name_column(network, "paths", rows["path"]),
    "class": lambda rows, network: make_class_column(network, rows),
    "direction": lambda rows, _: make_name_column(("forward", "reverse"), rows["reverse"]),
    "dscp": lambda rows, _: make_text_column(rows["dscp"], dscp.name_code_point),
    "cause": lambda rows, _: make_name_column(_core.CAUSES, rows["cause"]),
    "colour": lambda rows, _: make_name_column(_core.COLOURS, rows["colour"]),
    "ecn": lambda rows, _: make_name_column(_core.ECN, rows["ecn"]),
}
"""Columns of names, which tables call alike."""


def complete_columns(
    table: str,
    rows: RawRows,
    network: NetworkData,
    computed: Mapping[str, LazyColumn] | None = None,
) -> dict[str, LazyColumn]:
    """The columns of a table by its schema: computed ones, and the rest from the engine.

    What the engine numbers is named, and times in nanoseconds are given in seconds too, once
    somebody asks for them. An average of nothing is null.

    computed: Columns that are worked out.
    """
    columns: dict[str, LazyColumn] = dict(computed or {})
    for field in SCHEMAS[table]:
        name = field.name
        if name in columns:
            continue
        if name in _NAME_COLUMN_MAKERS:
            columns[name] = functools.partial(_NAME_COLUMN_MAKERS[name], rows, network)
        elif name in rows.names:
            columns[name] = rows.column(name)
        elif name == "delay_range_s":
            ends = columns["delay_max_ns"], columns["delay_min_ns"]
            columns[name] = functools.partial(_subtract_columns, *ends)
        else:
            twin = columns[name.removesuffix("_s") + "_ns"]
            columns[name] = functools.partial(_convert_to_seconds, twin)
    return mask_empty_bases(table, columns)


def mask_empty_bases(table: str, columns: Mapping[str, LazyColumn]) -> dict[str, LazyColumn]:
    """Set averages of nothing to null in the columns of a table: see `Field.base`."""

    @functools.cache
    def find_filled(base: tuple[str, ...]) -> Valid:
        counts = (resolve_column(columns[name]).to_list() for name in base)
        return make_mask(
            any(count and count > 0 for count in each) for each in zip(*counts, strict=True)
        )

    def mask_column(name: str, base: tuple[str, ...]) -> Column:
        return _mask_rows(resolve_column(columns[name]), find_filled(base))

    bases = {field.name: field.base for field in SCHEMAS[table] if field.base}
    masked = {name: functools.partial(mask_column, name, base) for name, base in bases.items()}
    return {**columns, **masked}


def _mask_rows(column: Column, valid: Valid) -> Column:
    if valid is None:
        return column
    known = column.valid or [True] * len(column)
    return Column(column.values, [a and b for a, b in zip(known, valid, strict=True)])


def _subtract_columns(greatest: LazyColumn, smallest: LazyColumn) -> Column:
    high, low = resolve_column(greatest), resolve_column(smallest)
    pairs = zip(high.get_numbers(), low.get_numbers(), strict=True)
    return make_seconds_column([high - low for high, low in pairs], high.valid)


def _convert_to_seconds(twin: LazyColumn) -> Column:
    column = resolve_column(twin)
    if isinstance(column.values, memoryview):
        return make_seconds_column(column.values, column.valid)
    mask = column.get_mask()
    return Column((column.to_array() / 1e9).data, None if mask is None else mask.tolist())


@functools.cache
def make_empty_columns(table: str) -> Mapping[str, Column]:
    """Make the columns of a table without rows."""
    makers: dict[str, Callable[[], Column]] = {
        "str": lambda: Column([]),
        "i64": lambda: make_int_column([]),
        "f64": lambda: make_float_column([]),
    }
    return {field.name: makers[field.kind]() for field in SCHEMAS[table]}
