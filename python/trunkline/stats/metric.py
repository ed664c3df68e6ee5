"""Metrics by name: ``delay_p99_s``, ``ports.wait_mean_s``, ``goodput_bit_s@tcp1``.

A metric is a column of a table that has one row a flow, DSCP, port or path, for all rows or for
one of them. A port is named ``LINK/CLASS``.
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trunkline.results import SCHEMAS, Results
from trunkline.stats.run_averages import KEY_COLUMNS

DEFAULT_METRICS = ("flows.goodput_bit_s", "flows.delay_mean_s")
"""Metrics that a comparison shows by default."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A column of a results table."""

    # table, column: Where it stands.
    table: str
    column: str
    row: str = ""  # Name of the flow, DSCP, path or port (``LINK/CLASS``); empty for all rows.

    def __str__(self) -> str:
        place = f"{self.table}.{self.column}"
        return f"{place}@{self.row}" if self.row else place


def parse_metric(text: str) -> Metric:
    """Read a metric.

    text: ``[TABLE.]COLUMN[@ROW]``; the table is ``flows`` if left out.
    Raises ValueError: No such table or column, or one that is no measure; the message names the
        nearest.
    """
    place, _, row = text.partition("@")
    table, dot, column = place.strip().rpartition(".")
    table = table if dot else "flows"
    if table not in KEY_COLUMNS:
        raise ValueError(f"no table {table!r}; choose from {', '.join(KEY_COLUMNS)}")
    known = [field.name for field in SCHEMAS[table] if field.kind != "str"]
    if column not in known:
        near = difflib.get_close_matches(column, known, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(known)}"
        raise ValueError(f"{table} has no measure {column!r}{hint}")
    return Metric(table, column, row.strip())


MetricValues = dict[tuple[str, str], list[float | None]]


def collect_values(runs: Sequence[Results], metrics: Iterable[Metric]) -> MetricValues:
    """Collect the values of metrics, run by run.

    Returns: By metric (``table.column``) and row, in the order of the tables: a value a run, None
        where it is null.
    Raises ValueError: A metric names a row that is not there.
    """
    found: MetricValues = {}
    for metric in metrics:
        names = [_list_row_names(run, metric.table) for run in runs]
        columns = [run.tables[metric.table][metric.column] for run in runs]
        rows = [dict(zip(n, c, strict=True)) for n, c in zip(names, columns, strict=True)]
        row_names = [metric.row] if metric.row else names[0]
        for row in row_names:
            if not all(row in each for each in rows):
                near = difflib.get_close_matches(row, names[0], 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise ValueError(f"{metric.table} has no row {row!r}{hint}")
            metric_name = f"{metric.table}.{metric.column}"
            found[metric_name, row] = [_to_float(each[row]) for each in rows]
    return found


def find_flow_of_row(metric: str, row: str) -> str | None:
    """Name of the flow that a row of :func:`collect_values` belongs to.

    metric: ``table.column``.
    row: The row's name, ``FLOW`` or ``FLOW/SIZES``.
    Returns: None if the table has no row for a single flow.
    """
    keys = KEY_COLUMNS[metric.partition(".")[0]]
    if keys[:1] != ("flow",):
        return None
    return row if len(keys) == 1 else row.rpartition("/")[0]


def _to_float(value: str | int | float | None) -> float | None:
    return None if value is None else float(value)


def _list_row_names(run: Results, table: str) -> list[str]:
    results_table = run.tables[table]
    if not KEY_COLUMNS[table]:
        return ["run"] * len(results_table)
    columns = [results_table[key] for key in KEY_COLUMNS[table]]
    return ["/".join(str(part) for part in row) for row in zip(*columns, strict=True)]
