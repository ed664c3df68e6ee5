"""CSPF and its refusals against every simple path of random networks, listed by networkx."""

from __future__ import annotations

import math
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from trunkline.te.cspf import find_constrained_path
from trunkline.te.path_constraints import PathConstraints, ViaNode
from trunkline.te.refusal import Refusal, RefusalReason
from trunkline.te.topology import Arc, Topology, build_topology

COLOURS = ["gold", "silver"]


def draw_topology(draw: np.random.Generator) -> Topology:
    """Seven nodes; costs, delays and rates of few values, so that many paths are alike."""
    arcs = []
    for number in range(16):
        tail, head = draw.choice(7, 2, replace=False)
        cost, delay, rate = (int(each) for each in draw.integers(1, 4, 3))
        colours = frozenset(name for name in COLOURS if draw.random() < 0.6)
        ends = "ABCDEFG"[tail], "ABCDEFG"[head]
        arcs.append(Arc(*ends, rate, f"l{number}", igp=cost, delay=delay, colours=colours))
    return build_topology("ABCDEFG", arcs)


def draw_constraints(draw: np.random.Generator, arcs: int) -> PathConstraints:
    """Each constraint is there or not."""

    def chosen(probability: float, value: object, otherwise: object = None) -> object:
        return value if draw.random() < probability else otherwise

    nodes = draw.permutation(np.arange(1, 6))[: draw.integers(0, 3)]
    keys: dict[str, object] = {
        "bandwidth": int(draw.integers(0, 4)),
        "include_any": chosen(0.3, frozenset(COLOURS), frozenset()),
        "include_all": chosen(0.2, frozenset(COLOURS[:1]), frozenset()),
        "exclude": chosen(0.2, frozenset(COLOURS[1:]), frozenset()),
        "via": tuple(ViaNode(int(node), bool(draw.random() < 0.4)) for node in nodes),
        "max_hops": chosen(0.5, int(draw.integers(1, 5))),
        "max_delay": chosen(0.5, int(draw.integers(1, 9))),
        "avoid": frozenset(int(arc) for arc in draw.choice(arcs, 2)),
    }
    return PathConstraints(**keys)  # type: ignore[arg-type]


def list_paths(topology: Topology, source: int, target: int) -> list[tuple[int, ...]]:
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(len(topology.nodes)))
    for arc in range(len(topology.arcs)):
        graph.add_edge(int(topology.tail[arc]), int(topology.head[arc]), arc)
    edges = nx.all_simple_edge_paths(graph, source, target)
    return [tuple(arc for _, _, arc in path) for path in edges]


def visits(topology: Topology, path: tuple[int, ...], via: tuple[ViaNode, ...]) -> bool:
    """RFC 3209 section 4.3: the nodes in their order, a strict one just behind the one before."""
    nodes = [int(topology.tail[path[0]]), *(int(topology.head[arc]) for arc in path)]
    if not {each.node for each in via} <= set(nodes):
        return False
    places = [0, *(nodes.index(each.node) for each in via), len(nodes) - 1]
    return all(a < b for a, b in pairwise(places)) and all(
        b == a + 1 for (a, b), each in zip(pairwise(places[:-1]), via, strict=True) if each.strict
    )


def bound_sum(
    topology: Topology, ends: tuple[int, int], via: tuple[ViaNode, ...], metric: np.ndarray,
    kept: np.ndarray,
) -> float:  # fmt: skip
    """The least sum through the nodes, each section by itself."""
    total = 0.0
    stops = [(ends[0], False), *((each.node, each.strict) for each in via), (ends[1], False)]
    for (tail, _), (head, strict) in pairwise(stops):
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(range(len(topology.nodes)))
        for arc in np.flatnonzero(kept):
            edge = int(topology.tail[arc]), int(topology.head[arc])
            if not strict or edge == (tail, head):
                graph.add_edge(*edge, weight=int(metric[arc]))
        total += nx.shortest_path_length(graph, tail, head, weight="weight")
    return total


def is_coloured(arc: Arc, asked: PathConstraints) -> bool:
    """RFC 3209 section 4.7.4, tests 1 to 3."""
    return (
        not (asked.exclude & arc.colours)
        and (not asked.include_any or bool(asked.include_any & arc.colours))
        and asked.include_all <= arc.colours
    )


def rank(topology: Topology, path: tuple[int, ...], free: np.ndarray) -> tuple[float, ...]:
    """Metric, hops and the least ratio of unreserved to reservable bandwidth, the largest first."""
    arcs = list(path)
    ratio = free[arcs] / topology.reservable[arcs]
    return int(topology.igp[arcs].sum()), len(arcs), -float(ratio.min())


def expect(
    topology: Topology, ends: tuple[int, int], asked: PathConstraints, free: np.ndarray,
    usable: np.ndarray,
) -> tuple[RefusalReason, float | None] | list[tuple[int, ...]]:  # fmt: skip
    """The reason of a refusal and its best value, or all paths that meet the constraints."""
    paths = list_paths(topology, *ends)
    stages: dict[RefusalReason, np.ndarray] = {
        "disconnected": usable,
        "disjoint": ~np.isin(np.arange(len(free)), list(asked.avoid)),
        "colour": np.array([is_coloured(arc, asked) for arc in topology.arcs]),
        "bandwidth": free >= asked.bandwidth,
    }
    kept = np.ones(len(free), dtype=bool)
    for reason, stage in stages.items():
        before, kept = paths, kept & stage
        paths = [path for path in paths if stage[list(path)].all()]
        if not paths:
            widest = max((int(free[list(path)].min()) for path in before), default=None)
            return reason, widest if reason == "bandwidth" else None
    paths = [path for path in paths if visits(topology, path, asked.via)]
    if not paths:
        return "via", None
    within = [
        path
        for path in paths
        if len(path) <= (asked.max_hops or math.inf)
        and topology.delay[list(path)].sum() <= (asked.max_delay or math.inf)
    ]
    if within:
        return within
    hops = bound_sum(topology, ends, asked.via, np.ones(len(free)), kept)
    delay = bound_sum(topology, ends, asked.via, topology.delay, kept)
    if asked.max_hops is not None and hops > asked.max_hops:
        return "hops", hops
    if asked.max_delay is not None and delay > asked.max_delay:
        return "delay", delay
    return "bounds", None


