"""A figure with one pair of axes and a legend next to it, in the house style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.plot.figure import COLOURS
from trunkline.results.terminal_tables import escape_unprintable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE_STYLES = ("-", "--", "-.", ":")


def create_canvas(
    title: str, x_label: str, y_label: str, *, width_in: float = 7.4
) -> tuple[Figure, Any]:
    """An empty figure; call it within the house style. width_in: Width [inches]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(escape_plot_text(title))
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.margins(x=0.01)
    return figure, axes


def add_legend(axes: Any) -> None:
    """Name the lines: at the right, where they hide nothing; one line needs no name."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1 or (labels and not labels[0].startswith("_")):
        axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=9)


@dataclass(frozen=True, slots=True)
class PlotBar:
    """End of a bar, and the interval of its value (None: not known)."""

    value: float
    low: float | None = None
    high: float | None = None


def draw_grouped_bars(
    axes: Any,
    names: Sequence[str],
    labelled_bars: Sequence[tuple[str, Mapping[str, PlotBar]]],
    *,
    bottom: float = 0.0,
) -> None:
    """Draw the bars of several sources side by side at each name.

    names: From left to right.
    labelled_bars: The label of each source, which one alone does without, and its bars by name.
    bottom: Where bars begin.
    """
    width = 0.8 / len(labelled_bars)
    for number, (label, bars_by_name) in enumerate(labelled_bars):
        offset = (number - (len(labelled_bars) - 1) / 2) * width
        places = [place + offset for place, name in enumerate(names) if name in bars_by_name]
        source_bars = [bars_by_name[name] for name in names if name in bars_by_name]
        axes.bar(
            places,
            [each.value - bottom for each in source_bars],
            0.9 * width,
            bottom=bottom,
            color=choose_line_style(number)["color"],
            alpha=0.65,
            label=escape_plot_text(label) if len(labelled_bars) > 1 else None,
        )
        ends = [
            (place, each.value, each.value - each.low, each.high - each.value)
            for place, each in zip(places, source_bars, strict=True)
            if each.low is not None and each.high is not None
        ]
        if ends:
            positions, values, *lengths = zip(*ends, strict=True)
            axes.errorbar(
                positions,
                values,
                yerr=lengths,
                fmt="none",
                color="#222222",
                capsize=3,
                linewidth=1.2,
            )
    axes.grid(visible=False, axis="x")


def choose_line_style(number: int) -> dict[str, Any]:
    """Colour and dashes of a line, told apart by people with any colour vision."""
    palette_round = number // len(COLOURS)
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": LINE_STYLES[palette_round % len(LINE_STYLES)],
    }


def escape_plot_text(text: str) -> str:
    """A name as text, of which the drawing program interprets nothing."""
    # A pair of dollar signs would begin a formula, a leading underscore hides a name.
    escaped = escape_unprintable(text).replace("$", r"\$")
    return f" {escaped}" if escaped.startswith("_") else escaped
