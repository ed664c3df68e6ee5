"""Opinion scores of calls by DSCP: the mean of each, its best and its worst call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.plot.canvas import canvas, legend, look, plain
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
        width = 0.8 / len(sources)
        for number, (source, its) in enumerate(zip(sources, found, strict=True)):
            offset = (number - (len(sources) - 1) / 2) * width
            at = [place + offset for place, name in enumerate(dscps) if name in its]
            kept = [its[name] for name in dscps if name in its]
            means = [sum(each) / len(each) for each in kept]
            axes.bar(
                at,
                [mean - _LEAST for mean in means],
                0.9 * width,
                bottom=_LEAST,
                color=look(number)["color"],
                alpha=0.65,
                label=plain(source.label) if len(sources) > 1 else None,
            )
            ends = [
                [mean - min(each) for mean, each in zip(means, kept, strict=True)],
                [max(each) - mean for mean, each in zip(means, kept, strict=True)],
            ]
            axes.errorbar(
                at, means, yerr=ends, fmt="none", color="#222222", capsize=3, linewidth=1.2
            )
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
        axes.grid(visible=False, axis="x")
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
