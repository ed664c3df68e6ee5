"""A reproduction as tables for a terminal."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from trunkline.results.terminal_tables import (
    COMPARISON_HEADERS,
    add_text_row,
    begin_table,
    render_to_text,
)
from trunkline.study.outcome.reproduction_json import (
    build_fitted_readings,
    build_overviews,
    format_error_unit,
    judge_sentences,
)

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from trunkline.study.outcome.compared_cells import ComparedCell
    from trunkline.study.outcome.reproduction import Reproduction


def render_reproduction(
    reproduction: Reproduction,
    *,
    without: Container[str] = (),
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Write our values next to the published ones, the claims, and the fitted values.

    without: Tables that are left out, as they have been shown.
    width: Columns of the terminal; found out by itself if left out.
    colour: Whether to use the escape codes of a terminal.
    """
    study = reproduction.study
    parts = [
        _build_result_table(reproduction, table)
        for table in list_shown_tables(reproduction)
        if table not in without
    ]
    parts += [
        begin_table(each["title"], each["heads"], rows=each["rows"])
        for each in build_overviews(reproduction)
    ]
    doubts = {cell.doubt: None for cell in reproduction.cells if cell.doubt}
    if doubts:
        parts.append(begin_table("* Judged apart", ["why"], rows=([doubt] for doubt in doubts)))
    if reproduction.claims:
        parts.append(_build_claim_table(reproduction))
    if study.sentences:
        parts.append(_build_sentence_table(reproduction))
    if study.fitted:
        parts.append(_build_fitted_table(reproduction))
    if study.published:
        parts.append(_build_error_table(reproduction))
    for each in build_fitted_readings(reproduction):
        heads, why = ["sets", "why"], [[each["sets"], each["reason"]]]
        parts += [
            begin_table(f"{each['says'][:1].upper()}{each['says'][1:]}", heads, names=2, rows=why),
            begin_table(each["title"], each["heads"], rows=each["rows"]),
        ]
    if study.error == "absolute" and study.published:
        parts.append(_build_overall_table(reproduction))
    source = f" ({study.source.document}, {study.source.date})" if study.source else ""
    most_runs = len(reproduction.seeds)
    fewest_runs = min(reproduction.measured.run_counts.values(), default=most_runs)
    counted = f"{most_runs}" if fewest_runs == most_runs else f"{fewest_runs} to {most_runs}"
    runs = f"{counted} runs a point, 95 % intervals of the mean"
    if study.published:
        runs += "; expected: of as many runs as were published, with 95 % probability"
        runs += "; |ln|: of ours over published" if study.error == "relative" else ""
    closing = f"{study.title}{source}; {runs}; hash {reproduction.measured.hash[:16]}"
    return render_to_text(parts, closing, width=width, colour=colour)


def list_shown_tables(reproduction: Reproduction) -> list[str]:
    """Names of the tables that are shown: those with cells, or of them those of the cases."""
    known = {cell.table for cell in reproduction.cells}
    names = reproduction.study.cases if reproduction.study.overviews else reproduction.tables
    return [name for name in names if name in known]


def render_tables(
    reproduction: Reproduction, *, width: int | None = None, colour: bool = False
) -> str:
    """Write our values next to the published ones, as far as they are known, and nothing else."""
    return render_to_text(
        [_build_result_table(reproduction, table) for table in list_shown_tables(reproduction)],
        width=width,
        colour=colour,
    )


def _build_result_table(reproduction: Reproduction, name: str) -> RichTable:
    table = reproduction.tables[name]
    table_cells = [c for c in reproduction.cells if c.table == name]
    published_columns = {c.column for c in table_cells if c.published is not None}
    headers = [reproduction.study.row_title]
    for column in dict.fromkeys(c.column for c in table_cells):
        headers += [column, *COMPARISON_HEADERS] if column in published_columns else [column]
    units = ", ".join(dict.fromkeys(c.unit for c in table_cells))
    rich_table = begin_table(f"Table {name}: {table.title} [{units}]", headers)
    relative = reproduction.study.error == "relative"
    for row in table.rows:
        texts = [row]
        row_cells = [cell for cell in table_cells if cell.row == row]
        # All of a measure that is hidden.
        if not row_cells:
            continue
        for cell in row_cells:
            digits = reproduction.study.find_column(table, row, cell.column).digits
            comparison = (
                _format_comparison(cell, digits, relative=relative)
                if cell.column in published_columns
                else []
            )
            texts += [cell.format_value(digits), *comparison]
        add_text_row(rich_table, texts)
    return rich_table


