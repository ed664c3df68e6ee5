"""What people feel: times of transfers and pages, scores of calls."""

from collections import defaultdict

import numpy as np

from trunkline.report.charts import MOST_LINES, Chart, Line, rounded, said
from trunkline.report.exhibit import Exhibit
from trunkline.report.spread import SHARES, shown_of, times
from trunkline.results import Results


def completions(exhibit: Exhibit) -> Chart | None:
    """Distribution of completion times: of pages where a flow has them, else of its transfers.

    A line ends below 1 by the share of what was begun and not complete at the end.
    """
    counted: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    begun: dict[str, int] = defaultdict(int)
    greatest: dict[str, float] = defaultdict(float)
    for run in exhibit.runs:
        wanted = _wanted(run)
        for row in run.completions.rows():
            flow = str(row["flow"])
            if wanted.get(flow) == row["sizes"]:
                begun[flow] += int(row["started"] or 0)
                greatest[flow] = max(greatest[flow], float(row["fct_max_s"] or 0))
        for row in run.tables["completion_times"].rows():
            flow = str(row["flow"])
            if wanted.get(flow) == row["sizes"]:
                counted[flow][int(row["upper_ns"] or 0)] += int(row["count"] or 0)
    lines, parts = [], []
    for number, (flow, total) in enumerate(list(counted.items())[:MOST_LINES]):
        complete, at = sum(total.values()), times(total, greatest[flow])
        shares = np.array(SHARES) * complete / max(begun[flow], complete)
        lines.append(Line(flow, rounded(shares), x=rounded(at, 5), colour=number))
        parts.append(f"{flow} median {said(float(at[SHARES.index(0.5)]), 's')} of the complete")
    if not lines:
        return None
    about = "Transfers begun in the measured time; pages where a flow has them. What was not "
    about += "complete at the end keeps its line below 100 %."
    about += shown_of(exhibit, len(counted))
    title = "Completion time: share of transfers or pages that took at most so long"
    alt = f"Distribution of completion times: {', '.join(parts)}."
    return Chart("completions", title, about, alt, "quantile", "s", [], lines)


def _wanted(run: Results) -> dict[str, str]:
    """Which rows of each flow are drawn; requests are none."""
    wanted: dict[str, str] = {}
    for row in run.completions.rows():
        flow, sizes = str(row["flow"]), str(row["sizes"])
        if not flow.endswith(".requests") and sizes in ("all", "pages"):
            wanted[flow] = "pages" if sizes == "pages" else wanted.get(flow, "all")
    return wanted


def scores(exhibit: Exhibit) -> Chart | None:
    """Mean opinion score of the calls of each DSCP; calls without a score are left out."""
    scores: dict[str, list[float]] = defaultdict(list)
    for run in exhibit.runs:
        dscp = dict(zip(run.flows["flow"], run.flows["dscp"], strict=True))
        for row in run.calls.rows():
            if row["mos"] is not None:
                scores[str(dscp[row["flow"]])].append(float(row["mos"]))
    if not scores:
        return None
    names = list(scores)
    lines = [Line("mean", [float(f"{np.mean(scores[name]):.4g}") for name in names])]
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
