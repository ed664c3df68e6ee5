"""Loads after single link failures: public values of SNDlib, routing from scratch, small cases."""

import itertools

import networkx as nx
import numpy as np
import pytest
import sndlib

from trunkline.te.post_failure_routing import ShortestPathRouting, find_components
from trunkline.te.spf import compute_ecmp_loads
from trunkline.te.topology import Arc, add_reverse_arcs, build_topology

# Network, capacity, largest utilisation after any single link failure under ECMP by hops, its ends.
PUBLIC = [
    ("pdh", 1000, 0.462500, {"N3", "N10"}),
    ("di-yuan", 10, 0.614286, {"8", "10"}),
    ("norway", 1000, 0.679083, {"N3", "N4"}),
    ("india35", 1000, 0.378083, {"6", "32"}),
    ("nobel-eu", 200, 2.561250, {"Berlin", "Hamburg"}),
]


@pytest.mark.parametrize(("name", "capacity", "most", "ends"), PUBLIC)
def test_worst_single_link_failure_of_an_sndlib_network(name, capacity, most, ends):
    graph, traffic = sndlib.load_network(name, capacity)
    routing = ShortestPathRouting(graph, graph.igp, traffic)
    found = {
        link: routing.route_after_failure(graph.link == number).loads.max() / capacity
        for number, link in enumerate(graph.links)
    }
    worst = max(found, key=found.get)
    arc = next(arc for arc in graph.arcs if arc.name == worst)
    assert found[worst] == pytest.approx(most, abs=5e-7)
    assert {arc.tail, arc.head} == ends


@pytest.mark.parametrize("seed", range(6))
def test_routing_anew_what_a_failure_touches_is_routing_everything_anew(seed):
    drawn = nx.gnm_random_graph(12, 18, seed=seed)
    draw = np.random.default_rng(seed)
    nodes = [str(node) for node in drawn]
    arcs = [Arc(nodes[a], nodes[b], 1, igp=int(draw.integers(1, 5))) for a, b in drawn.edges]
    graph = build_topology(nodes, add_reverse_arcs(arcs))
    traffic = draw.random((12, 12)) * (1 - np.eye(12))
    routing = ShortestPathRouting(graph, graph.igp, traffic)
    for number in range(len(graph.links)):
        dead = graph.link == number
        loads, lost = compute_ecmp_loads(graph, graph.igp, traffic, ~dead)
        after = routing.route_after_failure(dead)
        assert after.loads == pytest.approx(loads, abs=1e-9)
        assert after.lost == pytest.approx(lost, abs=1e-9)


def square():
    arcs = [Arc("A", "B", 10, delay=1), Arc("B", "C", 10, delay=1)]
    arcs += [Arc("A", "D", 10, delay=5), Arc("D", "C", 10, delay=5)]
    return build_topology("ABCD", add_reverse_arcs(arcs))


def test_a_single_next_hop_is_that_of_the_smallest_number_and_the_stretch_that_of_its_way():
    graph = square()
    traffic = np.zeros((4, 4))
    traffic[0, 2] = 4
    routing = ShortestPathRouting(graph, graph.igp, traffic, single_path=True)
    assert graph.list_node_names(routing.find_path(0, 2)) == ("A", "B", "C")
    assert routing.loads[list(graph.find_path_through("A", "B", "C"))].tolist() == [4, 4]
    after = routing.route_after_failure(graph.link == graph.links.index("B-C"))
    assert after.loads[list(graph.find_path_through("A", "D", "C"))].tolist() == [4, 4]
    # 5 + 5 in place of 1 + 1.
    assert (after.lost, after.moved, after.stretch) == (0, 4, 8)


@pytest.mark.filterwarnings("error")
def test_a_bridge_is_a_loss_and_two_parts_not_a_division_by_zero():
    graph = build_topology("ABC", add_reverse_arcs([Arc("A", "B", 1), Arc("B", "C", 1)]))
    graph = build_topology("ABCD", [*graph.arcs])
    traffic = np.zeros((4, 4))
    # D has no link at all: lost before the failure and after it.
    traffic[0, 2] = traffic[0, 1] = traffic[3, 2] = 1
    dead = graph.link == 1
    after = ShortestPathRouting(graph, graph.igp, traffic).route_after_failure(dead)
    assert after.lost == 2
    assert after.loads[0] == 1
    label = find_components(graph, ~dead)
    assert label[0] == label[1] != label[2]


