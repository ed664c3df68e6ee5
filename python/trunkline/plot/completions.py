"""The distribution of completion times of transfers and of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.plot.canvas import canvas, legend, look, plain
from trunkline.plot.distribution import cumulative
from trunkline.plot.figure import style
from trunkline.plot.sources import Choice, Lacking, Source, named
from trunkline.stats.histogram import Histogram, completions_by

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def completions(sources: Sequence[Source], choice: Choice) -> Figure:
    """Draw the share of transfers, or of pages, that were complete after at most so much time.

    A flow of pages is drawn by its pages. What was unfinished at the end has no time: it is in the
    legend, and a line of all that were begun would end below 1 by its share.

    Parameters
    ----------
    sources : sequence of Source
        Results; all runs of each together.
    choice : Choice
        Flows to draw; requests only if they are named.

    Raises
    ------
    Lacking
        No transfer is complete.
    """
    with style():
        figure, axes = canvas(
            choice.title or "Distribution of completion times", "time [s]", "share of the begun"
        )
        for number, (name, times, unfinished) in enumerate(_lines(sources, choice)):
            at, shares = cumulative(times, 1e-9, times.n + unfinished)
            label = f"{name}: {times.n}" + (f", {unfinished} unfinished" if unfinished else "")
            axes.plot(at, shares, label=plain(label), drawstyle="steps-post", **look(number))
        axes.set_xscale("log")
        axes.set_ylim(0, 1.01)
        legend(axes)
    return figure


def _lines(sources: Sequence[Source], choice: Choice) -> list[tuple[str, Histogram, int]]:
    """Name, times and number of the unfinished, the runs of a source together."""
    found = []
    for source in sources:
        by_flow: dict[str, list[Histogram]] = {}
        unfinished: dict[str, int] = {}
        for run in source.runs:
            rows = list(run.completions.rows())
            pages = {row["flow"] for row in rows if row["sizes"] == "pages"}
            times = completions_by(run)
            for row in rows:
                flow = str(row["flow"])
                if row["sizes"] != ("pages" if row["flow"] in pages else "all"):
                    continue
                unfinished[flow] = unfinished.get(flow, 0) + int(row["unfinished"] or 0)
                its = times.get((flow, str(row["sizes"])))
                if its is not None:
                    by_flow.setdefault(flow, []).append(its)
        if not by_flow:
            msg = f"{source.label} has no complete transfer: flows need `transfers` or `pages`"
            raise Lacking(msg)
        choice.checked(list(by_flow))
        for flow, parts in by_flow.items():
            wanted = flow in choice.only or not flow.endswith(".requests")
            if choice.wants(flow) and wanted:
                merged = Histogram.merged(parts)
                found.append((named(source, flow, sources), merged, unfinished[flow]))
    return found
