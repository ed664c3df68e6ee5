"""A migration as a picture, and as a page: links by steps, the steps, the missing bandwidth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trunkline.planning.plan_page import escape_text, render_document, render_table
from trunkline.planning.text_tables import tabulate_migration
from trunkline.plot.load_grid import draw_load_grid
from trunkline.results.number_format import format_count, format_percent, format_quantity

if TYPE_CHECKING:
    from trunkline.planning.migration import Migration
    from trunkline.scenario import Scenario

MAX_DRAWN_LINKS = 40  # Links that the picture shows.


def svg(scenario: Scenario, migration: Migration) -> str:
    """Draw the use of the most used links before the first step and during each."""
    links = migration.links[:MAX_DRAWN_LINKS]
    names = ["at the start"]
    names += [
        f"step {number}: {step.action} {step.path}"
        for number, step in enumerate(migration.steps, 1)
    ]
    return draw_load_grid(
        f"Migration of {scenario.name or 'a scenario'}",
        [each.link for each in links],
        names,
        [each.utilisations for each in links],
    )


def html(scenario: Scenario, migration: Migration) -> str:
    """Render the migration as one page without scripts."""
    parts = [f"<p>{escape_text(describe_outcome(migration))}.</p>"]
    if migration.links:
        about = "Use of links in per cent, before the first step and during each"
        hidden = len(migration.links) - MAX_DRAWN_LINKS
        about += f"; {hidden} links that are used less are left out." if hidden > 0 else "."
        parts += [svg(scenario, migration).partition("\n")[2], f"<p>{about}</p>"]
    parts += map(render_table, tabulate_migration(migration))
    return render_document(f"Migration of {scenario.name or 'a scenario'}", parts)


def describe_outcome(migration: Migration) -> str:
    """Describe the outcome in one line."""
    bound = format_percent(migration.bound)
    if migration.outcome == "found":
        count = len(migration.steps)
        if not count:
            return f"nothing moves: {migration.unchanged} paths stay"
        peak = max(step.utilisation for step in migration.steps)
        line = (
            f"{_count(count, 'step')}, {_count(migration.detours, 'detour')}, "
            f"{_count(migration.preemptions, 'preemption')}; at most {format_percent(peak)} of a "
            f"link during a step, {bound} allowed"
        )
        if not migration.is_fewest:
            line += "; fewer may be possible"
        return line
    if migration.outcome == "impossible":
        line = f"no order keeps every link at {bound}, with any detours"
    else:
        line = f"undecided: no order was found that keeps every link at {bound}"
    return line + describe_headroom(migration)


def describe_headroom(migration: Migration) -> str:
    """Describe what an order without detours needs; empty where that is not known."""
    headroom = migration.headroom
    if headroom is None:
        return ""
    if math.isinf(headroom.factor):
        return "; a path would need a link that has no room at all"
    total = format_quantity(sum(headroom.missing_bit_s.values()), "bit/s")
    return (
        f"; with {total} more on {_count(len(headroom.missing_bit_s), 'link')} there is one "
        f"without detours, with use up to {headroom.factor:.4g} times the bound"
    )


def _count(number: int, word: str) -> str:
    return f"{format_count(number)} {word}{'s' * (number != 1)}"
