"""Figures of panels, with one legend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
    """Say below all panels what their lines are."""
    found: dict[str, Any] = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        found = dict(zip(labels, handles, strict=True)) | found
    if len(found) > 1:
        named = list(found.values()), list(found)
        figure.legend(*named, loc="outside lower center", ncols=5, fontsize=8)
