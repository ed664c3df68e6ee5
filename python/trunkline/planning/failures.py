"""The failures of a network: what each takes down; pairs of links in the order of their bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline.scenario.resolved.resolved import breaks

if TYPE_CHECKING:
    from trunkline.scenario.resolved import Resolved
    from trunkline.te.topology import Bools, Floats, Topology

KINDS = ("link", "node", "risk", "named", "pair")
MOST = 20_000
"""Pairs that are screened at most."""
KEPT = 100
"""Pairs that are certainly the worst, before the others are left out."""


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


class Pairs:
    """All pairs of links, those first that can be worst.

    No more can move or be lost than what both links carry.

    Parameters
    ----------
    loads : array of float64, shape (E,)
        Of every arc without a failure [bit/s].
    fixed : array of float64, shape (E,)
        Of it, what nothing restores: it may be lost though there is a way.

    Attributes
    ----------
    carried : array of float64, shape (P,)
        What both links of each pair carry [bit/s].
    avoidable, mlu : array of float64, shape (P,)
        Bounds of what is lost that could be carried [bit/s], and of the utilisation [1].
    """

    def __init__(self, graph: Topology, loads: Floats, fixed: Floats):
        self.graph = graph
        ones, others = np.triu_indices(len(graph.links), 1)
        carried, risked = (np.bincount(graph.link, its, len(graph.links)) for its in (loads, fixed))
        both, at_risk = carried[ones] + carried[others], risked[ones] + risked[others]
        # Of all links only those can be used most that are, at their load, the smallest.
        edge = _edge(loads, graph.capacity.astype(np.float64))
        most = np.max([(loads[e] + both) / graph.capacity[e] for e in edge], axis=0, initial=0.0)
        order = np.lexsort((-most, -at_risk))
        self._ones, self._others = ones[order], others[order]
        self.carried, self.avoidable, self.mlu = both[order], at_risk[order], most[order]

    def __len__(self) -> int:
        return len(self.carried)

    def event(self, place: int) -> Event:
        """The pair at a place."""
        return _pair(self.graph, int(self._ones[place]), int(self._others[place]))

    def bound(self, place: int) -> tuple[float, float]:
        """No pair from this place on is worse, as `Failed.badness` counts."""
        # Half a bit per second is rounding.
        at_risk = float(self.avoidable[place])
        return (at_risk + 0.5 if at_risk else 0.0), float(self.mlu[place:].max())


def _edge(loads: Floats, capacity: Floats) -> list[int]:
    """Arcs that no other one of at least their load and at most their capacity stands above."""
    found: list[int] = []
    for arc in np.lexsort((-loads, capacity)).tolist():
        if not found or loads[arc] > loads[found[-1]]:
            found.append(arc)
    return found


def events(scenario: Resolved, graph: Topology, kinds: Sequence[str]) -> list[Event]:
    """All failures of some kinds but pairs.

    Parameters
    ----------
    graph : Topology
        Its graph, arcs in the same order.
    kinds : sequence of {"link", "node", "risk", "named", "pair"}
        Which.

    Returns
    -------
    list of Event
        By kind, then in the order of the scenario.
    """
    makers = {"link": _links, "node": _nodes, "risk": _risks, "named": _named}
    return [event for kind in kinds if kind != "pair" for event in makers[kind](scenario, graph)]


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
