"""What a path must satisfy, and which arcs may serve it."""

from dataclasses import dataclass

import numpy as np

from trunkline.te.topology import Bools, Metric, Topology


@dataclass(frozen=True, slots=True)
class Via:
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
class Constraints:
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
    via : tuple of Via
        Nodes to visit.
    max_hops : int, optional
        Bound on the number of links.
    max_delay : int, optional
        Bound on the propagation, nanoseconds.
    avoid : frozenset of int
        Arcs not to use, because they are not disjoint from another path.
    """

    bandwidth: int = 0
    metric: Metric = "igp"
    include_any: frozenset[str] = frozenset()
    include_all: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    via: tuple[Via, ...] = ()
    max_hops: int | None = None
    max_delay: int | None = None
    avoid: frozenset[int] = frozenset()


def permitted(topology: Topology, asked: Constraints, usable: Bools) -> Bools:
    """Arcs that are up, disjoint from what is avoided and of the right colours.

    Parameters
    ----------
    asked : Constraints
        What must hold.
    usable : array of bool, shape (E,)
        Arcs that are up.

    Returns
    -------
    array of bool, shape (E,)
        Whether each may be used.
    """
    kept = usable
    if asked.avoid:
        kept = kept.copy()
        kept[list(asked.avoid)] = False
    if asked.include_any or asked.include_all or asked.exclude:
        kept = kept & coloured(topology, asked)
    return kept


def coloured(topology: Topology, asked: Constraints) -> Bools:
    """Arcs whose colours satisfy the three conditions of RFC 3209, 4.7.4.

    Parameters
    ----------
    asked : Constraints
        Its sets of colours.

    Returns
    -------
    array of bool, shape (E,)
        Whether each arc passes.
    """
    return np.array(
        [
            (not asked.include_any or bool(asked.include_any & arc.colours))
            and asked.include_all <= arc.colours
            and not (asked.exclude & arc.colours)
            for arc in topology.arcs
        ]
    )
