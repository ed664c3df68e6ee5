"""Measures of a run: columns of result tables, and numbers from series.

A measure is written as text, so that it can be in a manifest and go to another machine.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline.results import Results
from trunkline.stats import judge_bounds
from trunkline.stats.control_variates import (
    OfferedMean,
    read_offered_deviations,
    select_controls,
)
from trunkline.study.errors import StudyError
from trunkline.study.run.samples import ProbeSamples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trunkline.scenario.sla import SlaBound

RunValue = float | int | str | list[float | None] | None
"""Value of a measure; None where the run has nothing to measure."""
RunValues = dict[str, RunValue]
RunMeasure = Callable[[Results], RunValues]

REPLICA_SUFFIX = "[*]"  # Suffix of the name of a flow that represents all its replicas.
WILDCARD_SUFFIX = "*"
"""Suffix of a name that matches all names with the same beginning, replicas as well."""
SLA_PREFIX = "sla."
"""Prefix of the names of values that show whether a run keeps an agreement."""
CONTROL_PREFIX = "control."
"""Prefix of the names of values that are bytes which a flow offered beyond its mean."""
ALL_CONTROL = f"{CONTROL_PREFIX}*"  # Name of the sum of all flows.
DSCP_PREFIX = "dscp."
"""Prefix of the names of values that show the service of a DSCP under a failure."""
DSCP_MEASURES = ("loss_ratio", "delay_p99_s", "jitter_s")
"""Measures of each DSCP in a study of failures."""


def build_measure(
    columns: Mapping[str, Mapping[str, Any]],
    bounds: Iterable[SlaBound] = (),
    dscps: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Measure that reads columns of result tables, and holds runs to service levels.

    columns: Name to ``table``, ``measure``, ``where``, or to ``series`` and ``of``; and ``unit``
        with its ``scale``, which the value is divided by.
    bounds: Bounds in the scenario; each agreement gives a value ``sla.NAME``, 1 in a run that keeps
        all its bounds and 0 in others.
    dscps: In a study of failures, each DSCP and the agreements about it: its service and the worst
        value of each bound become values too.
    """
    slas: dict[str, list[dict[str, Any]]] = {}
    for bound in bounds:
        if SLA_PREFIX + bound.sla in columns:
            raise StudyError(
                f"column {SLA_PREFIX + bound.sla} has the name of what an agreement gives"
            )
        slas.setdefault(bound.sla, []).append(asdict(bound))
    sla_fields = ({"slas": slas} if slas else {}) | ({"dscps": dict(dscps)} if dscps else {})
    return json.dumps({"columns": columns} | sla_fields, sort_keys=False)


def add_controls(text: str, offered_means: Mapping[str, OfferedMean]) -> str:
    """Add control variates to a measure: bytes offered beyond the mean, by flow and of all flows.

    offered_means: Offered loads of known mean by flow; without any the measure is unchanged.
    Raises StudyError: A column has such a name.
    """
    if not offered_means:
        return text
    spec = json.loads(text)
    if clash := next((name for name in spec["columns"] if name.startswith(CONTROL_PREFIX)), None):
        raise StudyError(f"column {clash} has the name of a control variate")
    controls = {flow: asdict(offered) for flow, offered in offered_means.items()}
    return json.dumps(spec | {"controls": controls}, sort_keys=False)


@functools.lru_cache(maxsize=256)
def _parse_controls(text: str) -> tuple[Mapping[str, OfferedMean], Mapping[str, str]]:
    """Parse the offered means of a measure, and the flows of each value: a name or a pattern."""
    spec = json.loads(text)
    means = {flow: OfferedMean(**fields) for flow, fields in spec.get("controls", {}).items()}
    flows = {
        name: column["where"]["flow"]
        for name, column in spec["columns"].items()
        if any(_matches_pattern(flow, column.get("where", {}).get("flow", "")) for flow in means)
    }
    return means, flows


def list_controls(text: str) -> list[str]:
    """List the names of the control variates among the values of a measure."""
    means, flows = _parse_controls(text)
    if not means:
        return []
    return list(dict.fromkeys([ALL_CONTROL, *(CONTROL_PREFIX + each for each in flows.values())]))


def select_value_controls(
    text: str, name: str, controls: Mapping[str, Sequence[float]]
) -> NDArray[np.float64]:
    """Choose the control variates of a value: its own flow, and all others together.

    controls: Values of `list_controls`, one a run.
    Returns: Array of shape (runs, 0 to 2).
    """
    means, flows = _parse_controls(text)
    if not means:
        return np.zeros((0, 0))
    every = np.array(controls[ALL_CONTROL], dtype=np.float64)
    flow = flows.get(name)
    if flow is None:
        return select_controls({ALL_CONTROL: every}, None, len(every))
    own = np.array(controls[CONTROL_PREFIX + flow], dtype=np.float64)
    return select_controls({flow: own, ALL_CONTROL: every - own}, flow, len(every))


def _measure_controls(text: str, results: Results) -> RunValues:
    means, _ = _parse_controls(text)
    if not means:
        return {}
    beyond = {flow: float(v[0]) for flow, v in read_offered_deviations([results], means).items()}
    return {
        name: math.fsum(
            beyond[flow]
            for flow in beyond
            if _matches_pattern(flow, name.removeprefix(CONTROL_PREFIX))
        )
        for name in list_controls(text)
    }


