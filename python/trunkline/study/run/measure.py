"""What is measured in a run: columns of result tables, and numbers out of series.

A measure is written as text, so that it can stand in a manifest and go to another machine.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trunkline.results import Results
from trunkline.stats import judge
from trunkline.study.errors import Refused
from trunkline.study.run.samples import Samples

if TYPE_CHECKING:
    from trunkline.scenario.sla import Bound

Value = float | int | str | list[float]
Values = dict[str, Value]
Measure = Callable[[Results], Values]

REPLICAS = "[*]"
"""What the name of a flow ends in that stands for all its replicas."""
MANY = "*"
"""What a name ends in that stands for all that begin so; so do those of replicas."""
SLA = "sla."
"""What the names of values begin with that tell whether a run keeps an agreement."""
DSCP = "dscp."
"""What the names of values begin with that tell how a DSCP fared under a failure."""
DSCP_MEASURES = ("loss_ratio", "delay_p99_s", "jitter_s")
"""What is measured of each DSCP in a study of failures."""


def of_columns(
    columns: Mapping[str, Mapping[str, Any]],
    bounds: Iterable[Bound] = (),
    dscps: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Measure that reads columns of result tables, and holds runs to service levels.

    Parameters
    ----------
    columns : mapping of str to mapping
        Name to ``table``, ``measure``, ``where``, or to ``series`` and ``of``; and ``unit`` with
        its ``scale``, which the value is divided by.
    bounds : iterable of Bound
        Of the scenario; each agreement becomes a value ``sla.NAME``, 1 in a run that keeps all its
        bounds and 0 in others.
    dscps : mapping of str to sequence of str, optional
        In a study of failures, each DSCP and the agreements about it: how it fared and the
        worst value of each bound become values too.
    """
    slas: dict[str, list[dict[str, Any]]] = {}
    for bound in bounds:
        if SLA + bound.sla in columns:
            raise Refused(f"column {SLA + bound.sla} has the name of what an agreement gives")
        slas.setdefault(bound.sla, []).append(asdict(bound))
    more = ({"slas": slas} if slas else {}) | ({"dscps": dict(dscps)} if dscps else {})
    return json.dumps({"columns": columns} | more, sort_keys=False)


@functools.lru_cache(maxsize=256)
def measure(text: str) -> Measure:
    """Find what a text made by :func:`of_columns` stands for.

    Raises
    ------
    Refused
        It is no such text.
    """
    said = json.loads(text)
    if not {"columns"} <= set(said) <= {"columns", "slas", "dscps"}:
        raise Refused(f"{text} is no measure of a study")

    slas = {SLA + name: list(map(_bound, bounds)) for name, bounds in said.get("slas", {}).items()}

    def measured(results: Results) -> Values:
        samples = Samples(results)
        values: Values = {
            name: samples.value(name, column)
            if "series" in column
            else _column(name, column, results)
            for name, column in said["columns"].items()
        }
        values |= {name: _kept(bounds, results) for name, bounds in slas.items()}
        return values | _fared(said.get("dscps", {}), slas.values(), results)

    return measured


def _bound(its: dict[str, Any]) -> Bound:
    # Few measures have any, and workers need nothing else of a scenario.
    from trunkline.scenario.sla import Bound

    return Bound(**{**its, "rows": tuple(its["rows"])})


def units(texts: Iterable[str]) -> dict[str, str]:
    """Units of the values of measures that read columns."""
    said = [json.loads(text)["columns"] for text in texts]
    return {name: column.get("unit", "1") for columns in said for name, column in columns.items()}


def percentiles(texts: Iterable[str]) -> list[str]:
    """Names of the values that are percentiles of delay, read off a histogram."""
    said = (json.loads(text)["columns"] for text in texts)
    found = (
        name
        for columns in said
        for name, column in columns.items()
        if str(column.get("measure", "")).startswith("delay_p")
    )
    return list(dict.fromkeys(found))


def agreements(texts: Iterable[str]) -> list[str]:
    """Names of the values that tell whether a run keeps an agreement."""
    found = (SLA + name for text in texts for name in json.loads(text).get("slas", {}))
    return list(dict.fromkeys(found))


def bound_value(bound: Bound) -> str:
    """Name of the value that is the worst of a run against a bound."""
    return f"{SLA}{bound.sla}.{bound.measure}"


def answers(texts: Iterable[str]) -> list[str]:
    """Names of the values that tell how DSCPs and bounds fared under failures."""
    found = []
    for said in map(json.loads, texts):
        dscps = said.get("dscps", {})
        found += [f"{DSCP}{name}.{column}" for name in dscps for column in DSCP_MEASURES]
        if dscps:
            bounds = (its for listed in said.get("slas", {}).values() for its in listed)
            found += [f"{SLA}{its['sla']}.{its['measure']}" for its in bounds]
    return list(dict.fromkeys(found))


def _fared(
    dscps: Mapping[str, Sequence[str]], slas: Iterable[list[Bound]], results: Results
) -> Values:
    """Of each DSCP its measures, of each bound the worst value; nan where nothing arrived."""
    if not dscps:
        return {}
    values: Values = {}
    for name in dscps:
        row = results.aggregates.where(dscp=name)
        for column in DSCP_MEASURES:
            values[f"{DSCP}{name}.{column}"] = _number(row[column])
    for bounds in slas:
        for bound, level in zip(bounds, judge(bounds, [results]), strict=True):
            values[bound_value(bound)] = _number(level.values[0])
    return values


def _number(value: object) -> float:
    return math.nan if value is None else float(str(value))


def _kept(bounds: list[Bound], results: Results) -> float:
    return float(all(level.met for level in judge(bounds, [results])))


def _column(name: str, column: Mapping[str, Any], results: Results) -> float:
    table, where = results.tables[column["table"]], column["where"]
    if (
        any(value.endswith((MANY, REPLICAS)) for value in where.values())
        or column["table"] == "drops"
    ):
        values = [
            row[column["measure"]]
            for row in table.rows(*where, column["measure"])
            if all(_is(str(row[key]), wanted) for key, wanted in where.items())
        ]
    else:
        try:
            values = [table.where(**where)[column["measure"]]]
        except KeyError as error:
            raise Refused(f"column {name}: {error.args[0]}") from None
    # Only what was lost has a row among the drops.
    if not values and column["table"] != "drops":
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
    if wanted.endswith(REPLICAS):
        stem = wanted.removesuffix(REPLICAS)
        return re.fullmatch(r"\[\d+\]", name.removeprefix(stem)) is not None
    return name.startswith(wanted.removesuffix(MANY)) if wanted.endswith(MANY) else name == wanted
