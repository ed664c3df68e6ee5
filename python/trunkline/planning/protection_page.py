"""Backups as a picture and as a page: the map at the worst failure, backups, gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.planning.plan_page import draw_network, render_document, render_table
from trunkline.planning.text_tables import tabulate_backups
from trunkline.results.number_format import format_percent, format_quantity

if TYPE_CHECKING:
    from trunkline.planning.protection import BackupPlan
    from trunkline.scenario import Scenario


def svg(scenario: Scenario, plan: BackupPlan) -> str:
    """Draw the network with every direction of a link in the colour of its load with backups."""
    tooltips = [
        f"{each.link}: {format_percent(each.utilisation)} at the worst failure, load "
        f"{format_quantity(each.load_bit_s, 'bit/s')}, backups "
        f"{format_quantity(each.backup_bit_s, 'bit/s')}"
        for each in plan.links
    ]
    return draw_network(scenario, [each.utilisation for each in plan.links], tooltips)


def html(scenario: Scenario, plan: BackupPlan) -> str:
    """Render the backups as one page without scripts."""
    coverage = "" if plan.coverage is None else f", {format_percent(plan.coverage)} with a backup"
    parts = [svg(scenario, plan).partition("\n")[2], f"<p>{plan.places} places{coverage}.</p>"]
    parts += map(render_table, tabulate_backups(plan))
    return render_document(f"Protection of {scenario.name or 'a scenario'}", parts)