@functools.lru_cache(maxsize=256)
def parse_measure(text: str) -> RunMeasure:
    """Parse the text that :func:`build_measure` made.

    Raises StudyError: It is no such text.
    """
    spec = json.loads(text)
    if not {"columns"} <= set(spec) <= {"columns", "slas", "dscps", "controls"}:
        raise StudyError(f"{text} is no measure of a study")

    slas = {
        SLA_PREFIX + name: list(map(_build_bound, bounds))
        for name, bounds in spec.get("slas", {}).items()
    }

    def measured(results: Results) -> RunValues:
        samples = ProbeSamples(results)
        values: RunValues = {
            name: samples.compute_value(name, column)
            if "series" in column
            else _read_column(name, column, results)
            for name, column in spec["columns"].items()
        }
        values |= {name: _judge_agreement(bounds, results) for name, bounds in slas.items()}
        values |= _measure_failures(spec.get("dscps", {}), slas.values(), results)
        return values | _measure_controls(text, results)

    return measured


def _build_bound(fields: dict[str, Any]) -> SlaBound:
    # Few measures have any, and workers need nothing else of a scenario.
    from trunkline.scenario.sla import SlaBound

    return SlaBound(**{**fields, "rows": tuple(fields["rows"])})


def collect_units(texts: Iterable[str]) -> dict[str, str]:
    """Collect the units of the values of measures that read columns."""
    column_specs = [json.loads(text)["columns"] for text in texts]
    return {
        name: column.get("unit", "1")
        for columns in column_specs
        for name, column in columns.items()
    }


def list_percentiles(texts: Iterable[str]) -> list[str]:
    """List the names of the values that are percentiles of delay, read off a histogram."""
    column_specs = (json.loads(text)["columns"] for text in texts)
    found = (
        name
        for columns in column_specs
        for name, column in columns.items()
        if str(column.get("measure", "")).startswith("delay_p")
    )
    return list(dict.fromkeys(found))


def list_agreements(texts: Iterable[str]) -> list[str]:
    """List the values that show whether a run keeps an agreement."""
    found = (SLA_PREFIX + name for text in texts for name in json.loads(text).get("slas", {}))
    return list(dict.fromkeys(found))


def list_value_names(text: str) -> list[str]:
    """List the names of the values that a measure gives, in their order."""
    return [
        *json.loads(text)["columns"],
        *list_agreements([text]),
        *list_failure_values([text]),
        *list_controls(text),
    ]


def name_bound_value(bound: SlaBound) -> str:
    """Name of the value that is the worst of a run against a bound."""
    return f"{SLA_PREFIX}{bound.sla}.{bound.measure}"


def list_failure_values(texts: Iterable[str]) -> list[str]:
    """List the values that show the service of DSCPs and the bounds under failures."""
    found = []
    for spec in map(json.loads, texts):
        dscps = spec.get("dscps", {})
        found += [f"{DSCP_PREFIX}{name}.{column}" for name in dscps for column in DSCP_MEASURES]
        if dscps:
            bounds = (bound for listed in spec.get("slas", {}).values() for bound in listed)
            found += [f"{SLA_PREFIX}{bound['sla']}.{bound['measure']}" for bound in bounds]
    return list(dict.fromkeys(found))


def _measure_failures(
    dscps: Mapping[str, Sequence[str]], slas: Iterable[list[SlaBound]], results: Results
) -> RunValues:
    """Measure each DSCP, and the worst value of each bound; None where nothing arrived."""
    if not dscps:
        return {}
    values: RunValues = {}
    for name in dscps:
        row = results.aggregates.where(dscp=name)
        for column in DSCP_MEASURES:
            values[f"{DSCP_PREFIX}{name}.{column}"] = row[column]
    for bounds in slas:
        for bound, level in zip(bounds, judge_bounds(bounds, [results]), strict=True):
            values[name_bound_value(bound)] = level.values[0]
    return values


def _judge_agreement(bounds: list[SlaBound], results: Results) -> float:
    return float(all(level.met for level in judge_bounds(bounds, [results])))


def _read_column(name: str, column: Mapping[str, Any], results: Results) -> float | None:
    table, row_filter = results.tables[column["table"]], column["where"]
    if (
        any(value.endswith((WILDCARD_SUFFIX, REPLICA_SUFFIX)) for value in row_filter.values())
        or column["table"] == "drops"
    ):
        values = [
            row[column["measure"]]
            for row in table.rows(*row_filter, column["measure"])
            if all(_matches_pattern(str(row[key]), pattern) for key, pattern in row_filter.items())
        ]
    else:
        try:
            values = [table.where(**row_filter)[column["measure"]]]
        except KeyError as error:
            raise StudyError(f"column {name}: {error.args[0]}") from None
    # Only losses have rows among the drops.
    if not values and column["table"] != "drops":
        raise StudyError(f"column {name}: {column['table']} has no row with {row_filter}")
    over = column.get("over", "sum")
    known = [float(value) for value in values if value is not None]
    # Where a row has no value all together have none; no row at all adds up to nothing lost.
    if len(known) < len(values) or not (known or over == "sum"):
        return None
    return _AGGREGATIONS[over](known) / float(column["scale"])


_AGGREGATIONS: dict[str, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "mean": lambda values: math.fsum(values) / len(values),
    "min": min,
    "max": max,
    # The value of rank ceil(0.95 n), as percentiles of delays are.
    "p95": lambda values: sorted(values)[math.ceil(0.95 * len(values)) - 1],
}


def _matches_pattern(name: str, pattern: str) -> bool:
    if pattern.endswith(REPLICA_SUFFIX):
        stem = pattern.removesuffix(REPLICA_SUFFIX)
        return re.fullmatch(r"\[\d+\]", name.removeprefix(stem)) is not None
    return (
        name.startswith(pattern.removesuffix(WILDCARD_SUFFIX))
        if pattern.endswith(WILDCARD_SUFFIX)
        else name == pattern
    )
