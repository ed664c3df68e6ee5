"""The least capacity that mends broken failures, over all routings: a linear program."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trunkline.planning.offers import offers
from trunkline.scenario.resolved.placement import topology
from trunkline.te.arc_form import least_capacity
from trunkline.te.survive import parts

if TYPE_CHECKING:
    from trunkline.planning.survive import Failed, Survival
    from trunkline.scenario import Scenario
    from trunkline.te.topology import Bools, Floats, Topology

COLUMNS = 60_000
"""Columns of the program at most: beyond, it takes minutes."""


@dataclass(frozen=True, slots=True)
class Mend:
    """What would mend broken failures.

    Parameters
    ----------
    failures : tuple of str
        Those that are mended together, the worst first.
    broken : int
        Failures that lose what could be carried, or use a link above its capacity.
    added_bit_s : int
        Minimum capacity in sum, each link's counted once for both directions; no routing, protected
        or not, needs less.
    links : dict of str to int
        Where it is added [bit/s].
    binds : tuple of str
        Links whose capacity decides.
    """

    failures: tuple[str, ...]
    broken: int
    added_bit_s: int
    links: dict[str, int]
    binds: tuple[str, ...]


def mend(scenario: Scenario, found: Survival) -> Mend | None:
    """Find the least capacity.

    Returns
    -------
    Mend or None
        Of as many of the worst as one program takes; None where none is broken.
    """
    broken = [each for each in found.failures if each.badness[0] > 0 or each.mlu > 1]
    its = scenario.resolved()
    graph = topology(its.unscaled())
    table = np.zeros((len(graph.nodes),) * 2)
    for offer in offers(its, graph, paths=False):
        table[offer.source, offer.target] += offer.rate
    cases = list(_cases(graph, table, broken))
    if not cases:
        return None
    added = least_capacity(graph, [(traffic, dead) for _, traffic, dead in cases])
    links = {
        link: math.ceil(more)
        for link, more in zip(graph.links, added.capacity.tolist(), strict=True)
        # Half a bit per second is rounding.
        if more > 0.5
    }
    return Mend(
        tuple(name for name, _, _ in cases),
        len(broken),
        sum(links.values()),
        links,
        tuple(link for link, binds in zip(graph.links, added.binds, strict=True) if binds),
    )


def _cases(
    graph: Topology, table: Floats, broken: list[Failed]
) -> Iterator[tuple[str, Floats, Bools]]:
    """Traffic that has a way after each failure, and what is down."""
    columns = 0
    for each in broken:
        dead = np.isin(graph.link, [graph.links.index(name) for name in each.said.get("link", ())])
        for node in each.said.get("node", ()):
            number = graph.node[node]
            dead |= (graph.tail == number) | (graph.head == number)
        part = parts(graph, ~dead)
        traffic = np.where(part[:, None] == part[None, :], table, 0.0)
        columns += int(traffic.any(axis=1).sum()) * len(graph.arcs)
        if columns > COLUMNS:
            return
        if traffic.any():
            yield each.failure, traffic, dead
