"""How delays and losses spread: a distribution for each flow, packets lost by place and cause."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from trunkline.report.charts import MOST_LINES, Chart, Line, groups, rounded, said
from trunkline.report.exhibit import Exhibit
from trunkline.results.numbers import number

SHARES = (
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


def delays(exhibit: Exhibit) -> Chart | None:
    """Distribution of the one-way delay of flows, from the histograms of all runs."""
    counted: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for run in exhibit.runs:
        table = run.tables["delays"]
        columns = (table[name] for name in ("flow", "upper_ns", "packets"))
        for flow, upper, packets in zip(*columns, strict=True):
            counted[str(flow)][int(upper or 0)] += int(packets or 0)
    together: dict[str, dict[int, int]] = {}
    greatest: dict[str, float] = {}
    for name, flows in groups(exhibit).items():
        # A flow of messages has no row where daemons send them.
        longest = (
            float(delay or 0)
            for run in exhibit.runs
            for flow, delay in zip(run.flows["flow"], run.flows["delay_max_s"], strict=True)
            if flow in flows
        )
        greatest[name] = max(longest, default=0.0)
        total: dict[int, int] = defaultdict(int)
        for flow in flows:
            for upper, packets in counted[flow].items():
                total[upper] += packets
        if total:
            together[name] = total
    if not together:
        return None
    lines, parts = [], []
    colours = {name: number for number, name in enumerate(groups(exhibit))}
    for name, total in list(together.items())[:MOST_LINES]:
        values = times(total, greatest[name])
        colour = colours[name] % MOST_LINES
        lines.append(Line(name, list(SHARES), x=rounded(values, 5), colour=colour))
        parts.append(f"{name} median {said(float(values[SHARES.index(0.5)]), 's')}")
    about = "Every packet delivered in the measured time, to 1.6 % of its delay."
    about += shown_of(exhibit, len(together))
    alt = f"Distribution of one-way delay: {', '.join(parts)}."
    title = "Delay: share of packets that took at most so long"
    return Chart("quantiles", title, about, alt, "quantile", "s", [], lines)


def times(counted: Mapping[int, int], greatest_s: float) -> NDArray[np.float64]:
    """Times [s] that ``SHARES`` of what is counted by upper ends of buckets [ns] take at most.

    None is above the greatest time there was.
    """
    uppers = np.array(sorted(counted))
    reached = np.cumsum([counted[upper] for upper in uppers.tolist()])
    at = np.searchsorted(reached, np.array(SHARES) * reached[-1], side="left")
    found: NDArray[np.float64] = uppers[np.minimum(at, len(uppers) - 1)] / 1e9
    return np.minimum(found, greatest_s)


def shown_of(exhibit: Exhibit, lines: int) -> str:
    """What is to be said of the runs and of the lines that have no room."""
    said = f" {len(exhibit.runs)} runs together." if len(exhibit.runs) > 1 else ""
    if lines > MOST_LINES:
        said += f" The first {MOST_LINES}; {lines - MOST_LINES} more are not shown."
    return said


def drops(exhibit: Exhibit) -> Chart | None:
    """Packets lost by place, stacked by cause and drop precedence."""
    total: dict[tuple[str, str], float] = defaultdict(float)
    for run in exhibit.runs:
        names = ("link", "node", "cause", "precedence", "packets")
        for link, node, cause, precedence, packets in zip(
            *(run.drops[name] for name in names), strict=True
        ):
            what = f"{cause}, precedence {precedence}" if precedence else str(cause)
            total[str(link if link is not None else node), what] += float(packets or 0)
    if not total:
        return None
    runs = len(exhibit.runs)
    by_place: dict[str, float] = defaultdict(float)
    for (place, _), packets in total.items():
        by_place[place] += packets / runs
    places = sorted(by_place, key=lambda place: -by_place[place])
    kept = places[:12]
    causes = sorted({what for place, what in total if place in kept})
    lines = [
        Line(
            what,
            [float(f"{total.get((place, what), 0.0) / runs:.5g}") for place in kept],
            colour=colour % MOST_LINES,
        )
        for colour, what in enumerate(causes)
    ]
    more = len(places) - len(kept)
    about = "Data and acknowledgements."
    if runs > 1:
        about += f" Mean over {runs} runs."
    if more:
        about += f" The {len(kept)} places with most; {more} more."
    parts = [f"{place} {number(by_place[place])}" for place in kept]
    alt = f"Packets lost by place: {', '.join(parts)}."
    title = "Packets lost, by place, cause and drop precedence"
    return Chart("lost", title, about, alt, "bar", "packets", [], lines, categories=kept)
