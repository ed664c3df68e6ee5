"""Figures of panels, with one legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEGEND_COLUMNS = 5  # Names side by side at most.
_LETTER_IN = 0.064  # Width of a letter of the legend, rounded up.
_SIGN_IN = 0.6  # Width of a sign of the legend and the space about it.
_LINE_IN = 0.17  # Height of a line of the legend.
_LINES_WITH_ROOM = 3  # Lines of a legend for which a figure has room by default.


def create_panels(
    rows: int, columns: int, *, height: float = 2.8, sharey: Literal["row", "all"] = "row"
) -> tuple[Figure, Any]:
    """A figure of panels that share the axis below, and the panels by row and column."""
    from matplotlib.figure import Figure

    width = 7.5 if columns == 1 else min(11, 5.5 * columns)
    figure = Figure(figsize=(width, height * rows + (1.6 if rows == 1 else 0.6)))
    figure.set_layout_engine("constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=sharey)


def add_legend(figure: Figure, *panels: Axes) -> None:
    """Draw one legend below all panels: in as many columns as the figure is wide."""
    found: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        found = dict(zip(labels, handles, strict=True)) | found
    if len(found) > 1:
        named = list(found.values()), list(found)
        width, height = figure.get_size_inches()
        name_width = _LETTER_IN * max(map(len, found)) + _SIGN_IN
        columns = max(1, min(_LEGEND_COLUMNS, int(width / name_width)))
        lines = -(-len(found) // columns)
        figure.set_size_inches(width, height + _LINE_IN * max(0, lines - _LINES_WITH_ROOM))
        figure.legend(*named, loc="outside lower center", ncols=columns, fontsize=8)
