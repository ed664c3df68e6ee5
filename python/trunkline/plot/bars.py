"""A measure of each flow, DSCP, port or path as bars, with intervals over the runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.plot.canvas import (
    PlotBar,
    add_legend,
    create_canvas,
    draw_grouped_bars,
    escape_plot_text,
)
from trunkline.plot.figure import apply_house_style
from trunkline.plot.plot_sources import MissingData, PlotChoice, PlotSource
from trunkline.results.schemas import Field, find_field
from trunkline.stats import Interval, average_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_BARS = 40  # Names that stay readable side by side.
PLOTTED_TABLES = ("flows", "aggregates", "ports", "paths", "calls", "completions")
PICTURE_UNITS = {"bit/s": ("Mbit/s", 1e-6), "s": ("ms", 1e3), "%": ("%", 100.0)}
"""Units of the pictures, and the factors to them, by those of the tables."""


def bars(sources: Sequence[PlotSource], choice: PlotChoice) -> Figure:
    """Draw a column of a table.

    sources: Results: a colour each; over several runs, means with 95 % intervals.
    choice: The measure (default ``goodput_bit_s``), its table (default: the first that has it), and
        which rows.
    Raises MissingData: No table has the measure.
    """
    measure = choice.measure or "goodput_bit_s"
    table = _find_table(sources[0], measure, choice.table)
    values: list[dict[str, Interval]] = []
    names: dict[str, None] = {}
    for source in sources:
        found = {}
        for row in average_runs(source.runs, table):
            name = " ".join(each for each in row.key.values() if each != "default")
            chosen = any(choice.is_chosen(each) for each in row.key.values())
            if chosen and measure in row.measures:
                found[name] = row.measures[measure]
                names[name] = None
        values.append(found)
    if not names:
        choice.check_names(
            [name for row in average_runs(sources[0].runs, table) for name in row.key.values()]
        )
        raise MissingData(f"{measure} of {table} has no value in these results")
    label, unit, scale = _describe_unit(find_field(table, measure))
    has_intervals = any(each.low is not None for found in values for each in found.values())
    listed, selection_note = _select_largest(list(names), values)
    with apply_house_style():
        figure, axes = create_canvas(
            choice.title or f"{label[:1].upper()}{label[1:]} of {table}{selection_note}",
            "ends: 95 % interval of the mean of the runs" if has_intervals else "",
            f"{label} [{unit}]",
        )
        drawn = [
            (source.label, {name: _scale_bar(interval, scale) for name, interval in found.items()})
            for source, found in zip(sources, values, strict=True)
        ]
        draw_grouped_bars(axes, listed, drawn)
        is_crowded = len(listed) > 8 or max(map(len, listed)) > 12
        axes.set_xticks(
            range(len(listed)),
            labels=[escape_plot_text(name) for name in listed],
            rotation=45 if is_crowded else 0,
            ha="right" if is_crowded else "center",
        )
        axes.margins(x=0.02)
        add_legend(axes)
    return figure


def _scale_bar(interval: Interval, scale: float) -> PlotBar:
    low, high = (None if end is None else end * scale for end in (interval.low, interval.high))
    return PlotBar(interval.mean * scale, low, high)


def _select_largest(
    names: list[str], values: Sequence[dict[str, Interval]]
) -> tuple[list[str], str]:
    """Names that a picture has room for, in their order, and a sentence about the others."""
    if len(names) <= MAX_BARS:
        return names, ""

    def size(name: str) -> float:
        return max(abs(found[name].mean) for found in values if name in found)

    kept_names = set(sorted(names, key=size, reverse=True)[:MAX_BARS])
    return [
        name for name in names if name in kept_names
    ], f", the {MAX_BARS} largest of {len(names)}"


def _find_table(source: PlotSource, measure: str, chosen_table: str | None) -> str:
    """Find the table that has a measure."""
    tables = (chosen_table,) if chosen_table else PLOTTED_TABLES
    numbers = {
        table: [
            f.name for f in source.runs[0].tables[table].fields if f.kind != "str" and f.in_json
        ]
        for table in tables
        if table in PLOTTED_TABLES
    }
    for table, columns in numbers.items():
        if measure in columns:
            return table
    import difflib

    known = list(dict.fromkeys(name for columns in numbers.values() for name in columns))
    near = difflib.get_close_matches(measure, known, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(known)}"
    raise MissingData(f"no table has the measure {measure!r}; {hint}")


def _describe_unit(field: Field) -> tuple[str, str, float]:
    """Describe the name of a measure in words, its unit in the picture, and the factor to it."""
    unit, scale = PICTURE_UNITS.get(field.unit, (field.unit or "1", 1.0))
    words = field.name.removesuffix("_s").removesuffix("_bit").replace("_", " ")
    return words.removesuffix(" ns"), unit, scale
