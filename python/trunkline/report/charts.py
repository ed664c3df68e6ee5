"""What the charts of an exhibit show: lines with bands, distributions, bars; data for the page."""

import re
from collections import defaultdict
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trunkline.report.exhibit import Exhibit
from trunkline.report.marks import Mark, marks_of
from trunkline.results import Results
from trunkline.results.numbers import number, span

Floats = NDArray[np.float64]
Numbers = list[float | None]

MOST_LINES = 8
"""Lines in one chart; where there are more, the largest are shown."""

MOST_SINGLE = 6
"""Flows that each have a line; where there are more, replicas share one, or those of a DSCP."""

RATE_POINTS = 75
"""Points of a line of rates: a rate over a few packets is mostly noise."""

MOST_POINTS = 600
"""Points of one line; where more were recorded, they are gathered into steps."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: values, and a band around them where there is one."""

    name: str
    values: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    x: Numbers | None = None
    colour: int = 0
    """Number of its colour, its dashes and its sign, the same wherever it is shown."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Parameters
    ----------
    key : str
        Name of its place on the page, unique in an exhibit.
    about : str
        How it was made, and what the band is.
    alt : str
        What is to be seen, in words.
    kind : {"line", "quantile", "bar", "against"}
        How it is drawn.
    unit : str
        Unit of the values.
    x : list of float
        Where the values of all lines are, unless they have their own.
    """

    key: str
    title: str
    about: str
    alt: str
    kind: Literal["line", "quantile", "bar", "against"]
    unit: str
    x: Numbers
    lines: list[Line]
    marks: list[Mark] = field(default_factory=list)
    x_unit: str = "s"
    categories: list[str] = field(default_factory=list)
    end: float = 0.0
    """Where the axis of time ends [s]."""

    def to_json(self) -> dict[str, Any]:
        """As data for the page, without what the page's text says."""
        kept = asdict(self)
        for name in ("about", "alt"):
            del kept[name]
        return {name: value for name, value in kept.items() if value not in (None, [])}


@dataclass(frozen=True, slots=True)
class Series:
    """One series of every repeated run, on one grid of time."""

    measure: str
    target: str
    of_class: str | None
    time_s: Floats
    values: Floats
    """Shape (runs, steps)."""


def recorded(exhibit: Exhibit) -> list[Series]:
    """Every series of the report's own probes; those of the scenario where no run is repeated."""
    watched = exhibit.watched
    runs = watched.runs or exhibit.runs
    least = watched.first if watched.runs else 0
    found: dict[int, list[tuple[Floats, Floats]]] = defaultdict(list)
    heads: dict[int, tuple[str, str, str | None]] = {}
    for run in runs:
        for probe, head, times, values in _probes(run):
            if probe >= least:
                heads[probe] = head
                found[probe].append((times, values))
    made = []
    for probe, parts in sorted(found.items()):
        measure, target, of_class = heads[probe]
        times = parts[0][0]
        made.append(
            Series(measure, target, of_class, times, np.array([values for _, values in parts]))
        )
    return made


def _probes(run: Results) -> list[tuple[int, tuple[str, str, str | None], Floats, Floats]]:
    series = run.series
    if not len(series):
        return []
    probe = series.column("probe").array()
    order = np.argsort(probe, kind="stable")
    starts = np.flatnonzero(np.diff(probe[order], prepend=-1))
    values, times = series.column("value").array(), series.column("time_ns").array()
    measures: list[Any] = series["measure"]
    targets, classes = series["target"], series["class"]
    made = []
    for start, rows in zip(starts, np.split(order, starts[1:]), strict=True):
        first = int(order[start])
        of_class = None if classes[first] is None else str(classes[first])
        head = (str(measures[first]), str(targets[first]), of_class)
        made.append((int(probe[first]), head, times[rows] / 1e9, values[rows]))
    return made


def groups(exhibit: Exhibit) -> dict[str, list[str]]:
    """Flows to show as one line: each by itself, or replicas together, or those of one DSCP."""
    flows = [str(flow["name"]) for flow in exhibit.network["flows"]]
    if len(flows) <= MOST_SINGLE:
        return {flow: [flow] for flow in flows}
    by_base: dict[str, list[str]] = defaultdict(list)
    for flow in flows:
        by_base[re.sub(r"\[\d+\]$", "", flow)].append(flow)
    if len(by_base) <= MOST_LINES:
        return {f"{base} ({len(of)})" if len(of) > 1 else base: of for base, of in by_base.items()}
    by_dscp: dict[str, list[str]] = defaultdict(list)
    dscps = exhibit.first.flows["dscp"]
    for each, name in zip(exhibit.first.flows["flow"], dscps, strict=True):
        by_dscp[str(name)].append(str(each))
    return {f"{name} ({len(of)})": of for name, of in by_dscp.items()}