@pytest.mark.parametrize("seed", range(12))
def test_each_refusal_names_the_first_constraint_that_leaves_no_path(seed: int) -> None:
    """A path found is the cheapest, then of the fewest hops, then the least filled."""
    draw = np.random.default_rng(seed)
    reasons = set()
    for _ in range(60):
        topology = draw_topology(draw)
        count = len(topology.arcs)
        asked, ends = draw_constraints(draw, count), (0, 6)
        free = np.minimum(topology.reservable, draw.integers(0, 4, count))
        usable = draw.random(count) < 0.95
        found = find_constrained_path(topology, *ends, asked, free, usable)
        expected = expect(topology, ends, asked, free, usable)
        if isinstance(found, Refusal):
            assert (found.reason, found.best) == expected
            reasons.add(found.reason)
            continue
        assert isinstance(expected, list)
        assert found.path in expected
        ranks = {path: rank(topology, path, free) for path in expected}
        assert ranks[found.path] == min(ranks.values())
        assert (found.metric, found.hops, -found.fill) == ranks[found.path]
        assert found.delay == topology.delay[list(found.path)].sum()
    assert reasons >= {"disconnected", "colour", "bandwidth"}


@pytest.mark.parametrize("seed", range(4))
def test_the_cut_of_a_refusal_meets_every_path_that_the_constraint_took(seed: int) -> None:
    """Each of its arcs was there before; without all of them no path is left (Menger 1927)."""
    draw = np.random.default_rng(100 + seed)
    seen = set()
    for _ in range(80):
        topology = draw_topology(draw)
        free = draw.integers(0, 3, len(topology.arcs))
        asked = PathConstraints(bandwidth=2, exclude=frozenset(COLOURS[:1]))
        usable = np.ones(len(free), dtype=bool)
        found = find_constrained_path(topology, 0, 6, asked, free, usable)
        if not isinstance(found, Refusal) or found.reason == "disconnected":
            continue
        coloured = np.array([is_coloured(arc, asked) for arc in topology.arcs])
        removed = ~coloured if found.reason == "colour" else coloured & (free < 2)
        before = np.ones(len(free), dtype=bool) if found.reason == "colour" else coloured
        assert found.cut
        assert removed[list(found.cut)].all()
        for path in list_paths(topology, 0, 6):
            if before[list(path)].all():
                assert set(path) & set(found.cut)
        seen.add(found.reason)
    assert seen == {"colour", "bandwidth"}


@pytest.mark.parametrize(
    ("hops", "delay", "expected"),
    [
        (1, 9, ("hops", 2)),
        (9, 3, ("delay", 4)),
        # The fewest hops and the least delay are allowed, but of different paths.
        (2, 4, ("bounds", None)),
        (2, 9, ("bounds", None)),
    ],
)
def test_bounds_that_are_just_met_one_by_one_are_refused_together(hops, delay, expected) -> None:
    """Over B: 2 links and 10 ns; over C and D: 3 links and 4 ns."""
    arcs = [("A", "B", 5), ("B", "E", 5), ("A", "C", 1), ("C", "D", 1), ("D", "E", 2)]
    topology = build_topology("ABCDE", [Arc(a, b, 1, delay=length) for a, b, length in arcs])
    asked = PathConstraints(max_hops=hops, max_delay=delay)
    found = find_constrained_path(topology, 0, 4, asked, topology.reservable)
    assert isinstance(found, Refusal)
    assert (found.reason, found.best) == expected


def test_of_two_cuts_of_as_many_arcs_that_at_the_source_is_named() -> None:
    """Both links in a row are too thin; with a third way at the source, the end has the fewer."""
    graph = build_topology("ABC", [Arc("A", "B", 1), Arc("B", "C", 1)])
    found = find_constrained_path(graph, 0, 2, PathConstraints(2), graph.reservable)
    assert isinstance(found, Refusal)
    assert found.cut == (0,)
    wide = build_topology("ABC", [*graph.arcs, Arc("A", "B", 1, "more")])
    found = find_constrained_path(wide, 0, 2, PathConstraints(2), wide.reservable)
    assert isinstance(found, Refusal)
    assert found.cut == (1,)


def test_links_without_delay_and_paths_without_bandwidth_need_none() -> None:
    """A link that is full carries a path of 0 bit/s."""
    graph = build_topology("ABC", [Arc("A", "B", 1), Arc("B", "C", 1)])
    nothing = np.zeros(2, dtype=np.int64)
    found = find_constrained_path(graph, 0, 2, PathConstraints(), nothing)
    assert not isinstance(found, Refusal)
    assert (found.path, found.delay) == ((0, 1), 0)
    found = find_constrained_path(graph, 0, 2, PathConstraints(max_hops=1, max_delay=0), nothing)
    assert isinstance(found, Refusal)
    assert (found.reason, found.best) == ("hops", 2)
    assert not isinstance(
        find_constrained_path(graph, 0, 2, PathConstraints(max_delay=0), nothing), Refusal
    )
