"""The graph for traffic engineering: arcs with capacity, metrics, colours and risks.

Nodes and arcs are numbered from 0 in the order of declaration, and every other module uses these
numbers. Parallel arcs are separate. Where a result could depend on the numbers, names decide
instead, so the order of declaration changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
ArcPath = tuple[int, ...]  # Arcs from source to destination, in order.
MetricName = Literal["igp", "te", "delay"]


@dataclass(frozen=True, slots=True)
class Arc:
    """One direction of a link."""

    # tail, head: Nodes at its beginning and end.
    tail: str
    head: str
    capacity: int  # Bit/s, above 0.
    # Name of the link, equal in both directions: they fail together. By default the two nodes in
    # alphabetical order, ``A-B``.
    link: str = ""
    # Maximum reservable bandwidth in bit/s (RFC 3630, 2.5.7); by default the capacity. May be above
    # it.
    reservable: int | None = None
    # igp, te: Metrics, 1 or more. ``te`` is ``igp`` by default (RFC 3630, 2.5.5).
    igp: int = 1
    te: int | None = None
    delay: int = 0  # Propagation in nanoseconds.
    colours: frozenset[str] = frozenset()  # Administrative groups (RFC 3209, 4.7.4; RFC 7308).
    risks: frozenset[str] = frozenset()  # Shared risk link groups (RFC 4202, 2.3).

    def make_reverse(self) -> Arc:
        """Make the other direction of the same link, with the same attributes."""
        return replace(self, tail=self.head, head=self.tail, link=self.name)

    @property
    def name(self) -> str:
        """Name of the link, given or made of its nodes."""
        return self.link or "-".join(sorted((self.tail, self.head)))


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """A directed graph in arrays, made by `build_topology`. N nodes, E arcs, L links."""

    nodes: tuple[str, ...]  # Names, length N.
    arcs: tuple[Arc, ...]  # As declared, length E.
    # tail, head: shape (E,): Node numbers.
    tail: Ints
    head: Ints
    link: Ints  # shape (E,): Number of each arc's link in ``links``.
    links: tuple[str, ...]  # Names of links, length L.
    # capacity, reservable: shape (E,): Bit/s.
    capacity: Ints
    reservable: Ints
    # igp, te, delay: shape (E,): Metrics; delay in nanoseconds.
    igp: Ints
    te: Ints
    delay: Ints
    arcs_from: tuple[tuple[int, ...], ...]  # Arcs that leave each node, length N.
    # by_tail, by_head: shape (E,): Arcs sorted by the node they leave, and by the node they enter:
    # the compressed rows.
    by_tail: Ints
    # tail_start, head_start: shape (N + 1,): Where each node's arcs begin in them.
    tail_start: Ints
    by_head: Ints
    head_start: Ints
    rank: Ints  # shape (N,): Place of each node in the alphabetical order of names.
    # node_number, arcs_between: Number of a node by its name; numbers of arcs by (tail, head)
    # numbers.
    node_number: dict[str, int] = field(repr=False)
    arcs_between: dict[tuple[int, int], tuple[int, ...]] = field(repr=False)

    def get_metric(self, name: MetricName) -> Ints:
        """Return a metric of every arc.

        The delay is in nanoseconds; an arc without delay counts 1, so that no loop is free.
        """
        if name == "delay":
            return np.maximum(self.delay, 1)
        return self.igp if name == "igp" else self.te

    def list_node_names(self, path: ArcPath) -> tuple[str, ...]:
        """List the names of the nodes of a path from source to destination."""
        if not path:
            return ()
        return (self.arcs[path[0]].tail, *(self.arcs[a].head for a in path))

    def find_path_through(self, *nodes: str) -> ArcPath:
        """Find the path through named nodes, by the first of parallel arcs.

        Raises KeyError: Two of them are not adjacent.
        """
        numbers = [self.node_number[name] for name in nodes]
        return tuple(self.arcs_between[pair][0] for pair in pairwise(numbers))

    def trace_back(self, arc_into: Mapping[int, int] | Ints, source: int, target: int) -> ArcPath:
        """Follow the arc into each node from the target back to the source."""
        path: list[int] = []
        while target != source:
            path.append(int(arc_into[target]))
            target = int(self.tail[path[-1]])
        return tuple(reversed(path))

    def group_arcs_by_risk(self) -> dict[str, tuple[int, ...]]:
        """Group arcs by shared risk, in alphabetical order of the risks."""
        groups: dict[str, list[int]] = {}
        for number, arc in enumerate(self.arcs):
            for risk in arc.risks:
                groups.setdefault(risk, []).append(number)
        return {risk: tuple(groups[risk]) for risk in sorted(groups)}


def build_topology(nodes: Sequence[str], arcs: Iterable[Arc]) -> Topology:
    """Number nodes and arcs and lay them out in arrays.

    Arcs are directed; give a link that carries both ways twice (see `Arc.make_reverse` and
    `add_reverse_arcs`).

    Raises ValueError: A name twice, an unknown node, a loop of one arc, a capacity or metric below
        1.
    """
    listed = tuple(arcs)
    number = {name: i for i, name in enumerate(nodes)}
    if len(number) != len(nodes):
        raise ValueError("a node is declared twice")
    for arc in listed:
        _validate_arc(arc, number)
    links = {name: i for i, name in enumerate(dict.fromkeys(arc.name for arc in listed))}
    leaving: list[list[int]] = [[] for _ in nodes]
    index: dict[tuple[int, int], tuple[int, ...]] = {}
    for i, arc in enumerate(listed):
        pair = number[arc.tail], number[arc.head]
        leaving[pair[0]].append(i)
        index[pair] = (*index.get(pair, ()), i)
    rank = np.empty(len(nodes), dtype=np.int64)
    rank[np.array([number[name] for name in sorted(nodes)], dtype=np.int64)] = np.arange(len(nodes))

    def column(values: Iterable[int]) -> Ints:
        array = np.array(list(values), dtype=np.int64)
        array.flags.writeable = False
        return array

    tail = column(number[arc.tail] for arc in listed)
    head = column(number[arc.head] for arc in listed)
    by_tail, tail_start = _compress_rows(tail, len(nodes))
    by_head, head_start = _compress_rows(head, len(nodes))
    return Topology(
        nodes=tuple(nodes),
        arcs=listed,
        tail=tail,
        head=head,
        link=column(links[arc.name] for arc in listed),
        links=tuple(links),
        capacity=column(arc.capacity for arc in listed),
        reservable=column(
            arc.capacity if arc.reservable is None else arc.reservable for arc in listed
        ),
        igp=column(arc.igp for arc in listed),
        te=column(arc.igp if arc.te is None else arc.te for arc in listed),
        delay=column(arc.delay for arc in listed),
        arcs_from=tuple(tuple(out) for out in leaving),
        by_tail=by_tail,
        tail_start=tail_start,
        by_head=by_head,
        head_start=head_start,
        rank=rank,
        node_number=number,
        arcs_between=index,
    )


def add_reverse_arcs(arcs: Iterable[Arc]) -> list[Arc]:
    """Add behind each arc its other direction."""
    return [direction for arc in arcs for direction in (arc, arc.make_reverse())]


def _compress_rows(ends: Ints, count: int) -> tuple[Ints, Ints]:
    order = np.argsort(ends, kind="stable")
    return order, np.searchsorted(ends[order], np.arange(count + 1))


def _validate_arc(arc: Arc, number: dict[str, int]) -> None:
    for name in (arc.tail, arc.head):
        if name not in number:
            raise ValueError(f"link {arc.name}: no node {name!r}")
    if arc.tail == arc.head:
        raise ValueError(f"link {arc.name} leads from {arc.tail} to itself")
    smallest = min(arc.capacity, arc.igp, 1 if arc.te is None else arc.te)
    if smallest < 1:
        raise ValueError(f"link {arc.name}: capacity and metrics are 1 or more, not {smallest}")
    if arc.delay < 0 or (arc.reservable or 0) < 0:
        raise ValueError(f"link {arc.name}: delay and reservable bandwidth are 0 or more")
