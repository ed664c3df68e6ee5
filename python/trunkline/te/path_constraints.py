"""The constraints of a path, and the arcs that meet them."""

from dataclasses import dataclass

import numpy as np

from trunkline.te.topology import Bools, MetricName, Topology


@dataclass(frozen=True, slots=True)
class ViaNode:
    """A node that a path must visit, in the order given (RFC 3209, 4.3).

    A ``strict`` node follows the one before without a node between.
    """

    node: int
    strict: bool = False


@dataclass(frozen=True, slots=True)
class PathConstraints:
    """The constraints of a path."""

    bandwidth: int = 0  # Bit/s that must be unreserved on every link.
    metric: MetricName = "igp"  # The sum that is least along the path.
    # include_any, include_all, exclude: Colours (RFC 3209, 4.7.4): a link has one of the first
    # unless there are none, all of the second, none of the third.
    include_any: frozenset[str] = frozenset()
    include_all: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    via: tuple[ViaNode, ...] = ()  # Nodes to visit.
    # max_hops, max_delay: Bounds on the number of links and on the propagation in nanoseconds.
    max_hops: int | None = None
    max_delay: int | None = None
    # Arcs not to use, because they are not disjoint from another path.
    avoid: frozenset[int] = frozenset()


def find_permitted_arcs(topology: Topology, constraints: PathConstraints, usable: Bools) -> Bools:
    """Find the usable arcs of the right colours that are not to be avoided, shape (E,)."""
    permitted_arcs = usable
    if constraints.avoid:
        permitted_arcs = permitted_arcs.copy()
        permitted_arcs[list(constraints.avoid)] = False
    if constraints.include_any or constraints.include_all or constraints.exclude:
        permitted_arcs = permitted_arcs & find_coloured_arcs(topology, constraints)
    return permitted_arcs


def find_coloured_arcs(topology: Topology, constraints: PathConstraints) -> Bools:
    """Find the arcs whose colours satisfy the three conditions of RFC 3209, 4.7.4, shape (E,)."""
    return np.array(
        [
            (not constraints.include_any or bool(constraints.include_any & arc.colours))
            and constraints.include_all <= arc.colours
            and not (constraints.exclude & arc.colours)
            for arc in topology.arcs
        ]
    )
