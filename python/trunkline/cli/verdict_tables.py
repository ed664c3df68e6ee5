"""Tables of a verdict: rows that differ or are undecided, a summary, and measures not compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from trunkline.linux.judge.comparisons import ComparisonRow
    from trunkline.linux.judge.proof import VerdictProof
    from trunkline.linux.judge.verification import EngineVerdict

OUTCOME_WORDS: Final = {"agrees": "agrees", "differs": "DIFFERS", "undecided": "undecided"}
MAX_ROWS_SHOWN: Final = 24
"""Number of comparisons that are printed; they are sorted, the largest difference first."""
MAX_ROWS_OF_ONE_REASON: Final = 3
"""Number of undecided comparisons above which one line with their reason stands for them."""
MAX_MEASURES_NAMED: Final = 4
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

    published: Published value of each row; they get a column if there are any.
    every: Whether to show comparisons that agree, too.
    colour: Whether to use the escape codes of a terminal.
    """
    from trunkline.results.terminal_tables import (
        add_text_row,
        begin_table,
        escape_unprintable,
        render_to_text,
    )

    published_by_row = dict(zip(map(id, verdict.rows), published, strict=True)) if published else {}
    grouped_rows = {} if every else _group_by_reason(verdict.rows)
    disagreeing = sorted(
        (row for row in verdict.rows if not row.agrees and row.reason not in grouped_rows),
        key=lambda row: (row.outcome != "differs", -_get_margin_share(row)),
    )
    shown_rows = list(verdict.rows) if every else disagreeing[:MAX_ROWS_SHOWN]
    shown_rows += [
        row
        for row in verdict.rows
        if published_by_row.get(id(row)) is not None and row not in shown_rows
    ]
    parts = []
    explained_lines = _list_explanations(verdict.rows)
    title = f"{escape_unprintable(name)}: simulator against {_get_reference_name(verdict)}"
    if shown_rows:
        parts.append(_make_row_table(title, shown_rows, published_by_row))
    parts.append(_make_summary_table(title if not shown_rows else "Summary", verdict))
    if verdict.power:
        parts.append(_make_power_table(verdict))
    undecided_lines = [
        _describe_undecided_rows(reason, rows) for reason, rows in grouped_rows.items()
    ]
    for heading, column, lines in (
        ("Undecided for one reason", "comparisons, the reason, and what decides", undecided_lines),
        ("Explained differences", "comparisons that a known difference explains", explained_lines),
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


def _group_by_reason(rows: Sequence[ComparisonRow]) -> dict[str, list[ComparisonRow]]:
    """The undecided comparisons by their reason, where a reason has many of them."""
    rows_by_reason: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        if row.outcome == "undecided" and row.reason:
            rows_by_reason.setdefault(row.reason, []).append(row)
    return {
        reason: reason_rows
        for reason, reason_rows in rows_by_reason.items()
        if len(reason_rows) > MAX_ROWS_OF_ONE_REASON
    }


def _describe_undecided_rows(reason: str, rows: Sequence[ComparisonRow]) -> str:
    measures = list(dict.fromkeys(row.measure.partition(":")[0] for row in rows))
    named = ", ".join(measures[:MAX_MEASURES_NAMED])
    if len(measures) > MAX_MEASURES_NAMED:
        named += f" and {len(measures) - MAX_MEASURES_NAMED} more measures"
    known_more = [row.more for row in rows if row.more is not None]
    more = ""
    if len(known_more) == len(rows):
        more = f"; {max(known_more)} more seeds would probably decide"
    return f"{len(rows)} comparisons ({named}): {reason}{more}"


def _list_explanations(rows: Sequence[ComparisonRow]) -> list[str]:
    """List a line for each known difference, with the comparisons that it explains."""
    rows_by_sentence: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        if row.explanation:
            rows_by_sentence.setdefault(row.explanation, []).append(row)
    return [
        f"{len(explained)} of them, such as {explained[0].measure} of {explained[0].subject}: "
        f"{sentence}"
        for sentence, explained in rows_by_sentence.items()
    ]


def _make_power_table(verdict: EngineVerdict) -> Table:
    """Show for each measure the largest difference that could have hidden in an agreement."""
    from trunkline.results.terminal_tables import add_text_row, begin_table

    heads = ["difference that could hide", "share"]
    table = begin_table("Power", ["measure", "where it is weakest", *heads], names=2)
    table.columns[0].min_width = MIN_MEASURE_WIDTH
    for row in verdict.power:
        unit = f" {row.unit}" if row.unit else ""
        cells = [row.measure.partition(":")[0], row.subject, f"{row.hidden:.3g}{unit}"]
        add_text_row(table, [*cells, format_share(row.hidden_share)])
    return table


def format_share(share: float | None) -> str:
    """Format the share of a measure that could have hidden; nothing where it has no base."""
    return "" if share is None or math.isinf(share) else f"{100 * share:.2g} %"


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


def render_proof(
    name: str,
    proof: VerdictProof,
    *,
    every: bool = False,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """Render the power of a verdict: the alterations that it would not catch, and why.

    every: Whether to list those that it would have caught and those without effect, too.
    """
    from trunkline.linux.judge.proof import OUTCOME_ORDER
    from trunkline.results.terminal_tables import (
        add_text_row,
        begin_table,
        escape_unprintable,
        render_to_text,
    )

    shown = sorted(
        (each for each in proof.judged if every or each.outcome not in ("caught", "no effect")),
        key=lambda each: OUTCOME_ORDER.index(each.outcome),
    )
    heads = ["key", "value", "altered to", "outcome", "by"]
    title = f"{escape_unprintable(name)}: alterations of single keys"
    table = begin_table(title, ["altered", *heads], names=2)
    for each in shown:
        altered = each.alteration
        cells = [altered.element, altered.key, altered.before, altered.after]
        add_text_row(table, [*cells, each.outcome, each.measure])
    counts = ", ".join(
        f"{count} {outcome}" for outcome, count in proof.count_outcomes().items() if count
    )
    drawn = f" of {proof.possible}" if proof.possible > len(proof.judged) else ""
    score = "" if proof.score is None else f"caught {100 * proof.score:.0f} % of those that show; "
    closing = f"{score}{len(proof.judged)}{drawn} alterations: {counts or 'none'}"
    return render_to_text([table] if shown else [], closing, width=width, colour=colour)


def _describe_weakest(verdict: EngineVerdict) -> str:
    """Say where most could have hidden, as a share, and how exactly switches were seen."""
    shares = [row for row in verdict.power if row.hidden_share is not None]
    # A measure that is 0 in both engines has no base for a share.
    based = [row for row in shares if not math.isinf(row.hidden_share or 0.0)]
    sentence = ""
    if based:
        worst = max(based, key=lambda row: row.hidden_share or 0.0)
        weakest = f"{worst.measure.partition(':')[0]} of {worst.subject}"
        share = format_share(worst.hidden_share)
        sentence = f"; at most {share} of the packets or of the mean could have hidden ({weakest})"
    for row in shares:
        if row not in based:
            sentence += f"; {row.measure.partition(':')[0]} of 0 could hide {row.hidden:.3g}"
    switches = [row.hidden for row in verdict.power if row.hidden_share is None]
    return sentence + (f"; switches were seen to {max(switches):.3g} s" if switches else "")


def _format_closing_line(verdict: EngineVerdict, disagreeing_count: int, shown: int) -> str:
    # Nobody who reads this line alone may believe more than was compared.
    count = len(verdict.rows)
    sentence = {
        "agrees": f"{'' if verdict.not_compared else 'all '}{count} comparisons agree",
        "differs": _count_differing_rows(verdict.rows),
        "undecided": f"undecided: {sum(not row.agrees for row in verdict.rows)} of {count} "
        "comparisons",
    }[verdict.outcome]
    if verdict.outcome == "undecided":
        sentence += (
            ", and no number of seeds is known to decide them"
            if verdict.more is None
            else f", which {verdict.more} more seeds would probably decide (--until-decided)"
        )
    if verdict.not_compared:
        kinds = f"{len(verdict.not_compared)} kind{'s' * (len(verdict.not_compared) > 1)}"
        sentence += f", {kinds} of values not compared"
    if verdict.agrees:
        sentence += _describe_weakest(verdict)
    if shown < disagreeing_count:
        sentence += f" ({shown} shown, --all shows the rest)"
    seeds = f"seeds {verdict.seeds[0]} to {verdict.seeds[-1]}"
    if len(verdict.seeds) == 1:
        seeds = f"seed {verdict.seeds[0]}"
    elif verdict.is_one_run:
        seeds += ", all the same run"
    return f"{sentence}; {verdict.method}, {seeds}; {verdict.reference}"


def _count_differing_rows(rows: Sequence[ComparisonRow]) -> str:
    """Say how many comparisons differ, how many of them known differences explain, and the rest."""
    differing_rows = [row for row in rows if row.outcome == "differs"]
    explained_count = sum(bool(row.explanation) for row in differing_rows)
    undecided_count = sum(row.outcome == "undecided" for row in rows)
    sentence = f"{len(differing_rows)} of {len(rows)} comparisons differ"
    if explained_count:
        sentence += f" ({explained_count} as a known difference explains)"
    return sentence + (f", {undecided_count} are undecided" if undecided_count else "")
