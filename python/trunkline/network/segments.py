"""Labels of segment routing: what a policy pushes, and what every router on its way does with it.

A node's label is the SRGB's first plus the node's place in `nodes`, the same at every router; the
node before it takes it off (penultimate-hop popping). The label of a link is of its first node
alone, which takes it off (RFC 8402 section 3.4).
"""

from trunkline.scenario.resolved import Resolved
from trunkline.scenario.resolved.resolved import Sid

__all__ = ["Stacks", "adjacency_label", "stacks"]

ADJACENCIES = 15_000
"""First label of links, where no SRGB usually is."""

Stacks = list[list[int]]
"""Labels on a packet behind each hop of its route, from the bottom."""


def stacks(scenario: Resolved, name: str) -> Stacks:
    """Labels behind each hop of a policy's route.

    Parameters
    ----------
    scenario : Resolved
        The scenario.
    name : str
        A path with segments and a route.

    Returns
    -------
    list of list of int
        One a hop.
    """
    left = list(scenario.segmented[name])
    result: Stacks = []
    for hop in scenario.routes[name].hops:
        if hop.target == left[0].node:
            # The next node ends the segment: its label is off already, or is taken off here.
            left.pop(0)
        result.append([_label(scenario, sid) for sid in reversed(left)])
    return result


def _label(scenario: Resolved, sid: Sid) -> int:
    if sid.arc is None:
        return scenario.written.te.srgb + list(scenario.nodes).index(sid.node)
    return adjacency_label(scenario, sid.arc)


def adjacency_label(scenario: Resolved, arc: str) -> int:
    """Label of a direction of a link, at its first node."""
    return ADJACENCIES + list(scenario.arc).index(arc)
