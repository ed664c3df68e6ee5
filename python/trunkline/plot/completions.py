"""The distribution of completion times of transfers and of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.plot.canvas import add_legend, choose_line_style, create_canvas, escape_plot_text
from trunkline.plot.distribution import compute_cumulative
from trunkline.plot.figure import apply_house_style
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource, name_line
from trunkline.stats.histogram import Histogram, read_completion_histograms

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def completions(sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw the share of transfers, or of pages, that were complete after at most so much time.

    A flow of pages is drawn by its pages. Pages unfinished at the end have no time: they are in the
    legend, and a line of all that were begun would end below 1 by its share.

    sources: Results; all runs of each together.
    choice: Flows to draw; requests only if they are named.
    Raises MissingData: No transfer is complete.
    """
    with apply_house_style():
        figure, axes = create_canvas(
            choice.title or "Distribution of completion times", "time [s]", "share of the begun"
        )
        for number, (name, times, unfinished) in enumerate(_list_lines(sources, choice)):
            times_s, shares = compute_cumulative(times, 1e-9, times.total + unfinished)
            label = f"{name}: {times.total}" + (f", {unfinished} unfinished" if unfinished else "")
            axes.plot(
                times_s,
                shares,
                label=escape_plot_text(label),
                drawstyle="steps-post",
                **choose_line_style(number),
            )
        axes.set_xscale("log")
        axes.set_ylim(0, 1.01)
        add_legend(axes)
    return figure


def _list_lines(
    sources: Sequence[PlotSource], choice: PlotChoice
) -> list[tuple[str, Histogram, int]]:
    """List names, times and numbers of unfinished transfers, the runs of a source together."""
    lines = []
    for source in sources:
        by_flow: dict[str, list[Histogram]] = {}
        unfinished: dict[str, int] = {}
        for run in source.runs:
            rows = list(run.completions.rows())
            pages = {row["flow"] for row in rows if row["sizes"] == "pages"}
            times = read_completion_histograms(run)
            for row in rows:
                flow = str(row["flow"])
                if row["sizes"] != ("pages" if row["flow"] in pages else "all"):
                    continue
                unfinished[flow] = unfinished.get(flow, 0) + int(row["unfinished"] or 0)
                flow_times = times.get((flow, str(row["sizes"])))
                if flow_times is not None:
                    by_flow.setdefault(flow, []).append(flow_times)
        if not by_flow:
            msg = f"{source.label} has no complete transfer: flows need `transfers` or `pages`"
            raise MissingData(msg)
        choice.check_names(list(by_flow))
        for flow, parts in by_flow.items():
            is_wanted = flow in choice.only or not flow.endswith(".requests")
            if choice.is_chosen(flow) and is_wanted:
                merged = Histogram.merge(parts)
                lines.append((name_line(source, flow, sources), merged, unfinished[flow]))
    return lines
