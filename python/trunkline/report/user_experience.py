"""Measures that people feel: times of transfers and pages, scores of calls."""

from collections import defaultdict

import numpy as np

from trunkline.report.charts import (
    MAX_CHART_LINES,
    Chart,
    ChartLine,
    format_value,
    round_significant,
)
from trunkline.report.distributions import QUANTILE_SHARES, compute_quantile_times, describe_shown
from trunkline.report.reported_run import ReportedRun
from trunkline.results import Results


def build_completion_chart(reported_run: ReportedRun) -> Chart | None:
    """Distribution of completion times: of pages where a flow has them, else of its transfers.

    A line ends below 1 by the share of those that were incomplete at the end.
    """
    counted: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    begun: dict[str, int] = defaultdict(int)
    greatest: dict[str, float] = defaultdict(float)
    for run in reported_run.runs:
        sizes_by_flow = _select_sizes(run)
        for row in run.completions.rows():
            flow = str(row["flow"])
            if sizes_by_flow.get(flow) == row["sizes"]:
                begun[flow] += int(row["started"] or 0)
                greatest[flow] = max(greatest[flow], float(row["fct_max_s"] or 0))
        for row in run.tables["completion_times"].rows():
            flow = str(row["flow"])
            if sizes_by_flow.get(flow) == row["sizes"]:
                counted[flow][int(row["upper_ns"] or 0)] += int(row["count"] or 0)
    lines, parts = [], []
    for number, (flow, total) in enumerate(list(counted.items())[:MAX_CHART_LINES]):
        complete = sum(total.values())
        quantile_times = compute_quantile_times(total, greatest[flow])
        shares = np.array(QUANTILE_SHARES) * complete / max(begun[flow], complete)
        lines.append(
            ChartLine(
                flow,
                round_significant(shares),
                x=round_significant(quantile_times, 5),
                colour=number,
            )
        )
        parts.append(
            f"{flow} median "
            f"{format_value(float(quantile_times[QUANTILE_SHARES.index(0.5)]), 's')} of "
            f"the complete"
        )
    if not lines:
        return None
    about = "Transfers begun in the measured time; pages where a flow has them. What was not "
    about += "complete at the end keeps its line below 100 %."
    about += describe_shown(reported_run, len(counted))
    title = "Completion time: share of transfers or pages that took at most so long"
    alt = f"Distribution of completion times: {', '.join(parts)}."
    return Chart("completions", title, about, alt, "quantile", "s", [], lines)


def _select_sizes(run: Results) -> dict[str, str]:
    """Select the rows of each flow to draw; requests have none."""
    sizes_by_flow: dict[str, str] = {}
    for row in run.completions.rows():
        flow, sizes = str(row["flow"]), str(row["sizes"])
        if not flow.endswith(".requests") and sizes in ("all", "pages"):
            sizes_by_flow[flow] = "pages" if sizes == "pages" else sizes_by_flow.get(flow, "all")
    return sizes_by_flow


def build_score_chart(reported_run: ReportedRun) -> Chart | None:
    """Mean opinion score of the calls of each DSCP; calls without a score are left out."""
    scores: dict[str, list[float]] = defaultdict(list)
    for run in reported_run.runs:
        dscp = dict(zip(run.flows["flow"], run.flows["dscp"], strict=True))
        for row in run.calls.rows():
            if row["mos"] is not None:
                scores[str(dscp[row["flow"]])].append(float(row["mos"]))
    if not scores:
        return None
    names = list(scores)
    lines = [ChartLine("mean", [float(f"{np.mean(scores[name]):.4g}") for name in names])]
    parts = [
        f"{name} {np.mean(scores[name]):.2f} ({min(scores[name]):.2f} to "
        f"{max(scores[name]):.2f}, {len(scores[name])} calls)"
        for name in names
    ]
    title = "Mean opinion score of calls, by DSCP"
    about = f"ITU-T G.107, 1 to 4.5; mean and range of the calls: {'; '.join(parts)}."
    return Chart(
        "mos", title, about, f"{title}: {', '.join(parts)}.", "bar", "", [], lines, categories=names
    )
