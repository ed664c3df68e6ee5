"""A plan as a picture, and as a page: utilisation map, methods, paths, reservations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from markupsafe import Markup

from trunkline.network import compile
from trunkline.planning import sheets
from trunkline.planning.sheets import Sheet
from trunkline.plot import load_map
from trunkline.plot.sketch import Sketch
from trunkline.results.numbers import percent, quantity
from trunkline.results.render import printable

if TYPE_CHECKING:
    from trunkline.planning.place import LinkLoad, Plan
    from trunkline.scenario import Scenario

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;"
    "background:#fff;color:#1b1b1b}svg{max-width:100%;height:auto}"
    ".wide{overflow-x:auto}table{border-collapse:collapse}"
    "td,th{padding:.2rem 1rem .2rem 0;text-align:left;white-space:nowrap}"
    "td.n,th.n{text-align:right}.bar{background:#4292c6;height:.8rem;display:inline-block}"
)


def svg(scenario: Scenario, plan: Plan) -> str:
    """The network with every direction of a link in the colour of its utilisation."""
    use = [link.utilisation for link in plan.links]
    return drawing(scenario, use, [_said(link) for link in plan.links])


def drawing(scenario: Scenario, use: Sequence[float], said: Sequence[str]) -> str:
    """The network with a number between 0 and 1 for every direction of a link.

    Parameters
    ----------
    use : sequence of float
        What the colours show, by direction in the order of the scenario.
    """
    sketch = Sketch.of(json.loads(compile(scenario).to_json()))
    places = {name: its.position for name, its in scenario.nodes.items() if its.position}
    return load_map.draw(sketch, places, use, said)


def _said(link: LinkLoad) -> str:
    return (
        f"{link.link}: {percent(link.utilisation)}, {quantity(link.load_bit_s, 'bit/s')} of "
        f"{quantity(link.capacity_bit_s, 'bit/s')}, {quantity(link.reserved_bit_s, 'bit/s')} "
        "reserved"
    )


def html(scenario: Scenario, plan: Plan) -> str:
    """A page of its own, without scripts."""
    methods, *others = sheets.of_plan(plan)
    widest = max((each.mlu or 0.0 for each in plan.methods), default=0.0) or 1.0
    bars = [
        Markup('<span class="bar" style="width:{:.2f}rem"></span>').format(
            20 * (each.mlu or 0) / widest
        )
        for each in plan.methods
    ]
    rows = [[*row, bar] for row, bar in zip(methods.rows, bars, strict=True)]
    types = sorted({type_ for link in plan.links for type_ in link.by_class_type})
    if types:
        by_type = [
            [link.link, *sheets.rates(*(link.by_class_type.get(type_, 0) for type_ in types))]
            for link in plan.links
        ]
        others.append(Sheet("Reservation of links by class type", ["link", *types], by_type))
    placed = [
        [each.path, ", ".join(each.route), *sheets.rates(each.bandwidth_bit_s)]
        for each in plan.paths
        if each.placed
    ]
    others.append(Sheet("Paths", ["path", "route", "bandwidth"], placed))
    parts = [svg(scenario, plan).partition("\n")[2]]
    parts += map(table, [replace(methods, heads=[*methods.heads, ""], rows=rows), *others])
    return document(f"Traffic engineering of {scenario.name or 'a scenario'}", parts)


def document(title: str, parts: Iterable[str]) -> str:
    """A page of its own."""
    title = text(title)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>\n"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def table(its: Sheet, most: int | None = None) -> str:
    """A table with its heading; on a narrow screen it scrolls, by the keyboard too."""
    head = "".join(f"<th>{text(each[:1].upper() + each[1:])}</th>" for each in its.heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>" for row in its.rows[:most]
    )
    return (
        f'<h2>{text(its.title)}</h2>\n<div class="wide" tabindex="0"><table><tr>{head}</tr>{body}'
        "</table></div>"
    )


def text(words: str) -> str:
    """Words as HTML; what is HTML already stays so."""
    return words if isinstance(words, Markup) else escape(printable(words))
