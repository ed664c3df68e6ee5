"""The plan: loads of links, methods against the bound, reservations, what was refused."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.plot import load_map
from trunkline.plot.sketch import Sketch
from trunkline.report.exhibit import Exhibit
from trunkline.report.grids import Cell, Grid
from trunkline.results.numbers import percent, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = {
    "placed": "the paths as they are placed, the rest by IP routing",
    "igp": "shortest paths of the IGP metrics, one next hop, as packets go",
    "ecmp": "equal-cost multipath on the IGP metrics",
    "optimum": "the best possible, demands split at will",
}


@dataclass(frozen=True, slots=True)
class Engineering:
    """The plan of a scenario, ready for the template."""

    picture: str
    """A map of planned loads, as a data URI; empty if no demand is planned."""
    alt: str
    grids: list[Grid]
    scale: str
    """What a scaled run means; empty at full scale."""


def of(exhibit: Exhibit) -> Engineering | None:
    """The plan that was stored with the results; None if there is none."""
    plan = exhibit.plan
    if plan is None:
        return None
    scale = float(plan["scale"])
    found = Engineering("", "", [], "" if scale == 1 else _scaled(scale))
    if not any(link["load_bit_s"] or link["reserved_bit_s"] for link in plan["links"]):
        return found if found.scale else None
    use = [float(link["utilisation"]) for link in plan["links"]]
    said = [f"{link['link']}: {percent(link['utilisation'])}" for link in plan["links"]]
    drawn = load_map.draw(Sketch.of(exhibit.network), exhibit.places, use, said)
    busiest = max(range(len(use)), key=lambda at: use[at])
    grids = [_methods(plan), _links(exhibit, plan)]
    refused = [path for path in plan["paths"] if not path["placed"]]
    if refused:
        rows = [[Cell(each["path"]), Cell(each["why"])] for each in refused]
        heads = [("Path", ""), ("Why", "")]
        grids.append(Grid("refused", "Paths that are not placed", heads, rows, names=2))
    return Engineering(
        f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}",
        f"Map of planned utilisation; busiest is {said[busiest]}",
        grids,
        found.scale,
    )


def _scaled(scale: float) -> str:
    return (
        f"This run has {percent(scale)} of the rates of the network. Utilisation is that of the "
        f"network; queueing times here are {1 / scale:.6g} times as long, delays of links are not."
    )


def _methods(plan: Mapping[str, Any]) -> Grid:
    heads = [
        ("Method", ""),
        ("What it is", ""),
        ("Utilisation", "maximum over links"),
        ("Bound", "no routing of this kind, split or on single paths, is below"),
        ("Gap", "over the bound"),
    ]
    rows = [
        [
            Cell(each["method"]),
            Cell(NAMES.get(each["method"], "")),
            *(Cell(percent(each[key]), each[key]) for key in ("mlu", "bound", "gap")),
        ]
        for each in plan["methods"]
    ]
    return Grid("methods", "Maximum link utilisation by method", heads, rows, names=2)


def _links(exhibit: Exhibit, plan: Mapping[str, Any]) -> Grid:
    """Planned load beside what the first run measured, and reservations by class type."""
    types = sorted({type_ for link in plan["links"] for type_ in link["by_class_type"]})
    rows = exhibit.first.ports.rows()
    measured = {
        str(row["link"]): None if row["utilisation"] is None else float(row["utilisation"])
        for row in rows
    }
    heads = [
        ("Link", ""),
        ("Capacity", ""),
        ("Planned load", ""),
        ("Planned", "utilisation"),
        ("Measured", "utilisation in the first run"),
        ("Reserved", ""),
        *((type_, "reserved by this class type") for type_ in types),
    ]

    def rate(value: int) -> Cell:
        return Cell(quantity(value, "bit/s"), value)

    cells = [
        [
            Cell(link["link"]),
            rate(link["capacity_bit_s"]),
            rate(link["load_bit_s"]),
            Cell(percent(link["utilisation"]), link["utilisation"]),
            Cell(percent(measured.get(link["link"])), measured.get(link["link"])),
            rate(link["reserved_bit_s"]),
            *(rate(link["by_class_type"].get(type_, 0)) for type_ in types),
        ]
        for link in sorted(plan["links"], key=lambda link: -link["utilisation"])
    ]
    title = "Links: planned and measured load, and reservations by class type"
    return Grid("planned", title, heads, cells, folded=len(cells) > 40)
