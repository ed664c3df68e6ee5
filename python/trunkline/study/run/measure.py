"""What is measured in a run: columns of result tables, and numbers out of series.

A measure is written as text, so that it can stand in a manifest and go to another machine.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from trunkline.results import Results
from trunkline.scenario.sla import Bound
from trunkline.stats import judge
from trunkline.study.errors import Refused
from trunkline.study.run.samples import Samples

Value = float | int | str | list[float]
Values = dict[str, Value]
Measure = Callable[[Results], Values]

REPLICAS = "[*]"
"""What the name of a flow ends in that stands for all its replicas."""
SLA = "sla."
"""What the names of values begin with that tell whether a run keeps an agreement."""


def of_columns(columns: Mapping[str, Mapping[str, Any]], bounds: Iterable[Bound] = ()) -> str:
    """Measure that reads columns of result tables, and holds runs to service levels.

    Parameters
    ----------
    columns : mapping of str to mapping
        Name to ``table``, ``measure``, ``where``, or to ``series`` and ``of``; and ``unit`` with
        its ``scale``, which the value is divided by.
    bounds : iterable of Bound
        Of the scenario; each agreement becomes a value ``sla.NAME``, 1 in a run that keeps all its
        bounds and 0 in others.
    """
    slas: dict[str, list[dict[str, Any]]] = {}
    for bound in bounds:
        if SLA + bound.sla in columns:
            raise Refused(f"column {SLA + bound.sla} has the name of what an agreement gives")
        slas.setdefault(bound.sla, []).append(asdict(bound))
    return json.dumps({"columns": columns} | ({"slas": slas} if slas else {}), sort_keys=False)


@functools.lru_cache(maxsize=256)
def measure(text: str) -> Measure:
    """Find what a text made by :func:`of_columns` stands for.

    Raises
    ------
    Refused
        It is no such text.
    """
    said = json.loads(text)
    if not {"columns"} <= set(said) <= {"columns", "slas"}:
        raise Refused(f"{text} is no measure of a study")

    slas = {
        SLA + name: [Bound(**{**its, "rows": tuple(its["rows"])}) for its in bounds]
        for name, bounds in said.get("slas", {}).items()
    }

    def measured(results: Results) -> Values:
        samples = Samples(results)
        values: Values = {
            name: samples.value(name, column)
            if "series" in column
            else _column(name, column, results)
            for name, column in said["columns"].items()
        }
        return values | {name: _kept(bounds, results) for name, bounds in slas.items()}

    return measured


def units(texts: Iterable[str]) -> dict[str, str]:
    """Units of the values of measures that read columns."""
    said = [json.loads(text)["columns"] for text in texts]
    return {name: column.get("unit", "1") for columns in said for name, column in columns.items()}


def agreements(texts: Iterable[str]) -> list[str]:
    """Names of the values that tell whether a run keeps an agreement."""
    found = (SLA + name for text in texts for name in json.loads(text).get("slas", {}))
    return list(dict.fromkeys(found))


def _kept(bounds: list[Bound], results: Results) -> float:
    return float(all(level.met for level in judge(bounds, [results])))


def _column(name: str, column: Mapping[str, Any], results: Results) -> float:
    table, where = results.tables[column["table"]], column["where"]
    if any(value.endswith(REPLICAS) for value in where.values()):
        values = [
            row[column["measure"]]
            for row in table.rows()
            if all(_is(str(row[key]), wanted) for key, wanted in where.items())
        ]
    else:
        try:
            values = [table.where(**where)[column["measure"]]]
        except KeyError as error:
            raise Refused(f"column {name}: {error.args[0]}") from None
    if not values:
        raise Refused(f"column {name}: {column['table']} has no row with {where}")
    known = [float("nan") if value is None else float(value) for value in values]
    return _OVER[column.get("over", "sum")](known) / float(column["scale"])


def _p95(values: list[float]) -> float:
    """Value of rank ceil(0.95 n), as percentiles of delays are; nan where one is unknown."""
    if any(map(math.isnan, values)):
        return math.nan
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


_OVER: dict[str, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "mean": lambda values: math.fsum(values) / len(values),
    "min": lambda values: math.nan if any(map(math.isnan, values)) else min(values),
    "max": lambda values: math.nan if any(map(math.isnan, values)) else max(values),
    "p95": _p95,
}


def _is(name: str, wanted: str) -> bool:
    stem = wanted.removesuffix(REPLICAS)
    return (
        name == wanted
        if stem == wanted
        else re.fullmatch(r"\[\d+\]", name.removeprefix(stem)) is not None
    )
