"""A fit as one page: verdicts on parameters, pictures of the posterior, every published cell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from trunkline.report.findings import Fact, FactSign, HeadlineNumber
from trunkline.report.fit_grids import build_fit_grids
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
    written = render_template(
        "fit.html.j2",
        build_page_frame(SCRIPTS),
        name=document["study"],
        figures=figures,
        facts=[Fact("doubt", each) for each in document["warnings"]] or [_build_calm_fact()],
        grids=build_fit_grids(document),
        pictures=list_pictures(folder),
    )
    write_atomically(folder / FIT_PAGE, written)


def _build_calm_fact() -> Fact:
    sign: FactSign = "held"
    return Fact(sign, "No trial failed, no prior was too narrow, and the posterior has converged.")
