"""Disjoint pairs and k shortest paths: textbook graphs by hand, random ones against networkx."""

import itertools

import networkx as nx
import numpy as np
import pytest

from trunkline.te.disjoint_paths import find_disjoint_pair, find_shared_arcs
from trunkline.te.k_shortest_paths import find_k_shortest_paths
from trunkline.te.topology import Arc, add_reverse_arcs, build_topology

TRAP = [
    ("A", "B", 1),
    ("B", "C", 1),
    ("C", "Z", 1),
    ("A", "D", 3),
    ("D", "C", 1),
    ("B", "E", 1),
    ("E", "Z", 3),
]


def trap():
    return build_topology("ABCDEZ", add_reverse_arcs(Arc(a, b, 1, igp=cost) for a, b, cost in TRAP))


@pytest.mark.parametrize("kind", ["link", "node", "risk"])
def test_the_pair_that_removing_the_shortest_path_first_does_not_find(kind):
    graph = trap()
    pair = find_disjoint_pair(
        graph, graph.node_number["A"], graph.node_number["Z"], graph.igp, kind
    )
    assert pair is not None
    assert {"".join(graph.list_node_names(way)) for way in (pair.first, pair.second)} == {
        "ABEZ",
        "ADCZ",
    }
    assert (pair.cost, pair.is_optimal) == (10, True)


def test_no_pair_over_a_bridge():
    graph = build_topology("ABC", add_reverse_arcs([Arc("A", "B", 1), Arc("B", "C", 1)]))
    assert find_disjoint_pair(graph, 0, 2, graph.igp) is None
    assert find_disjoint_pair(graph, 0, 2, graph.igp, "risk") is None


def test_a_shared_risk_forces_the_dearer_second_path():
    graph = build_topology(
        "ABCDZ",
        add_reverse_arcs(
            [
                Arc("A", "B", 1, risks=frozenset({"duct"})),
                Arc("B", "Z", 1),
                Arc("A", "C", 1, igp=2, risks=frozenset({"duct"})),
                Arc("C", "Z", 1, igp=2),
                Arc("A", "D", 1, igp=9),
                Arc("D", "Z", 1, igp=9),
            ]
        ),
    )
    links = find_disjoint_pair(graph, 0, 4, graph.igp)
    risks = find_disjoint_pair(graph, 0, 4, graph.igp, "risk")
    assert links is not None
    assert risks is not None
    assert (links.cost, risks.cost) == (6, 20)
    assert not find_shared_arcs(graph, risks.first, "risk") & set(risks.second)


# The graph of the textbooks on Yen's algorithm, directed.
TEXTBOOK = [
    ("C", "D", 3),
    ("C", "E", 2),
    ("D", "F", 4),
    ("E", "D", 1),
    ("E", "F", 2),
    ("E", "G", 3),
    ("F", "G", 2),
    ("F", "H", 1),
    ("G", "H", 2),
]


def test_the_five_shortest_of_the_textbook_and_the_tie_of_three_by_hops_and_names():
    graph = build_topology("CDEFGH", [Arc(a, b, 1, igp=cost) for a, b, cost in TEXTBOOK])
    ways = list(find_k_shortest_paths(graph, 0, 5, graph.igp, 5))
    assert ["".join(graph.list_node_names(way)) for way in ways] == [
        "CEFH",
        "CEGH",
        "CDFH",
        "CEDFH",
        "CEFGH",
    ]
    assert [int(graph.igp[list(way)].sum()) for way in ways] == [5, 7, 8, 8, 8]


def random_simple(seed):
    draw = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(9), 2))
    chosen = draw.choice(len(pairs), 18, replace=False)
    arcs = [
        Arc(f"n{pairs[i][0]}", f"n{pairs[i][1]}", 1, igp=int(draw.integers(1, 7))) for i in chosen
    ]
    graph = build_topology([f"n{i}" for i in range(9)], add_reverse_arcs(arcs))
    other = nx.DiGraph()
    other.add_nodes_from(range(9))
    for i in range(len(graph.arcs)):
        other.add_edge(int(graph.tail[i]), int(graph.head[i]), weight=int(graph.igp[i]), capacity=1)
    return graph, other


