"""A fit as one page: what is determined, the posterior's pictures, every published cell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from trunkline.report.findings import Fact, FactSign, HeadlineNumber
from trunkline.report.grids import MAX_UNFOLDED_ROWS, Grid, GridCell
from trunkline.report.page import build_page_frame, render_template
from trunkline.report.report_files import write_atomically
from trunkline.report.reproduced_study import list_pictures

FIT_PAGE = "fit.html"
SCRIPTS: Final = ("base.js", "tables.js")


def write_fit_page(document: Mapping[str, Any], folder: Path) -> None:
    """Write the object that ``trunkline study fit --json`` prints as a page.

    Parameters
    ----------
    document : mapping
        The object.
    folder : Path
        Folder of the fit: its pictures are put into the page ``fit.html``.
    """
    cells = document["cells"]
    inside = sum(cell["inside"] for cell in cells)
    determined = sum(each["verdict"] == "determined" for each in document["parameters"])
    figures = [
        HeadlineNumber(f"{determined} of {len(document['parameters'])}", "parameters determined"),
        HeadlineNumber(f"{inside} of {len(cells)}", "published values as predicted"),
        HeadlineNumber(f"{100 * document['misfit']['median']:.2g} %", "misfit"),
        HeadlineNumber(str(document["runs"]), "runs"),
    ]
    grids = [_build_parameter_grid(document), _build_cell_grid(document)]
    if document["left_out"]:
        grids.insert(1, _build_left_out_grid(document))
    written = render_template(
        "fit.html.j2",
        build_page_frame(SCRIPTS),
        name=document["study"],
        figures=figures,
        facts=[Fact("doubt", each) for each in document["warnings"]] or [_build_calm_fact()],
        grids=grids,
        pictures=list_pictures(folder),
    )
    write_atomically(folder / FIT_PAGE, written)


def _build_calm_fact() -> Fact:
    sign: FactSign = "held"
    return Fact(sign, "No trial failed, no prior was too narrow, and the posterior has converged.")


def _build_parameter_grid(document: Mapping[str, Any]) -> Grid:
    heads = [
        ("Parameter", ""),
        ("Reading", "of a list; empty for a range"),
        ("Now", "what the study runs"),
        ("Median", "of the posterior"),
        ("95 % interval", ""),
        ("Probability", "of a reading"),
        ("Verdict", "what the published values say"),
    ]
    rows = []
    for each in document["parameters"]:
        interval = f"{each['low']} to {each['high']}" if "low" in each else ""
        mark = "good" if each["verdict"] == "determined" else ""
        verdict = each["verdict"] + (
            f", at the {each['edge']} end of its prior" if each["edge"] else ""
        )
        names = [GridCell(each["parameter"])]
        readings = each.get("readings") or [None]
        for place, reading in enumerate(readings):
            share = None if reading is None else reading["probability"]
            is_first = place == 0
            rows.append(
                [
                    *names,
                    GridCell("" if reading is None else reading["reading"]),
                    GridCell(each["value"]),
                    GridCell(each.get("median", "") if is_first else ""),
                    GridCell(interval if is_first else ""),
                    GridCell.of_number("" if share is None else f"{100 * share:.3g} %", share),
                    GridCell(verdict if is_first else "", mark=mark if is_first else ""),
                ]
            )
    return Grid("parameters", "Parameters", heads, rows, names=2)


def _build_left_out_grid(document: Mapping[str, Any]) -> Grid:
    heads = [
        ("Left out", "tables that the fit to the others predicts"),
        ("Inside", "published values in their 95 % interval"),
        ("Of", ""),
        ("Log score", "log of the probability that the fit to the others gave them"),
    ]
    rows = [
        [
            GridCell(each["tables"]),
            GridCell.of_number(str(each["inside"]), each["inside"]),
            GridCell.of_number(str(each["cells"]), each["cells"]),
            GridCell.of_number(f"{each['log_score']:.1f}", each["log_score"]),
        ]
        for each in document["left_out"]
    ]
    return Grid("left-out", "Tables left out", heads, rows)


def _build_cell_grid(document: Mapping[str, Any]) -> Grid:
    heads = [
        ("Table", ""),
        ("Row", ""),
        ("Column", ""),
        ("Published", ""),
        ("Predicted", "mean of the posterior's predictions"),
        ("Low", "lower end of the 95 % interval of as many runs, without misfit"),
        ("High", "upper end"),
        ("Inside", ""),
    ]
    rows = [
        [
            *(GridCell(each[name]) for name in ("table", "row", "column")),
            *(
                GridCell.of_number(f"{each[name]:.4g}", each[name])
                for name in ("published", "predicted", "low", "high")
            ),
            GridCell("yes" if each["inside"] else "no", mark="good" if each["inside"] else "bad"),
        ]
        for each in document["cells"]
    ]
    folded = len(rows) > MAX_UNFOLDED_ROWS
    return Grid("cells", "Every published value", heads, rows, names=3, folded=folded)
