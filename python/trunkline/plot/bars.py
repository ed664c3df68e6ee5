"""A measure of each flow, DSCP, port or path as bars, with intervals over the runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.plot.canvas import Bar, bars_beside, canvas, legend, plain
from trunkline.plot.figure import style
from trunkline.plot.sources import Choice, Lacking, Source
from trunkline.results.tables import Field, column
from trunkline.stats import Interval, across

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BARS = 40
"""Names that can be read beside each other."""
TABLES = ("flows", "aggregates", "ports", "paths", "calls", "completions")
UNITS = {"bit/s": ("Mbit/s", 1e-6), "s": ("ms", 1e3), "%": ("%", 100.0)}
"""Units of the pictures, and the factors to them, by those of the tables."""


def bars(sources: Sequence[Source], choice: Choice) -> Figure:
    """Draw a column of a table.

    Parameters
    ----------
    sources : sequence of Source
        Results: a colour each; over several runs, means with 95 % intervals.
    choice : Choice
        The measure (default ``goodput_bit_s``), its table (default: the first that has it), and
        which rows.

    Raises
    ------
    Lacking
        No table has the measure.
    """
    measure = choice.measure or "goodput_bit_s"
    table = _table(sources[0], measure, choice.table)
    values: list[dict[str, Interval]] = []
    names: dict[str, None] = {}
    for source in sources:
        found = {}
        for row in across(source.runs, table):
            name = " ".join(each for each in row.key.values() if each != "default")
            chosen = any(choice.wants(each) for each in row.key.values())
            if chosen and measure in row.measures:
                found[name] = row.measures[measure]
                names[name] = None
        values.append(found)
    if not names:
        choice.checked(
            [name for row in across(sources[0].runs, table) for name in row.key.values()]
        )
        msg = f"{measure} of {table} has no value in these results"
        raise Lacking(msg)
    label, unit, scale = _unit(column(table, measure))
    ended = any(each.low is not None for found in values for each in found.values())
    listed, more = _largest(list(names), values)
    with style():
        figure, axes = canvas(
            choice.title or f"{label[:1].upper()}{label[1:]} of {table}{more}",
            "ends: 95 % interval of the mean of the runs" if ended else "",
            f"{label} [{unit}]",
        )
        drawn = [
            (source.label, {name: _bar(its, scale) for name, its in found.items()})
            for source, found in zip(sources, values, strict=True)
        ]
        bars_beside(axes, listed, drawn)
        many = len(listed) > 8 or max(map(len, listed)) > 12
        axes.set_xticks(
            range(len(listed)),
            labels=[plain(name) for name in listed],
            rotation=45 if many else 0,
            ha="right" if many else "center",
        )
        axes.margins(x=0.02)
        legend(axes)
    return figure


def _bar(its: Interval, scale: float) -> Bar:
    low, high = (None if end is None else end * scale for end in (its.low, its.high))
    return Bar(its.mean * scale, low, high)


def _largest(names: list[str], values: Sequence[dict[str, Interval]]) -> tuple[list[str], str]:
    """Names that a picture has room for, in their order, and what to say of the others."""
    if len(names) <= MOST_BARS:
        return names, ""

    def size(name: str) -> float:
        return max(abs(found[name].mean) for found in values if name in found)

    kept = set(sorted(names, key=size, reverse=True)[:MOST_BARS])
    return [name for name in names if name in kept], f", the {MOST_BARS} largest of {len(names)}"


def _table(source: Source, measure: str, wanted: str | None) -> str:
    """The table that has a measure."""
    tables = (wanted,) if wanted else TABLES
    numbers = {
        table: [
            f.name for f in source.runs[0].tables[table].fields if f.kind != "str" and f.in_json
        ]
        for table in tables
        if table in TABLES
    }
    for table, columns in numbers.items():
        if measure in columns:
            return table
    import difflib

    known = list(dict.fromkeys(name for columns in numbers.values() for name in columns))
    near = difflib.get_close_matches(measure, known, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(known)}"
    msg = f"no table has the measure {measure!r}; {hint}"
    raise Lacking(msg)


def _unit(field: Field) -> tuple[str, str, float]:
    """Name of a measure in words, its unit in the picture, and the factor to it."""
    unit, scale = UNITS.get(field.unit, (field.unit or "1", 1.0))
    words = field.name.removesuffix("_s").removesuffix("_bit").replace("_", " ")
    return words.removesuffix(" ns"), unit, scale
