"""What is measured in a run: columns of result tables, or a function of a study's own.

A measure is written as text, so that it can stand in a manifest and go to another machine.
"""

from __future__ import annotations

import functools
import importlib
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

Value = float | int | str | list[float]
Values = dict[str, Value]
Measure = Callable[[Results], Values]

FUNCTIONS_OF = "trunkline.studies."
"""Only functions of packages below this one are called by name."""

REPLICAS = "[*]"


SLA = "sla."
"""What the names of values begin with that tell whether a run keeps an agreement."""


def of_columns(columns: Mapping[str, Mapping[str, Any]], bounds: Iterable[Bound] = ()) -> str:
    """Measure that reads columns of result tables, and holds runs to service levels.

    Parameters
    ----------
    columns : mapping of str to mapping
        Name to ``table``, ``measure``, ``where``, and ``unit`` with its ``scale``, which the value
        is divided by.
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


def of_function(function: Measure) -> str:
    """Measure that calls a function of a study, which takes results and gives values by name."""
    return json.dumps({"function": f"{function.__module__}:{function.__qualname__}"})


@functools.lru_cache(maxsize=256)
def measure(text: str) -> Measure:
    """Find what a text made by :func:`of_columns` or :func:`of_function` stands for.

    Raises
    ------
    Refused
        It names something that is no measure of a study.
    """
    said = json.loads(text)
    if "columns" in said:
        slas = {
            SLA + name: [Bound(**{**its, "rows": tuple(its["rows"])}) for its in bounds]
            for name, bounds in said.get("slas", {}).items()
        }
        return lambda results: {
            **{name: _column(name, column, results) for name, column in said["columns"].items()},
            **{name: _kept(bounds, results) for name, bounds in slas.items()},
        }
    module, _, name = str(said.get("function")).partition(":")
    if not module.startswith(FUNCTIONS_OF) or not name.isidentifier():
        raise Refused(f"{text} is no measure of a study")
    function: Measure = getattr(importlib.import_module(module), name)
    return function


def units(texts: Iterable[str]) -> dict[str, str]:
    """Units of the values of measures that read columns."""
    said = [json.loads(text).get("columns", {}) for text in texts]
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
    total = math.fsum(float("nan") if v is None else float(v) for v in values)
    return total / float(column["scale"])


def _is(name: str, wanted: str) -> bool:
    stem = wanted.removesuffix(REPLICAS)
    return (
        name == wanted
        if stem == wanted
        else re.fullmatch(r"\[\d+\]", name.removeprefix(stem)) is not None
    )
