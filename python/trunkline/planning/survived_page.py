"""Failures as a picture, and as a page: the worst for each link, the ranking, agreements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup

from trunkline.planning.pictures import document, drawing, table, text
from trunkline.planning.sheets import Sheet, of_failures, of_gaps, of_mend, rates
from trunkline.results.numbers import percent, quantity
from trunkline.results.render import printable

if TYPE_CHECKING:
    from trunkline.planning.mend import Mend
    from trunkline.planning.survive import Survival
    from trunkline.planning.trial import Gap, Kept
    from trunkline.scenario import Scenario

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


def svg(scenario: Scenario, found: Survival) -> str:
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
        (lost,), most = rates(found.left_out.lost_bit_s), percent(found.left_out.mlu)
        parts.append(
            f"<p>{found.left_out.pairs:,} pairs of links were not screened, since they carry "
            f"least: after each at most {lost} are lost, and no link is used more than {most}.</p>"
        )
    if any(each.kind == "link" for each in found.failures):
        parts += ["<h2>Which link's failure breaks what</h2>", *_by_link(scenario, found, slas)]
    if slas:
        parts.append(table(_matrix(slas, more.replays)))
    if gaps:
        parts.append(table(of_gaps(gaps)))
    parts += (table(each, MOST) for each in of_failures(found))
    if more.mend is not None:
        its = more.mend
        parts.append(table(of_mend(its)))
        parts.append(
            "<p>This is over all routings: no routing or protection needs less. Links whose "
            f"capacity decides: {text(', '.join(its.binds)) or 'none'}.</p>"
        )
    return document(f"Failures of {scenario.name or 'a scenario'}", parts)


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
        words = [
            f"{class_} loses {quantity(lost, 'bit/s')}"
            for class_, lost in its.lost_by_class.items()
        ]
        words += [f"{sla} is broken in packets" for sla in sorted(broken.get(name, ()))]
        use.append(math.inf if words else its.mlu)
        told.append(f"{name} fails: {'; '.join(words) or 'nothing is lost'}; {percent(its.mlu)}")
    about = (
        "<p>Each link in the colour of its own failure: dark red where a class loses load or an "
        "agreement breaks, else the maximum utilisation after it. Point at a link to read it.</p>"
    )
    return [drawing(scenario, use, told).partition("\n")[2], about]


def _matrix(slas: Sequence[Kept], replays: Mapping[str, str]) -> Sheet:
    """Agreements by failure: the worst outcome of its bounds in each cell."""
    order = ("held", "undecided", "refuted")
    names = list(dict.fromkeys(each.sla for each in slas))
    cells: dict[tuple[str, str], str] = {}
    for each in slas:
        key = each.failure, each.sla
        cells[key] = max(cells.get(key, "held"), each.outcome, key=order.index)
    failures = dict.fromkeys(each.failure for each in slas)
    named = {
        failure: Markup('<a href="{}">{}</a>').format(replays[failure], printable(failure))
        if failure in replays
        else failure
        for failure in failures
    }
    rows = [[named[f], *(cells[f, name] for name in names)] for f in failures]
    title = "Agreements through the failure, in packets"
    return Sheet(title, ["failure", *names], rows, ranked=False)
