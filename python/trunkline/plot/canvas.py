"""A figure with one pair of axes and a legend beside it, in the house style."""

from __future__ import annotations

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


def look(number: int) -> dict[str, Any]:
    """Colour and dashes of a line, told apart by people with any colour vision."""
    rounds = number // len(COLOURS)
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[rounds % len(DASHES)]}


def plain(text: str) -> str:
    """A name as text, of which the drawing program interprets nothing."""
    # A pair of dollar signs would begin a formula, a leading underscore hides a name.
    shown = printable(text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
