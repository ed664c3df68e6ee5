"""Labels of segment routing: what a policy pushes, and what every router on its way does with it.

A node's label is the SRGB's first plus the node's place in `nodes`, the same at every router; the
node before it takes it off (penultimate-hop popping). The label of a link is of its first node
alone, which takes it off (RFC 8402 section 3.4).
"""

from typing import NamedTuple

from trunkline.scenario.resolved import Resolved
from trunkline.scenario.resolved.placement import topology
from trunkline.scenario.resolved.resolved import Sid
from trunkline.scenario.resolved.segments import next_arcs

ADJACENCIES = 15_000
"""First label of links, where no SRGB usually is."""

Stacks = list[list[int]]
"""Labels on a packet behind each hop of its route, from the bottom."""


def stacks(scenario: Resolved, name: str) -> Stacks:
    """Labels behind each hop of a policy's route."""
    left = list(scenario.segmented[name])
    result: Stacks = []
    for hop in scenario.routes[name].hops:
        if hop.target == left[0].node:
            # The next node ends the segment: its label is off already, or is taken off here.
            left.pop(0)
        result.append([_label(scenario, sid) for sid in reversed(left)])
    return result


class Ahead(NamedTuple):
    """A next hop of a policy at one node.

    Attributes
    ----------
    arc : str
        Direction of a link.
    labels : list of int
        Labels on the packet behind it, from the bottom.
    keeps : bool
        Whether the label on top stays.
    """

    arc: str
    labels: list[int]
    keeps: bool


class Way(NamedTuple):
    """What a node does with the packets of a policy.

    Attributes
    ----------
    label : int
        Label on top when they come; at the first node that of the first segment.
    ahead : list of Ahead
        Next hops of equal cost.
    """

    node: str
    label: int
    ahead: list[Ahead]


def ways(scenario: Resolved, name: str) -> list[Way]:
    """What every node does that a policy's packets may pass with ECMP, its first node first."""
    graph = topology(scenario)
    start = (scenario.routes[name].nodes[0], len(scenario.segmented[name]))
    found: list[Way] = []
    seen, open_ = {start}, [start]
    while open_:
        node, count = open_.pop(0)
        left = scenario.segmented[name][-count:]
        sid, ahead = left[0], []
        arcs = [sid.arc] if sid.arc is not None else next_arcs(scenario, graph, node, sid.node)
        for arc in arcs:
            target = scenario.arc[arc].target
            keeps = target != sid.node
            after = left if keeps else left[1:]
            ahead.append(Ahead(arc, [_label(scenario, each) for each in reversed(after)], keeps))
            if after and (target, len(after)) not in seen:
                seen.add((target, len(after)))
                open_.append((target, len(after)))
        found.append(Way(node, _label(scenario, sid), ahead))
    return found


def _label(scenario: Resolved, sid: Sid) -> int:
    return node_label(scenario, sid.node) if sid.arc is None else adjacency_label(scenario, sid.arc)


def node_label(scenario: Resolved, node: str) -> int:
    """Label of a node, the same at every router."""
    return scenario.written.te.srgb + list(scenario.nodes).index(node)


def adjacency_label(scenario: Resolved, arc: str) -> int:
    """Label of a direction of a link, at its first node."""
    return ADJACENCIES + list(scenario.arc).index(arc)
