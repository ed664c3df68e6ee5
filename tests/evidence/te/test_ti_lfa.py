"""Repair lists of TI-LFA: rings worked by hand, and every branch walked on random networks."""

import networkx as nx
import numpy as np
import pytest

from trunkline.te.ti_lfa import RepairList, find_repair_list
from trunkline.te.topology import Arc, add_reverse_arcs, build_topology


def ring(count, dear=None):
    names = [str(number) for number in range(1, count + 1)]
    pairs = list(zip(names, names[1:] + names[:1], strict=True))
    return build_topology(
        names, add_reverse_arcs(Arc(a, b, 1, igp=10 if {a, b} == dear else 1) for a, b in pairs)
    )


def lines(graph, target, protect="link"):
    """The list for a packet from 1 whose link to 2 fails."""
    repair = find_repair_list(
        graph, graph.igp, graph.find_path_through("1", "2")[0], graph.node_number[target], protect
    )
    assert isinstance(repair, RepairList)
    return [
        graph.nodes[each.node]
        if each.arc is None
        else f"{graph.arcs[each.arc].tail}-{graph.arcs[each.arc].head}"
        for each in repair.segments
    ]


# Rings of unit metric, link 1-2 fails. n = 5: from 5 the ways to 4 and 3 avoid the link, from 4 and
# 3 so do those to 2: both would do, 4 is the nearer. n = 6: from 6 to 3 both ways have 3 links, so
# 3 is not in P-space; from 5 to 2 the same, so 5 is not in Q-space: 4 alone.
RINGS = [(3, "2", []), (4, "2", ["3"]), (5, "2", ["4"]), (6, "2", ["4"]), (7, "2", ["5"])]


@pytest.mark.parametrize(("count", "target", "segments"), [*RINGS, (6, "3", ["5"])])
def test_rfc9855_s6_repair_lists_of_rings(count, target, segments):
    assert lines(ring(count), target) == segments


def test_rfc9855_s6_an_adjacency_segment_where_the_spaces_do_not_meet() -> None:
    # With 10 on 4-5 the way from 5 to 4 is 5 6 1 2 3 4, over what failed.
    assert lines(ring(6, {"4", "5"}), "2") == ["5", "5-4"]


def test_a_list_longer_than_the_depth_and_a_bridge_have_no_repair():
    graph = ring(6, {"4", "5"})
    link = graph.find_path_through("1", "2")[0]
    assert find_repair_list(graph, graph.igp, link, graph.node_number["2"], max_depth=1) is None
    line = build_topology("AB", add_reverse_arcs([Arc("A", "B", 1)]))
    assert find_repair_list(line, line.igp, 0, 1) is None


@pytest.mark.parametrize("protect", ["link", "node"])
@pytest.mark.parametrize("seed", range(6))
def test_every_branch_of_a_repair_avoids_the_failure_and_arrives(seed, protect):
    drawn = nx.gnm_random_graph(11, 19, seed=seed)
    draw = np.random.default_rng(seed)
    nodes = [f"n{node}" for node in drawn]
    arcs = [Arc(nodes[a], nodes[b], 1, igp=int(draw.integers(1, 6))) for a, b in drawn.edges]
    graph = build_topology(nodes, add_reverse_arcs(arcs))
    total = nx.Graph()
    total.add_nodes_from(nodes)
    total.add_weighted_edges_from((arc.tail, arc.head, arc.igp) for arc in arcs)
    repaired = 0
    for failed, arc in enumerate(graph.arcs):
        for target in nodes:
            if target == arc.tail or not nx.has_path(total, arc.head, target):
                continue
            left = total.copy()
            gone = protect == "node" and arc.head != target
            left.remove_node(arc.head) if gone else left.remove_edge(arc.tail, arc.head)
            repair = find_repair_list(graph, graph.igp, failed, graph.node_number[target], protect)
            if not nx.has_path(left, arc.tail, target):
                assert repair is None
                continue
            assert repair is not None
            repaired += 1
            way = graph.list_node_names(repair.path)
            length = nx.dijkstra_path_length(left, arc.tail, target)
            assert graph.igp[list(repair.path)].sum() == length
            at = way[1]
            assert left.has_edge(arc.tail, at)
            for segment in (*repair.segments, None):
                end = target if segment is None else graph.nodes[segment.node]
                if segment is not None and segment.arc is not None:
                    assert left.has_edge(at, end)
                else:
                    # Tables are still those before the failure: each of the equal shortest paths.
                    for one in nx.all_shortest_paths(total, at, end, weight="weight"):
                        assert nx.is_path(left, one)
                at = end
            assert at == target
    assert repaired > 20


def test_a_list_may_be_as_long_as_the_depth():
    graph = ring(6, {"4", "5"})
    link = graph.find_path_through("1", "2")[0]
    repair = find_repair_list(graph, graph.igp, link, graph.node_number["2"], max_depth=2)
    assert repair is not None
    assert len(repair.segments) == 2
    # A neighbour that is a loop-free alternate needs no segment, and no depth.
    free = find_repair_list(ring(3), ring(3).igp, 0, 1, max_depth=0)
    assert free is not None
    assert free.segments == ()
