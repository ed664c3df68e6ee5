"""Distributions of delays and losses: one for each flow; lost packets by place and cause."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from trunkline.report.charts import (
    MAX_CHART_LINES,
    Chart,
    ChartLine,
    format_value,
    group_flows,
    round_significant,
)
from trunkline.report.reported_run import ReportedRun
from trunkline.results.number_format import format_number

QUANTILE_SHARES = (
    0.0,
    0.01,
    0.05,
    *(each / 20 for each in range(2, 19)),
    0.95,
    0.98,
    0.99,
    0.995,
    0.999,
    1.0,
)
"""Shares of packets at which the distribution of delays is drawn."""


def build_delay_chart(reported_run: ReportedRun) -> Chart | None:
    """Distribution of the one-way delay of flows, from the histograms of all runs."""
    counted: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for run in reported_run.runs:
        table = run.tables["delays"]
        columns = (table[name] for name in ("flow", "upper_ns", "packets"))
        for flow, upper, packets in zip(*columns, strict=True):
            counted[str(flow)][int(upper or 0)] += int(packets or 0)
    counts_by_group: dict[str, dict[int, int]] = {}
    greatest: dict[str, float] = {}
    for name, flows in group_flows(reported_run).items():
        # A flow of messages has no row where daemons send them.
        longest = (
            float(delay or 0)
            for run in reported_run.runs
            for flow, delay in zip(run.flows["flow"], run.flows["delay_max_s"], strict=True)
            if flow in flows
        )
        greatest[name] = max(longest, default=0.0)
        total: dict[int, int] = defaultdict(int)
        for flow in flows:
            for upper, packets in counted[flow].items():
                total[upper] += packets
        if total:
            counts_by_group[name] = total
    if not counts_by_group:
        return None
    lines, parts = [], []
    colours = {name: number for number, name in enumerate(group_flows(reported_run))}
    for name, total in list(counts_by_group.items())[:MAX_CHART_LINES]:
        values = compute_quantile_times(total, greatest[name])
        colour = colours[name] % MAX_CHART_LINES
        lines.append(
            ChartLine(name, list(QUANTILE_SHARES), x=round_significant(values, 5), colour=colour)
        )
        parts.append(
            f"{name} median {format_value(float(values[QUANTILE_SHARES.index(0.5)]), 's')}"
        )
    about = "Every packet delivered in the measured time, to 1.6 % of its delay."
    about += describe_shown(reported_run, len(counts_by_group))
    alt = f"Distribution of one-way delay: {', '.join(parts)}."
    title = "Delay: share of packets that took at most so long"
    return Chart("quantiles", title, about, alt, "quantile", "s", [], lines)


def compute_quantile_times(counted: Mapping[int, int], greatest_s: float) -> NDArray[np.float64]:
    """Times [s] that ``SHARES`` of what is counted by upper ends of buckets [ns] take at most.

    None is above the greatest time there was.
    """
    uppers = np.array(sorted(counted))
    cumulative = np.cumsum([counted[upper] for upper in uppers.tolist()])
    bucket_indices = np.searchsorted(
        cumulative, np.array(QUANTILE_SHARES) * cumulative[-1], side="left"
    )
    times_s: NDArray[np.float64] = uppers[np.minimum(bucket_indices, len(uppers) - 1)] / 1e9
    return np.minimum(times_s, greatest_s)


def describe_shown(reported_run: ReportedRun, lines: int) -> str:
    """Describe the runs, and the lines for which there is no room."""
    sentence = f" {len(reported_run.runs)} runs together." if len(reported_run.runs) > 1 else ""
    if lines > MAX_CHART_LINES:
        sentence += f" The first {MAX_CHART_LINES}; {lines - MAX_CHART_LINES} more are not shown."
    return sentence


def build_drop_chart(reported_run: ReportedRun) -> Chart | None:
    """Build packets lost by place, stacked by cause and drop precedence."""
    total: dict[tuple[str, str], float] = defaultdict(float)
    for run in reported_run.runs:
        names = ("link", "node", "cause", "precedence", "packets")
        for link, node, cause, precedence, packets in zip(
            *(run.drops[name] for name in names), strict=True
        ):
            cause_text = f"{cause}, precedence {precedence}" if precedence else str(cause)
            total[str(link if link is not None else node), cause_text] += float(packets or 0)
    if not total:
        return None
    runs = len(reported_run.runs)
    by_place: dict[str, float] = defaultdict(float)
    for (place, _), packets in total.items():
        by_place[place] += packets / runs
    places = sorted(by_place, key=lambda place: -by_place[place])
    shown_places = places[:12]
    causes = sorted({cause_text for place, cause_text in total if place in shown_places})
    lines = [
        ChartLine(
            cause_text,
            [float(f"{total.get((place, cause_text), 0.0) / runs:.5g}") for place in shown_places],
            colour=colour % MAX_CHART_LINES,
        )
        for colour, cause_text in enumerate(causes)
    ]
    hidden_count = len(places) - len(shown_places)
    about = "Data and acknowledgements."
    if runs > 1:
        about += f" Mean over {runs} runs."
    if hidden_count:
        about += f" The {len(shown_places)} places with most; {hidden_count} more."
    parts = [f"{place} {format_number(by_place[place])}" for place in shown_places]
    alt = f"Packets lost by place: {', '.join(parts)}."
    title = "Packets lost, by place, cause and drop precedence"
    return Chart("lost", title, about, alt, "bar", "packets", [], lines, categories=shown_places)
