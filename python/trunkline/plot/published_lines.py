"""Our values as lines with their intervals, and the published values as marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.plot.figure import MARKERS, apply_house_style, choose_colour

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class PublishedLine:
    """One column of a table."""

    name: str  # Name, written at the line.
    simulated: Sequence[float]  # Our means, one a row.
    # low, high: Ends of their intervals; equal to ``simulated`` where there is none.
    low: Sequence[float]
    high: Sequence[float]
    published: Sequence[float | None]  # Published values, None where there is none.
    doubtful: Sequence[bool]  # Which of those are judged apart.


def draw_published_lines(
    title: str,
    x: Sequence[float],
    lines: Sequence[PublishedLine],
    *,
    x_label: str,
    y_label: str,
    x_names: Sequence[str] | None = None,
) -> Figure:
    """Draw one table.

    x_names: Names of the rows, where these are no numbers; ours are then marks without lines.
    """
    from matplotlib.figure import Figure

    with apply_house_style():
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for number, line in enumerate(lines):
            if x_names is None:
                _draw_line(axes, x, line, choose_colour(number), MARKERS[number % len(MARKERS)])
            else:
                _draw_bars(axes, number, len(lines), line, choose_colour(number))
        axes.set_title(title)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_xticks(list(x), labels=None if x_names is None else list(x_names))
        axes.set_ylim(bottom=0)
        axes.margins(x=0.04)
        if x_names is None:
            if len(x) > 1:
                # Of all rows, also of those that no line has a value of.
                side = 0.04 * (max(x) - min(x))
                axes.set_xlim(min(x) - side, max(x) + side)
            _name_lines(axes, x, lines)
        else:
            _name_bars(axes, len(x), lines)
        _add_legend(axes, any(any(line.doubtful) for line in lines))
    return figure


def _draw_line(
    axes: Any, x: Sequence[float], line: PublishedLine, colour: str, marker: str
) -> None:
    axes.fill_between(x, line.low, line.high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(x, line.simulated, color=colour, linewidth=1.8)
    published_points = zip(x, line.published, line.doubtful, strict=True)
    for x_value, value, doubtful in published_points:
        if value is not None:
            axes.plot(
                [x_value],
                [value],
                marker=marker,
                markersize=7,
                markeredgewidth=1.5,
                linestyle="none",
                color=colour,
                markerfacecolor="white" if doubtful else colour,
                markeredgecolor=colour if doubtful else "white",
                zorder=3,
            )


def _draw_bars(axes: Any, number: int, column_count: int, line: PublishedLine, colour: str) -> None:
    """Draw a column as bars next to the others', where rows have no order."""
    width = 0.8 / column_count
    positions = [
        row + (number - (column_count - 1) / 2) * width for row in range(len(line.simulated))
    ]
    axes.bar(positions, line.simulated, 0.9 * width, color=colour, alpha=0.45)
    axes.vlines(positions, line.low, line.high, color=colour, linewidth=1.8)
    published_values = [float("nan") if value is None else value for value in line.published]
    axes.plot(
        positions,
        published_values,
        "o",
        color=colour,
        markersize=5,
        markeredgecolor="white",
        zorder=3,
    )


def _name_bars(axes: Any, rows: int, lines: Sequence[PublishedLine]) -> None:
    """Write each name in its colour at the right."""
    for number, line in enumerate(lines):
        _write_name(
            axes, line.name, number, 8, xy=(1, 0.95 - 0.09 * number), xycoords="axes fraction"
        )
    axes.set_xlim(-0.5, rows - 0.5)


def _name_lines(axes: Any, x: Sequence[float], lines: Sequence[PublishedLine]) -> None:
    """Write each name at the right end of its line, kept apart from the others."""
    bottom, top = axes.get_ylim()
    min_distance = 0.06 * (top - bottom)
    # A line ends where it has its last value.
    known = [[value for value in line.simulated if not math.isnan(value)] for line in lines]
    ends = sorted((values[-1], number) for number, values in enumerate(known) if values)
    height = float("-inf")
    for end, number in ends:
        height = max(end, height + min_distance)
        _write_name(axes, lines[number].name, number, 12, xy=(x[-1], height))


def _write_name(axes: Any, name: str, number: int, distance: int, **place: Any) -> None:
    """Write the name of a line in its colour, some points to the right of a place."""
    axes.annotate(
        name,
        **place,
        xytext=(distance, 0),
        textcoords="offset points",
        va="center",
        color=choose_colour(number),
        fontweight="bold",
        annotation_clip=False,
    )


def _add_legend(axes: Any, doubtful: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    grey = "#555555"
    handles: list[Any] = [
        Line2D([], [], color=grey, linewidth=1.8, label="ours (mean over seeds)"),
        Patch(color=grey, alpha=0.18, label="95 % interval"),
        Line2D([], [], color=grey, marker="o", linestyle="none", markersize=7, label="published"),
    ]
    if doubtful:
        hollow = Line2D(
            [],
            [],
            marker="o",
            linestyle="none",
            markersize=7,
            markerfacecolor="white",
            markeredgecolor=grey,
            markeredgewidth=1.5,
            label="published, doubtful",
        )
        handles.append(hollow)
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.16),
        ncols=len(handles),
        fontsize=9,
        columnspacing=1.4,
        handletextpad=0.5,
    )
