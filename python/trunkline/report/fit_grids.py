"""Tables of a fit as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trunkline.report.grids import MAX_UNFOLDED_ROWS, Grid, GridCell
from trunkline.study.fit.quantity_text import shorten_quantity

LEAST_SHARE_SHOWN = 0.001  # Of the probability.


def build_fit_grids(document: Mapping[str, Any]) -> list[Grid]:
    """Tables of a fit: parameters, settings, errors, tables left out, every published value."""
    grids = [
        _build_parameter_grid(document),
        _build_setting_grid(document),
        _build_cell_grid(document),
    ]
    if document["left_out"]:
        grids.insert(2, _build_left_out_grid(document))
    if document["errors"]:
        grids.insert(2, _build_error_grid(document))
    return grids


def _build_error_grid(document: Mapping[str, Any]) -> Grid:
    errors = document["errors"]
    names = list(errors)
    heads = [("Table", ""), *((name[:1].upper() + name[1:], "mean distance") for name in names)]
    tables = dict.fromkeys(table for each in errors.values() for table in each)
    rows = [
        [
            GridCell(table),
            *(
                GridCell.of_number(f"{errors[name][table]:.4f}", errors[name][table])
                for name in names
            ),
        ]
        for table in tables
    ]
    return Grid("errors", "Distance from what was published", heads, rows)


def _build_parameter_grid(document: Mapping[str, Any]) -> Grid:
    heads = [
        ("Parameter", ""),
        ("Verdict", "what the published values say"),
        ("Reading", "of a list; empty for a range"),
        ("Now", "what the study runs"),
        ("Median", "of the posterior"),
        ("95 % interval", ""),
        ("Probability", "of a reading"),
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
                    GridCell(verdict if is_first else "", mark=mark if is_first else ""),
                    GridCell("" if reading is None else reading["reading"]),
                    GridCell(each["value"] if is_first else ""),
                    GridCell(each.get("median", "") if is_first else ""),
                    GridCell(interval if is_first else ""),
                    GridCell.of_number(_format_share(share), share),
                ]
            )
    return Grid("parameters", "Parameters", heads, rows, names=3)


def _build_setting_grid(document: Mapping[str, Any]) -> Grid:
    """The settings that the errors are of, and the prior that the fit chose them from."""
    heads = [
        ("Parameter", ""),
        ("As stated", "what the study runs"),
        ("Best fit", "the nearest setting that was run"),
        ("Likeliest", "by the emulator"),
        ("Prior", "values that the fit tried"),
    ]
    rows = [
        [
            GridCell(each["parameter"]),
            GridCell(each["value"]),
            GridCell(shorten_quantity(document["best"][each["parameter"]])),
            GridCell(shorten_quantity(document["likeliest"][each["parameter"]])),
            GridCell(each["prior"]),
        ]
        for each in document["parameters"]
    ]
    return Grid("settings", "Settings", heads, rows, names=4)


def _format_share(share: float | None) -> str:
    """A probability in per cent; one that is nearly none is not worth its digits."""
    if share is None:
        return ""
    return f"{100 * share:.3g} %" if share >= LEAST_SHARE_SHOWN else "below 0.1 %"


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
