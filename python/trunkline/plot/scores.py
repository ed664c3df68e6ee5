"""Opinion scores of calls by DSCP: the mean of each, its best and its worst call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.plot.canvas import Bar, bars_beside, canvas, legend, plain
from trunkline.plot.figure import style
from trunkline.plot.sources import Choice, Lacking, Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SATISFIED = ((4.03, "satisfied"), (3.6, "some dissatisfied"), (3.1, "many dissatisfied"))
"""Lower ends of user satisfaction (ITU-T G.107 annex B, table B.1)."""
_LEAST, _MOST = 1.0, 4.5


def scores(sources: Sequence[Source], choice: Choice) -> Figure:
    """Draw the mean opinion score of the calls of each DSCP.

    Parameters
    ----------
    sources : sequence of Source
        Results: a colour each, such as a failure or a restoration.

    Raises
    ------
    Lacking
        No call has a score.
    """
    found = [_by_dscp(source, choice) for source in sources]
    dscps = list(dict.fromkeys(name for each in found for name in each))
    if not dscps:
        msg = "no call has a score in these results"
        raise Lacking(msg)
    with style():
        figure, axes = canvas(
            choice.title or "Mean opinion score of calls",
            "bars: mean of the calls of a DSCP; ends: worst and best call",
            "MOS (ITU-T G.107)",
        )
        drawn = [
            (
                source.label,
                {name: Bar(sum(its) / len(its), min(its), max(its)) for name, its in each.items()},
            )
            for source, each in zip(sources, found, strict=True)
        ]
        bars_beside(axes, dscps, drawn, bottom=_LEAST)
        for score, words in SATISFIED:
            axes.axhline(score, color="#888888", linewidth=0.8, linestyle=":")
            axes.annotate(
                words,
                (1, score),
                xycoords=("axes fraction", "data"),
                xytext=(-4, 2),
                textcoords="offset points",
                ha="right",
                fontsize="small",
                color="#555555",
            )
        axes.set_ylim(_LEAST, _MOST)
        axes.set_xticks(range(len(dscps)), labels=[plain(name) for name in dscps])
        axes.margins(x=0.1)
        legend(axes)
    return figure


def _by_dscp(source: Source, choice: Choice) -> dict[str, list[float]]:
    """Scores of the calls of each DSCP, of all runs."""
    found: dict[str, list[float]] = {}
    for run in source.runs:
        dscp = dict(zip(run.flows["flow"], run.flows["dscp"], strict=True))
        for row in run.calls.rows():
            flow, name = str(row["flow"]), str(dscp[row["flow"]])
            if row["mos"] is not None and (choice.wants(flow) or choice.wants(name)):
                found.setdefault(name, []).append(float(row["mos"]))
    return found
