"""Series for the lines of a page's charts over time: those of the report, by probe."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from trunkline.report.charts import (
    MAX_CHART_LINES,
    RATE_POINTS,
    build_time_charts,
    collect_series,
    group_flows,
)
from trunkline.report.reported_run import ReportedRun

_MEASURES_BY_CHART = {
    "rate": ("throughput", "goodput"),
    "delay": ("delay",),
    "cwnd": ("cwnd",),
    "queue": ("queue-packets",),
    "use": ("utilisation",),
    "drops": ("drops",),
}
"""Measures of the probes that each chart of a report shows."""


@dataclass(frozen=True, slots=True)
class PlannedLine:
    """A line of a chart."""

    name: str
    colour: int
    probes: list[int]  # Which of the probes of `list_named_probes` are put together.


@dataclass(frozen=True, slots=True)
class PlannedChart:
    """A chart over time that a page draws of its own runs."""

    key: str
    title: str
    unit: str
    is_sum: bool  # Whether the series of a line are added; else their mean is taken.
    points: int  # Points of a line; steps are gathered into so many. 0: all points.
    lines: list[PlannedLine]


def plan_charts(reported_run: ReportedRun) -> list[dict[str, Any]]:
    """Plan the charts of a page as the report of the written scenario has them.

    Returns: Of `PlannedChart`; empty where no run was repeated with probes.
    """
    if not reported_run.probed.runs:
        return []
    probes = _list_probes(reported_run)
    flow_groups = group_flows(reported_run)
    plans = []
    for chart in build_time_charts(reported_run):
        measures = _MEASURES_BY_CHART[chart.key]
        by_target = {
            target: number for (measure, target), number in probes.items() if measure in measures
        }
        lines = [
            PlannedLine(
                line.name,
                line.colour,
                [
                    by_target[name]
                    for name in flow_groups.get(line.name, [line.name])
                    if name in by_target
                ],
            )
            for line in chart.lines[:MAX_CHART_LINES]
        ]
        points = {"rate": RATE_POINTS, "use": 2 * RATE_POINTS, "drops": 2 * RATE_POINTS}
        plans.append(
            PlannedChart(
                chart.key,
                chart.title,
                chart.unit,
                chart.key == "rate",
                points.get(chart.key, 0),
                [line for line in lines if line.probes],
            )
        )
    return [asdict(plan) for plan in plans]


def _list_probes(reported_run: ReportedRun) -> Mapping[tuple[str, str], int]:
    """Number of each probe that the report added, by its measure and the name of its line."""
    numbered = {}
    for number, series in enumerate(collect_series(reported_run)):
        name = (
            series.target if series.class_name is None else f"{series.target} {series.class_name}"
        )
        numbered[series.measure, name] = number
    return numbered


def list_named_probes(reported_run: ReportedRun) -> list[dict[str, Any]]:
    """List the probes that the report added, by names: a page looks them up in its own network.

    Returns: ``measure``, ``target`` (flow or link), ``class`` (name or None) and ``step_ns``.
    """
    step = reported_run.probed.step_ns
    return [
        {
            "measure": series.measure,
            "target": series.target,
            "class": series.class_name,
            "step_ns": step,
        }
        for series in collect_series(reported_run)
    ]
