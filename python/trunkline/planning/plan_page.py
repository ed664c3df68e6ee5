"""A plan as a picture, and as a page: utilisation map, methods, paths, reservations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from markupsafe import Markup

from trunkline.network import compile
from trunkline.planning import text_tables
from trunkline.planning.robust_placement import RobustPlan
from trunkline.planning.text_tables import TextTable
from trunkline.plot import load_map
from trunkline.plot.network_sketch import NetworkSketch
from trunkline.results.number_format import format_percent, format_quantity
from trunkline.results.terminal_tables import escape_unprintable

if TYPE_CHECKING:
    from trunkline.planning.placement import LinkLoad, RoutingPlan
    from trunkline.scenario import Scenario

PAGE_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;"
    "background:#fff;color:#1b1b1b}svg{max-width:100%;height:auto}"
    ".wide{overflow-x:auto}table{border-collapse:collapse}"
    "td,th{padding:.2rem 1rem .2rem 0;text-align:left;white-space:nowrap}"
    "td.n,th.n{text-align:right}.bar{background:#4292c6;height:.8rem;display:inline-block}"
)


def svg(scenario: Scenario, plan: RoutingPlan) -> str:
    """Draw the network with every direction of a link in the colour of its utilisation."""
    utilisations = [link.utilisation for link in plan.links]
    return draw_network(scenario, utilisations, [_describe_link(link) for link in plan.links])


def draw_network(scenario: Scenario, utilisations: Sequence[float], tooltips: Sequence[str]) -> str:
    """Draw the network in the colours of one number from 0 to 1 for each direction of a link."""
    sketch = NetworkSketch.from_network(json.loads(compile(scenario).to_json()))
    positions = {name: node.position for name, node in scenario.nodes.items() if node.position}
    return load_map.draw_load_map(sketch, positions, utilisations, tooltips)


def _describe_link(link: LinkLoad) -> str:
    return (
        f"{link.link}: {format_percent(link.utilisation)}, "
        f"{format_quantity(link.load_bit_s, 'bit/s')} of "
        f"{format_quantity(link.capacity_bit_s, 'bit/s')}, "
        f"{format_quantity(link.reserved_bit_s, 'bit/s')} "
        "reserved"
    )


def html(scenario: Scenario, plan: RoutingPlan) -> str:
    """Render the plan as one page without scripts."""
    if isinstance(plan, RobustPlan):
        rows = [[each.link, ", ".join(each.route), str(len(each.paths))] for each in plan.bypasses]
        bypass_tables = [TextTable("Bypasses", ["link", "route", "paths"], rows, 2)] * bool(rows)
        tables = text_tables.tabulate_robust_plan(plan)
        return _render_plan(scenario, plan, tables, bypass_tables)
    tables = text_tables.tabulate_plan(plan)
    last_tables = []
    types = sorted({type_ for link in plan.links for type_ in link.by_class_type})
    if types:
        type_rows = [
            [
                link.link,
                *text_tables.format_rates(*(link.by_class_type.get(type_, 0) for type_ in types)),
            ]
            for link in plan.links
        ]
        last_tables.append(
            TextTable("Reservation of links by class type", ["link", *types], type_rows)
        )
    return _render_plan(scenario, plan, tables, last_tables)


def _render_plan(
    scenario: Scenario,
    plan: RoutingPlan,
    tables: Sequence[TextTable],
    last_tables: Sequence[TextTable],
) -> str:
    """Render the map, the methods with bars, other tables, and the paths."""
    method_table, *other_tables = [*tables, *last_tables]
    widest = max((each.mlu or 0.0 for each in plan.methods), default=0.0) or 1.0
    bars = [
        Markup('<span class="bar" style="width:{:.2f}rem"></span>').format(
            20 * (each.mlu or 0) / widest
        )
        for each in plan.methods
    ]
    rows = [[*row, bar] for row, bar in zip(method_table.rows, bars, strict=True)]
    backups = plan.backups if isinstance(plan, RobustPlan) else {}
    placed_rows = [
        [
            *(each.path, ", ".join(each.route)),
            *[", ".join(backups.get(each.path, ())) or "–"] * bool(backups),
            *text_tables.format_rates(each.bandwidth_bit_s),
        ]
        for each in plan.paths
        if each.placed
    ]
    heads = ["path", "route", *["backup"] * bool(backups), "bandwidth"]
    other_tables.append(TextTable("Paths", heads, placed_rows))
    parts = [svg(scenario, plan).partition("\n")[2]]
    parts += map(
        render_table,
        [replace(method_table, heads=[*method_table.heads, ""], rows=rows), *other_tables],
    )
    return render_document(f"Traffic engineering of {scenario.name or 'a scenario'}", parts)


def render_document(title: str, parts: Iterable[str]) -> str:
    """Render a complete page."""
    title = escape_text(title)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{PAGE_STYLE}</style></head><body><h1>{title}</h1>\n"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def render_table(sheet: TextTable, max_rows: int | None = None) -> str:
    """Render a table with its heading; on a narrow screen it scrolls, by the keyboard too."""
    head = "".join(f"<th>{escape_text(each[:1].upper() + each[1:])}</th>" for each in sheet.heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape_text(cell)}</td>' for cell in row)}</tr>"
        for row in sheet.rows[:max_rows]
    )
    hidden = 0 if max_rows is None else max(0, len(sheet.rows) - max_rows)
    return (
        f"<h2>{escape_text(sheet.title)}</h2>\n"
        f'<div class="wide" tabindex="0"><table><tr>{head}</tr>{body}</table></div>'
        + f"<p>and {hidden:,} more.</p>"
        * (hidden > 0)
    )


def escape_text(content: str) -> str:
    """Escape text for HTML, except content that is HTML already."""
    return content if isinstance(content, Markup) else escape(escape_unprintable(content))
