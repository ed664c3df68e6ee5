"""Failures as a picture, and as a page: the worst for each link, the ranking, agreements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup

from trunkline.planning.plan_page import draw_network, escape_text, render_document, render_table
from trunkline.planning.text_tables import (
    TextTable,
    describe_judgement,
    describe_outcome,
    format_rates,
    rank_outcome,
    tabulate_deviations,
    tabulate_failures,
    tabulate_upgrade,
)
from trunkline.results.number_format import format_percent, format_quantity
from trunkline.results.terminal_tables import escape_unprintable

if TYPE_CHECKING:
    from trunkline.planning.capacity_upgrade import CapacityUpgrade
    from trunkline.planning.failure_screening import Survival
    from trunkline.planning.packet_trial import SlaOutcome
    from trunkline.planning.sla_judgement import SlaJudgement
    from trunkline.scenario import Scenario

MAX_LISTED_FAILURES = 100  # Failures that a page lists.


@dataclass(frozen=True, slots=True)
class PageExtras:
    """Optional contents of a page."""

    mend: CapacityUpgrade | None = None  # The least capacity that repairs broken failures.
    judgement: SlaJudgement | None = None  # All agreements under all failures.
    # Address of the replay of a failure, relative to the page, by the failure's name.
    replays: Mapping[str, str] = field(default_factory=dict)


NO_EXTRAS = PageExtras()


def svg(scenario: Scenario, survival: Survival) -> str:
    """Draw the network with each direction of a link in the colour of its worst use."""
    utilisations = [each.needed_bit_s / each.capacity_bit_s for each in survival.links]
    tooltips = [
        f"{each.link}: {format_percent(utilisation)} after {each.failure or 'no failure'}, "
        f"{format_quantity(each.needed_bit_s, 'bit/s')} of "
        f"{format_quantity(each.capacity_bit_s, 'bit/s')}"
        for each, utilisation in zip(survival.links, utilisations, strict=True)
    ]
    return draw_network(scenario, utilisations, tooltips)


def html(
    scenario: Scenario,
    survival: Survival,
    extras: PageExtras = NO_EXTRAS,
) -> str:
    """Render the failures as one page without scripts."""
    judgement = extras.judgement
    slas = () if judgement is None else judgement.outcomes
    deviations = () if judgement is None else judgement.deviations
    offered = format_quantity(survival.offered_bit_s, "bit/s")
    parts = [
        svg(scenario, survival).partition("\n")[2],
        f"<p>{len(survival.failures)} failures; {offered} offered; "
        f"{format_percent(survival.mlu)} on the "
        "busiest link without a failure. The map shows each direction after the failure that "
        "loads it most.</p>",
    ]
    if survival.left_out is not None:
        (lost,), max_utilisation = (
            format_rates(survival.left_out.lost_bit_s),
            format_percent(survival.left_out.mlu),
        )
        parts.append(
            f"<p>{survival.left_out.pairs:,} pairs of links were not screened, since they carry "
            f"least: after each at most {lost} are lost, and no link is used more than "
            f"{max_utilisation}.</p>"
        )
    if any(each.kind == "link" for each in survival.failures):
        parts += [
            "<h2>Which link's failure breaks what</h2>",
            *_render_link_map(scenario, survival, slas),
        ]
    if judgement is not None:
        parts.append(f"<p><b>{escape_text(describe_judgement(judgement))}.</b></p>")
    if slas:
        parts.append(render_table(_tabulate_outcomes(slas, extras.replays)))
    if deviations:
        parts.append(render_table(tabulate_deviations(deviations)))
    parts += (render_table(each, MAX_LISTED_FAILURES) for each in tabulate_failures(survival))
    if extras.mend is not None:
        upgrade = extras.mend
        parts.append(render_table(tabulate_upgrade(upgrade)))
        parts.append(
            "<p>This is over all routings: no routing or protection needs less. Links whose "
            f"capacity decides: {escape_text(', '.join(upgrade.binds)) or 'none'}.</p>"
        )
    return render_document(f"Failures of {scenario.name or 'a scenario'}", parts)


def _render_link_map(
    scenario: Scenario, survival: Survival, slas: Sequence[SlaOutcome]
) -> list[str]:
    """Render the map with each link in the colour of its own failure's effect."""
    broken: dict[str, set[str]] = {}
    for each in slas:
        if each.outcome == "refuted":
            broken.setdefault(each.failure, set()).add(each.sla)
    by_link = {each.failure: each for each in survival.failures if each.kind == "link"}
    colours, tooltips = [], []
    for arc in scenario.resolve().arcs:
        name = arc.link
        impact = by_link[name]
        effects = [
            f"{class_} loses {format_quantity(lost, 'bit/s')}"
            for class_, lost in impact.lost_by_class.items()
        ]
        effects += [f"{sla} is broken" for sla in sorted(broken.get(name, ()))]
        colours.append(math.inf if effects else impact.mlu)
        tooltips.append(
            f"{name} fails: {'; '.join(effects) or 'nothing is lost'}; {format_percent(impact.mlu)}"
        )
    about = (
        "<p>Each link in the colour of its own failure: dark red where a class loses load or an "
        "agreement breaks, else the maximum utilisation after it. Point at a link to read it.</p>"
    )
    return [draw_network(scenario, colours, tooltips).partition("\n")[2], about]


def _tabulate_outcomes(slas: Sequence[SlaOutcome], replays: Mapping[str, str]) -> TextTable:
    """Tabulate agreements by failure, with the worst outcome of its bounds in each cell."""
    names = list(dict.fromkeys(each.sla for each in slas))
    cells: dict[tuple[str, str], SlaOutcome] = {}
    for each in slas:
        key = each.failure, each.sla
        cells[key] = min(cells.get(key, each), each, key=rank_outcome)
    failures = dict.fromkeys(each.failure for each in slas)
    linked = {
        failure: Markup('<a href="{}">{}</a>').format(replays[failure], escape_unprintable(failure))
        if failure in replays
        else failure
        for failure in failures
    }
    rows = [
        [linked[failure_name], *(describe_outcome(cells[failure_name, name]) for name in names)]
        for failure_name in failures
    ]
    title = "Agreements under every failure"
    return TextTable(title, ["failure", *names], rows, is_ranked=False)
