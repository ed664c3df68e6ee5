"""A table of results: columns held once, shown to any data frame library without a copy."""

from __future__ import annotations

import html
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.results.fields import FieldKind
from trunkline.results.schemas import Field

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray

Scalar = str | int | float | None

MAX_HTML_ROWS = 30


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one column.

    Parameters
    ----------
    values : memoryview of int64 or float64, list of str or None, or polars series
        One value a row. A series carries its nulls, as a list of strings does.
    valid : list of bool, or None
        Which numbers of a memoryview are not null; None = all.
    """

    values: memoryview[Any] | list[str | None] | pl.Series
    valid: list[bool] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def get_item(self, index: int) -> Scalar:
        """Return one value as a Python object, None where null."""
        if self.valid is not None and not self.valid[index]:
            return None
        value: Scalar = self.values[index]
        return value

    def to_list(self) -> list[Scalar]:
        """Values as Python objects, None where null."""
        if isinstance(self.values, list):
            return list(self.values)
        if not isinstance(self.values, memoryview):
            return self.values.to_list()
        items: list[Any] = self.values.tolist()
        if self.valid is None:
            return items
        return [x if ok else None for x, ok in zip(items, self.valid, strict=True)]

    def get_numbers(self) -> memoryview[Any]:
        """Return the numbers, with anything where null."""
        assert not isinstance(self.values, list)
        return self.values if isinstance(self.values, memoryview) else self.to_array().data

    def to_array(self) -> NDArray[Any]:
        """The numbers as a numpy array: not-a-number where a double is null, else anything there.

        It shares their memory where no double is null.
        """
        import numpy as np

        assert not isinstance(self.values, list)
        if not isinstance(self.values, memoryview):
            nothing = np.nan if self.values.dtype.is_float() else -1
            return self.values.fill_null(nothing).to_numpy()
        if len(self.values) == 0:
            return np.zeros(0, dtype=self.values.format)
        numbers = np.frombuffer(self.values, dtype=self.values.format)
        if (mask := self.get_mask()) is None or self.values.format != "d":
            return numbers
        return np.where(mask, numbers, np.nan)

    def get_mask(self) -> NDArray[np.bool_] | None:
        """Get a mask of the numbers that are not null; None if all are."""
        import numpy as np

        if isinstance(self.values, memoryview):
            return None if self.valid is None else np.array(self.valid, dtype=np.bool_)
        assert not isinstance(self.values, list)
        return self.values.is_not_null().to_numpy() if self.values.null_count() else None

    def to_series(self, name: str, kind: FieldKind) -> pl.Series:
        """Convert it to a polars series; numbers without nulls are not copied."""
        import polars as pl

        if not isinstance(self.values, memoryview | list):
            return self.values.alias(name)
        types: dict[FieldKind, Any] = {"str": pl.String, "i64": pl.Int64, "f64": pl.Float64}
        values = self.values if isinstance(self.values, list) else self.to_array()
        polars_series = pl.Series(name, values, dtype=types[kind])
        if self.valid is not None:
            mask = pl.Series(self.valid, dtype=pl.Boolean)
            nulls = pl.Series([None], dtype=types[kind]).new_from_index(0, len(polars_series))
            polars_series = polars_series.zip_with(mask, nulls)
        return polars_series

    def to_hash_bytes(self, kind: FieldKind) -> bytes | memoryview[Any]:
        """Encode the table for the results hash: see `Results.hash`."""
        if kind == "str":
            texts: Any = self.values
            return _join_names(
                texts if isinstance(texts, list) else texts.fill_null("").to_list()
            ).encode()
        if not isinstance(self.values, memoryview):
            return self.to_array().astype("<i8").tobytes()
        if self.valid is None and sys.byteorder == "little":
            return self.values
        # Few rows, mostly: numpy takes longer to import.
        listed: list[Any] = self.to_list()
        numbers = array("q", [-1 if value is None else value for value in listed])
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tobytes()


def _join_names(names: list[str | None]) -> str:
    """Names, each followed by a zero byte; null is an empty name."""
    nulls = names.count(None)
    if nulls == len(names):
        return "\0" * nulls
    filled = names if not nulls else [name or "" for name in names]
    return "\0".join([*filled, ""])


LazyColumn = Column | Callable[[], Column]  # A column, or a function that makes it.


def resolve_column(column: LazyColumn) -> Column:
    """The column, made if it is not there yet."""
    return column if isinstance(column, Column) else column()


class Table:
    """A table of results.

    It offers the Arrow PyCapsule interface, so ``pyarrow.table(t)``, ``polars.DataFrame(t)`` and
    DuckDB read it without copying numbers.

    Parameters
    ----------
    name : str
        Its name, e.g. ``"flows"``.
    fields : sequence of Field
        Names and types of the columns, in order.
    columns : mapping of str to Column, or to a function that makes one
        A column for each field, all of one length. A function makes its column at the first use.
    """

    def __init__(
        self, name: str, fields: Sequence[Field], columns: Mapping[str, LazyColumn]
    ) -> None:
        self.name = name
        self.fields = tuple(fields)
        self._columns = {field.name: columns[field.name] for field in fields}
        ready_columns = (column for column in self._columns.values() if isinstance(column, Column))
        lengths = {len(column) for column in ready_columns}
        if len(lengths) > 1:
            raise ValueError(f"columns of {name} differ in length: {sorted(lengths)}")
        self._height = lengths.pop() if lengths else 0
        self._frame: pl.DataFrame | None = None

    def __len__(self) -> int:
        return self._height

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._columns)

    def column(self, name: str) -> Column:
        """One column.

        Raises
        ------
        KeyError
            No such column; the message lists those there are.
        """
        if name not in self._columns:
            raise KeyError(f"{self.name} has no column {name!r}; it has {', '.join(self._columns)}")
        column = self._columns[name] = resolve_column(self._columns[name])
        return column

    def __getitem__(self, name: str) -> list[Scalar]:
        return self.column(name).to_list()

    def rows(self, *column_names: str) -> Iterator[dict[str, Scalar]]:
        """Rows as dictionaries with null as None; only ``column_names``, if any are named."""
        names = column_names or self.columns
        for values in zip(*(self[name] for name in names), strict=True):
            yield dict(zip(names, values, strict=True))

    def row(self, index: int) -> dict[str, Scalar]:
        """One row as a dictionary, null as None."""
        return {name: self.column(name).get_item(index) for name in self.columns}

    def where(self, **values: Scalar) -> dict[str, Scalar]:
        """Find the one row whose columns have these values.

        Raises
        ------
        KeyError
            No such row, or more than one.
        """
        value_lists = [self[name] for name in values]
        found = [
            index
            for index, row in enumerate(zip(*value_lists, strict=True))
            if row == tuple(values.values())
        ]
        if len(found) != 1:
            condition_text = ", ".join(f"{name}={value!r}" for name, value in values.items())
            raise KeyError(f"{self.name} has {len(found)} rows with {condition_text}")
        return self.row(found[0])

    def to_polars(self, *column_names: str) -> pl.DataFrame:
        """Convert it to a polars data frame; numbers without nulls are not copied.

        These columns alone, if any are named.

        Raises
        ------
        KeyError
            There is no such column.
        """
        if self._frame is not None and not column_names:
            return self._frame
        import polars as pl

        kinds = {each.name: each.kind for each in self.fields}
        names = column_names or kinds
        frame = pl.DataFrame([self.column(name).to_series(name, kinds[name]) for name in names])
        if not column_names:
            self._frame = frame
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Convert it to a pandas data frame; needs pandas and pyarrow."""
        return self.to_polars().to_pandas()

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """Convert each column to a numpy array; null integers become not-a-number doubles."""
        import numpy as np

        arrays: dict[str, NDArray[Any]] = {}
        for field in self.fields:
            column = self.column(field.name)
            if field.kind == "str":
                arrays[field.name] = np.array(column.to_list(), dtype=object)
            elif (mask := column.get_mask()) is None:
                arrays[field.name] = column.to_array()
            else:
                arrays[field.name] = np.where(mask, column.to_array(), np.nan)
        return arrays

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_polars().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Table {self.name}: {self._height} rows, {len(self._columns)} columns>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = []
        for index, row in enumerate(self.rows()):
            if index == MAX_HTML_ROWS:
                break
            cells = "".join(
                f"<td>{html.escape(format_scalar(value))}</td>" for value in row.values()
            )
            body.append(f"<tr>{cells}</tr>")
        hidden_count = self._height - len(body)
        note = f"<p>and {hidden_count} more rows</p>" if hidden_count > 0 else ""
        return (
            f"<table><caption>{html.escape(self.name)}: {self._height} rows</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{note}"
        )


def format_scalar(value: Scalar) -> str:
    """Write a value for people: four significant digits for a double, a dash for null."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
