"""The failures of a network with the elements they take down; pairs of links sorted by bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline.scenario.resolved.resolved import fails_arc

if TYPE_CHECKING:
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.topology import Bools, Floats, Topology

FAILURE_KINDS = ("link", "node", "risk", "named", "pair")
MAX_SCREENED_PAIRS = 20_000  # Pairs that are screened at most.
CERTAIN_WORST_PAIRS = 100  # Pairs that are certainly the worst, before the others are left out.


@dataclass(frozen=True, slots=True, eq=False)
class FailureEvent:
    """A failure."""

    # Link, node, risk group or named failure, with its kind where two have the same name;
    # ``A-B + B-C`` of a pair.
    name: str
    # one of "link", "node", "risk", "named", "pair", "drained"; a failure of the scenario that
    # names several elements is a risk too.
    kind: str
    scenario_keys: dict[str, Any]  # Its keys in the section `failures` of a scenario.
    dead_arcs: Bools  # shape (E,): Arcs that it takes down.
    dead_nodes: tuple[int, ...] = ()  # Nodes that it takes down.


class LinkPairs:
    """All pairs of links, sorted by how bad they can be.

    The load on both links bounds the load that can move or be lost.

    loads: shape (E,): Loads of every arc without a failure [bit/s].
    fixed: shape (E,): Part of it that nothing restores: it may be lost although a path exists.
    pair_loads: shape (P,): Load on both links of each pair [bit/s].
    avoidable_loads, max_utilisations: shape (P,): Bounds of the loss that routing could avoid
        [bit/s], and of the utilisation [1].
    """

    def __init__(self, graph: Topology, loads: Floats, unrestored_loads: Floats):
        self.graph = graph
        first_links, second_links = np.triu_indices(len(graph.links), 1)
        link_loads, unrestored = (
            np.bincount(graph.link, arc_loads, len(graph.links))
            for arc_loads in (loads, unrestored_loads)
        )
        pair_loads = link_loads[first_links] + link_loads[second_links]
        at_risk = unrestored[first_links] + unrestored[second_links]
        # Of all links only those can be used most that are, at their load, the smallest.
        dominant_arcs = _find_dominant_arcs(loads, graph.capacity.astype(np.float64))
        max_utilisation = np.max(
            [(loads[e] + pair_loads) / graph.capacity[e] for e in dominant_arcs],
            axis=0,
            initial=0.0,
        )
        order = np.lexsort((-max_utilisation, -at_risk))
        self._first_links, self._second_links = first_links[order], second_links[order]
        self.pair_loads, self.avoidable_loads, self.max_utilisations = (
            pair_loads[order],
            at_risk[order],
            max_utilisation[order],
        )

    def __len__(self) -> int:
        return len(self.pair_loads)

    def make_event(self, rank: int) -> FailureEvent:
        """Make the pair at a place."""
        return _make_pair_failure(
            self.graph, int(self._first_links[rank]), int(self._second_links[rank])
        )

    def bound_severity(self, rank: int) -> tuple[float, float]:
        """Bound the severity of the pairs from this place on, as in `FailureImpact.severity`."""
        # Half a bit per second is rounding.
        at_risk = float(self.avoidable_loads[rank])
        return (at_risk + 0.5 if at_risk else 0.0), float(self.max_utilisations[rank:].max())


def _find_dominant_arcs(loads: Floats, capacity: Floats) -> list[int]:
    """Find the arcs that no arc with at least their load and at most their capacity dominates."""
    found: list[int] = []
    for arc in np.lexsort((-loads, capacity)).tolist():
        if not found or loads[arc] > loads[found[-1]]:
            found.append(arc)
    return found


def list_failure_events(
    scenario: ResolvedScenario, graph: Topology, kinds: Sequence[str]
) -> list[FailureEvent]:
    """List all failures of some kinds except pairs, by kind, then in the order of the scenario.

    Results have failures by name. If an earlier kind has that name for other elements, also a kind
    that is not listed, the kind follows the name; with the same elements it is one failure.
    """
    listers = {
        "link": _list_link_failures,
        "node": _list_node_failures,
        "risk": _list_risk_failures,
        "named": _list_named_failures,
    }
    shown_names: dict[str, dict[str, str]] = {}  # By written name, by elements.
    events: dict[str, FailureEvent] = {}
    for kind, list_failures in listers.items():
        for event in list_failures(scenario, graph):
            names = shown_names.setdefault(event.name, {})
            elements = str(event.scenario_keys)
            name = names.setdefault(elements, f"{event.name} ({kind})" if names else event.name)
            if kind in kinds:
                events.setdefault(name, replace(event, name=name))
    place = {kind: number for number, kind in enumerate(kinds)}
    return sorted(events.values(), key=lambda event: place[event.kind])


def add_outage(graph: Topology, events: Sequence[FailureEvent], link: str) -> list[FailureEvent]:
    """A link out of service alone, then with each failure of other elements during that."""
    dead = graph.link == graph.links.index(link)
    with_failures = [
        replace(
            event,
            name=f"{event.name} + {link}",
            scenario_keys={
                **event.scenario_keys,
                "link": list(dict.fromkeys([*event.scenario_keys.get("link", ()), link])),
            },
            dead_arcs=event.dead_arcs | dead,
        )
        for event in events
        if event.scenario_keys != {"link": [link]}
    ]
    return [FailureEvent(link, "drained", {"link": [link]}, dead), *with_failures]


def _list_link_failures(scenario: ResolvedScenario, graph: Topology) -> Iterator[FailureEvent]:
    for number, link in enumerate(graph.links):
        yield FailureEvent(link, "link", {"link": [link]}, graph.link == number)


def _list_node_failures(scenario: ResolvedScenario, graph: Topology) -> Iterator[FailureEvent]:
    for number, node in enumerate(graph.nodes):
        dead = (graph.tail == number) | (graph.head == number)
        yield FailureEvent(node, "node", {"node": [node]}, dead, (number,))


def _list_risk_failures(scenario: ResolvedScenario, graph: Topology) -> Iterator[FailureEvent]:
    for risk, arcs in graph.group_arcs_by_risk().items():
        links = list(dict.fromkeys(graph.arcs[arc].name for arc in arcs))
        dead = np.isin(graph.link, graph.link[list(arcs)])
        yield FailureEvent(risk, "risk", {"link": links}, dead)
    multi_element = (
        name
        for name, failure in scenario.failures.items()
        if len(failure.link) + len(failure.node) > 1
    )
    for name in multi_element:
        yield _make_scenario_failure(scenario, graph, name, "risk")


def _list_named_failures(scenario: ResolvedScenario, graph: Topology) -> Iterator[FailureEvent]:
    for name in scenario.failures:
        yield _make_scenario_failure(scenario, graph, name, "named")


def _make_scenario_failure(
    scenario: ResolvedScenario, graph: Topology, name: str, kind: str
) -> FailureEvent:
    failure = scenario.failures[name]
    dead = np.array([fails_arc(failure, arc) for arc in scenario.arcs])
    elements = {"link": list(failure.link), "node": list(failure.node)}
    nodes = tuple(graph.node_number[node] for node in failure.node)
    return FailureEvent(
        name, kind, {key: value for key, value in elements.items() if value}, dead, nodes
    )


def _make_pair_failure(graph: Topology, first_link: int, second_link: int) -> FailureEvent:
    names = [graph.links[first_link], graph.links[second_link]]
    dead = (graph.link == first_link) | (graph.link == second_link)
    return FailureEvent(" + ".join(names), "pair", {"link": names}, dead)
