"""Graphs: what is no link or no node is refused, and what is left out has its default."""

from __future__ import annotations

import numpy as np
import pytest

from trunkline.te.spf import (
    choose_next_arcs,
    compute_distances,
    compute_trees,
    find_cheapest_path,
    find_equal_cost_arcs,
)
from trunkline.te.topology import Arc, add_reverse_arcs, build_topology


@pytest.mark.parametrize(
    ("arc", "message"),
    [
        (Arc("A", "C", 1), "link A-C: no node 'C'"),
        (Arc("C", "A", 1), "link A-C: no node 'C'"),
        (Arc("A", "A", 1), "link A-A leads from A to itself"),
        (Arc("A", "B", 0), "link A-B: capacity and metrics are 1 or more, not 0"),
        (Arc("A", "B", 5, igp=0), "not 0"),
        (Arc("A", "B", 5, igp=3, te=-2), "not -2"),
        (Arc("A", "B", 5, te=0, igp=4), "not 0"),
        (Arc("A", "B", 5, "x", delay=-1), "link x: delay and reservable bandwidth are 0 or more"),
        (Arc("A", "B", 5, reservable=-1), "delay and reservable bandwidth are 0 or more"),
    ],
)
def test_an_arc_that_is_none_is_refused(arc: Arc, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_topology("AB", [arc])


def test_the_least_values_are_allowed_and_a_node_has_one_name() -> None:
    graph = build_topology("AB", [Arc("A", "B", 1, igp=1, te=1, delay=0, reservable=0)])
    assert (graph.reservable[0], graph.delay[0]) == (0, 0)
    with pytest.raises(ValueError, match="a node is declared twice"):
        build_topology("ABA", [])


def test_rfc3630_2_5_defaults_of_a_link_and_its_metrics_by_name() -> None:
    """TE metric: that of the IGP; reservable: all; a link without delay still costs something."""
    arcs = [Arc("B", "A", 7), Arc("B", "C", 9, "x", 20, igp=4, te=6, delay=30)]
    graph = build_topology("ABC", arcs)
    assert graph.links == ("A-B", "x")
    assert graph.reservable.tolist() == [7, 20]
    assert graph.delay.tolist() == [0, 30]
    assert graph.get_metric("igp").tolist() == [1, 4]
    assert graph.get_metric("te").tolist() == [1, 6]
    assert graph.get_metric("delay").tolist() == [1, 30]
    assert graph.list_node_names(()) == ()
    assert graph.list_node_names((1,)) == ("B", "C")


def test_rfc4202_2_3_risks_have_the_arcs_of_all_links_in_them_by_name() -> None:
    arcs = [Arc("A", "B", 1, risks=frozenset("zq")), Arc("B", "C", 1, risks=frozenset("z"))]
    graph = build_topology("ABC", add_reverse_arcs(arcs))
    assert list(graph.group_arcs_by_risk().items()) == [("q", (0, 1)), ("z", (0, 1, 2, 3))]


def test_of_parallel_links_the_cheapest_is_taken_and_then_the_first() -> None:
    arcs = [
        Arc("A", "B", 1, name, igp=cost) for name, cost in zip("wxyz", (3, 2, 2, 9), strict=True)
    ]
    graph = build_topology("ABC", [*arcs, Arc("B", "C", 1), Arc("B", "C", 1, "again")])
    price = graph.igp.astype(float)
    assert find_cheapest_path(graph, price, 0, 2) == (1, 4)
    usable = np.array([True, False, False, True, False, True])
    assert find_cheapest_path(graph, price, 0, 2, usable) == (0, 5)
    usable[[0, 3]] = False
    assert find_cheapest_path(graph, price, 0, 2, usable) is None
    distance, last = compute_trees(graph, graph.igp)
    assert distance[0].tolist() == [0, 2, 3]
    assert last[0].tolist() == [-1, 1, 4]
    assert last[2].tolist() == [-1, -1, -1]


def test_the_next_arc_leads_to_the_smallest_number_and_is_the_first_there() -> None:
    """As the packet engine routes: node numbers decide before arc numbers; -1 where no way is."""
    pairs = [("S", "C"), ("S", "B"), ("S", "B"), ("B", "T"), ("C", "T"), ("D", "S")]
    graph = build_topology(
        "SBCTD", [Arc(*ends, 1, f"l{number}") for number, ends in enumerate(pairs)]
    )
    distance = compute_distances(graph, graph.igp, np.array([3, 4]))
    on_shortest = find_equal_cost_arcs(graph, graph.igp, distance)
    assert on_shortest[0].tolist() == [True] * 6
    assert not on_shortest[1].any()
    found = choose_next_arcs(graph, graph.igp, distance)
    assert found.tolist() == [[1, 3, 4, -1, 5], [-1] * 5]
    usable = np.array([True, False, True, True, True, True])
    assert choose_next_arcs(graph, graph.igp, distance, usable)[0, 0] == 2
    alone = build_topology("AB", [])
    nowhere = compute_distances(alone, alone.igp)
    assert choose_next_arcs(alone, alone.igp, nowhere).tolist() == [[-1, -1]] * 2
