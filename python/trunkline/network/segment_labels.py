"""Labels of segment routing: those that a policy pushes, and the actions of routers on its way.

A node's label is the SRGB's first plus the node's place in `nodes`, the same at every router; the
node before it pops it (penultimate-hop popping). The label of a link belongs to its first node,
which pops it (RFC 8402 section 3.4).
"""

from typing import NamedTuple

from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.placement import build_topology
from trunkline.scenario.resolved.resolved import PolicySegment
from trunkline.scenario.resolved.segments import list_next_arcs

FIRST_ADJACENCY_LABEL = 15_000  # First label of links, where no SRGB usually is.

LabelStacks = list[list[int]]  # Labels on a packet behind each hop of its route, from the bottom.


def compute_label_stacks(scenario: ResolvedScenario, name: str) -> LabelStacks:
    """Compute the labels after each hop of a policy's route."""
    remaining = list(scenario.policies[name])
    result: LabelStacks = []
    for hop in scenario.routes[name].hops:
        if hop.target == remaining[0].node:
            # The next node ends the segment: its label is off already, or is taken off here.
            remaining.pop(0)
        result.append([_get_sid_label(scenario, sid) for sid in reversed(remaining)])
    return result


class SegmentNextHop(NamedTuple):
    """A next hop of a policy at one node."""

    arc: str  # Direction of a link.
    labels: list[int]  # Labels on the packet behind it, from the bottom.
    keeps_top_label: bool  # Whether the label on top stays.


class SegmentForwarding(NamedTuple):
    """The forwarding of a policy's packets at one node."""

    node: str
    label: int  # Label on top on arrival; at the first node that of the first segment.
    next_hops: list[SegmentNextHop]  # Next hops of equal cost.


def compute_segment_forwarding(scenario: ResolvedScenario, name: str) -> list[SegmentForwarding]:
    """Compute the forwarding at every node that ECMP can use for a policy, its first node first."""
    graph = build_topology(scenario)
    start = (scenario.routes[name].nodes[0], len(scenario.policies[name]))
    forwarding: list[SegmentForwarding] = []
    seen, queue = {start}, [start]
    while queue:
        node, count = queue.pop(0)
        remaining = scenario.policies[name][-count:]
        sid, next_hops = remaining[0], []
        arcs = [sid.arc] if sid.arc is not None else list_next_arcs(scenario, graph, node, sid.node)
        for arc in arcs:
            target = scenario.arc_by_name[arc].target
            keeps_top_label = target != sid.node
            segments_after = remaining if keeps_top_label else remaining[1:]
            next_hops.append(
                SegmentNextHop(
                    arc,
                    [_get_sid_label(scenario, each) for each in reversed(segments_after)],
                    keeps_top_label,
                )
            )
            if segments_after and (target, len(segments_after)) not in seen:
                seen.add((target, len(segments_after)))
                queue.append((target, len(segments_after)))
        forwarding.append(SegmentForwarding(node, _get_sid_label(scenario, sid), next_hops))
    return forwarding


def _get_sid_label(scenario: ResolvedScenario, sid: PolicySegment) -> int:
    return (
        get_node_label(scenario, sid.node)
        if sid.arc is None
        else get_adjacency_label(scenario, sid.arc)
    )


def get_node_label(scenario: ResolvedScenario, node: str) -> int:
    """Label of a node, the same at every router."""
    return scenario.written.te.srgb + list(scenario.nodes).index(node)


def get_adjacency_label(scenario: ResolvedScenario, arc: str) -> int:
    """Return the label of a direction of a link at its first node."""
    return FIRST_ADJACENCY_LABEL + list(scenario.arc_by_name).index(arc)
