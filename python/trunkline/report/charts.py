"""Charts of an exhibit: lines with bands, distributions, bars; data for the page."""

import re
from collections import defaultdict
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trunkline.report.event_markers import EventMarker, find_event_markers
from trunkline.report.reported_run import ReportedRun
from trunkline.results import Results
from trunkline.results.number_format import format_duration, format_number

FloatArray = NDArray[np.float64]
Numbers = list[float | None]

MAX_CHART_LINES = 8  # Lines in one chart; where there are more, the largest are shown.

MAX_SINGLE_FLOWS = 6
"""Flows that each have a line; where there are more, replicas share one, or those of a DSCP."""

RATE_POINTS = 75  # Points of a line of rates: a rate over a few packets is mostly noise.

MAX_LINE_POINTS = 600  # Points of one line; where more were recorded, they are gathered into steps.


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line: values, and a band around them where there is one."""

    name: str
    values: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    x: Numbers | None = None
    colour: int = 0  # Number of its colour, its dashes and its sign, the same wherever it is shown.


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart."""

    key: str  # Name of its place on the page, unique in an exhibit.
    title: str
    about: str  # Its method, and the meaning of the band.
    alt: str  # Description of the chart in words.
    kind: Literal["line", "quantile", "bar", "against"]  # How it is drawn.
    unit: str  # Unit of the values.
    x: Numbers  # Where the values of all lines are, unless they have their own.
    lines: list[ChartLine]
    marks: list[EventMarker] = field(default_factory=list)
    x_unit: str = "s"
    categories: list[str] = field(default_factory=list)
    end: float = 0.0  # Where the axis of time ends [s].

    def to_json(self) -> dict[str, Any]:
        """Build data for the page, without the texts."""
        fields = asdict(self)
        for name in ("about", "alt"):
            del fields[name]
        return {name: value for name, value in fields.items() if value not in (None, [])}


@dataclass(frozen=True, slots=True)
class RecordedSeries:
    """One series of every repeated run, on one grid of time."""

    measure: str
    target: str
    class_name: str | None
    time_s: FloatArray
    values: FloatArray  # Shape (runs, steps).


def collect_series(reported_run: ReportedRun) -> list[RecordedSeries]:
    """Collect the series of the report's probes; those of the scenario where no run is repeated."""
    watched = reported_run.probed
    runs = watched.runs or reported_run.runs
    first_probe = watched.first_probe if watched.runs else 0
    found: dict[int, list[tuple[FloatArray, FloatArray]]] = defaultdict(list)
    probe_heads: dict[int, tuple[str, str, str | None]] = {}
    for run in runs:
        for probe, head, times, values in _probes(run):
            if probe >= first_probe:
                probe_heads[probe] = head
                found[probe].append((times, values))
    series_list = []
    for probe, parts in sorted(found.items()):
        measure, target, class_name = probe_heads[probe]
        times = parts[0][0]
        series_list.append(
            RecordedSeries(
                measure, target, class_name, times, np.array([values for _, values in parts])
            )
        )
    return series_list


def _probes(run: Results) -> list[tuple[int, tuple[str, str, str | None], FloatArray, FloatArray]]:
    series = run.series
    if not len(series):
        return []
    probe = series.column("probe").to_array()
    order = np.argsort(probe, kind="stable")
    starts = np.flatnonzero(np.diff(probe[order], prepend=-1))
    values, times = series.column("value").to_array(), series.column("time_ns").to_array()
    measures: list[Any] = series["measure"]
    targets, classes = series["target"], series["class"]
    probe_series = []
    for start, rows in zip(starts, np.split(order, starts[1:]), strict=True):
        first = int(order[start])
        class_name = None if classes[first] is None else str(classes[first])
        head = (str(measures[first]), str(targets[first]), class_name)
        probe_series.append((int(probe[first]), head, times[rows] / 1e9, values[rows]))
    return probe_series


def group_flows(reported_run: ReportedRun) -> dict[str, list[str]]:
    """Flows to show as one line: each by itself, or replicas together, or those of one DSCP."""
    flows = [str(flow["name"]) for flow in reported_run.network["flows"]]
    if len(flows) <= MAX_SINGLE_FLOWS:
        return {flow: [flow] for flow in flows}
    by_base: dict[str, list[str]] = defaultdict(list)
    for flow in flows:
        by_base[re.sub(r"\[\d+\]$", "", flow)].append(flow)
    if len(by_base) <= MAX_CHART_LINES:
        return {
            f"{base} ({len(members)})" if len(members) > 1 else base: members
            for base, members in by_base.items()
        }
    by_dscp: dict[str, list[str]] = defaultdict(list)
    dscps = reported_run.first_run.flows["dscp"]
    for each, name in zip(reported_run.first_run.flows["flow"], dscps, strict=True):
        by_dscp[str(name)].append(str(each))
    return {f"{name} ({len(members)})": members for name, members in by_dscp.items()}


