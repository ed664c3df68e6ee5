"""A table of several replications: the mean of every measure with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trunkline.results import Results
from trunkline.stats.interval import Interval, mean_interval

KEYS = {
    "flows": ("flow",),
    "classes": ("class",),
    "ports": ("link", "class"),
    "paths": ("path",),
    "summary": (),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of every replication.

    Parameters
    ----------
    key : dict of str to str
        Names that say which flow, class, port or path it is.
    measures : dict of str to Interval
        Mean and interval of each measure; a measure that is null in every run is left out.
    """

    key: dict[str, str]
    measures: dict[str, Interval]


def across(runs: Sequence[Results], table: str = "flows") -> list[Row]:
    """Mean and 95 % interval of every measure over runs of one scenario.

    Parameters
    ----------
    runs : sequence of Results
        Runs with different seeds; at least one.
    table : {"flows", "classes", "ports", "paths", "summary"}
        Which table.

    Returns
    -------
    list of Row
        In the order of the table. A measure that is null in some runs is averaged over the
        others, whose number is the interval's ``n``.
    """
    if not runs:
        msg = "at least one run is needed"
        raise ValueError(msg)
    if table not in KEYS:
        msg = f"{table!r} has no rows to average; choose from {', '.join(KEYS)}"
        raise ValueError(msg)
    first = runs[0].tables[table]
    names = [field.name for field in first.fields if field.kind != "str" and field.in_json]
    keys = [{name: str(value) for name, value in _only(row, table)} for row in first.rows()]
    values = {name: [run.tables[table][name] for run in runs] for name in names}
    rows = []
    for index, key in enumerate(keys):
        measures = {}
        for name in names:
            known = [float(run[index]) for run in values[name] if run[index] is not None]  # type: ignore[arg-type]
            if known:
                measures[name] = mean_interval(known)
        rows.append(Row(key, measures))
    return rows


def _only(row: dict[str, str | int | float | None], table: str) -> list[tuple[str, object]]:
    return [(name, row[name]) for name in KEYS[table]]