@pytest.mark.parametrize("seed", range(8))
def test_k_shortest_costs_of_random_graphs_agree_with_networkx(seed):
    graph, other = random_simple(seed)
    if not nx.has_path(other, 0, 8):
        assert not list(find_k_shortest_paths(graph, 0, 8, graph.igp, 10))
        return
    theirs = itertools.islice(nx.shortest_simple_paths(other, 0, 8, "weight"), 10)
    ours = list(find_k_shortest_paths(graph, 0, 8, graph.igp, 10))
    assert [int(graph.igp[list(way)].sum()) for way in ours] == [
        nx.path_weight(other, way, "weight") for way in theirs
    ]
    assert len(set(ours)) == len(ours)


@pytest.mark.parametrize("seed", range(12))
def test_pairs_of_random_graphs_cost_what_a_minimum_cost_flow_does(seed):
    graph, other = random_simple(seed)
    other.nodes[0]["demand"], other.nodes[8]["demand"] = -2, 2
    try:
        least = nx.min_cost_flow_cost(other)
    except nx.NetworkXUnfeasible:
        least = None
    pair = find_disjoint_pair(graph, 0, 8, graph.igp)
    assert (pair.cost if pair else None) == least
    if pair:
        assert not find_shared_arcs(graph, pair.first, "link") & set(pair.second)
    inner = find_disjoint_pair(graph, 0, 8, graph.igp, "node")
    if inner:
        assert not find_shared_arcs(graph, inner.first, "node") & set(inner.second)
        assert inner.cost >= least


def test_a_pair_of_dearer_paths_is_found_where_the_cheapest_has_a_dear_partner():
    """10 and 19 make 29, 11 and 11 make 22; no pair has a first path above half of the best sum."""
    risks = {"a": (10, "xy"), "b": (11, "x"), "c": (11, "y"), "d": (19, "")}
    arcs = [
        Arc("A", "Z", 1, name, igp=cost, risks=frozenset(shared))
        for name, (cost, shared) in risks.items()
    ]
    graph = build_topology("AZ", arcs)
    pair = find_disjoint_pair(graph, 0, 1, graph.igp, "risk")
    assert pair is not None
    assert (pair.first, pair.second, pair.cost, pair.is_optimal) == ((1,), (2,), 22, True)


@pytest.mark.parametrize(("partner", "is_found"), [(64, True), (65, False)])
def test_64_first_paths_are_tried_for_a_pair_that_shares_no_risk(partner, is_found):
    """Of 70 ways each shares a duct with each other one, but for a way and the next dearer one."""
    ways = range(1, 71)
    apart = {(partner, partner + 1)}
    ducts = [pair for pair in itertools.combinations(ways, 2) if pair not in apart]
    graph = build_topology(
        "AZ",
        [
            Arc(
                "A",
                "Z",
                1,
                f"w{way:02}",
                igp=way,
                risks=frozenset(map(str, filter(lambda d: way in d, ducts))),
            )
            for way in ways
        ],
    )
    pair = find_disjoint_pair(graph, 0, 1, graph.igp, "risk")
    assert (pair is not None) == is_found


def list_all_paths(graph, source, target):
    """Every path without a node twice, by trying every arc."""
    found, waiting = [], [(source, ())]
    while waiting:
        node, path = waiting.pop()
        if node == target:
            found.append(path)
            continue
        seen = {source, *(int(graph.head[arc]) for arc in path)}
        heads = {arc: int(graph.head[arc]) for arc in graph.arcs_from[node]}
        waiting += [(head, (*path, arc)) for arc, head in heads.items() if head not in seen]
    return found


