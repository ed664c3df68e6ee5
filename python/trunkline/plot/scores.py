"""Opinion scores of calls by DSCP: the mean of each, its best and its worst call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.plot.canvas import (
    PlotBar,
    add_legend,
    create_canvas,
    draw_grouped_bars,
    escape_plot_text,
)
from trunkline.plot.figure import apply_house_style
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SATISFACTION_LEVELS = ((4.03, "satisfied"), (3.6, "some dissatisfied"), (3.1, "many dissatisfied"))
"""Lower ends of user satisfaction (ITU-T G.107 annex B, table B.1)."""
_MIN_SCORE, _MAX_SCORE = 1.0, 4.5


def scores(sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw the mean opinion score of the calls of each DSCP.

    sources: Results: a colour each, such as a failure or a restoration.
    Raises MissingData: No call has a score.
    """
    scores_by_source = [_collect_scores(source, choice) for source in sources]
    dscps = list(dict.fromkeys(name for each in scores_by_source for name in each))
    if not dscps:
        raise MissingData("no call has a score in these results")
    with apply_house_style():
        figure, axes = create_canvas(
            choice.title or "Mean opinion score of calls",
            "bars: mean of the calls of a DSCP; ends: worst and best call",
            "MOS (ITU-T G.107)",
        )
        drawn = [
            (
                source.label,
                {
                    name: PlotBar(
                        sum(call_scores) / len(call_scores), min(call_scores), max(call_scores)
                    )
                    for name, call_scores in each.items()
                },
            )
            for source, each in zip(sources, scores_by_source, strict=True)
        ]
        draw_grouped_bars(axes, dscps, drawn, bottom=_MIN_SCORE)
        for score, words in SATISFACTION_LEVELS:
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
        axes.set_ylim(_MIN_SCORE, _MAX_SCORE)
        axes.set_xticks(range(len(dscps)), labels=[escape_plot_text(name) for name in dscps])
        axes.margins(x=0.1)
        add_legend(axes)
    return figure


def _collect_scores(source: PlotSource, choice: PlotChoice) -> dict[str, list[float]]:
    """Scores of the calls of each DSCP, of all runs."""
    found: dict[str, list[float]] = {}
    for run in source.runs:
        dscp = dict(zip(run.flows["flow"], run.flows["dscp"], strict=True))
        for row in run.calls.rows():
            flow, name = str(row["flow"]), str(dscp[row["flow"]])
            if row["mos"] is not None and (choice.is_chosen(flow) or choice.is_chosen(name)):
                found.setdefault(name, []).append(float(row["mos"]))
    return found
