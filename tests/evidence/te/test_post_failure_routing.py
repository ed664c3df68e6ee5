"""Loads after single link failures: public values of SNDlib, routing from scratch, small cases."""

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
