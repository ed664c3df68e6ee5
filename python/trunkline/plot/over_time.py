"""Series over time: means over the runs, with the band of their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.plot.canvas import canvas, legend, look, plain
from trunkline.plot.figure import style
from trunkline.plot.sources import Choice, Lacking, Source, named
from trunkline.stats import mean_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Key = tuple[str, str, int, str]
"""Target, class, precedence and measure of a probe."""


@dataclass(frozen=True, slots=True)
class Series:
    """What a plot over time shows.

    Parameters
    ----------
    measures : tuple of str
        Measures of probes; the first is drawn solid, others are drawn where they were recorded.
    title, y_label : str
        Heading, and name of the vertical axis with its unit.
    scale : float
        What a value is multiplied by for that unit.
    of : str
        ``flow`` or ``link``: what such a probe watches.
    """

    measures: tuple[str, ...]
    title: str
    y_label: str
    scale: float
    of: str


SERIES = {
    "cwnd": Series(("cwnd", "ssthresh"), "Congestion window", "window [segments]", 1.0, "flow"),
    "queue": Series(
        ("queue-packets", "queue-average"), "Queue length", "packets in the port", 1.0, "link"
    ),
    "queue-bytes": Series(("queue-bytes",), "Queue length", "in the port [kB]", 1e-3, "link"),
    "throughput": Series(("throughput",), "Throughput", "throughput [Mbit/s]", 1e-6, "flow"),
    "goodput": Series(("goodput",), "Goodput", "goodput [Mbit/s]", 1e-6, "flow"),
    "delay": Series(("delay", "delay-max"), "One-way delay", "delay [ms]", 1e3, "flow"),
    "srtt": Series(("srtt",), "Smoothed round-trip time", "srtt [ms]", 1e3, "flow"),
    "rtt": Series(("rtt",), "Round-trip time, sample by sample", "RTT [ms]", 1e3, "flow"),
    "rto": Series(("rto",), "Retransmission timeout", "RTO [ms]", 1e3, "flow"),
    "utilisation": Series(("utilisation",), "Utilisation", "share of the capacity", 1.0, "link"),
}


def over_time(kind: str, sources: Sequence[Source], choice: Choice) -> Figure:
    """Draw a measure of probes over time.

    Parameters
    ----------
    kind : str
        One of ``SERIES``.
    sources : sequence of Source
        Results; their lines lie over each other.

    Returns
    -------
    Figure
        Over several runs: the mean, and a band of its 95 % interval.

    Raises
    ------
    Lacking
        No probe recorded the measure.
    """
    about = SERIES[kind]
    lines = [
        (source, key, points)
        for source in sources
        for key, points in _lines(source, about, choice).items()
    ]
    with style():
        figure, axes = canvas(
            choice.title or about.title, f"time [s]{_band(sources)}", about.y_label
        )
        targets: dict[tuple[str, tuple[str, str, int]], int] = {}
        for source, key, points in lines:
            target, of_class, precedence, measure = key
            number = targets.setdefault((source.label, key[:3]), len(targets))
            name = target if not of_class else f"{target} {of_class}"
            name += f" precedence {precedence}" if precedence >= 0 else ""
            name += f", {measure}" if measure != about.measures[0] else ""
            drawn = look(number)
            if measure != about.measures[0]:
                drawn |= {"linestyle": "--", "alpha": 0.65, "linewidth": 1.1}
            times = sorted(at for at in points if choice.since <= at / 1e9 <= choice.until)
            means = [mean_interval(points[at]) if points[at] else None for at in times]
            middle = [math.nan if each is None else each.mean * about.scale for each in means]
            at_s = [at / 1e9 for at in times]
            axes.plot(at_s, middle, label=plain(named(source, name, sources)), **drawn)
            if len(source.runs) > 1:
                ends = [
                    [
                        math.nan
                        if each is None or each.low is None or each.high is None
                        else (each.low, each.high)[end] * about.scale
                        for each in means
                    ]
                    for end in (0, 1)
                ]
                axes.fill_between(at_s, *ends, color=drawn["color"], alpha=0.18, linewidth=0)
        # An interval by Student's distribution does not know that no link is more than busy.
        axes.set_ylim(bottom=0, top=1.02 if kind == "utilisation" else None)
        legend(axes)
    return figure


def _band(sources: Sequence[Source]) -> str:
    """What line and band are, where there are several runs."""
    runs = sorted({len(source.runs) for source in sources} - {1})
    of = " or ".join(map(str, runs))
    return f"\nline: mean of {of} runs; band: its 95 % interval" if runs else ""


def _lines(source: Source, about: Series, choice: Choice) -> dict[Key, dict[int, list[float]]]:
    """Values of all runs by time, of each probe."""
    found: dict[Key, dict[int, list[float]]] = {}
    names: dict[str, None] = {}
    for run in source.runs:
        table = run.series
        columns = ("target", "class", "precedence", "measure", "time_ns", "value")
        for target, of_class, precedence, measure, at, value in zip(
            *(table[name] for name in columns), strict=True
        ):
            if measure not in about.measures:
                continue
            names |= dict.fromkeys(str(each) for each in (target, of_class) if each is not None)
            key = (str(target), str(of_class or ""), int(precedence or 0), str(measure))
            if choice.wants(key[0]) or (key[1] and choice.wants(key[1])):
                values = found.setdefault(key, {}).setdefault(int(at or 0), [])
                if value is not None and not math.isnan(float(value)):
                    values.append(float(value))
    if not names:
        raise Lacking(_advice(source, about))
    if not found:
        choice.checked(list(names))
    if not any(key[3] == about.measures[0] for key in found):
        raise Lacking(_advice(source, about))
    return found


def _advice(source: Source, about: Series) -> str:
    known = source.runs[0].flows["flow"] if about.of == "flow" else source.runs[0].ports["link"]
    target = known[0] if known else about.of
    return (
        f"{source.label} has no series of {about.measures[0]}; add to the scenario\n"
        f"  probes:\n    - {{{about.of}: {target}, measure: {about.measures[0]}, every: 100 ms}}"
    )
