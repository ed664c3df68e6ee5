"""A plan as a picture, and as a page: utilisation map, methods, paths, reservations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from trunkline.network import compile
from trunkline.plot import load_map
from trunkline.plot.sketch import Sketch
from trunkline.results.numbers import percent, quantity
from trunkline.results.render import printable

if TYPE_CHECKING:
    from trunkline.planning.place import LinkLoad, Plan
    from trunkline.scenario import Scenario

__all__ = ["document", "drawing", "html", "rate", "svg", "table", "text"]

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
    title = f"Traffic engineering of {scenario.name or 'a scenario'}"
    types = sorted({type_ for link in plan.links for type_ in link.by_class_type})
    links = sorted(plan.links, key=lambda each: -each.utilisation)
    refused = [each for each in plan.paths if not each.placed]
    widest = max((each.mlu or 0.0 for each in plan.methods), default=0.0) or 1.0
    parts = [
        svg(scenario, plan).partition("\n")[2],
        "<h2>Maximum link utilisation by method</h2>",
        table(
            ["Method", "Utilisation", "", "Bound", "Gap"],
            (
                [
                    text(each.method),
                    _number(each.mlu),
                    f'<span class="bar" style="width:{20 * (each.mlu or 0) / widest:.2f}rem">'
                    "</span>",
                    _number(each.bound),
                    _number(each.gap),
                ]
                for each in plan.methods
            ),
        ),
    ]
    if refused:
        rows = ([text(each.path), text(each.why)] for each in refused)
        parts += ["<h2>Paths that are not placed</h2>", table(["Path", "Why"], rows)]
    heads = ["Link", "Capacity", "Load", "Utilisation", "Reserved", *types]
    rows = (
        [
            text(each.link),
            *(rate(v) for v in (each.capacity_bit_s, each.load_bit_s)),
            percent(each.utilisation),
            rate(each.reserved_bit_s),
            *(rate(each.by_class_type.get(type_, 0)) for type_ in types),
        ]
        for each in links
    )
    parts += ["<h2>Load and reservation of links, by class type</h2>", table(heads, rows)]
    rows = (
        [text(each.path), text(", ".join(each.route)), rate(each.bandwidth_bit_s)]
        for each in plan.paths
        if each.placed
    )
    parts += ["<h2>Paths</h2>", table(["Path", "Route", "Bandwidth"], rows)]
    return document(title, parts)


def document(title: str, parts: Iterable[str]) -> str:
    """A page of its own.

    Returns
    -------
    str
        An HTML document without scripts.
    """
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


def table(heads: list[str], rows: Iterable[list[str]]) -> str:
    """A table of cells that are HTML; on a narrow screen it scrolls, by the keyboard too."""
    head = "".join(f"<th>{each}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide" tabindex="0"><table><tr>{head}</tr>{body}</table></div>'


def _number(value: float | None) -> str:
    return "–" if value is None else percent(value)


def rate(value: int) -> str:
    """A rate for a cell."""
    return quantity(value, "bit/s")


def text(words: str) -> str:
    """Words for a cell."""
    return escape(printable(words))
