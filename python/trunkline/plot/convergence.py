"""Plot of convergence after a cut: events of each router and head, above the losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trunkline.plot.canvas import escape_plot_text
from trunkline.plot.figure import COLOURS, apply_house_style
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource
from trunkline.results.convergence import NetworkChange, list_answered_changes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from trunkline.results import Results

UNAWARE_COLOUR, AWARE_COLOUR = "#c8c8c8", COLOURS[4]
LOSS_BINS = 60
TIME_MARGIN = 1.25  # The picture continues for a quarter of the convergence after its end.


def convergence(sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw each change: a bar for each router and head, losses of a traced run below.

    sources: Results; the first is drawn.
    Raises MissingData: No router and no head answered to a change.
    """
    run = sources[0].runs[0]
    drawn_changes = [
        each
        for each in list_answered_changes(run)
        if choice.since <= each.at_ns / 1e9 <= choice.until
    ]
    if not drawn_changes:
        raise MissingData(
            f"{sources[0].label} has no failure that routing or signalling followed; add\n"
            "  failures: {cut: {link: A-B, at: 1 s}}\n  routing: {ospf: {}}"
        )
    from matplotlib.figure import Figure

    traced = len(run.packets) > 0
    with apply_house_style():
        height = (
            1.2 + 0.26 * max(len(each.steps) for each in drawn_changes) + (1.9 if traced else 0.6)
        )
        figure = Figure(figsize=(4.2 + 3.6 * len(drawn_changes), height), layout="constrained")
        figure.suptitle(
            escape_plot_text(choice.title or "After each change of the network"), fontsize=11
        )
        panels: Any = figure.subplots(
            1 + traced,
            len(drawn_changes),
            squeeze=False,
            sharex="col",
            gridspec_kw={
                "height_ratios": [max(2.0, 0.4 * max(len(e.steps) for e in drawn_changes)), 1.4]
            }
            if traced
            else None,
        )
        for column, change in enumerate(drawn_changes):
            end = _find_end(change) * TIME_MARGIN
            _draw_step_bars(panels[0][column], change)
            if traced:
                _draw_losses(
                    panels[1][column],
                    run,
                    change,
                    end,
                    has_legend_outside=column + 1 == len(drawn_changes),
                )
            panels[-1][column].set_xlim(0, end)
            panels[-1][column].set_xlabel(f"since the {change.kind} [ms]")
            link = change.links[0].replace("->", "–")
            title = f"{change.kind} of {link} at {change.at_ns / 1e9:g} s"
            panels[0][column].set_title(escape_plot_text(title), fontsize=10)
        panels[0][-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=9)
        if traced:
            panels[1][0].set_ylabel("packets lost")
    return figure


def _find_end(change: NetworkChange) -> float:
    """Find when the last router or head was done [ms after the change]."""
    times = [step.ended_ns or step.computed_ns or step.heard_ns for step in change.steps]
    return max((max(times) - change.at_ns) / 1e6, 0.001)


def _draw_step_bars(axes: Any, change: NetworkChange) -> None:
    """A bar for each router: it does not know; it knows; the moments of its steps."""
    spans: dict[str, tuple[list[float], list[int]]] = {
        name: ([], []) for name in ("computed its routes", "new routes, labels or path in use")
    }
    for place, step in enumerate(change.steps):
        heard = (step.heard_ns - change.at_ns) / 1e6
        axes.barh(
            place, heard, color=UNAWARE_COLOUR, height=0.6, label=None if place else "does not know"
        )
        if step.ended_ns is not None:
            ended = (step.ended_ns - change.at_ns) / 1e6
            axes.barh(place, ended - heard, left=heard, color=AWARE_COLOUR, height=0.6)
            _add_marker(spans, "new routes, labels or path in use", ended, place)
        if step.computed_ns is not None:
            _add_marker(
                spans, "computed its routes", (step.computed_ns - change.at_ns) / 1e6, place
            )
    axes.barh(0, 0, color=AWARE_COLOUR, label="knows, old routes in use")
    for (name, (at, places)), marker, colour in zip(
        spans.items(), ("|", "D"), (COLOURS[6], COLOURS[0]), strict=True
    ):
        axes.plot(
            at, places, marker, color=colour, markersize=9 if marker == "|" else 5, label=name
        )
    axes.set_yticks(
        range(len(change.steps)), [escape_plot_text(step.name) for step in change.steps]
    )
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


def _add_marker(
    spans: dict[str, tuple[list[float], list[int]]], name: str, at: float, place: int
) -> None:
    spans[name][0].append(at)
    spans[name][1].append(place)


def _draw_losses(
    axes: Any, run: Results, change: NetworkChange, end: float, *, has_legend_outside: bool
) -> None:
    """Draw packets lost in each span of time, by cause."""
    lost: dict[str, Counter[int]] = {}
    table = run.packets
    for event, cause, at in zip(table["event"], table["cause"], table["time_ns"], strict=True):
        since = (int(at or 0) - change.at_ns) / 1e6
        if event == "dropped" and 0 <= since < end:
            lost.setdefault(str(cause), Counter())[int(since / end * LOSS_BINS)] += 1
    stack_base = [0] * LOSS_BINS
    bin_width = end / LOSS_BINS
    for number, cause in enumerate(sorted(lost)):
        heights = [lost[cause][place] for place in range(LOSS_BINS)]
        bin_starts = [place * bin_width for place in range(LOSS_BINS)]
        name = f"{cause}: {sum(heights)}"
        axes.bar(
            bin_starts,
            heights,
            bin_width,
            bottom=stack_base,
            align="edge",
            color=COLOURS[number],
            label=name,
        )
        stack_base = [below + added for below, added in zip(stack_base, heights, strict=True)]
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_ylim(0, max(1, *stack_base) * 1.05)
    if lost:
        axes.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1.0) if has_legend_outside else (0.45, 1.0),
            fontsize=9,
        )