def _format_comparison(cell: ComparedCell, digits: int, *, relative: bool) -> list[str]:
    """Format the published value, how far ours is, and the prediction interval."""
    if cell.published is None:
        return ["–"] * len(COMPARISON_HEADERS)
    published_text = f"{cell.published:.{digits}f}" + ("*" if cell.doubt else "")
    if cell.difference is None:
        return [published_text, "–", "–"]
    difference_text = f"{cell.difference:+.{digits}f}"
    if relative and cell.error is not None:
        difference_text = f"{100 * cell.error:+.0f}%"
    expected = cell.prediction_interval
    if expected.low is None or expected.high is None:
        return [published_text, difference_text, "–"]
    return [
        published_text,
        difference_text,
        f"{expected.low:.{digits}f} to {expected.high:.{digits}f}",
    ]


def _build_claim_table(reproduction: Reproduction) -> RichTable:
    readings = reproduction.study.list_fitted_readings()
    outcomes = [reproduction.judge_as_read(reading) for reading in readings]
    rows = (
        [
            claim.says,
            *(
                outcome.replace("refuted", "REFUTED")
                for outcome in (
                    claim.outcome,
                    *(each.get(claim.name, claim.outcome) for each in outcomes),
                )
            ),
            claim.detail,
        ]
        for claim in reproduction.claims
    )
    heads = ["claim", "as stated" if readings else "", *(each.says for each in readings), "detail"]
    return begin_table("Claims", heads, names=len(heads), rows=rows)


def _build_sentence_table(reproduction: Reproduction) -> RichTable:
    rich_table = begin_table("What the document says", ["where", "sentence", "claims", ""], names=4)
    for each in judge_sentences(reproduction):
        outcome = (each["outcome"] or "not judged").replace("refuted", "REFUTED")
        judging = ", ".join(each["claims"]) or each["because"]
        add_text_row(rich_table, [each["where"], each["says"], judging, outcome])
    return rich_table


def _build_fitted_table(reproduction: Reproduction) -> RichTable:
    rows = ([each.parameter, each.value, each.reason] for each in reproduction.study.fitted)
    title = "Fitted, as the document leaves it unsaid"
    return begin_table(title, ["parameter", "value", "why"], names=3, rows=rows)


def _build_error_table(reproduction: Reproduction) -> RichTable:
    relative = reproduction.study.error == "relative"
    # Rows that are measures have units of their own: a line each, and all of them.
    lines = [
        ([table, f"{row} [{reproduction.study.measures[row].unit}]"], error)
        for (table, row), error in reproduction.errors_by_row().items()
    ] or [([table], error) for table, error in reproduction.errors().items()]
    if reproduction.study.overviews:
        lines = [line for line in lines if line[0][0] in reproduction.study.cases]
    names = ["table", "measure"] if reproduction.study.measures else ["table"]
    unit = "" if reproduction.study.measures else f" [{format_error_unit(reproduction)}]"
    headers = [*names, "cells", f"mean abs.{unit}"]
    headers += ["mean abs. error", "with *", "mean |ln|"] if relative else []
    title = "Error against the published values"
    rich_table = begin_table(title, [*headers, "as expected"], names=len(names))
    for place, error in lines:
        cells = [*place, str(error.cells), _format_error(error.mean_absolute, ".3g")]
        if relative:
            cells += [
                _format_error(error.mape_percent, ".1f", " %"),
                _format_error(error.mape_percent_all, ".1f", " %"),
                _format_error(error.mean_log_ratio, ".3f"),
            ]
        add_text_row(rich_table, [*cells, f"{error.published_inside_prediction} of {error.cells}"])
    return rich_table


def _build_overall_table(reproduction: Reproduction) -> RichTable:
    errors = {"as published": reproduction.mean_absolute_error()} | {
        reading.says: reproduction.mean_absolute_error(reading)
        for reading in reproduction.study.readings
    }
    heads = ["reading", f"mean abs. error [{format_error_unit(reproduction)}]"]
    rows = ([name, _format_error(error, ".4f")] for name, error in errors.items())
    return begin_table("Over all tables", heads, rows=rows)


def _format_error(value: float | None, form: str, unit: str = "") -> str:
    return "–" if value is None else f"{value:{form}}{unit}"
