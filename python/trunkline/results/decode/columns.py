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
from trunkline.results.table import Column, Later, present
from trunkline.results.tables import SCHEMAS

if TYPE_CHECKING:
    import polars as pl

    from trunkline.network.types import Network

RawTable = Mapping[str, tuple[str, bytes]]
Valid = list[bool] | None

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
"""Quantiles of delay that tables have: probabilities, by their name in columns."""

DELAYS = ("mean", "min", "max", *QUANTILES)
"""Measures of delay that tables have, as their columns call them."""

_FORMATS = {"i64": "q", "f64": "d", "u32": "I", "u8": "B"}


class Rows:
    """A raw table.

    Parameters
    ----------
    columns : mapping of str to (kind, bytes)
        Little-endian numbers by column, as an engine returns them.
    """

    def __init__(self, columns: RawTable) -> None:
        self._columns = columns
        self._lists: dict[str, list[Any]] = {}

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def column(self, name: str, valid: Valid = None) -> Column:
        """A column as it is; 64-bit numbers are not copied."""
        kind, data = self._columns[name]
        values = memoryview(data).cast(_FORMATS[kind])  # type: ignore[call-overload]
        if kind in ("i64", "f64"):
            return Column(values, valid)
        return ints(values.tolist(), valid)

    def frame(self) -> pl.DataFrame:
        """All of it as a data frame; numbers are not copied."""
        import numpy as np
        import polars as pl

        return pl.DataFrame(
            {
                name: np.frombuffer(data, _FORMATS[kind])
                for name, (kind, data) in self._columns.items()
            }
        )

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._lists:
            kind, data = self._columns[name]
            self._lists[name] = memoryview(data).cast(_FORMATS[kind]).tolist()  # type: ignore[call-overload]
        return self._lists[name]


def ints(values: Iterable[int], valid: Valid = None) -> Column:
    """A column of integers."""
    return Column(memoryview(array("q", values)), valid)


def floats(values: Iterable[float], valid: Valid = None) -> Column:
    """A column of doubles."""
    return Column(memoryview(array("d", values)), valid)


def seconds(values_ns: Iterable[float], valid: Valid = None) -> Column:
    """Nanoseconds in seconds."""
    return floats([value / 1e9 for value in values_ns], valid)


def rate(counted_bytes: Iterable[int], measured_s: float) -> Column:
    """Bytes over the measured time, in bit/s."""
    return floats([count * 8 / measured_s for count in counted_bytes])


def ratio(parts: Sequence[int], wholes: Sequence[int]) -> Column:
    """Parts over wholes; null where the whole is zero."""
    pairs = zip(parts, wholes, strict=True)
    return floats(
        [part / whole if whole > 0 else 0.0 for part, whole in pairs],
        mask(whole > 0 for whole in wholes),
    )


def mask(valid: Iterable[bool]) -> Valid:
    """Which rows are not null; None if all are."""
    listed = list(valid)
    return None if all(listed) else listed


def texts(given: Iterable[Any], text: Callable[[Any], str | None]) -> Column:
    """Texts of rows, few of which differ."""
    return Column(list(map(functools.cache(text), given)))


def names(items: Sequence[str], indices: Iterable[int]) -> Column:
    """Names at these indices; null where the index is outside the list."""
    return Column(list(map(dict(enumerate(items)).get, indices)))


def names_of(
    network: Network, key: Literal["nodes", "links", "flows", "paths"], indices: Iterable[int]
) -> Column:
    """Names of the network's nodes, links, flows or paths at these indices."""
    return names([item["name"] for item in network[key]], indices)


def class_names(network: Network) -> Callable[[int, int], str | None]:
    """A function from link and class of its port to the name of the class, if there is one."""
    ports = [[each["name"] for each in port["classes"]] for port in network["ports"]]
    port_of = [link["port"] for link in network["links"]]

    def class_name(link: int, index: int) -> str | None:
        if not 0 <= link < len(port_of):
            return None
        named = ports[port_of[link]]
        return named[index] if 0 <= index < len(named) else None

    return class_name


def classes_of(network: Network, rows: Rows) -> Column:
    """Names of the classes of a table's ``link`` and ``class`` columns."""
    class_name = class_names(network)
    return texts(zip(rows["link"], rows["class"], strict=True), lambda pair: class_name(*pair))


_NAMED: dict[str, Callable[[Rows, Network], Column]] = {
    "flow": lambda rows, network: names_of(network, "flows", rows["flow"]),
    "link": lambda rows, network: names_of(network, "links", rows["link"]),
    "node": lambda rows, network: names_of(network, "nodes", rows["node"]),
    "path": lambda rows, network: names_of(network, "paths", rows["path"]),
    "class": lambda rows, network: classes_of(network, rows),
    "direction": lambda rows, _: names(("forward", "reverse"), rows["reverse"]),
    "dscp": lambda rows, _: texts(rows["dscp"], dscp.name),
    "cause": lambda rows, _: names(_core.CAUSES, rows["cause"]),
    "colour": lambda rows, _: names(_core.COLOURS, rows["colour"]),
    "ecn": lambda rows, _: names(_core.ECN, rows["ecn"]),
}
"""Columns of names, which tables call alike."""


def whole(
    table: str, rows: Rows, network: Network, own: Mapping[str, Later] | None = None
) -> dict[str, Later]:
    """The columns of a table by its schema: what is its own, the rest as the engine gave it.

    What the engine numbers is named, and times in nanoseconds are given in seconds too, once
    somebody asks for them.

    Parameters
    ----------
    own : mapping of str to Column, or to what makes one, optional
        Columns that are worked out.
    """
    made: dict[str, Later] = dict(own or {})
    for field in SCHEMAS[table]:
        name = field.name
        if name in made:
            continue
        if name in _NAMED:
            made[name] = functools.partial(_NAMED[name], rows, network)
        elif name in rows.names:
            made[name] = rows.column(name)
        elif name == "delay_range_s":
            ends = made["delay_max_ns"], made["delay_min_ns"]
            made[name] = functools.partial(_range, *ends)
        else:
            twin = made[name.removesuffix("_s") + "_ns"]
            made[name] = functools.partial(_in_seconds, twin)
    return made


def _range(most: Later, least: Later) -> Column:
    high, low = present(most), present(least)
    pairs = zip(high.numbers(), low.numbers(), strict=True)
    return seconds([high - low for high, low in pairs], high.valid)


def _in_seconds(twin: Later) -> Column:
    column = present(twin)
    if isinstance(column.values, memoryview):
        return seconds(column.values, column.valid)
    mask = column.mask()
    return Column((column.array() / 1e9).data, None if mask is None else mask.tolist())


@functools.cache
def empty(table: str) -> Mapping[str, Column]:
    """The columns of a table without rows."""
    made: dict[str, Callable[[], Column]] = {
        "str": lambda: Column([]),
        "i64": lambda: ints([]),
        "f64": lambda: floats([]),
    }
    return {field.name: made[field.kind]() for field in SCHEMAS[table]}
