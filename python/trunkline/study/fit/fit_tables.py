"""A fit as tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trunkline.results.number_format import format_percent
from trunkline.results.terminal_tables import add_text_row, begin_table, render_to_text
from trunkline.study.fit.inference import CellCheck, Inference, TableCheck
from trunkline.study.fit.posterior import POSITIVE_FACTOR, ParameterVerdict

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from trunkline.study.fit.study_fit import StudyFit

MAX_ODDS_SHOWN = 1000.0
MAX_ALIKE_SHOWN = 4


def render_fit(fit: StudyFit, *, width: int | None = None, colour: bool = False) -> str:
    """Write a fit: verdicts, readings, errors, checks, convergence."""
    inference = fit.inference
    tables = list(build_posterior_tables(inference))
    if fit.errors:
        tables.append(build_error_table(fit))
    tables.append(build_cell_table(fit.cell_checks))
    if fit.table_checks:
        tables.append(build_left_out_table(fit.table_checks))
    if fit.sensitivity:
        tables.append(build_sensitivity_table(fit))
    text = render_to_text(tables, width=width, colour=colour)
    return text + "\n" + "\n".join(list_closing_lines(inference, fit.runs)) + "\n"


def list_closing_lines(inference: Inference, runs: int) -> list[str]:
    """List the parts of the fit, and its misfit."""
    median, low, high = inference.misfit
    trials = len(inference.points) + len(inference.failures)
    lines = [
        f"{trials} trials, {runs} runs; {inference.samples.effective_count:.0f} effective samples "
        f"of the posterior, log evidence {inference.samples.log_evidence:.1f} "
        f"± {inference.samples.log_evidence_error:.1f}"
    ]
    if inference.has_misfit:
        lines.append(
            f"misfit: {100 * median:.2g} % of a value ({100 * low:.2g} to {100 * high:.2g} %) "
            "that no setting explains"
        )
    return lines


def build_posterior_tables(inference: Inference) -> Iterator[RichTable]:
    """Ranges with their intervals; readings with their odds."""
    verdicts = list(zip(inference.space.parameters, inference.verdicts, strict=True))
    ranges = [(parameter, each) for parameter, each in verdicts if each.median]
    if ranges:
        headers = ["parameter", "now", "median", "95 % interval", "width of prior", "verdict"]
        table = begin_table("What the published values determine", headers, names=2)
        for parameter, each in ranges:
            interval = f"{each.low} to {each.high}"
            cells = [each.name, parameter.held_at, each.median, interval]
            add_text_row(table, [*cells, format_percent(each.width), describe_verdict(each)])
        yield table
    readings = [(parameter, each) for parameter, each in verdicts if each.readings]
    if readings:
        headers = ["parameter", "reading", "probability", "odds against", "verdict"]
        table = begin_table("Readings compared", headers, names=2)
        for parameter, each in readings:
            for place, reading in enumerate(each.readings):
                now = " (now)" if reading.reading == parameter.held_at else ""
                cells = ["" if place else each.name, reading.reading + now]
                cells += [format_percent(reading.probability), format_odds(reading.odds)]
                add_text_row(table, [*cells, "" if place else describe_verdict(each)])
        yield table


def describe_verdict(verdict: ParameterVerdict) -> str:
    """Describe the verdict, with the end of the prior that it lies at."""
    text = verdict.verdict
    if verdict.readings and text == "cannot be told apart":
        alike = [each.reading for each in verdict.readings if each.odds < POSITIVE_FACTOR]
        listed = " and ".join(alike[:MAX_ALIKE_SHOWN])
        text = f"the data cannot tell {listed} apart"
    return f"{text}; at the {verdict.edge} end of its prior" if verdict.edge else text


def format_odds(odds: float) -> str:
    """Odds of the best reading against this one."""
    if not math.isfinite(odds) or odds > MAX_ODDS_SHOWN:
        return f"over {MAX_ODDS_SHOWN:.0f}"
    return f"{odds:.3g}"


def build_error_table(fit: StudyFit) -> RichTable:
    """List errors of the study, unchanged and with the best fit, table by table."""
    relative = fit.study.error == "relative"
    title = "Mean |ln(ours / published)|" if relative else "Mean |ours - published|"
    names = list(fit.errors)
    table = begin_table(title, ["table", *names])
    for name in dict.fromkeys(each for errors in fit.errors.values() for each in errors):
        values = [fit.errors[column].get(name, math.nan) for column in names]
        shown = ("–" if math.isnan(value) else f"{value:.4f}" for value in values)
        add_text_row(table, [name, *shown])
    return table


def build_cell_table(checks: Sequence[CellCheck]) -> RichTable:
    """Build a row for each table: published values inside and outside their prediction interval."""
    headers = ["table", "inside", "of", "outside"]
    table = begin_table("Published values in the 95 % intervals that the fit predicts", headers)
    for name in dict.fromkeys(check.cell.table for check in checks):
        own = [check for check in checks if check.cell.table == name]
        outside = [f"{c.cell.row} {c.cell.column}" for c in own if not c.is_inside]
        listed = "; ".join(outside[:4]) + (
            f" and {len(outside) - 4} more" if len(outside) > 4 else ""
        )
        inside = str(len(own) - len(outside))
        add_text_row(table, [name, inside, str(len(own)), listed])
    return table


def build_left_out_table(checks: Sequence[TableCheck]) -> RichTable:
    """Build the table of predictions of tables that a fit left out."""
    headers = ["left out", "inside", "of", "log score", "moves most"]
    table = begin_table("Tables left out, and predicted by the fit to the others", headers)
    for check in checks:
        name, shift = max(check.median_shift.items(), key=lambda each: abs(each[1]))
        moved = f"{name} by {100 * abs(shift):.0f} % of its prior"
        cells = [check.left_out, str(check.inside), str(check.cells), f"{check.log_score:.1f}"]
        add_text_row(table, [*cells, moved])
    return table


def build_sensitivity_table(fit: StudyFit) -> RichTable:
    """Total Sobol indices: share of a table's variance over the prior that a parameter is in."""
    tables = list(fit.sensitivity)
    title = "Sensitivity: share of a table's variance that a parameter has a part in"
    table = begin_table(title, ["parameter", *(f"table {each}" for each in tables)])
    for name in fit.inference.space.names:
        totals = [max(fit.sensitivity[each][name][1], 0.0) for each in tables]
        add_text_row(table, [name, *(f"{total:.2f}" for total in totals)])
    return table
