"""The page for management on one sheet of A4: question, answer, map, growth, upgrades."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.planning.growth import NO_FAILURE
from trunkline.planning.plan_page import draw_network, escape_text, render_document
from trunkline.planning.text_tables import tabulate_sla_breaks
from trunkline.plot.growth_curve import draw_growth_curve
from trunkline.results.number_format import format_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trunkline.planning.growth import Growth, GrowthPeriod, UpgradeList
    from trunkline.scenario import Scenario

MAX_UPGRADED_LINKS, MAX_BROKEN_FAILURES, MAX_JUDGED_FAILURES, MAX_NAMED_LINKS = 9, 6, 6, 3
"""Maximum rows of a table on the sheet; a note below gives the number of further rows."""
SHEET_STYLE = (
    "@page{size:A4;margin:11mm}body{max-width:60rem}h1{font-size:1.5rem;margin:.2rem 0}"
    "h2{font-size:1rem;margin:.6rem 0 .2rem}p{margin:.3rem 0}"
    ".answer{font-size:1.15rem;border-left:.3rem solid #b30000;padding:.2rem .8rem}"
    ".answer.good{border-color:#2c7a2c}.columns{display:grid;gap:0 1.5rem;"
    "grid-template-columns:repeat(auto-fit,minmax(17rem,1fr))}.small{font-size:.85rem;color:#444}"
    ".map svg{display:block;margin:auto;max-height:24rem;width:100%}"
    ".curve svg{max-height:15rem;width:100%}"
    "table{font-size:.85rem}td,th{padding:.08rem .8rem .08rem 0}"
    "@media(max-width:40rem){.map,.curve{overflow-x:auto}.map svg,.curve svg{min-width:34rem}}"
    "@media print{html{font-size:11.5px}body{font-size:1rem;line-height:1.25;margin:0;padding:0;"
    "max-width:none}.map svg{max-height:78mm;min-width:0}.curve svg{max-height:42mm;min-width:0}"
    ".wide{overflow:visible}.columns{grid-template-columns:1fr 1fr}"
    "h2{break-after:avoid}table,svg{break-inside:avoid}}"
)


def svg(scenario: Scenario, growth: Growth) -> str:
    """Draw the growth curve."""
    return draw_growth_curve(
        f"Growth of {scenario.name or 'a scenario'}",
        [each.label for each in growth.periods],
        [each.worst_mlu for each in growth.periods],
        [each.mlu for each in growth.periods],
        growth.bound,
    )


def html(scenario: Scenario, growth: Growth) -> str:
    """Render the page, without scripts."""
    last = growth.periods[-1]
    is_good = last.broken == 0 and last.worst_mlu <= growth.bound * (1 + 1e-6)
    name = scenario.name or "the network"
    parts = [
        f"<style>{SHEET_STYLE}</style>",
        f"<p>{escape_text(ask_question(name, growth))}</p>",
        f'<p class="answer{" good" if is_good else ""}">{escape_text(answer_question(growth))}</p>',
        f"<h2>The network in {escape_text(last.label)}, {escape_text(_name_event(last))}</h2>",
        f'<div class="map" tabindex="0">{_draw_map(scenario, growth)}</div>',
        "<h2>Growth</h2>",
        f'<div class="curve" tabindex="0">{svg(scenario, growth).partition(chr(10))[2]}</div>',
        _render_agreements(growth),
        '<div class="columns">',
        f"<div>{_render_breaks(growth)}</div>",
        f"<div>{_render_upgrades(growth)}</div>",
        "</div>",
        _render_unjudged(growth),
    ]
    return render_document(f"Growth of {name}", parts)


def _name_event(period: GrowthPeriod) -> str:
    if period.worst_failure == NO_FAILURE:
        return "without a failure"
    return f"after the failure of {period.worst_failure}"


def _draw_map(scenario: Scenario, growth: Growth) -> str:
    names = [arc.name for arc in scenario.resolve().arcs]
    captions = [f"{name}: {format_percent(growth.worst_use[name])}" for name in names]
    drawing = draw_network(scenario, [growth.worst_use[name] for name in names], captions)
    return drawing.partition("\n")[2]


def ask_question(name: str, growth: Growth) -> str:
    """Ask the question that the page answers, in one sentence."""
    last = growth.periods[-1]
    return (
        f"How long does {name} carry its traffic through every single failure, if the traffic "
        f"grows to {last.factor / growth.periods[0].factor:.3g} times that of "
        f"{growth.periods[0].label} in {last.label}, and what must be built?"
    )


def answer_question(growth: Growth) -> str:
    """Answer it in one sentence."""
    broken = [each for each in growth.failures if each.period is not None]
    last = growth.periods[-1].label
    if not broken:
        return (
            f"It carries all until {last}: after the worst failure no link is used more than "
            f"{format_percent(growth.periods[-1].worst_mlu)}{_describe_first_sla(growth)}."
        )
    first = broken[0]
    lossy = [each for each in broken if each.reason == "loss"]
    if lossy:
        return (
            f"Today's routes lose load after {len(lossy)} failures that other routes would carry, "
            f"such as {lossy[0].name}: give the paths backups first."
        )
    event = f"{first.name} overloads {first.at}"
    if first.name == NO_FAILURE:
        event = f"{first.at} is overloaded without any failure"
    sentence = f"It breaks first in {first.period}: {event}"
    if first.period == growth.periods[0].label:
        sentence = f"It is broken today: {event}"
    sentence += _describe_first_sla(growth)
    upgrades = growth.kept_routes
    if upgrades is None:
        return f"{sentence}."
    if upgrades.missing:
        names = list(upgrades.missing[:MAX_NAMED_LINKS])
        if len(upgrades.missing) > MAX_NAMED_LINKS:
            names.append(f"{len(upgrades.missing) - MAX_NAMED_LINKS} more")
        return f"{sentence}; the catalogue is not enough for {', '.join(names)}."
    sentence += (
        f"; {_count_links(upgrades)} upgraded for {upgrades.cost:,.0f} carry {last} on today's "
        "routes"
    )
    free = growth.any_routes
    if free is not None and not free.missing:
        sentence += (
            f", and no plan, with paths moved at will, costs less than {free.bound:,.0f}"
            if free.modules
            else ", and moved paths may do without"
        )
    return f"{sentence}."


def _describe_first_sla(growth: Growth) -> str:
    """Describe which agreement breaks first, as the end of a sentence; empty if none breaks."""
    broken = [each for each in growth.slas if each.broken is not None]
    if not broken:
        return ""
    first = broken[0]
    return f"; of the agreements {first.sla} breaks first ({first.broken}, {first.measure})"


def _count_links(upgrades: UpgradeList) -> str:
    count = len(upgrades.modules)
    return f"{count} link{'s' * (count != 1)}"


def describe_growth(growth: Growth) -> str:
    """Describe the growth in one line."""
    limit = growth.moved_paths
    line = answer_question(growth).rstrip(".")
    if limit.factor is not None:
        line += (
            f"; moved paths alone go up to {limit.factor:.4g} times the load (broken in "
            f"{limit.period}, {limit.failure})"
        )
    if growth.slas:
        broken = sum(each.broken is not None for each in growth.slas)
        undecided = sum(each.broken is None and each.is_open for each in growth.slas)
        line += (
            f"; of {len(growth.slas)} failures x bounds {broken} break, {undecided} are open, "
            f"{len(growth.slas) - broken - undecided} are held"
        )
    return line[0].lower() + line[1:]


def _render_agreements(growth: Growth) -> str:
    if not growth.slas:
        return ""
    sheet = tabulate_sla_breaks(growth.slas)
    text = _render_small_table(sheet.title, sheet.heads, sheet.rows[:MAX_JUDGED_FAILURES])
    if len(sheet.rows) > MAX_JUDGED_FAILURES:
        held = sum(set(row[1:]) == {"held"} for row in sheet.rows[MAX_JUDGED_FAILURES:])
        more = len(sheet.rows) - MAX_JUDGED_FAILURES
        text += f'<p class="small">and {more} more failures, {held} with all held.</p>'
    return text


def _render_breaks(growth: Growth) -> str:
    broken = [each for each in growth.failures if each.period is not None]
    rows = [
        [
            each.name,
            "loses load" if each.reason == "loss" else str(each.period),
            each.at,
            format_percent(each.utilisation),
        ]
        for each in broken[:MAX_BROKEN_FAILURES]
    ]
    text = _render_small_table(
        "Failures that break first", ["failure", "in", "link", "at last"], rows
    )
    if len(broken) > MAX_BROKEN_FAILURES:
        text += f'<p class="small">and {len(broken) - MAX_BROKEN_FAILURES} more failures.</p>'
    limit = growth.moved_paths
    if limit.factor is not None:
        text += (
            f'<p class="small">If paths move at will, without upgrades: up to '
            f"{limit.factor:.3g} times the load; in {escape_text(str(limit.period))} no routing "
            f"carries {escape_text(limit.failure)}.</p>"
        )
    elif limit.failure or not broken:
        text += (
            '<p class="small">If paths move at will, no upgrade is needed in the last period.</p>'
        )
    return text


def _render_upgrades(growth: Growth) -> str:
    upgrades = growth.kept_routes
    if upgrades is None:
        return "<h2>Upgrades</h2><p>There is no catalogue of modules.</p>"
    rows = _list_upgrade_rows(upgrades)
    text = _render_small_table(
        "Upgrades on today's routes", ["link", "add", "cost"], rows[:MAX_UPGRADED_LINKS]
    )
    if len(rows) > MAX_UPGRADED_LINKS:
        text += f'<p class="small">and {len(rows) - MAX_UPGRADED_LINKS} more links.</p>'
    words = f"Cost: {upgrades.cost:,.0f}"
    if upgrades.missing:
        words = f"The catalogue is not enough for {', '.join(upgrades.missing)}"
    free = growth.any_routes
    if free is not None and not free.missing:
        gap = "proven cheapest" if not free.gap else f"at most {format_percent(free.gap)} above"
        words += (
            f". With paths moved at will, {free.cost:,.0f} for {_count_links(free)} "
            f"({gap}; no plan costs less than {free.bound:,.0f})"
        )
    return f"{text}<p>{escape_text(words)}.</p>"


def _list_upgrade_rows(upgrades: UpgradeList) -> list[list[str]]:
    return [
        [
            link,
            ", ".join(f"{count} × {name}" for name, count in chosen.items()),
            f"{upgrades.link_costs[link]:,.0f}",
        ]
        for link, chosen in upgrades.modules.items()
    ]


def _render_small_table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return f"<h2>{escape_text(title)}</h2><p>None.</p>"
    head = "".join(f"<th>{escape_text(each[:1].upper() + each[1:])}</th>" for each in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape_text(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<h2>{escape_text(title)}</h2>"
        f'<div class="wide" tabindex="0"><table><tr>{head}</tr>{body}</table></div>'
    )


def _render_unjudged(growth: Growth) -> str:
    remarks = [*growth.not_judged, "packets, and gaps before a backup takes over: `te survive`"]
    items = "".join(f"<li>{escape_text(each)}</li>" for each in remarks)
    return f'<h2>Not judged here</h2><ul class="small">{items}</ul>'