def timed(exhibit: Exhibit) -> list[Chart]:
    """Charts over time: rates, delay, queues, windows, utilisation and drops."""
    series = recorded(exhibit)
    of_flow: dict[str, dict[str, Series]] = defaultdict(dict)
    of_link: dict[str, dict[str, Series]] = defaultdict(dict)
    for one in series:
        if one.measure in ("utilisation", "queue-packets", "drops"):
            name = one.target if one.of_class is None else f"{one.target} {one.of_class}"
            of_link[one.measure][name] = one
        else:
            of_flow[one.measure][one.target] = one
    udp, tcp = of_flow.get("throughput", {}), of_flow.get("goodput", {})
    protocols = {flow["agent"]["protocol"] for flow in exhibit.network["flows"]}
    others = "UDP" if protocols <= {"tcp", "udp"} else "other flows" if tcp else "flows"
    rate = " and ".join(
        part
        for part in ("goodput of TCP" if tcp else "", f"throughput of {others}" if udp else "")
        if part
    )
    together = groups(exhibit)
    marks = marks_of(exhibit)
    band = _band(exhibit)
    charts = [
        _gathered("rate", rate[:1].upper() + rate[1:], "bit/s", {**udp, **tcp}, together, "sum"),
        _gathered("delay", "One-way delay", "s", of_flow.get("delay", {}), together, "mean"),
        _gathered(
            "cwnd", "Congestion window", "segments", of_flow.get("cwnd", {}), together, "mean"
        ),
        _largest("queue", "Queue at the port", "packets", of_link.get("queue-packets", {})),
        _largest("use", "Utilisation of links", "%", of_link.get("utilisation", {})),
        _largest("drops", "Drops at the port", "packets/s", of_link.get("drops", {})),
    ]
    made = []
    colours: dict[str, int] = {}
    for chart in charts:
        if chart is None:
            continue
        key, title, unit, x, lines, note = chart
        if key in ("queue", "use", "drops"):
            lines = _coloured(lines, colours)
        if unit not in ("s", "bit/s", "%"):
            title = f"{title} [{unit}]"
        about = " ".join(part for part in (note, _step(x), band) if part)
        made.append(
            Chart(
                key,
                title,
                about,
                _alt(title, lines, unit),
                "line",
                unit,
                x,
                lines,
                marks,
                end=exhibit.duration_ns / 1e9,
            )
        )
    return made


def _coloured(lines: list[Line], colours: dict[str, int]) -> list[Line]:
    """Give lines the colours that their names have had before, if no other line has it here."""
    made, taken = {}, set()
    for line in sorted(lines, key=lambda line: line.name not in colours):
        colour = colours.get(line.name)
        if colour is None or colour in taken:
            free = [each for each in range(MOST_LINES) if each not in taken]
            colour = next((each for each in free if each not in colours.values()), free[0])
        taken.add(colour)
        colours.setdefault(line.name, colour)
        made[line.name] = replace(line, colour=colour)
    return [made[line.name] for line in lines]


_Made = tuple[str, str, str, Numbers, list[Line], str]


def _gathered(
    key: str,
    title: str,
    unit: str,
    series: dict[str, Series],
    together: dict[str, list[str]],
    how: Literal["sum", "mean"],
) -> _Made | None:
    lines, x = [], None
    several = False
    for colour, (name, flows) in enumerate(together.items()):
        members = [series[flow] for flow in flows if flow in series]
        if not members:
            continue
        several |= len(members) > 1
        stack = np.array([one.values for one in members])
        with np.errstate(invalid="ignore"):
            total = np.nansum(stack, axis=0) if how == "sum" else _nanmean(stack, 0)
        steps = (members[0].time_s, total)
        time, line = _line(name, *(_coarser(*steps, RATE_POINTS) if how == "sum" else steps))
        x = x or time
        lines.append(replace(line, colour=colour % MOST_LINES))
    if x is None or not _anything(lines):
        return None
    note = ""
    if several:
        note = "Sum over the flows of a line." if how == "sum" else "Mean over the flows of a line."
    return key, title, unit, x, lines[:MOST_LINES], _left_out(note, lines, "first", MOST_LINES)


