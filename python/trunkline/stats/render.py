"""Several runs of one scenario as tables for a terminal: means with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trunkline.results import Results
from trunkline.results.render import SHOWN_ROWS, add, draw, frame, mean_and_half
from trunkline.stats.across import Row, across
from trunkline.stats.interval import Interval

if TYPE_CHECKING:
    from rich.table import Table as RichTable

_FLOWS = {
    "goodput": ("goodput_bit_s", "bit/s"),
    "throughput": ("throughput_bit_s", "bit/s"),
    "loss": ("loss_ratio", "%"),
    "delay": ("delay_mean_s", "s"),
    "p99": ("delay_p99_s", "s"),
}
_PORTS = {
    "use": ("utilisation", "%"),
    "loss": ("loss_ratio", "%"),
    "wait": ("wait_mean_s", "s"),
    "queue": ("queue_mean_packets", ""),
}


def render_many(runs: Sequence[Results], *, width: int | None = None, colour: bool = False) -> str:
    """Write the means over runs with their 95 % intervals.

    Parameters
    ----------
    runs : sequence of Results
        Runs of one scenario with different seeds.
    width : int, optional
        Columns of the terminal; found out by itself if left out.
    colour : bool, default False
        Whether to use the escape codes of a terminal.
    """
    busy = [row for row in across(runs, "ports") if row.measures["packets_offered"].mean > 0]
    tables = [
        _table("Flows", across(runs, "flows"), _FLOWS, "offered_bit_s"),
        _table("Ports", busy, _PORTS, "utilisation"),
    ]
    count = len(runs)
    last = f"mean ± half of the 95 % interval over {count} runs (Student's t)"
    return draw(tables, last, width=width, colour=colour)


def _table(title: str, rows: list[Row], columns: dict[str, tuple[str, str]], by: str) -> RichTable:
    ranked = sorted(range(len(rows)), key=lambda i: -rows[i].measures[by].mean)
    kept = sorted(ranked[:SHOWN_ROWS])
    more = len(rows) - len(kept)
    names = list(rows[0].key) if rows else ["name"]
    heading = f"{title} (the {SHOWN_ROWS} busiest; {more} more)" if more else title
    drawn = frame(heading, [*names, *columns], names=len(names))
    drawn.collapse_padding = True
    for index in kept:
        row = rows[index]
        values = [_cell(row.measures.get(name), unit) for name, unit in columns.values()]
        add(drawn, [*row.key.values(), *values])
    for column in drawn.columns[: len(names)]:
        # In a narrow terminal names would give way first, and numbers without names say nothing.
        column.no_wrap = True
    return drawn


def _cell(interval: Interval | None, unit: str) -> str:
    if interval is None:
        return "–"
    factor = 100 if unit == "%" else 1
    half = None if interval.half_width is None else factor * interval.half_width
    return mean_and_half(factor * interval.mean, half, unit)
