"""Tables of plans, protections and failures, as words: a terminal shows them, and so do pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.results.numbers import percent, quantity
from trunkline.scenario.units import format_time
from trunkline.stats.sla import said

if TYPE_CHECKING:
    from trunkline.planning.mend import Mend
    from trunkline.planning.place import Plan
    from trunkline.planning.protect import Protected
    from trunkline.planning.survive import Survival
    from trunkline.planning.trial import Gap, Kept


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table of words.

    Parameters
    ----------
    heads : list of str
        A word a column.
    rows : list of list of str
        What matters most comes first.
    names : int
        How many columns hold names; the others hold numbers.
    ranked : bool
        Whether it may end where a terminal or page has shown enough.
    """

    title: str
    heads: list[str]
    rows: list[list[str]]
    names: int = 1
    ranked: bool = True


def rates(*values: int | float) -> list[str]:
    """Rates for cells."""
    return [quantity(value, "bit/s") for value in values]


def _longer(seconds: float) -> str:
    return format_time(round(seconds * 1e9))


def _known(value: float | None) -> str:
    return "–" if value is None else percent(value)


def of_plan(plan: Plan) -> list[Sheet]:
    """Methods with their gaps, links by utilisation, and paths that were refused or displaced."""
    costs = any(method.cost_gap is not None for method in plan.methods)
    methods = []
    for each in plan.methods:
        cells = [each.method, *map(_known, (each.mlu, each.bound, each.gap))]
        if costs:
            cells += ["–" if each.cost is None else f"{each.cost:.4g}", _known(each.cost_gap)]
        methods.append(cells)
    reserved = any(link.reserved_bit_s for link in plan.links)
    links = [
        [
            link.link,
            *rates(link.capacity_bit_s, link.load_bit_s, *[link.reserved_bit_s] * reserved),
            percent(link.utilisation),
        ]
        for link in sorted(plan.links, key=lambda each: -each.utilisation)
    ]
    refused = [
        [each.path, each.why, *rates(each.bandwidth_bit_s)]
        for each in plan.paths
        if not each.placed
    ]
    displaced = [
        [each.path, ", ".join(each.displaced_by)] for each in plan.paths if each.displaced_by
    ]
    heads = ["method", "utilisation", "bound", "gap"] + ["cost", "gap of cost"] * costs
    columns = ["link", "capacity", "load", *["reserved"] * reserved, "utilisation"]
    sheets = [
        Sheet("Maximum link utilisation", heads, methods),
        Sheet("Links by utilisation", columns, links),
        Sheet("Not placed", ["path", "why", "bandwidth"], refused, 2),
        Sheet("Displaced", ["path", "by"], displaced, 2),
    ]
    return [each for at, each in enumerate(sheets) if at < 2 or each.rows]


def of_protection(plan: Protected) -> list[Sheet]:
    """Backups, the links they take bandwidth of, and what has none."""
    backups = [
        [
            *(each.backup, each.around, " ".join(each.route), str(len(each.paths))),
            *rates(each.bandwidth_bit_s),
            _longer(each.stretch_s),
        ]
        for each in plan.backups
    ]
    links = [
        [
            link.link,
            *rates(link.capacity_bit_s, link.load_bit_s, link.backup_bit_s, link.unshared_bit_s),
            percent(link.utilisation),
        ]
        for link in sorted(plan.links, key=lambda each: -each.utilisation)
    ]
    bare = [
        [gap.path, gap.around, gap.why, "protected" if gap.by_link else "unprotected"]
        for gap in plan.unprotected
    ]
    heads = ["backup", "around", "route", "paths", "bandwidth", "longer by"]
    columns = ["link", "capacity", "load", "backups", "if not shared", "worst"]
    sheets = [
        Sheet("Backups", heads, backups, 3),
        Sheet("Links at the worst single failure", columns, links),
    ]
    if bare:
        sheets.append(Sheet("No such backup", ["path", "around", "why", "its link"], bare, 4))
    return sheets


def of_failures(found: Survival) -> list[Sheet]:
    """What each failure does, which of them cut nodes off, and links too small for one."""
    rows = [
        [
            *(each.failure, each.kind),
            *rates(each.lost_bit_s, each.lost_bit_s - each.unavoidable_bit_s),
            *(percent(each.mlu), each.worst_link, str(each.rerouted), str(each.unprotected)),
            _longer(each.stretch_s),
        ]
        for each in found.failures
    ]
    cut = [
        [each.failure, each.kind, ", ".join(each.disconnects)]
        for each in found.failures
        if each.disconnects
    ]
    small = [
        [its.link, *rates(its.capacity_bit_s, its.needed_bit_s), its.failure or "none"]
        for its in found.mends
    ]
    heads = ["failure", "kind", "lost", "avoidable", "utilisation", "link"]
    heads += ["moved", "down", "longer"]
    sheets = [Sheet(f"Failures, the worst of {len(rows)}", heads, rows, 2)]
    if cut:
        sheets.append(Sheet("Failures that disconnect", ["failure", "kind", "cut off"], cut, 3))
    if small:
        sheets.append(Sheet("Links too small", ["link", "capacity", "needed", "after"], small))
    return sheets


def of_levels(slas: Sequence[Kept]) -> Sheet:
    """Every bound of the agreements through the failures that ran in packets."""
    rows = [
        [
            *(its.sla, its.failure, its.row),
            f"{its.measure} at {its.at} {said(its.bound, its.unit)}",
            said(its.value, its.unit),
            f"{said(its.low, its.unit)} to {said(its.high, its.unit)}",
            its.outcome,
        ]
        for its in slas
    ]
    heads = ["SLA", "failure", "for", "promise", "value", "interval", "is"]
    return Sheet("Service levels through the failure, in packets", heads, rows, 3, ranked=False)


def of_gaps(gaps: Sequence[Gap]) -> Sheet:
    """What the screen says of the failures that ran in packets, and what packets did."""
    rows = []
    for gap in gaps:
        unit = "bit/s" if gap.measure == "lost" else "1"
        values = [said(value, unit) for value in (gap.screen, gap.packets)]
        ends = f"{said(gap.low, unit)} to {said(gap.high, unit)}"
        rows.append([gap.failure, gap.measure, gap.link, *values, ends])
    heads = ["failure", "measure", "link", "screen", "packets", "interval"]
    return Sheet("The screen against packets", heads, rows, 3, ranked=False)


def of_mend(its: Mend) -> Sheet:
    """What a linear program adds to links, and in sum."""
    rows = [[link, *rates(more)] for link, more in its.links.items()]
    total = f"{len(its.failures)} of {its.broken} broken"
    title = "The least capacity that mends, over all routings"
    rows.append([total, *rates(its.added_bit_s)])
    return Sheet(title, ["link", "add"], rows, ranked=False)
