"""A verdict as tables: what differs or is undecided, what was compared, and what could not be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from trunkline.linux.judge.compare import Row
    from trunkline.linux.judge.verify import Verdict

WORDS: Final = {"agrees": "agrees", "differs": "DIFFERS", "undecided": "undecided"}
MOST_ROWS: Final = 24
"""Comparisons that are printed in full; the first say what is wrong."""
MEASURE_WIDTH: Final = 15
"""Columns that the name of a measure has at least, in a narrow terminal too."""


def render(
    name: str,
    verdict: Verdict,
    published: Sequence[float | None] = (),
    *,
    every: bool = False,
    width: int | None = None,
    colour: bool = False,
) -> str:
    """The verdict as tables.

    Parameters
    ----------
    published : sequence of float or None, default ()
        What a document says of each row; a column of its own if it says anything.
    every : bool, default False
        Every comparison, and not only those that do not agree.
    colour : bool, default False
        Whether to use the escape codes of a terminal.
    """
    from trunkline.results.render import add, draw, frame, printable

    said = dict(zip(map(id, verdict.rows), published, strict=True)) if published else {}
    wrong = sorted(
        (row for row in verdict.rows if not row.agrees),
        key=lambda row: (row.outcome != "differs", -_share(row)),
    )
    shown = list(verdict.rows) if every else wrong[:MOST_ROWS]
    shown += [row for row in verdict.rows if said.get(id(row)) is not None and row not in shown]
    parts = []
    title = f"{printable(name)}: simulator against {_short(verdict)}"
    if shown:
        parts.append(_rows(title, shown, said))
    parts.append(_summary(title if not shown else "What was compared", verdict))
    for heading, column, lines in (
        ("What could not be compared", "what one side does not tell", verdict.unknown),
        ("Known differences", "what the reference does otherwise", verdict.notes),
    ):
        if lines:
            listed = frame(heading, [column])
            for line in lines:
                add(listed, [line])
            parts.append(listed)
    return draw(parts, _last(verdict, len(wrong), len(shown)), width=width, colour=colour)


def _short(verdict: Verdict) -> str:
    named = verdict.reference.startswith(("simulator", "fluid"))
    return verdict.reference if named else "kernel"


def _share(row: Row) -> float:
    """How much of its margin a difference takes."""
    if row.margin:
        return abs(row.difference) / row.margin
    return math.inf if row.difference else 0.0


def _rows(title: str, rows: Sequence[Row], said: dict[int, float | None]) -> Table:
    from trunkline.results.render import add, frame

    published = any(value is not None for value in said.values())
    intervals = any(row.low is not None for row in rows)
    heads = ["published"] * published + ["simulator", "reference", "difference"]
    heads += ["95 % interval"] * intervals + ["margin", "verdict"]
    drawn = frame(title, ["", "measure", *heads], names=2)
    drawn.columns[1].min_width = MEASURE_WIDTH
    for row in rows:
        between = "" if row.low is None else f"{row.low:.4g} to {row.high:.4g}"
        numbers = [f"{each:.5g}" for each in (row.simulator, row.reference, row.difference)]
        more = "" if row.more is None else f", {row.more} more"
        cells = [*numbers, *([between] if intervals else [])]
        cells += [f"{row.margin:.3g}", f"{WORDS[row.outcome]}{more}"]
        if published:
            value = said.get(id(row))
            cells.insert(0, "" if value is None else f"{value:g}")
        add(
            drawn, [row.subject, f"{row.measure} [{row.unit}]" if row.unit else row.measure, *cells]
        )
    return drawn


def _summary(title: str, verdict: Verdict) -> Table:
    """A line a measure: how many agree, and the one that comes nearest to its margin or beyond."""
    from trunkline.results.render import add, frame

    by_measure: dict[str, list[Row]] = {}
    for row in verdict.rows:
        by_measure.setdefault(row.measure.partition(":")[0], []).append(row)
    heads = ["agree", "differ", "undecided", "difference", "margin"]
    drawn = frame(title, ["measure", "nearest to its margin", *heads], names=2)
    drawn.columns[0].min_width = MEASURE_WIDTH
    for measure, rows in by_measure.items():
        worst = max(rows, key=_share)
        counts = [
            str(sum(row.outcome == outcome for row in rows))
            for outcome in ("agrees", "differs", "undecided")
        ]
        unit = f" [{worst.unit}]" if worst.unit else ""
        differs = [f"{worst.difference:.4g}", f"{worst.margin:.3g}"]
        add(drawn, [f"{measure}{unit}", worst.subject, *counts, *differs])
    return drawn


def _last(verdict: Verdict, wrong: int, shown: int) -> str:
    whole = {
        "agrees": f"all {len(verdict.rows)} comparisons agree",
        "differs": f"{sum(row.outcome == 'differs' for row in verdict.rows)} of "
        f"{len(verdict.rows)} comparisons differ",
        "undecided": f"undecided: {wrong} of {len(verdict.rows)} comparisons",
    }[verdict.outcome]
    if verdict.outcome == "undecided":
        whole += (
            ", and no number of seeds is known to decide them"
            if verdict.more is None
            else f", which {verdict.more} more seeds would probably decide (--until-decided)"
        )
    if shown < wrong:
        whole += f" ({shown} shown, --all shows the rest)"
    how = "packet by packet" if verdict.exact else "by means over the seeds"
    seeds = f"seeds {verdict.seeds[0]} to {verdict.seeds[-1]}"
    if len(verdict.seeds) == 1:
        seeds = f"seed {verdict.seeds[0]}"
    return f"{whole}; {how}, {seeds}; {verdict.reference}"
