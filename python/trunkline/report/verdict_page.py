"""Verdicts as one page: outcome, power, measures not compared, and alterations that were caught."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trunkline.report.findings import SIGN_BY_VERDICT, Fact, HeadlineNumber
from trunkline.report.grids import MAX_UNFOLDED_ROWS, Grid, GridCell
from trunkline.report.page import build_page_frame, render_template
from trunkline.report.report_files import write_atomically

SCRIPTS: Final = ("base.js", "tables.js")


@dataclass(frozen=True, slots=True)
class VerdictView:
    """One verdict, ready for the template."""

    key: str
    title: str
    figures: list[HeadlineNumber]
    facts: list[Fact]
    grids: list[Grid]


def write_verdict_page(document: Mapping[str, Any], path: Path) -> None:
    """Write the object that ``trunkline verify --json`` prints as a page.

    document: With ``outcome`` and ``verdicts``.
    """
    views = [
        _build_view(verdict, f"v{number}") for number, verdict in enumerate(document["verdicts"])
    ]
    frame = build_page_frame(SCRIPTS)
    written = render_template("verdict.html.j2", frame, outcome=document["outcome"], views=views)
    write_atomically(path, written)


def _build_view(verdict: Mapping[str, Any], key: str) -> VerdictView:
    rows = verdict["rows"]
    proof = verdict.get("proof")
    shares = [each["share"] for each in verdict["power"] if each["share"] is not None]
    figures = [HeadlineNumber(str(len(rows)), "comparisons")]
    if shares:
        figures.append(
            HeadlineNumber(
                _format_share(max(shares)),
                "of the packets or of the mean could have hidden at most",
            )
        )
    if proof and proof["score"] is not None:
        score = f"{100 * proof['score']:.0f} %"
        figures.append(HeadlineNumber(score, "of the alterations that show would be caught"))
    grids = [_build_power_grid(verdict["power"]), _build_row_grid(rows)]
    if proof:
        grids.insert(1, _build_proof_grid(proof))
    return VerdictView(key, str(verdict["scenario"]), figures, _list_facts(verdict), grids)


def _list_facts(verdict: Mapping[str, Any]) -> list[Fact]:
    counts = {
        outcome: sum(row["outcome"] == outcome for row in verdict["rows"])
        for outcome in SIGN_BY_VERDICT
    }
    seeds = verdict["seeds"]
    seed_count = f"{len(seeds)} seed{'s' * (len(seeds) > 1)}"
    detail = f"{verdict['method']}, {seed_count}, against {verdict['reference']}"
    facts = [
        Fact(
            SIGN_BY_VERDICT[verdict["outcome"]],
            f"{counts['agrees']} agree, {counts['differs']} differ, "
            f"{counts['undecided']} are undecided",
            detail,
        )
    ]
    facts += [Fact("doubt", f"Not compared: {each}") for each in verdict["not_compared"]]
    explained = dict.fromkeys(row["explanation"] for row in verdict["rows"] if row["explanation"])
    return [*facts, *(Fact("known", each) for each in (*explained, *verdict["notes"]))]


def _build_power_grid(power: Sequence[Mapping[str, Any]]) -> Grid:
    heads = [
        ("Measure", ""),
        ("Weakest at", "where most could have hidden"),
        ("Could hide", "largest difference that would still have agreed"),
        ("Share", "of the packets of the flow, class or link, or of the mean"),
    ]
    cells = [
        [
            GridCell(each["measure"]),
            GridCell(each["subject"]),
            GridCell.of_number(f"{each['hidden']:.3g} {each['unit']}".strip(), each["hidden"]),
            GridCell.of_number(_format_share(each["share"]), each["share"]),
        ]
        for each in power
    ]
    return Grid("power", "What could have hidden", heads, cells, names=2)


def _build_row_grid(rows: Sequence[Mapping[str, Any]]) -> Grid:
    heads = [
        (name, "") for name in ("Of", "Measure", "Simulator", "Reference", "Margin", "Outcome")
    ]
    cells = [
        [
            GridCell(row["subject"]),
            GridCell(f"{row['measure']} [{row['unit']}]" if row["unit"] else row["measure"]),
            *(
                GridCell.of_number(f"{row[name]:.5g}", row[name])
                for name in ("simulator", "reference", "margin")
            ),
            GridCell(
                row["outcome"], mark={"agrees": "good", "differs": "bad"}.get(row["outcome"], "")
            ),
        ]
        for row in rows
    ]
    return Grid("rows", "Comparisons", heads, cells, names=2, folded=len(cells) > MAX_UNFOLDED_ROWS)


def _build_proof_grid(proof: Mapping[str, Any]) -> Grid:
    heads = [(name, "") for name in ("Altered", "Key", "Value", "Altered to", "Outcome", "By")]
    keys = ("element", "key", "before", "after", "outcome", "measure")
    cells = [[GridCell(each[name]) for name in keys] for each in proof["alterations"]]
    return Grid(
        "proof",
        "Alterations of single keys",
        heads,
        cells,
        names=6,
        folded=len(cells) > MAX_UNFOLDED_ROWS,
    )


def _format_share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2g} %"