def _coarser(time: Floats, values: Floats, points: int) -> tuple[Floats, Floats]:
    """Means over as many steps as leave so many points; the last steps may not fill one."""
    size = -(-len(time) // points)
    whole = len(time) // size * size
    gathered = values[:, :whole].reshape(len(values), -1, size)
    return time[size - 1 : whole : size], _nanmean(gathered, 2)


def _largest(key: str, title: str, unit: str, series: dict[str, Series]) -> _Made | None:
    lines, x = [], None
    for name, one in series.items():
        steps = (one.time_s, one.values)
        # Shares and rates have means over longer steps; a queue has extremes.
        time, line = _line(
            name, *(steps if unit == "packets" else _coarser(*steps, 2 * RATE_POINTS))
        )
        x = x or time
        lines.append(line)
    # A queue that never holds more than the packet being sent tells nothing.
    least = 1 if unit == "packets" else 0
    lines = [line for line in lines if any(value and value > least for value in line.values)]
    if x is None or not lines:
        return None
    lines.sort(key=lambda line: -_mean(line.values))
    return (
        key,
        title,
        unit,
        x,
        lines[: MOST_LINES - 2],
        _left_out("", lines, "largest on average", MOST_LINES - 2),
    )


def _left_out(note: str, lines: list[Line], which: str, most: int) -> str:
    more = len(lines) - most
    rest = f"The {most} {which}; {more} more are not shown." if more > 0 else ""
    return " ".join(part for part in (note, rest) if part)


def _line(name: str, time: Floats, values: Floats) -> tuple[Numbers, Line]:
    """One line over (runs, steps): mean over runs, least and greatest as band."""
    mean = _nanmean(values, 0)
    low, high = np.fmin.reduce(values, 0), np.fmax.reduce(values, 0)
    if len(time) > MOST_POINTS:
        size = -(-len(time) // MOST_POINTS)
        cuts = np.arange(0, len(time), size)
        ends = np.minimum(cuts + size, len(time)) - 1
        kept = np.array([_nanmean(part, 0) for part in np.split(mean, cuts[1:])])
        low, high = np.fmin.reduceat(low, cuts), np.fmax.reduceat(high, cuts)
        time, mean = time[ends], kept
    banded = bool(np.any(np.nan_to_num(high) > np.nan_to_num(low)))
    return rounded(time, 9), Line(
        name, rounded(mean), rounded(low) if banded else None, rounded(high) if banded else None
    )


def _nanmean(values: Floats, axis: int) -> Any:
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def rounded(values: Floats, digits: int = 4) -> Numbers:
    """Give numbers with so many significant digits; none where not a number."""
    return [
        None if np.isnan(value) else float(f"{value:.{digits}g}") if value else 0
        for value in values.tolist()
    ]


def _anything(lines: list[Line]) -> bool:
    return any(value is not None for line in lines for value in line.values)


def _mean(values: Numbers) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0


def _step(x: Numbers) -> str:
    if len(x) < 2 or x[0] is None or x[1] is None:
        return ""
    return f"Each point is a step of {span(round(1e9 * (x[1] - x[0])))}."


def _band(exhibit: Exhibit) -> str:
    watched = exhibit.watched
    if not watched.runs:
        return f"As the scenario's probes recorded it; no run was repeated: {watched.why_not}."
    runs = len(watched.runs)
    if runs == 1:
        return f"Seed {watched.runs[0].seed}."
    seeds = f"{watched.runs[0].seed} to {watched.runs[-1].seed}"
    return f"Line: mean over seeds {seeds}; band: least and greatest of them."


def _alt(title: str, lines: list[Line], unit: str) -> str:
    parts = [f"{line.name} {said(_mean(line.values), unit)}" for line in lines]
    return f"{title} over time, mean of each line: {', '.join(parts)}."


def said(value: float, unit: str) -> str:
    """Write a value of a chart with its unit."""
    from trunkline.results.numbers import percent, short

    if unit == "%":
        return percent(value)
    return short(value, unit) if unit in ("s", "bit/s") else f"{number(value, 3)} {unit}"
