"""Backups as a picture, and as a page: the map at the worst failure, backups, what has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.planning.pictures import document, drawing, table
from trunkline.planning.sheets import of_protection
from trunkline.results.numbers import percent, quantity

if TYPE_CHECKING:
    from trunkline.planning.protect import Protected
    from trunkline.scenario import Scenario


def svg(scenario: Scenario, plan: Protected) -> str:
    """The network with every direction of a link in the colour of its use by load and backups."""
    said = [
        f"{each.link}: {percent(each.utilisation)} at the worst failure, load "
        f"{quantity(each.load_bit_s, 'bit/s')}, backups {quantity(each.backup_bit_s, 'bit/s')}"
        for each in plan.links
    ]
    return drawing(scenario, [each.utilisation for each in plan.links], said)


def html(scenario: Scenario, plan: Protected) -> str:
    """A page of its own, without scripts."""
    covered = "" if plan.coverage is None else f", {percent(plan.coverage)} with a backup"
    parts = [svg(scenario, plan).partition("\n")[2], f"<p>{plan.places} places{covered}.</p>"]
    parts += map(table, of_protection(plan))
    return document(f"Protection of {scenario.name or 'a scenario'}", parts)
