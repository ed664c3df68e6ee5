"""The failures of a network: what each takes down; of very many pairs of links the worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline.scenario.resolved.resolved import breaks

if TYPE_CHECKING:
    from trunkline.scenario.resolved import Resolved
    from trunkline.te.topology import Bools, Floats, Topology

__all__ = ["KINDS", "Event", "events"]

KINDS = ("link", "node", "risk", "named", "pair")
MOST = 20_000
"""Pairs that are screened at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A failure.

    Parameters
    ----------
    name : str
        Link, node, risk group or named failure; ``A-B + B-C`` of a pair.
    kind : {"link", "node", "risk", "named", "pair"}
        What fails; a failure of the scenario that names several elements is a risk too.
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


def events(
    scenario: Resolved, graph: Topology, kinds: Sequence[str], loads: Floats
) -> tuple[list[Event], int, float]:
    """All failures of some kinds.

    Parameters
    ----------
    scenario : Resolved
        Whose network.
    graph : Topology
        Its graph, arcs in the same order.
    kinds : sequence of {"link", "node", "risk", "named", "pair"}
        Which.
    loads : array of float64, shape (E,)
        Of every arc without a failure [bit/s].

    Returns
    -------
    found : list of Event
        By kind, then in the order of the scenario; of more than `MOST` pairs those of links that
        carry most.
    left_out : int
        Pairs that are not among them.
    moved : float
        What each of these carries on both links at most: no more can move or be lost [bit/s].
    """
    makers = {"link": _links, "node": _nodes, "risk": _risks, "named": _named}
    found = [event for kind in kinds if kind != "pair" for event in makers[kind](scenario, graph)]
    if "pair" not in kinds:
        return found, 0, 0.0
    ones, others = np.triu_indices(len(graph.links), 1)
    carried = np.bincount(graph.link, loads, len(graph.links))
    both = carried[ones] + carried[others]
    order = np.argsort(-both, kind="stable")
    kept = np.sort(order[:MOST])
    found += [_pair(graph, int(ones[each]), int(others[each])) for each in kept]
    rest = order[MOST:]
    return found, len(rest), float(both[rest].max(initial=0.0))


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
    several = (name for name, its in scenario.failures.items() if len(its.link) + len(its.node) > 1)
    for name in several:
        yield _of_scenario(scenario, graph, name, "risk")


def _named(scenario: Resolved, graph: Topology) -> Iterator[Event]:
    for name in scenario.failures:
        yield _of_scenario(scenario, graph, name, "named")


def _of_scenario(scenario: Resolved, graph: Topology, name: str, kind: str) -> Event:
    failure = scenario.failures[name]
    dead = np.array([breaks(failure, arc) for arc in scenario.arcs])
    said = {"link": list(failure.link), "node": list(failure.node)}
    nodes = tuple(graph.node[node] for node in failure.node)
    return Event(name, kind, {key: value for key, value in said.items() if value}, dead, nodes)


def _pair(graph: Topology, one: int, other: int) -> Event:
    names = [graph.links[one], graph.links[other]]
    dead = (graph.link == one) | (graph.link == other)
    return Event(" + ".join(names), "pair", {"link": names}, dead)
