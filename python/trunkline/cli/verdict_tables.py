"""Tables of a verdict: rows that differ or are undecided, a summary, and what was not compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from trunkline.linux.judge.comparisons import ComparisonRow
    from trunkline.linux.judge.verification import EngineVerdict

OUTCOME_WORDS: Final = {"agrees": "agrees", "differs": "DIFFERS", "undecided": "undecided"}
MAX_ROWS_SHOWN: Final = 24
"""Number of comparisons that are printed; they are sorted, the largest difference first."""
MIN_MEASURE_WIDTH: Final = 15
"""Minimum width of the name of a measure, also in a narrow terminal [characters]."""


def render(
    name: str,
    verdict: EngineVerdict,
    published: Sequence[float | None] = (),
    *,
    every: bool = False,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Render the verdict as tables.

    Parameters
    ----------
    published : sequence of float or None, default ()
        Published value of each row; they get a column if there are any.
    every : bool, default False
        Whether to show comparisons that agree, too.
    colour : bool, default False
        Whether to use the escape codes of a terminal.
    """
    from trunkline.results.terminal_tables import (
        add_text_row,
        begin_table,
        escape_unprintable,
        render_to_text,
    )

    published_by_row = dict(zip(map(id, verdict.rows), published, strict=True)) if published else {}
    disagreeing = sorted(
        (row for row in verdict.rows if not row.agrees),
        key=lambda row: (row.outcome != "differs", -_get_margin_share(row)),
    )
    shown_rows = list(verdict.rows) if every else disagreeing[:MAX_ROWS_SHOWN]
    shown_rows += [
        row
        for row in verdict.rows
        if published_by_row.get(id(row)) is not None and row not in shown_rows
    ]
    parts = []
    title = f"{escape_unprintable(name)}: simulator against {_get_reference_name(verdict)}"
    if shown_rows:
        parts.append(_make_row_table(title, shown_rows, published_by_row))
    parts.append(_make_summary_table(title if not shown_rows else "Summary", verdict))
    for heading, column, lines in (
        ("Not compared", "values that one side does not have", verdict.not_compared),
        ("Known differences", "different behaviour of the reference", verdict.notes),
    ):
        if lines:
            listed = begin_table(heading, [column])
            for line in lines:
                add_text_row(listed, [line])
            parts.append(listed)
    return render_to_text(
        parts,
        _format_closing_line(verdict, len(disagreeing), len(shown_rows)),
        width=width,
        colour=colour,
    )


def _get_reference_name(verdict: EngineVerdict) -> str:
    named = verdict.reference.startswith(("simulator", "fluid"))
    return verdict.reference if named else "kernel"


def _get_margin_share(row: ComparisonRow) -> float:
    """Divide a difference by its margin."""
    if row.margin:
        return abs(row.difference) / row.margin
    return math.inf if row.difference else 0.0


def _make_row_table(
    title: str, rows: Sequence[ComparisonRow], published_by_row: dict[int, float | None]
) -> Table:
    from trunkline.results.terminal_tables import add_text_row, begin_table

    published = any(value is not None for value in published_by_row.values())
    intervals = any(row.low is not None for row in rows)
    heads = ["published"] * published + ["simulator", "reference", "difference"]
    heads += ["95 % interval"] * intervals + ["margin", "verdict"]
    table = begin_table(title, ["", "measure", *heads], names=2)
    table.columns[1].min_width = MIN_MEASURE_WIDTH
    for row in rows:
        interval_text = "" if row.low is None else f"{row.low:.4g} to {row.high:.4g}"
        numbers = [f"{each:.5g}" for each in (row.simulator, row.reference, row.difference)]
        more = "" if row.more is None else f", {row.more} more"
        cells = [*numbers, *([interval_text] if intervals else [])]
        cells += [f"{row.margin:.3g}", f"{OUTCOME_WORDS[row.outcome]}{more}"]
        if published:
            value = published_by_row.get(id(row))
            cells.insert(0, "" if value is None else f"{value:g}")
        add_text_row(
            table, [row.subject, f"{row.measure} [{row.unit}]" if row.unit else row.measure, *cells]
        )
    return table


def _make_summary_table(title: str, verdict: EngineVerdict) -> Table:
    """Count the outcomes of each measure, and show its row with the largest share of a margin."""
    from trunkline.results.terminal_tables import add_text_row, begin_table

    by_measure: dict[str, list[ComparisonRow]] = {}
    for row in verdict.rows:
        by_measure.setdefault(row.measure.partition(":")[0], []).append(row)
    heads = ["agree", "differ", "undecided", "difference", "margin"]
    table = begin_table(title, ["measure", "nearest to its margin", *heads], names=2)
    table.columns[0].min_width = MIN_MEASURE_WIDTH
    for measure, rows in by_measure.items():
        worst = max(rows, key=_get_margin_share)
        counts = [
            str(sum(row.outcome == outcome for row in rows))
            for outcome in ("agrees", "differs", "undecided")
        ]
        unit = f" [{worst.unit}]" if worst.unit else ""
        differs = [f"{worst.difference:.4g}", f"{worst.margin:.3g}"]
        add_text_row(table, [f"{measure}{unit}", worst.subject, *counts, *differs])
    return table


def _format_closing_line(verdict: EngineVerdict, disagreeing_count: int, shown: int) -> str:
    sentence = {
        "agrees": f"all {len(verdict.rows)} comparisons agree",
        "differs": f"{sum(row.outcome == 'differs' for row in verdict.rows)} of "
        f"{len(verdict.rows)} comparisons differ",
        "undecided": f"undecided: {disagreeing_count} of {len(verdict.rows)} comparisons",
    }[verdict.outcome]
    if verdict.outcome == "undecided":
        sentence += (
            ", and the number of seeds that would decide them is unknown"
            if verdict.more is None
            else f", which {verdict.more} more seeds would probably decide (--until-decided)"
        )
    if shown < disagreeing_count:
        sentence += f" ({shown} shown, --all shows the rest)"
    comparison_method = "packet by packet" if verdict.is_exact else "by means over the seeds"
    seeds = f"seeds {verdict.seeds[0]} to {verdict.seeds[-1]}"
    if len(verdict.seeds) == 1:
        seeds = f"seed {verdict.seeds[0]}"
    return f"{sentence}; {comparison_method}, {seeds}; {verdict.reference}"