def build_time_charts(reported_run: ReportedRun) -> list[Chart]:
    """Charts over time: rates, delay, queues, windows, utilisation and drops."""
    series = collect_series(reported_run)
    of_flow: dict[str, dict[str, RecordedSeries]] = defaultdict(dict)
    of_link: dict[str, dict[str, RecordedSeries]] = defaultdict(dict)
    for recorded_series in series:
        if recorded_series.measure in ("utilisation", "queue-packets", "drops"):
            name = (
                recorded_series.target
                if recorded_series.class_name is None
                else f"{recorded_series.target} {recorded_series.class_name}"
            )
            of_link[recorded_series.measure][name] = recorded_series
        else:
            of_flow[recorded_series.measure][recorded_series.target] = recorded_series
    udp, tcp = of_flow.get("throughput", {}), of_flow.get("goodput", {})
    protocols = {flow["agent"]["protocol"] for flow in reported_run.network["flows"]}
    others = "UDP" if protocols <= {"tcp", "udp"} else "other flows" if tcp else "flows"
    rate = " and ".join(
        part
        for part in ("goodput of TCP" if tcp else "", f"throughput of {others}" if udp else "")
        if part
    )
    flow_groups = group_flows(reported_run)
    marks = find_event_markers(reported_run)
    band = _describe_band(reported_run)
    charts = [
        _build_group_lines(
            "rate", rate[:1].upper() + rate[1:], "bit/s", {**udp, **tcp}, flow_groups, "sum"
        ),
        _build_group_lines(
            "delay", "One-way delay", "s", of_flow.get("delay", {}), flow_groups, "mean"
        ),
        _build_group_lines(
            "cwnd", "Congestion window", "segments", of_flow.get("cwnd", {}), flow_groups, "mean"
        ),
        _build_largest_lines(
            "queue", "Queue at the port", "packets", of_link.get("queue-packets", {})
        ),
        _build_largest_lines("use", "Utilisation of links", "%", of_link.get("utilisation", {})),
        _build_largest_lines("drops", "Drops at the port", "packets/s", of_link.get("drops", {})),
    ]
    built = []
    colours: dict[str, int] = {}
    for chart in charts:
        if chart is None:
            continue
        key, title, unit, x, lines, note = chart
        if key in ("queue", "use", "drops"):
            lines = _assign_colours(lines, colours)
        if unit not in ("s", "bit/s", "%"):
            title = f"{title} [{unit}]"
        about = " ".join(part for part in (note, _describe_step(x), band) if part)
        built.append(
            Chart(
                key,
                title,
                about,
                _describe_lines(title, lines, unit),
                "line",
                unit,
                x,
                lines,
                marks,
                end=reported_run.duration_ns / 1e9,
            )
        )
    return built


def _assign_colours(lines: list[ChartLine], colours: dict[str, int]) -> list[ChartLine]:
    """Give lines the colours that their names have had before, if no other line has it here."""
    line_by_name, used_colours = {}, set()
    for line in sorted(lines, key=lambda line: line.name not in colours):
        colour = colours.get(line.name)
        if colour is None or colour in used_colours:
            free = [each for each in range(MAX_CHART_LINES) if each not in used_colours]
            colour = next((each for each in free if each not in colours.values()), free[0])
        used_colours.add(colour)
        colours.setdefault(line.name, colour)
        line_by_name[line.name] = replace(line, colour=colour)
    return [line_by_name[line.name] for line in lines]


_ChartParts = tuple[str, str, str, Numbers, list[ChartLine], str]


def _build_group_lines(
    key: str,
    title: str,
    unit: str,
    series: dict[str, RecordedSeries],
    flow_groups: dict[str, list[str]],
    aggregation: Literal["sum", "mean"],
) -> _ChartParts | None:
    lines, x = [], None
    several = False
    for colour, (name, flows) in enumerate(flow_groups.items()):
        members = [series[flow] for flow in flows if flow in series]
        if not members:
            continue
        several |= len(members) > 1
        stack = np.array([member.values for member in members])
        with np.errstate(invalid="ignore"):
            total = np.nansum(stack, axis=0) if aggregation == "sum" else _nanmean(stack, 0)
        steps = (members[0].time_s, total)
        time, line = _build_line(
            name, *(_coarsen(*steps, RATE_POINTS) if aggregation == "sum" else steps)
        )
        x = x or time
        lines.append(replace(line, colour=colour % MAX_CHART_LINES))
    if x is None or not _has_values(lines):
        return None
    note = ""
    if several:
        note = (
            "Sum over the flows of a line."
            if aggregation == "sum"
            else "Mean over the flows of a line."
        )
    return (
        key,
        title,
        unit,
        x,
        lines[:MAX_CHART_LINES],
        _note_left_out(note, lines, "first", MAX_CHART_LINES),
    )


