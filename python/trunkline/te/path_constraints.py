"""What a path must satisfy, and which arcs may serve it."""

from dataclasses import dataclass

import numpy as np

from trunkline.te.topology import Bools, MetricName, Topology


@dataclass(frozen=True, slots=True)
class ViaNode:
    """A node that a path must visit, in the order given (RFC 3209, 4.3).

    Parameters
    ----------
    node : int
        Its number.
    strict : bool
        Whether it must follow the one before without a node between.
    """

    node: int
    strict: bool = False


@dataclass(frozen=True, slots=True)
class PathConstraints:
    """What a path must satisfy.

    Parameters
    ----------
    bandwidth : int
        Bit/s that must be unreserved on every link.
    metric : {"igp", "te", "delay"}
        What is least along the path.
    include_any, include_all, exclude : frozenset of str
        Colours (RFC 3209, 4.7.4): a link has one of the first unless there are none, all of the
        second, none of the third.
    via : tuple of ViaNode
        Nodes to visit.
    max_hops : int, optional
        Bound on the number of links.
    max_delay : int, optional
        Bound on the propagation, nanoseconds.
    avoid : frozenset of int
        Arcs not to use, because they are not disjoint from another path.
    """

    bandwidth: int = 0
    metric: MetricName = "igp"
    include_any: frozenset[str] = frozenset()
    include_all: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    via: tuple[ViaNode, ...] = ()
    max_hops: int | None = None
    max_delay: int | None = None
    avoid: frozenset[int] = frozenset()


def find_permitted_arcs(topology: Topology, constraints: PathConstraints, usable: Bools) -> Bools:
    """Arcs that are up, disjoint from what is avoided and of the right colours.

    Parameters
    ----------
    constraints : PathConstraints
        What must hold.
    usable : array of bool, shape (E,)
        Arcs that are up.

    Returns
    -------
    array of bool, shape (E,)
        Whether each may be used.
    """
    permitted_arcs = usable
    if constraints.avoid:
        permitted_arcs = permitted_arcs.copy()
        permitted_arcs[list(constraints.avoid)] = False
    if constraints.include_any or constraints.include_all or constraints.exclude:
        permitted_arcs = permitted_arcs & find_coloured_arcs(topology, constraints)
    return permitted_arcs


def find_coloured_arcs(topology: Topology, constraints: PathConstraints) -> Bools:
    """Arcs whose colours satisfy the three conditions of RFC 3209, 4.7.4.

    Parameters
    ----------
    constraints : PathConstraints
        Its sets of colours.

    Returns
    -------
    array of bool, shape (E,)
        Whether each arc passes.
    """
    return np.array(
        [
            (not constraints.include_any or bool(constraints.include_any & arc.colours))
            and constraints.include_all <= arc.colours
            and not (constraints.exclude & arc.colours)
            for arc in topology.arcs
        ]
    )
