"""Backups as a picture, and as a page: the map at the worst failure, backups, what has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline.planning.pictures import document, drawing, rate, table, text
from trunkline.results.numbers import percent, quantity

if TYPE_CHECKING:
    from trunkline.planning.protect import Protected
    from trunkline.scenario import Scenario

__all__ = ["html", "svg"]


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
    if plan.unprotected:
        rows = (
            [text(each.path), text(each.around), text(each.why), "yes" if each.by_link else "no"]
            for each in plan.unprotected
        )
        heads = ["Path", "Around", "Why", "Link protected"]
        parts += ["<h2>What has no such backup</h2>", table(heads, rows)]
    rows = (
        [
            text(each.backup),
            text(each.around),
            text(", ".join(each.route)),
            str(len(each.paths)),
            rate(each.bandwidth_bit_s),
            f"{each.stretch_s * 1e3:.3f} ms",
        ]
        for each in plan.backups
    )
    heads = ["Backup", "Around", "Route", "Paths", "Bandwidth", "Longer by"]
    parts += ["<h2>Backups</h2>", table(heads, rows)]
    rows = (
        [
            text(each.link),
            rate(each.capacity_bit_s),
            rate(each.load_bit_s),
            rate(each.backup_bit_s),
            rate(each.unshared_bit_s),
            percent(each.utilisation),
        ]
        for each in sorted(plan.links, key=lambda each: -each.utilisation)
    )
    heads = ["Link", "Capacity", "Load", "Backups", "If not shared", "At the worst failure"]
    parts += ["<h2>Bandwidth of backups by link</h2>", table(heads, rows)]
    return document(f"Protection of {scenario.name or 'a scenario'}", parts)
