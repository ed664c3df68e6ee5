"""After a cut: what each router and head knew and did, above what was lost meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trunkline.plot.canvas import plain
from trunkline.plot.figure import COLOURS, style
from trunkline.plot.sources import Choice, Lacking, Source
from trunkline.results.convergence import Change, changes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.results import Results

UNAWARE, KNOWS = "#c8c8c8", COLOURS[4]
BINS = 60
MARGIN = 1.25
"""The picture goes on for a quarter of the convergence after its end."""


def convergence(sources: Sequence[Source], choice: Choice) -> Figure:
    """Draw each change: a bar for each router and head, losses of a traced run below.

    Parameters
    ----------
    sources : sequence of Source
        Results; the first is drawn.

    Raises
    ------
    Lacking
        No router and no head answered to a change.
    """
    run = sources[0].runs[0]
    found = [each for each in changes(run) if choice.since <= each.at_ns / 1e9 <= choice.until]
    if not found:
        msg = (
            f"{sources[0].label} has no failure that routing or signalling followed; add\n"
            "  failures: {cut: {link: A-B, at: 1 s}}\n  routing: {ospf: {}}"
        )
        raise Lacking(msg)
    from matplotlib.figure import Figure

    traced = len(run.packets) > 0
    with style():
        tall = 1.2 + 0.26 * max(len(each.steps) for each in found) + (1.9 if traced else 0.6)
        figure = Figure(figsize=(4.2 + 3.6 * len(found), tall), layout="constrained")
        figure.suptitle(plain(choice.title or "After each change of the network"), fontsize=11)
        parts: Any = figure.subplots(
            1 + traced,
            len(found),
            squeeze=False,
            sharex="col",
            gridspec_kw={"height_ratios": [max(2.0, 0.4 * max(len(e.steps) for e in found)), 1.4]}
            if traced
            else None,
        )
        for column, change in enumerate(found):
            end = _end(change) * MARGIN
            _bars(parts[0][column], change)
            if traced:
                _losses(parts[1][column], run, change, end, named=column + 1 == len(found))
            parts[-1][column].set_xlim(0, end)
            parts[-1][column].set_xlabel(f"since the {change.what} [ms]")
            link = change.links[0].replace("->", "–")
            title = f"{change.what} of {link} at {change.at_ns / 1e9:g} s"
            parts[0][column].set_title(plain(title), fontsize=10)
        parts[0][-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=9)
        if traced:
            parts[1][0].set_ylabel("packets lost")
    return figure


def _end(change: Change) -> float:
    """When the last router or head was done [ms after the change]."""
    times = [step.ended_ns or step.computed_ns or step.heard_ns for step in change.steps]
    return max((max(times) - change.at_ns) / 1e6, 0.001)


def _bars(axes: Any, change: Change) -> None:
    """A bar for each router: it does not know; it knows; the moments of its steps."""
    spans: dict[str, tuple[list[float], list[int]]] = {
        name: ([], []) for name in ("computed its routes", "new routes, labels or path in use")
    }
    for place, step in enumerate(change.steps):
        heard = (step.heard_ns - change.at_ns) / 1e6
        axes.barh(place, heard, color=UNAWARE, height=0.6, label=None if place else "does not know")
        if step.ended_ns is not None:
            ended = (step.ended_ns - change.at_ns) / 1e6
            axes.barh(place, ended - heard, left=heard, color=KNOWS, height=0.6)
            _add(spans, "new routes, labels or path in use", ended, place)
        if step.computed_ns is not None:
            _add(spans, "computed its routes", (step.computed_ns - change.at_ns) / 1e6, place)
    axes.barh(0, 0, color=KNOWS, label="knows, old routes in use")
    for (name, (at, places)), marker, colour in zip(
        spans.items(), ("|", "D"), (COLOURS[6], COLOURS[0]), strict=True
    ):
        axes.plot(
            at, places, marker, color=colour, markersize=9 if marker == "|" else 5, label=name
        )
    axes.set_yticks(range(len(change.steps)), [plain(step.name) for step in change.steps])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


def _add(spans: dict[str, tuple[list[float], list[int]]], name: str, at: float, place: int) -> None:
    spans[name][0].append(at)
    spans[name][1].append(place)


def _losses(axes: Any, run: Results, change: Change, end: float, *, named: bool) -> None:
    """Packets lost in each span of time, by cause."""
    lost: dict[str, Counter[int]] = {}
    table = run.packets
    for event, cause, at in zip(table["event"], table["cause"], table["time_ns"], strict=True):
        since = (int(at or 0) - change.at_ns) / 1e6
        if event == "dropped" and 0 <= since < end:
            lost.setdefault(str(cause), Counter())[int(since / end * BINS)] += 1
    under = [0] * BINS
    wide = end / BINS
    for number, cause in enumerate(sorted(lost)):
        heights = [lost[cause][place] for place in range(BINS)]
        left = [place * wide for place in range(BINS)]
        name = f"{cause}: {sum(heights)}"
        axes.bar(left, heights, wide, bottom=under, align="edge", color=COLOURS[number], label=name)
        under = [below + more for below, more in zip(under, heights, strict=True)]
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_ylim(0, max(1, *under) * 1.05)
    if lost:
        axes.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0) if named else (0.45, 1.0),
            fontsize=9,
        )
