"""Series over time: means over the runs, with the band of their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.plot.canvas import add_legend, choose_line_style, create_canvas, escape_plot_text
from trunkline.plot.figure import apply_house_style
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource, name_line
from trunkline.stats import mean_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ProbeKey = tuple[str, str, int, str]  # Target, class, precedence and measure of a probe.


@dataclass(frozen=True, slots=True)
class ProbePlot:
    """A quantity to plot over time."""

    # Measures of probes; the first is drawn solid, others are drawn where they were recorded.
    measures: tuple[str, ...]
    # title, y_label: Heading, and name of the vertical axis with its unit.
    title: str
    y_label: str
    scale: float  # Factor of a value for that unit.
    target_kind: str  # ``flow`` or ``link``: the subject of such a probe.


PROBE_PLOTS = {
    "cwnd": ProbePlot(("cwnd", "ssthresh"), "Congestion window", "window [segments]", 1.0, "flow"),
    "queue": ProbePlot(
        ("queue-packets", "queue-average"), "Queue length", "packets in the port", 1.0, "link"
    ),
    "queue-bytes": ProbePlot(("queue-bytes",), "Queue length", "in the port [kB]", 1e-3, "link"),
    "throughput": ProbePlot(("throughput",), "Throughput", "throughput [Mbit/s]", 1e-6, "flow"),
    "goodput": ProbePlot(("goodput",), "Goodput", "goodput [Mbit/s]", 1e-6, "flow"),
    "delay": ProbePlot(("delay", "delay-max"), "One-way delay", "delay [ms]", 1e3, "flow"),
    "srtt": ProbePlot(("srtt",), "Smoothed round-trip time", "srtt [ms]", 1e3, "flow"),
    "rtt": ProbePlot(("rtt",), "Round-trip time, sample by sample", "RTT [ms]", 1e3, "flow"),
    "rto": ProbePlot(("rto",), "Retransmission timeout", "RTO [ms]", 1e3, "flow"),
    "pacing-rate": ProbePlot(("pacing-rate",), "Pacing rate", "pace [Mbit/s]", 1e-6, "flow"),
    "inflight": ProbePlot(("inflight",), "In flight", "in the network [segments]", 1.0, "flow"),
    "marks": ProbePlot(("marks",), "Congestion marks", "marked packets/s", 1.0, "link"),
    "utilisation": ProbePlot(("utilisation",), "Utilisation", "share of the capacity", 1.0, "link"),
}


def over_time(kind: str, sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw a measure of probes over time.

    kind: One of ``SERIES``.
    sources: Results; their lines lie over each other.
    Returns: Over several runs: the mean, and a band of its 95 % interval.
    Raises MissingData: No probe recorded the measure.
    """
    probe_plot = PROBE_PLOTS[kind]
    lines = [
        (source, key, points)
        for source in sources
        for key, points in _collect_lines(source, probe_plot, choice).items()
    ]
    with apply_house_style():
        figure, axes = create_canvas(
            choice.title or probe_plot.title,
            f"time [s]{_describe_band(sources)}",
            probe_plot.y_label,
        )
        targets: dict[tuple[str, tuple[str, str, int]], int] = {}
        for source, key, points in lines:
            target, class_name, precedence, measure = key
            number = targets.setdefault((source.label, key[:3]), len(targets))
            name = target if not class_name else f"{target} {class_name}"
            name += f" precedence {precedence}" if precedence >= 0 else ""
            name += f", {measure}" if measure != probe_plot.measures[0] else ""
            line_style = choose_line_style(number)
            if measure != probe_plot.measures[0]:
                line_style |= {"linestyle": "--", "alpha": 0.65, "linewidth": 1.1}
            times = sorted(at for at in points if choice.since <= at / 1e9 <= choice.until)
            means = [mean_interval(points[at]) if points[at] else None for at in times]
            middle = [math.nan if each is None else each.mean * probe_plot.scale for each in means]
            at_s = [at / 1e9 for at in times]
            axes.plot(
                at_s, middle, label=escape_plot_text(name_line(source, name, sources)), **line_style
            )
            if len(source.runs) > 1:
                ends = [
                    [
                        math.nan
                        if each is None or each.low is None or each.high is None
                        else (each.low, each.high)[end] * probe_plot.scale
                        for each in means
                    ]
                    for end in (0, 1)
                ]
                axes.fill_between(at_s, *ends, color=line_style["color"], alpha=0.18, linewidth=0)
        # An interval by Student's distribution does not know that no link is more than busy.
        axes.set_ylim(bottom=0, top=1.02 if kind == "utilisation" else None)
        add_legend(axes)
    return figure


def _describe_band(sources: Sequence[PlotSource]) -> str:
    """Describe line and band, where there are several runs."""
    runs = sorted({len(source.runs) for source in sources} - {1})
    run_counts = " or ".join(map(str, runs))
    return f"\nline: mean of {run_counts} runs; band: its 95 % interval" if runs else ""


def _collect_lines(
    source: PlotSource, probe_plot: ProbePlot, choice: PlotChoice
) -> dict[ProbeKey, dict[int, list[float]]]:
    """Collect the values of all runs by time, of each probe."""
    values_by_probe: dict[ProbeKey, dict[int, list[float]]] = {}
    names: dict[str, None] = {}
    for run in source.runs:
        table = run.series
        columns = ("target", "class", "precedence", "measure", "time_ns", "value")
        for target, class_name, precedence, measure, at, value in zip(
            *(table[name] for name in columns), strict=True
        ):
            if measure not in probe_plot.measures:
                continue
            names |= dict.fromkeys(str(each) for each in (target, class_name) if each is not None)
            key = (str(target), str(class_name or ""), int(precedence or 0), str(measure))
            if choice.is_chosen(key[0]) or (key[1] and choice.is_chosen(key[1])):
                values = values_by_probe.setdefault(key, {}).setdefault(int(at or 0), [])
                if value is not None:
                    values.append(float(value))
    if not names:
        raise MissingData(_describe_missing_probe(source, probe_plot))
    if not values_by_probe:
        choice.check_names(list(names))
    if not any(key[3] == probe_plot.measures[0] for key in values_by_probe):
        raise MissingData(_describe_missing_probe(source, probe_plot))
    return values_by_probe


def _describe_missing_probe(source: PlotSource, probe_plot: ProbePlot) -> str:
    known = (
        source.runs[0].flows["flow"]
        if probe_plot.target_kind == "flow"
        else source.runs[0].ports["link"]
    )
    target = known[0] if known else probe_plot.target_kind
    return (
        f"{source.label} has no series of {probe_plot.measures[0]}; add to the scenario\n"
        f"  probes:\n    - {{{probe_plot.target_kind}: {target}, measure: "
        f"{probe_plot.measures[0]}, every: 100 ms}}"
    )