@pytest.mark.parametrize("single_path", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_moved_and_the_longest_way_of_each_two_nodes_by_networkx(seed, single_path):
    """Stretch: the growth of the longest of the equal paths, or of the path of smallest numbers."""
    draw = np.random.default_rng(seed)
    drawn = nx.gnm_random_graph(8, 13, seed=seed)
    nodes = [str(node) for node in drawn]
    arcs = [
        Arc(nodes[a], nodes[b], 1, igp=int(draw.integers(1, 4)), delay=int(draw.integers(1, 50)))
        for a, b in drawn.edges
    ]
    graph = build_topology(nodes, add_reverse_arcs(arcs))
    traffic = draw.random((8, 8)) * (draw.random((8, 8)) < 0.4) * (1 - np.eye(8))
    routing = ShortestPathRouting(graph, graph.igp, traffic, single_path=single_path)
    total = nx.DiGraph()
    total.add_nodes_from(range(8))
    for arc in range(len(graph.arcs)):
        ends = int(graph.tail[arc]), int(graph.head[arc])
        total.add_edge(*ends, igp=int(graph.igp[arc]), delay=int(graph.delay[arc]))

    def list_ways(net, source, target):
        if not nx.has_path(net, source, target):
            return []
        ways = list(nx.all_shortest_paths(net, source, target, weight="igp"))
        # At each node the next one of the smallest number: the first of all in that order.
        return [min(ways)] if single_path else ways

    def measure(ways):
        return max((nx.path_weight(total, way, "delay") for way in ways), default=0)

    def share(ways, pair):
        """Part of the traffic between two nodes that crosses a link: equal shares at each node."""
        if single_path:
            return float(any(pair in itertools.pairwise(way) for way in ways))
        at, used = {ways[0][0]: 1.0}, 0.0
        steps = {(a, b) for way in ways for a, b in itertools.pairwise(way)}
        for node in nx.topological_sort(nx.DiGraph(steps)):
            following = [b for a, b in steps if a == node]
            for each in following:
                part = at[node] / len(following)
                at[each] = at.get(each, 0.0) + part
                used += part if (node, each) == pair else 0.0
        return used

    for number in range(len(graph.links)):
        dead = graph.link == number
        pairs = [(int(graph.tail[arc]), int(graph.head[arc])) for arc in np.flatnonzero(dead)]
        left = total.copy()
        left.remove_edges_from(pairs)
        moved = stretch = 0.0
        for source, target in zip(*np.nonzero(traffic), strict=True):
            ways = list_ways(total, int(source), int(target))
            if not ways:
                continue
            crossed = sum(share(ways, pair) for pair in pairs)
            moved += traffic[source, target] * crossed
            after = list_ways(left, int(source), int(target))
            if crossed and after:
                stretch = max(stretch, measure(after) - measure(ways))
        found = routing.route_after_failure(dead)
        assert found.moved == pytest.approx(moved)
        assert found.stretch == stretch


def test_the_path_between_two_nodes_is_empty_where_there_is_none():
    graph = build_topology("ABC", add_reverse_arcs([Arc("A", "B", 1)]))
    traffic = np.zeros((3, 3))
    traffic[0, 1] = traffic[2, 1] = 1
    routing = ShortestPathRouting(graph, graph.igp, traffic)
    assert routing.find_path(0, 1) == (0,)
    assert routing.find_path(2, 1) == ()


def test_the_growth_of_a_way_is_that_between_two_nodes_with_traffic_alone() -> None:
    """A to C over D is 1 + 9 in place of 1 + 1: 8 more. D, which has none, is 9 away."""
    delays = {"AB": 1, "BC": 1, "AD": 1, "DC": 9}
    metrics = {"AB": 1, "BC": 1, "AD": 1, "DC": 2}
    arcs = [Arc(*ends, 10, igp=metrics[ends], delay=delays[ends]) for ends in delays]
    graph = build_topology("ABCD", add_reverse_arcs(arcs))
    traffic = np.zeros((4, 4))
    traffic[0, 2] = 4
    for single_path in (False, True):
        routing = ShortestPathRouting(graph, graph.igp, traffic, single_path=single_path)
        after = routing.route_after_failure(graph.link == graph.links.index("A-B"))
        assert (after.moved, after.stretch) == (4, 8)
