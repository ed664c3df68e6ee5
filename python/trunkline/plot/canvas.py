"""A figure with one pair of axes and a legend beside it, in the house style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.plot.figure import COLOURS
from trunkline.results.render import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASHES = ("-", "--", "-.", ":")


def canvas(title: str, x_label: str, y_label: str, *, wide: float = 7.4) -> tuple[Figure, Any]:
    """An empty figure; call it within the house style.

    Parameters
    ----------
    wide : float
        Width [inches].
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(wide, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(plain(title))
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.margins(x=0.01)
    return figure, axes


def legend(axes: Any) -> None:
    """Name the lines: at the right, where they hide nothing; one line needs no name."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1 or (labels and not labels[0].startswith("_")):
        axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize=9)


@dataclass(frozen=True, slots=True)
class Bar:
    """Where a bar ends, and between what its value may lie (None: not known)."""

    value: float
    low: float | None = None
    high: float | None = None


def bars_beside(
    axes: Any,
    names: Sequence[str],
    found: Sequence[tuple[str, Mapping[str, Bar]]],
    *,
    bottom: float = 0.0,
) -> None:
    """Draw the bars of several sources beside each other at each name.

    Parameters
    ----------
    names : sequence of str
        From left to right.
    found : sequence of (str, mapping of str to Bar)
        The label of each source, which one alone does without, and its bars by name.
    bottom : float
        Where bars begin.
    """
    width = 0.8 / len(found)
    for number, (label, its) in enumerate(found):
        offset = (number - (len(found) - 1) / 2) * width
        places = [place + offset for place, name in enumerate(names) if name in its]
        kept = [its[name] for name in names if name in its]
        axes.bar(
            places,
            [each.value - bottom for each in kept],
            0.9 * width,
            bottom=bottom,
            color=look(number)["color"],
            alpha=0.65,
            label=plain(label) if len(found) > 1 else None,
        )
        ends = [
            (place, each.value, each.value - each.low, each.high - each.value)
            for place, each in zip(places, kept, strict=True)
            if each.low is not None and each.high is not None
        ]
        if ends:
            at, values, *lengths = zip(*ends, strict=True)
            axes.errorbar(
                at, values, yerr=lengths, fmt="none", color="#222222", capsize=3, linewidth=1.2
            )
    axes.grid(visible=False, axis="x")


def look(number: int) -> dict[str, Any]:
    """Colour and dashes of a line, told apart by people with any colour vision."""
    rounds = number // len(COLOURS)
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[rounds % len(DASHES)]}


def plain(text: str) -> str:
    """A name as text, of which the drawing program interprets nothing."""
    # A pair of dollar signs would begin a formula, a leading underscore hides a name.
    shown = printable(text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
