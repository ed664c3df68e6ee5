"""Failures as a picture, and as a page: the worst for each link, the ranking, agreements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from trunkline.planning.pictures import document, drawing, rate, table, text
from trunkline.results.numbers import percent, quantity
from trunkline.stats.sla import said

if TYPE_CHECKING:
    from trunkline.planning.mend import Mend
    from trunkline.planning.survive import Survival
    from trunkline.planning.trial import Gap, Kept
    from trunkline.scenario import Scenario

__all__ = ["html", "svg"]

MOST = 100
"""Failures that a page lists."""


@dataclass(frozen=True, slots=True)
class More:
    """What a page shows besides.

    Parameters
    ----------
    mend : Mend or None
        The least capacity that mends what is broken.
    replays : mapping of str to str
        Address of the replay of a failure, relative to the page, by its name.
    """

    mend: Mend | None = None
    replays: Mapping[str, str] = field(default_factory=dict)


NOTHING = More()


def svg(
    scenario: Scenario,
    found: Survival,
    slas: Sequence[Kept] = (),
    gaps: Sequence[Gap] = (),
    more: More = NOTHING,
) -> str:
    """The network, every direction of a link in the colour of its use after its worst failure."""
    use = [each.needed_bit_s / each.capacity_bit_s for each in found.links]
    said = [
        f"{each.link}: {percent(part)} after {each.failure or 'no failure'}, "
        f"{quantity(each.needed_bit_s, 'bit/s')} of {quantity(each.capacity_bit_s, 'bit/s')}"
        for each, part in zip(found.links, use, strict=True)
    ]
    return drawing(scenario, use, said)


def html(
    scenario: Scenario,
    found: Survival,
    slas: Sequence[Kept] = (),
    gaps: Sequence[Gap] = (),
    more: More = NOTHING,
) -> str:
    """A page of its own, without scripts."""
    offered = quantity(found.offered_bit_s, "bit/s")
    parts = [
        svg(scenario, found).partition("\n")[2],
        f"<p>{len(found.failures)} failures; {offered} offered; {percent(found.mlu)} on the "
        "busiest link without a failure. The map shows each direction after the failure that "
        "loads it most.</p>",
    ]
    if found.left_out is not None:
        lost, most = rate(found.left_out.lost_bit_s), percent(found.left_out.mlu)
        parts.append(
            f"<p>{found.left_out.pairs:,} pairs of links were not screened, since they carry "
            f"least: after each at most {lost} are lost, and no link is used more than {most}.</p>"
        )
    if any(each.kind == "link" for each in found.failures):
        parts += ["<h2>Which link's failure breaks what</h2>", *_by_link(scenario, found, slas)]
    if slas:
        parts += [
            "<h2>Agreements through the failure, in packets</h2>",
            _matrix(slas, more.replays),
        ]
    if gaps:
        parts += ["<h2>The screen against packets</h2>", _beside(gaps)]
    rows = (
        [
            text(each.failure),
            each.kind,
            rate(each.lost_bit_s),
            rate(each.lost_bit_s - each.unavoidable_bit_s),
            percent(each.mlu),
            text(each.worst_link),
            str(each.rerouted),
            str(each.unprotected),
            f"{each.stretch_s * 1e3:.3f} ms",
            text(", ".join(each.disconnects)),
        ]
        for each in found.failures[:MOST]
    )
    heads = ["Failure", "Kind", "Lost", "Avoidable", "Utilisation", "Link", "Moved", "Down"]
    heads += ["Longer by", "Cuts off"]
    parts += ["<h2>Failures, the worst first</h2>", table(heads, rows)]
    if more.mend is not None:
        parts += ["<h2>The least capacity that mends</h2>", *_mended(more.mend)]
    if found.mends:
        rows = (
            [text(m.link), rate(m.capacity_bit_s), rate(m.needed_bit_s), text(m.failure or "none")]
            for m in found.mends
        )
        heads = ["Link", "Capacity", "Needed", "After"]
        parts += ["<h2>Links too small</h2>", table(heads, rows)]
    return document(f"Failures of {scenario.name or 'a scenario'}", parts)


def _beside(gaps: Sequence[Gap]) -> str:
    """What the screen says of the failures that ran in packets, and what packets did."""
    rows = []
    for gap in gaps:
        unit = "1" if gap.measure == "utilisation" else "bit/s"
        ends = f"{said(gap.low, unit)} to {said(gap.high, unit)}"
        cells = [text(gap.failure), f"{gap.measure} {text(gap.link)}", said(gap.screen, unit)]
        rows.append([*cells, said(gap.packets, unit), ends])
    heads = ["Failure", "Mean over the run", "Screen (fluid)", "Packets", "95 % interval"]
    return table(heads, rows)


def _by_link(scenario: Scenario, found: Survival, slas: Sequence[Kept]) -> list[str]:
    """The map with each link in the colour of what its own failure does."""
    broken: dict[str, set[str]] = {}
    for each in slas:
        if each.outcome == "refuted":
            broken.setdefault(each.failure, set()).add(each.sla)
    by_link = {each.failure: each for each in found.failures if each.kind == "link"}
    use, told = [], []
    for arc in scenario.resolved().arcs:
        name = arc.link
        its = by_link[name]
        words = [f"{class_} loses {rate(lost)}" for class_, lost in its.lost_by_class.items()]
        words += [f"{sla} is broken in packets" for sla in sorted(broken.get(name, ()))]
        use.append(math.inf if words else its.mlu)
        told.append(f"{name} fails: {'; '.join(words) or 'nothing is lost'}; {percent(its.mlu)}")
    about = (
        "<p>Each link in the colour of its own failure: dark red where a class loses load or an "
        "agreement breaks, else the maximum utilisation after it. Point at a link to read it.</p>"
    )
    return [drawing(scenario, use, told).partition("\n")[2], about]


def _mended(its: Mend) -> list[str]:
    """The linear program's answer."""
    rows = [[text(link), rate(more)] for link, more in its.links.items()]
    about = (
        f"<p>{len(its.failures)} of {its.broken} broken failures together need "
        f"{rate(its.added_bit_s)} more, over all routings: no routing or protection needs less. "
        f"Links whose capacity decides: {text(', '.join(its.binds)) or 'none'}.</p>"
    )
    return [about, table(["Link", "Add"], rows)] if rows else [about]


def _matrix(slas: Sequence[Kept], replays: Mapping[str, str]) -> str:
    """Agreements by failure: the worst outcome of its bounds in each cell."""
    order = ("held", "undecided", "refuted")
    names = list(dict.fromkeys(each.sla for each in slas))
    cells: dict[tuple[str, str], str] = {}
    for each in slas:
        key = each.failure, each.sla
        cells[key] = max(cells.get(key, "held"), each.outcome, key=order.index)
    failures = dict.fromkeys(each.failure for each in slas)
    named = {
        failure: f'<a href="{escape(replays[failure])}">{text(failure)}</a>'
        if failure in replays
        else text(failure)
        for failure in failures
    }
    rows = ([named[f], *(cells[f, name] for name in names)] for f in failures)
    return table(["Failure", *map(text, names)], rows)
