"""Published against ours: every cell of a reproduction as a point, equality as a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trunkline.plot.canvas import add_legend, create_canvas, escape_plot_text
from trunkline.plot.figure import COLOURS, MARKERS, apply_house_style
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOGARITHMIC_RATIO = 50.0
"""Ratio of the greatest value to the least from which the axes are logarithmic."""


def published(sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw our means with their intervals over the published values.

    sources: Reproductions; a marker each.
    choice: ``table`` for one table, ``only`` for some columns.
    Raises MissingData: No cell has a published value, or cells of different units are wanted in one
        picture.
    """
    cells = [
        (number, cell) for number, source in enumerate(sources) for cell in _read_cells(source)
    ]
    known = {str(cell["table"]) for _, cell in cells}
    if choice.table is not None and choice.table not in known:
        msg = f"no table is called {choice.table!r}; there are {', '.join(sorted(known))}"
        raise MissingData(msg)
    choice.check_names(list(dict.fromkeys(str(cell["column"]) for _, cell in cells)))
    chosen_cells = [
        (number, cell)
        for number, cell in cells
        if choice.table in (None, str(cell["table"])) and choice.is_chosen(str(cell["column"]))
    ]
    units = sorted({str(cell["unit"]) for _, cell in chosen_cells})
    if len(units) > 1:
        tables = sorted({f"{cell['table']} [{cell['unit']}]" for _, cell in chosen_cells})
        msg = f"tables with different units: choose one with --table from {', '.join(tables)}"
        raise MissingData(msg)
    return _draw_cells(chosen_cells, units[0], sources, choice)


def _read_cells(source: PlotSource) -> list[dict[str, Any]]:
    if not source.record:
        msg = f"{source.label} is no reproduction: trunkline reproduce STUDY --out makes one"
        raise MissingData(msg)
    cells = [
        cell
        for cell in source.record.get("cells", [])
        if cell.get("published") is not None and cell.get("ours") is not None
    ]
    if not cells:
        raise MissingData(f"{source.label} has no published values")
    return cells


def _draw_cells(
    chosen_cells: list[tuple[int, dict[str, Any]]],
    unit: str,
    sources: Sequence[PlotSource],
    choice: PlotChoice,
) -> Figure:
    tables = list(dict.fromkeys(str(cell["table"]) for _, cell in chosen_cells))
    by_column = len(tables) == 1
    key = "column" if by_column else "table"
    places = {
        name: number
        for number, name in enumerate(dict.fromkeys(str(cell[key]) for _, cell in chosen_cells))
    }
    title = choice.title or f"Published against ours: {', '.join(each.label for each in sources)}"
    with apply_house_style():
        figure, axes = create_canvas(title, f"published [{unit}]", f"ours [{unit}]", width_in=6.4)
        values = [float(cell[name]) for _, cell in chosen_cells for name in ("published", "ours")]
        positive = [value for value in values if value > 0]
        logarithmic = len(positive) == len(values) and max(values) > LOGARITHMIC_RATIO * min(values)
        if logarithmic:
            axes.set_xscale("log")
            axes.set_yscale("log")
        low, high = (min(values), max(values)) if logarithmic else (min(0.0, *values), max(values))
        axes.plot([low, high], [low, high], color="#888888", linewidth=1.0, label="equal")
        labels_used: set[str] = set()
        for number, cell in chosen_cells:
            name = str(cell[key])
            label = name if by_column else f"table {name}"
            label += f", {sources[number].label}" if len(sources) > 1 else ""
            # Where colours begin again, or results, the sign is another.
            colour = COLOURS[places[name] % len(COLOURS)]
            marker = MARKERS[(places[name] // len(COLOURS) + number) % len(MARKERS)]
            hollow = bool(cell.get("note"))
            ends = [cell.get("low"), cell.get("high")]
            if all(end is not None for end in ends):
                axes.vlines([cell["published"]], ends[0], ends[1], color=colour, linewidth=1.2)
            axes.plot(
                [cell["published"]],
                [cell["ours"]],
                linestyle="none",
                marker=marker,
                markersize=5.5,
                color=colour,
                markerfacecolor="white" if hollow else colour,
                label=None if label in labels_used else escape_plot_text(label),
                zorder=3,
            )
            labels_used.add(label)
        if any(cell.get("note") for _, cell in chosen_cells):
            axes.plot([], [], "o", color="#888888", markerfacecolor="white", label="doubtful")
        axes.margins(x=0.04)
        add_legend(axes)
    return figure