def _coarsen(time: FloatArray, values: FloatArray, points: int) -> tuple[FloatArray, FloatArray]:
    """Means over as many steps as leave so many points; the last steps may not fill one."""
    size = -(-len(time) // points)
    grouped_count = len(time) // size * size
    grouped = values[:, :grouped_count].reshape(len(values), -1, size)
    return time[size - 1 : grouped_count : size], _nanmean(grouped, 2)


def _build_largest_lines(
    key: str, title: str, unit: str, series: dict[str, RecordedSeries]
) -> _ChartParts | None:
    lines, x = [], None
    for name, recorded_series in series.items():
        steps = (recorded_series.time_s, recorded_series.values)
        # Shares and rates have means over longer steps; a queue has extremes.
        time, line = _build_line(
            name, *(steps if unit == "packets" else _coarsen(*steps, 2 * RATE_POINTS))
        )
        x = x or time
        lines.append(line)
    # A queue that never holds more than the packet being sent shows nothing.
    min_value = 1 if unit == "packets" else 0
    lines = [line for line in lines if any(value and value > min_value for value in line.values)]
    if x is None or not lines:
        return None
    lines.sort(key=lambda line: -_compute_mean(line.values))
    return (
        key,
        title,
        unit,
        x,
        lines[: MAX_CHART_LINES - 2],
        _note_left_out("", lines, "largest on average", MAX_CHART_LINES - 2),
    )


def _note_left_out(note: str, lines: list[ChartLine], order_text: str, max_lines: int) -> str:
    hidden_count = len(lines) - max_lines
    rest = (
        f"The {max_lines} {order_text}; {hidden_count} more are not shown."
        if hidden_count > 0
        else ""
    )
    return " ".join(part for part in (note, rest) if part)


def _build_line(name: str, time: FloatArray, values: FloatArray) -> tuple[Numbers, ChartLine]:
    """Build one line over (runs, steps): mean over runs, least and greatest as band."""
    mean = _nanmean(values, 0)
    low, high = np.fmin.reduce(values, 0), np.fmax.reduce(values, 0)
    if len(time) > MAX_LINE_POINTS:
        size = -(-len(time) // MAX_LINE_POINTS)
        cuts = np.arange(0, len(time), size)
        ends = np.minimum(cuts + size, len(time)) - 1
        step_means = np.array([_nanmean(part, 0) for part in np.split(mean, cuts[1:])])
        low, high = np.fmin.reduceat(low, cuts), np.fmax.reduceat(high, cuts)
        time, mean = time[ends], step_means
    banded = bool(np.any(np.nan_to_num(high) > np.nan_to_num(low)))
    return round_significant(time, 9), ChartLine(
        name,
        round_significant(mean),
        round_significant(low) if banded else None,
        round_significant(high) if banded else None,
    )


def _nanmean(values: FloatArray, axis: int) -> Any:
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def round_significant(values: FloatArray, digits: int = 4) -> Numbers:
    """Give numbers with so many significant digits; none where not a number."""
    return [
        None if np.isnan(value) else float(f"{value:.{digits}g}") if value else 0
        for value in values.tolist()
    ]


def _has_values(lines: list[ChartLine]) -> bool:
    return any(value is not None for line in lines for value in line.values)


def _compute_mean(values: Numbers) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0


def _describe_step(x: Numbers) -> str:
    if len(x) < 2 or x[0] is None or x[1] is None:
        return ""
    return f"Each point is a step of {format_duration(round(1e9 * (x[1] - x[0])))}."


def _describe_band(reported_run: ReportedRun) -> str:
    watched = reported_run.probed
    if not watched.runs:
        return (
            f"As the scenario's probes recorded it; no run was repeated: {watched.refusal_reason}."
        )
    runs = len(watched.runs)
    if runs == 1:
        return f"Seed {watched.runs[0].seed}."
    seeds = f"{watched.runs[0].seed} to {watched.runs[-1].seed}"
    return f"Line: mean over seeds {seeds}; band: least and greatest of them."


def _describe_lines(title: str, lines: list[ChartLine], unit: str) -> str:
    parts = [f"{line.name} {format_value(_compute_mean(line.values), unit)}" for line in lines]
    return f"{title} over time, mean of each line: {', '.join(parts)}."


def format_value(value: float, unit: str) -> str:
    """Write a value of a chart with its unit."""
    from trunkline.results.number_format import format_percent, format_short_quantity

    if unit == "%":
        return format_percent(value)
    return (
        format_short_quantity(value, unit)
        if unit in ("s", "bit/s")
        else f"{format_number(value, 3)} {unit}"
    )
