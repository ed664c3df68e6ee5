"""A reproduction as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.results.render import add, draw, frame

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from trunkline.study.reproduction import Cell, Reproduction


def render(done: Reproduction, *, width: int | None = None, colour: bool = False) -> str:
    """Write ours beside the published values, the claims, and what was fitted.

    Parameters
    ----------
    done : Reproduction
        The study that was run.
    width : int, optional
        Columns of the terminal; found out by itself if left out.
    colour : bool, default False
        Whether to use the escape codes of a terminal.
    """
    study = done.study
    parts = [_table(done, table) for table in study.cases]
    doubts = {cell.doubt: None for cell in done.cells if cell.doubt}
    if doubts:
        listed = frame("* Judged apart", ["why"])
        for doubt in doubts:
            add(listed, [doubt])
        parts.append(listed)
    parts += [_claims(done), _fitted(done), _errors(done)]
    source = f"{study.source.document}, {study.source.date}"
    runs = f"{len(done.seeds)} seeds a point, 95 % intervals"
    last = f"{study.title} ({source}); {runs}; hash {done.measured.hash[:16]}"
    return draw(parts, last, width=width, colour=colour)


def _table(done: Reproduction, table: str) -> RichTable:
    study = done.study
    heads = [study.row_title]
    units: dict[str, None] = {}
    for name, column in study.columns.items():
        heads += [name, "publ.", "err"]
        units[column.unit] = None
    title = f"Table {table}: {study.cases[table].title} [{', '.join(units)}]"
    drawn = frame(title, heads)
    drawn.collapse_padding = True
    for row in study.rows():
        cells = [c for c in done.cells if (c.table, c.row) == (table, row)]
        add(drawn, [row, *(text for cell in cells for text in _cell(cell))])
    return drawn


def _cell(cell: Cell) -> list[str]:
    half = cell.ours.half_width
    ours = f"{cell.ours.mean:.2f}" + ("" if half is None else f" ± {half:.2f}")
    if cell.published is None or cell.error is None:
        return [ours, "–", "–"]
    mark = "*" if cell.doubt else ""
    return [ours, f"{cell.published:.2f}{mark}", f"{100 * cell.error:+.0f}%"]


def _claims(done: Reproduction) -> RichTable:
    drawn = frame("Claims", ["claim", "", "detail"], names=3)
    for claim in done.claims:
        add(drawn, [claim.says, "held" if claim.held else "BROKEN", claim.detail])
    return drawn


def _fitted(done: Reproduction) -> RichTable:
    drawn = frame(
        "Fitted, as the document leaves it unsaid", ["parameter", "value", "why"], names=3
    )
    for item in done.study.fitted:
        add(drawn, [item.parameter, item.value, item.reason])
    return drawn


def _errors(done: Reproduction) -> RichTable:
    heads = ["table", "cells", "mean abs. error", "with *", "mean |ln|", "inside interval"]
    drawn = frame("Error against the published values", heads)
    for table, error in done.errors().items():
        cells = [
            table,
            str(error.cells),
            f"{error.mape_percent:.1f} %",
            f"{error.mape_percent_all:.1f} %",
            f"{error.mean_log_ratio:.3f}",
            f"{error.inside} of {error.cells}",
        ]
        add(drawn, cells)
    return drawn
