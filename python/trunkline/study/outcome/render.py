"""A reproduction as tables for a terminal."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from trunkline.results.render import BESIDE, add, draw, frame
from trunkline.study.outcome.record import error_unit, overviews, sentences

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from trunkline.study.outcome.cells import Cell
    from trunkline.study.outcome.reproduction import Reproduction


def render(
    done: Reproduction,
    *,
    without: Container[str] = (),
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Write ours beside the published values, the claims, and what was fitted.

    Parameters
    ----------
    without : container of str
        Tables that are left out, as they have been shown.
    width : int, optional
        Columns of the terminal; found out by itself if left out.
    colour : bool, default False
        Whether to use the escape codes of a terminal.
    """
    study = done.study
    parts = [_table(done, table) for table in shown(done) if table not in without]
    parts += [_overview(each) for each in overviews(done)]
    doubts = {cell.doubt: None for cell in done.cells if cell.doubt}
    if doubts:
        listed = frame("* Judged apart", ["why"])
        for doubt in doubts:
            add(listed, [doubt])
        parts.append(listed)
    if done.claims:
        parts.append(_claims(done))
    if study.sentences:
        parts.append(_sentences(done))
    if study.fitted:
        parts.append(_fitted(done))
    if study.published:
        parts.append(_errors(done))
    if study.error == "absolute" and study.published:
        parts.append(_overall(done))
    source = f" ({study.source.document}, {study.source.date})" if study.source else ""
    runs = f"{len(done.seeds)} runs a point, 95 % intervals of the mean"
    if study.published:
        runs += "; expected: of as many runs as were published, with 95 % probability"
        runs += "; |ln|: of ours over published" if study.error == "relative" else ""
    last = f"{study.title}{source}; {runs}; hash {done.measured.hash[:16]}"
    return draw(parts, last, width=width, colour=colour)


def shown(done: Reproduction) -> list[str]:
    """Names of the tables that are shown: those with cells, or of them those of the cases."""
    known = {cell.table for cell in done.cells}
    names = done.study.cases if done.study.overviews else done.tables
    return [name for name in names if name in known]


def render_tables(done: Reproduction, *, width: int | None = None, colour: bool = False) -> str:
    """Write ours beside the published values, as far as they are known, and nothing else."""
    return draw([_table(done, table) for table in shown(done)], width=width, colour=colour)


def _table(done: Reproduction, name: str) -> RichTable:
    table = done.tables[name]
    mine = [c for c in done.cells if c.table == name]
    said = {c.column for c in mine if c.published is not None}
    heads = [done.study.row_title]
    for column in dict.fromkeys(c.column for c in mine):
        heads += [column, *BESIDE] if column in said else [column]
    units = ", ".join(dict.fromkeys(c.unit for c in mine))
    drawn = frame(f"Table {name}: {table.title} [{units}]", heads)
    relative = done.study.error == "relative"
    for row in table.rows:
        texts = [row]
        own = [cell for cell in mine if cell.row == row]
        # All of a measure that is hidden.
        if not own:
            continue
        for cell in own:
            digits = done.study.column(table, row, cell.column).digits
            beside = _beside(cell, digits, relative=relative) if cell.column in said else []
            texts += [cell.text(digits), *beside]
        add(drawn, texts)
    return drawn


def _beside(cell: Cell, digits: int, *, relative: bool) -> list[str]:
    """The published value, how far ours is, and the prediction interval."""
    if cell.published is None or cell.difference is None:
        return ["–"] * len(BESIDE)
    said = f"{cell.published:.{digits}f}" + ("*" if cell.doubt else "")
    off = f"{cell.difference:+.{digits}f}"
    if relative and cell.error is not None:
        off = f"{100 * cell.error:+.0f}%"
    expected = cell.expected
    if expected.low is None or expected.high is None:
        return [said, off, "–"]
    return [said, off, f"{expected.low:.{digits}f} to {expected.high:.{digits}f}"]


def _overview(its: Mapping[str, Any]) -> RichTable:
    drawn = frame(its["title"], its["heads"])
    for row in its["rows"]:
        add(drawn, row)
    return drawn


def _claims(done: Reproduction) -> RichTable:
    drawn = frame("Claims", ["claim", "", "detail"], names=3)
    for claim in done.claims:
        add(drawn, [claim.says, claim.outcome.replace("refuted", "REFUTED"), claim.detail])
    return drawn


def _sentences(done: Reproduction) -> RichTable:
    drawn = frame("What the document says", ["where", "sentence", "claims", ""], names=4)
    for each in sentences(done):
        outcome = (each["outcome"] or "not judged").replace("refuted", "REFUTED")
        judging = ", ".join(each["claims"]) or each["because"]
        add(drawn, [each["where"], each["says"], judging, outcome])
    return drawn


def _fitted(done: Reproduction) -> RichTable:
    drawn = frame(
        "Fitted, as the document leaves it unsaid", ["parameter", "value", "why"], names=3
    )
    for item in done.study.fitted:
        add(drawn, [item.parameter, item.value, item.reason])
    return drawn


def _errors(done: Reproduction) -> RichTable:
    relative = done.study.error == "relative"
    # Rows that are measures have units of their own: a line each, and all of them.
    lines = [
        ([table, f"{row} [{done.study.measures[row].unit}]"], error)
        for (table, row), error in done.errors_by_row().items()
    ] or [([table], error) for table, error in done.errors().items()]
    if done.study.overviews:
        lines = [line for line in lines if line[0][0] in done.study.cases]
    names = ["table", "measure"] if done.study.measures else ["table"]
    unit = "" if done.study.measures else f" [{error_unit(done)}]"
    heads = [*names, "cells", f"mean abs.{unit}"]
    heads += ["mean abs. error", "with *", "mean |ln|"] if relative else []
    title = "Error against the published values"
    drawn = frame(title, [*heads, "as expected"], names=len(names))
    for place, error in lines:
        cells = [*place, str(error.cells), f"{error.mean_absolute:.3g}"]
        if error.mape_percent is not None:
            cells += [
                f"{error.mape_percent:.1f} %",
                f"{error.mape_percent_all:.1f} %",
                f"{error.mean_log_ratio:.3f}",
            ]
        add(drawn, [*cells, f"{error.published_inside_prediction} of {error.cells}"])
    return drawn


def _overall(done: Reproduction) -> RichTable:
    drawn = frame("Over all tables", ["reading", f"mean abs. error [{error_unit(done)}]"])
    add(drawn, ["as published", f"{done.mean_absolute_error():.4f}"])
    for reading in done.study.readings:
        add(drawn, [reading.says, f"{done.mean_absolute_error(reading):.4f}"])
    return drawn
