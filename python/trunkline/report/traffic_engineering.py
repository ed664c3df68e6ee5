"""The traffic engineering plan: link loads, methods and bound, reservations, refused paths."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.plot import load_map
from trunkline.plot.network_sketch import NetworkSketch
from trunkline.report.grids import Grid, GridCell
from trunkline.report.reported_run import ReportedRun
from trunkline.results.number_format import format_percent, format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

METHOD_DESCRIPTIONS = {
    "placed": "the placed paths, the rest by IP routing",
    "igp": "shortest paths of the IGP metrics, one next hop, as packets go",
    "ecmp": "equal-cost multipath on the IGP metrics",
    "optimum": "the best possible, demands split at will",
}


@dataclass(frozen=True, slots=True)
class EngineeringSection:
    """The plan of a scenario, ready for the template."""

    picture: str  # A map of planned loads, as a data URI; empty if no demand is planned.
    alt: str
    grids: list[Grid]
    scale: str  # Meaning of a scaled run; empty at full scale.


def build_engineering(reported_run: ReportedRun) -> EngineeringSection | None:
    """Build the plan that was stored with the results; None if there is none."""
    plan = reported_run.plan
    if plan is None:
        return None
    scale = float(plan["scale"])
    section = EngineeringSection("", "", [], "" if scale == 1 else _describe_scale(scale))
    if not any(link["load_bit_s"] or link["reserved_bit_s"] for link in plan["links"]):
        return section if section.scale else None
    utilisations = [float(link["utilisation"]) for link in plan["links"]]
    link_captions = [
        f"{link['link']}: {format_percent(link['utilisation'])}" for link in plan["links"]
    ]
    svg = load_map.draw_load_map(
        NetworkSketch.from_network(reported_run.network),
        reported_run.node_positions,
        utilisations,
        link_captions,
    )
    busiest = max(range(len(utilisations)), key=lambda at: utilisations[at])
    grids = [_build_method_grid(plan), _build_link_grid(reported_run, plan)]
    refused = [path for path in plan["paths"] if not path["placed"]]
    if refused:
        rows = [[GridCell(each["path"]), GridCell(each["why"])] for each in refused]
        headers = [("Path", ""), ("Why", "")]
        grids.append(Grid("refused", "Paths that are not placed", headers, rows, names=2))
    return EngineeringSection(
        f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}",
        f"Map of planned utilisation; busiest is {link_captions[busiest]}",
        grids,
        section.scale,
    )


def _describe_scale(scale: float) -> str:
    return (
        f"This run has {format_percent(scale)} of the rates of the network. Utilisation is "
        f"that of the "
        f"network; queueing times here are {1 / scale:.6g} times as long, delays of links are not."
    )


def _build_method_grid(plan: Mapping[str, Any]) -> Grid:
    headers = [
        ("Method", ""),
        ("What it is", ""),
        ("Utilisation", "maximum over links"),
        ("Bound", "no routing of this kind, split or on single paths, is below"),
        ("Gap", "over the bound"),
    ]
    rows = [
        [
            GridCell(each["method"]),
            GridCell(METHOD_DESCRIPTIONS.get(each["method"], "")),
            *(GridCell(format_percent(each[key]), each[key]) for key in ("mlu", "bound", "gap")),
        ]
        for each in plan["methods"]
    ]
    return Grid("methods", "Maximum link utilisation by method", headers, rows, names=2)


def _build_link_grid(reported_run: ReportedRun, plan: Mapping[str, Any]) -> Grid:
    """Planned load compared with the load of the first run, and reservations by class type."""
    types = sorted({type_ for link in plan["links"] for type_ in link["by_class_type"]})
    rows = reported_run.first_run.ports.rows()
    measured = {
        str(row["link"]): None if row["utilisation"] is None else float(row["utilisation"])
        for row in rows
    }
    headers = [
        ("Link", ""),
        ("Capacity", ""),
        ("Planned load", ""),
        ("Planned", "utilisation"),
        ("Measured", "utilisation in the first run"),
        ("Reserved", ""),
        *((type_, "reserved by this class type") for type_ in types),
    ]

    def rate(value: int) -> GridCell:
        return GridCell(format_quantity(value, "bit/s"), value)

    cells = [
        [
            GridCell(link["link"]),
            rate(link["capacity_bit_s"]),
            rate(link["load_bit_s"]),
            GridCell(format_percent(link["utilisation"]), link["utilisation"]),
            GridCell(format_percent(measured.get(link["link"])), measured.get(link["link"])),
            rate(link["reserved_bit_s"]),
            *(rate(link["by_class_type"].get(type_, 0)) for type_ in types),
        ]
        for link in sorted(plan["links"], key=lambda link: -link["utilisation"])
    ]
    title = "Links: planned and measured load, and reservations by class type"
    return Grid("planned", title, headers, cells, folded=len(cells) > 40)