def share_something(graph, first, second, kind):
    """Whether two paths share a link, an inner node, or a risk."""
    if {graph.arcs[arc].name for arc in first} & {graph.arcs[arc].name for arc in second}:
        return True
    if kind == "node":
        inner = [{int(graph.head[arc]) for arc in path[:-1]} for path in (first, second)]
        return bool(inner[0] & inner[1])
    risks = [{risk for arc in path for risk in graph.arcs[arc].risks} for path in (first, second)]
    return kind == "risk" and bool(risks[0] & risks[1])


@pytest.mark.parametrize("kind", ["link", "node", "risk"])
def test_no_pair_of_all_is_cheaper_and_the_cheaper_path_is_first(kind):
    """Bhandari 1999: against every two paths, with parallel links and shared risks."""
    found_some = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        arcs = []
        for number in range(10):
            ends = draw.choice(6, 2, replace=False)
            risks = frozenset(f"r{risk}" for risk in draw.choice(7, draw.integers(0, 2)))
            cost = int(draw.integers(1, 9))
            arcs.append(Arc(*(f"n{end}" for end in ends), 1, f"l{number}", igp=cost, risks=risks))
        graph = build_topology([f"n{each}" for each in range(6)], add_reverse_arcs(arcs))
        cost = {path: int(graph.igp[list(path)].sum()) for path in list_all_paths(graph, 0, 5)}
        sums = [
            cost[first] + cost[second]
            for first, second in itertools.combinations(cost, 2)
            if not share_something(graph, first, second, kind)
        ]
        pair = find_disjoint_pair(graph, 0, 5, graph.igp, kind)
        assert (pair is None) == (not sums)
        if pair is not None:
            found_some += 1
            assert not share_something(graph, pair.first, pair.second, kind)
            assert cost[pair.first] <= cost[pair.second]
            assert cost[pair.first] + cost[pair.second] == pair.cost == min(sums)
            # With fewer paths than are tried nothing is left open.
            assert pair.is_optimal
    assert found_some > 5


def test_as_many_paths_as_are_asked_for_are_found_and_no_more():
    graph = build_topology("CDEFGH", [Arc(a, b, 1, igp=cost) for a, b, cost in TEXTBOOK])
    found = [list(find_k_shortest_paths(graph, 0, 5, graph.igp, count)) for count in range(9)]
    # The textbook's graph has seven paths from C to H.
    assert [len(each) for each in found] == [0, 1, 2, 3, 4, 5, 6, 7, 7]
    assert all(each == found[8][: len(each)] for each in found)


def test_of_pairs_with_the_same_sum_the_one_of_the_cheaper_first_path_is_taken():
    """x of 2 with w of 5 is found first, then y of 3 with z of 4; x shares risks with y and z."""
    costs = {"x": 2, "y": 3, "z": 4, "w": 5}
    risks = {"x": "pq", "y": "p", "z": "q", "w": ""}
    graph = build_topology(
        "ST",
        [Arc("S", "T", 1, name, igp=costs[name], risks=frozenset(risks[name])) for name in costs],
    )
    pair = find_disjoint_pair(graph, 0, 1, graph.igp, "risk")
    assert pair is not None
    assert [graph.arcs[way[0]].name for way in (pair.first, pair.second)] == ["x", "w"]


@pytest.mark.parametrize("costs", [(1, 2), (2, 1)])
@pytest.mark.parametrize("kind", ["link", "node", "risk"])
def test_two_arcs_of_one_link_are_not_disjoint(kind, costs):
    """Both fail together: the pair is the cheaper of them with the dearer link."""
    arcs = [Arc("A", "B", 1, "x", igp=cost) for cost in costs]
    graph = build_topology("AB", [*arcs, Arc("A", "B", 1, "y", igp=9)])
    pair = find_disjoint_pair(graph, 0, 1, graph.igp, kind)
    assert pair is not None
    assert (pair.first, pair.second, pair.cost) == ((costs.index(1),), (2,), 10)
