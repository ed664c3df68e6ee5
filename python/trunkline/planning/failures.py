"""The single failures of a network, and pairs of links: what each takes down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline.scenario.resolved.resolved import breaks

if TYPE_CHECKING:
    from trunkline.scenario.resolved import Resolved
    from trunkline.te.topology import Bools, Topology

__all__ = ["KINDS", "Event", "TooMany", "events"]

KINDS = ("link", "node", "risk", "pair")
MOST = 20_000
"""Failures that are screened at most."""


class TooMany(ValueError):
    """More failures than are screened at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A failure.

    Parameters
    ----------
    name : str
        Link, node, risk group or named failure; ``A-B + B-C`` of a pair.
    kind : {"link", "node", "risk", "pair"}
        What fails; a failure of the scenario that names several elements is a risk.
    said : dict
        Its keys in the section `failures` of a scenario.
    dead : array of bool, shape (E,)
        Arcs that it takes down.
    nodes : tuple of int
        Nodes that it takes down.
    """

    name: str
    kind: str
    said: dict[str, Any]
    dead: Bools
    nodes: tuple[int, ...] = ()


def events(scenario: Resolved, graph: Topology, kinds: Sequence[str]) -> list[Event]:
    """All failures of some kinds.

    Parameters
    ----------
    scenario : Resolved
        Whose network.
    graph : Topology
        Its graph, arcs in the same order.
    kinds : sequence of {"link", "node", "risk", "pair"}
        Which.

    Returns
    -------
    list of Event
        By kind, then in the order of the scenario.

    Raises
    ------
    TooMany
        There are more than are screened at once.
    """
    links = len(graph.links)
    count = links * (links - 1) // 2 if "pair" in kinds else 0
    if count > MOST:
        raise TooMany(
            f"{links} links make {count:,} pairs; at most {MOST:,} failures are screened at once"
        )
    makers = {"link": _links, "node": _nodes, "risk": _risks, "pair": _pairs}
    return [event for kind in kinds for event in makers[kind](scenario, graph)]


def _links(scenario: Resolved, graph: Topology) -> Iterator[Event]:
    for number, link in enumerate(graph.links):
        yield Event(link, "link", {"link": [link]}, graph.link == number)


def _nodes(scenario: Resolved, graph: Topology) -> Iterator[Event]:
    for number, node in enumerate(graph.nodes):
        dead = (graph.tail == number) | (graph.head == number)
        yield Event(node, "node", {"node": [node]}, dead, (number,))


def _risks(scenario: Resolved, graph: Topology) -> Iterator[Event]:
    for risk, arcs in graph.risk_groups().items():
        links = list(dict.fromkeys(graph.arcs[arc].name for arc in arcs))
        dead = np.isin(graph.link, graph.link[list(arcs)])
        yield Event(risk, "risk", {"link": links}, dead)
    for name, failure in scenario.failures.items():
        if len(failure.link) + len(failure.node) > 1:
            dead = np.array([breaks(failure, arc) for arc in scenario.arcs])
            said = {"link": list(failure.link), "node": list(failure.node)}
            nodes = tuple(graph.node[node] for node in failure.node)
            kept = {key: value for key, value in said.items() if value}
            yield Event(name, "risk", kept, dead, nodes)


def _pairs(scenario: Resolved, graph: Topology) -> Iterator[Event]:
    for one, other in combinations(range(len(graph.links)), 2):
        names = [graph.links[one], graph.links[other]]
        dead = (graph.link == one) | (graph.link == other)
        yield Event(" + ".join(names), "pair", {"link": names}, dead)
