"""CSPF against sequences worked by hand, and shortest paths against networkx."""

from itertools import pairwise, permutations, product

import networkx as nx
import numpy as np
import pytest

from trunkline.te import bounded_paths
from trunkline.te.cspf import ConstrainedPath, find_constrained_path
from trunkline.te.path_constraints import PathConstraints, ViaNode
from trunkline.te.refusal import Refusal
from trunkline.te.spf import compute_distances, compute_trees, find_equal_cost_arcs
from trunkline.te.topology import Arc, add_reverse_arcs, build_topology

LINKS = [
    ("P", "Q", 2, 40),
    ("Q", "T", 2, 40),
    ("P", "R", 2, 25),
    ("R", "T", 2, 60),
    ("P", "S", 1, 15),
    ("S", "T", 4, 15),
    ("Q", "R", 1, 30),
]
SEQUENCE = [(10, "PQT"), (10, "PRT"), (12, "PQT"), (15, "PRT"), (20, ""), (16, "PQT"), (5, "PST")]


def six_nodes(order=1):
    return build_topology(
        "PQRST"[::order],
        add_reverse_arcs(Arc(a, b, rate, igp=cost) for a, b, cost, rate in LINKS[::order]),
    )


@pytest.mark.parametrize("order", [1, -1], ids=["as listed", "declared backwards"])
def test_seven_requests_one_after_the_other_take_the_paths_worked_by_hand(order):
    graph = six_nodes(order)
    free = graph.reservable.copy()
    taken = []
    for bandwidth, _ in SEQUENCE:
        found = find_constrained_path(
            graph, graph.node_number["P"], graph.node_number["T"], PathConstraints(bandwidth), free
        )
        if isinstance(found, ConstrainedPath):
            free[list(found.path)] -= bandwidth
            taken.append((bandwidth, "".join(graph.list_node_names(found.path))))
        else:
            taken.append((bandwidth, ""))
    assert taken == SEQUENCE


def test_a_refused_bandwidth_names_the_cut_and_what_would_fit():
    graph = six_nodes()
    free = np.minimum(graph.reservable, 18)
    found = find_constrained_path(graph, 0, 4, PathConstraints(20), free)
    assert isinstance(found, Refusal)
    assert (found.reason, found.best) == ("bandwidth", 18)
    assert {graph.arcs[arc].name for arc in found.cut} == {"P-Q", "P-R", "P-S"}


def colours(*names):
    return frozenset(names)


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        (PathConstraints(), "ABD"),
        (PathConstraints(exclude=colours("gold")), "ACD"),
        (PathConstraints(include_any=colours("gold", "blue")), "ABD"),
        (PathConstraints(include_all=colours("gold", "blue")), "AED"),
        (PathConstraints(include_any=colours("silver"), exclude=colours("gold")), "ACD"),
    ],
)
def test_RFC_3209_4_7_4_link_attribute_tests(asked, path):
    kinds = {"ABD": colours("gold"), "ACD": colours("silver"), "AED": colours("gold", "blue")}
    cost = {"ABD": 1, "ACD": 2, "AED": 3}
    graph = build_topology(
        "ABCDE",
        [
            Arc(tail, head, 10, igp=cost[way], colours=kinds[way])
            for way in kinds
            for tail, head in (way[:2], way[1:])
        ],
    )
    found = find_constrained_path(graph, 0, 3, asked, graph.reservable)
    assert isinstance(found, ConstrainedPath)
    assert "".join(graph.list_node_names(found.path)) == path


def test_a_colour_that_no_way_has_is_the_reason_and_its_arcs_the_cut():
    graph = six_nodes()
    found = find_constrained_path(
        graph, 0, 4, PathConstraints(include_any=colours("gold")), graph.reservable
    )
    assert isinstance(found, Refusal)
    assert found.reason == "colour"
    assert {graph.arcs[arc].name for arc in found.cut} == {"P-Q", "P-R", "P-S"}


def test_loose_and_strict_hops_and_a_node_that_would_be_met_twice():
    graph = six_nodes()

    def way(*via, max_hops=None):
        asked = PathConstraints(via=via, max_hops=max_hops)
        found = find_constrained_path(graph, 0, 4, asked, graph.reservable)
        return (
            "".join(graph.list_node_names(found.path))
            if isinstance(found, ConstrainedPath)
            else found.reason
        )

    p, q, r, s, t = range(5)
    assert way(ViaNode(s)) == "PST"
    assert way(ViaNode(q), ViaNode(r, strict=True)) == "PQRT"
    # Loose: S to R by the cheapest way would pass P again; the way through T is barred too.
    assert way(ViaNode(s), ViaNode(r)) == "via"
    assert way(ViaNode(t, strict=True)) == "via"
    # Its own ends are met where it begins and ends, and nowhere else.
    for max_hops in (None, 3):
        assert way(ViaNode(p), ViaNode(q), ViaNode(r), ViaNode(t), max_hops=max_hops) == "PQRT"
    assert way(ViaNode(q), ViaNode(p)) == way(ViaNode(t), ViaNode(q)) == "via"


def test_bounds_take_the_cheapest_path_within_them_and_say_which_cannot_be_met():
    # The cheapest path is long and slow, the second is slow, the third keeps both bounds.
    graph = build_topology(
        "ABCDZ",
        [
            Arc("A", "B", 10, igp=1, delay=5),
            Arc("B", "C", 10, igp=1, delay=5),
            Arc("C", "Z", 10, igp=1, delay=5),
            Arc("A", "C", 10, igp=3, delay=4),
            Arc("A", "D", 10, igp=5, delay=2),
            Arc("D", "Z", 10, igp=5, delay=2),
        ],
    )

    def way(**bounds):
        found = find_constrained_path(graph, 0, 4, PathConstraints(**bounds), graph.reservable)
        if isinstance(found, ConstrainedPath):
            return "".join(graph.list_node_names(found.path))
        return found.reason, found.best

    assert way() == "ABCZ"
    assert way(max_hops=2) == "ACZ"
    assert way(max_hops=2, max_delay=8) == "ADZ"
    assert way(max_delay=4) == "ADZ"
    assert way(max_hops=1) == ("hops", 2)
    assert way(max_delay=3) == ("delay", 4)


def random_graph(seed, nodes=18, links=40):
    draw = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(nodes)]
    arcs = []
    for number in range(links):
        a, b = draw.choice(nodes, 2, replace=False)
        cost, delay = (int(x) for x in draw.integers(1, 9, 2))
        arcs.append(Arc(names[a], names[b], 10, f"l{number}", igp=cost, delay=delay))
    return build_topology(names, add_reverse_arcs(arcs))


def as_networkx(graph):
    other = nx.MultiDiGraph()
    other.add_nodes_from(range(len(graph.nodes)))
    for i in range(len(graph.arcs)):
        other.add_edge(
            int(graph.tail[i]), int(graph.head[i]), igp=int(graph.igp[i]), delay=int(graph.delay[i])
        )
    return other


@pytest.mark.parametrize("seed", range(8))
def test_distances_and_trees_of_random_multigraphs_agree_with_networkx(seed):
    graph = random_graph(seed)
    other = as_networkx(graph)
    away = compute_distances(graph, graph.igp)
    forward, last = compute_trees(graph, graph.igp)
    on = find_equal_cost_arcs(graph, graph.igp, away)
    for source, theirs in nx.all_pairs_dijkstra_path_length(other, weight="igp"):
        for target in range(len(graph.nodes)):
            assert away[target, source] == theirs.get(target, np.inf)
            assert forward[source, target] == theirs.get(target, np.inf)
            if target != source and target in theirs:
                arc = last[source, target]
                assert graph.head[arc] == target
                assert on[target, arc]


@pytest.mark.parametrize("seed", range(8))
def test_bounded_paths_of_random_graphs_agree_with_every_simple_path(seed):
    graph = random_graph(seed, nodes=8, links=14)
    for source, target, hops, delay in [(0, 7, 3, 14), (1, 6, 4, 12), (2, 5, 5, 9), (3, 4, 2, 7)]:
        found = find_constrained_path(
            graph, source, target, PathConstraints(max_hops=hops, max_delay=delay), graph.reservable
        )
        costs = [
            int(graph.igp[list(path)].sum())
            for path in simple_paths(graph, source, target)
            if len(path) <= hops and graph.delay[list(path)].sum() <= delay
        ]
        assert isinstance(found, ConstrainedPath) == bool(costs)
        if isinstance(found, ConstrainedPath):
            assert found.metric == min(costs)
            assert found.hops <= hops
            assert found.delay <= delay


@pytest.mark.parametrize("seed", [5, 8, 16, 18])
def test_of_equal_paths_within_bounds_the_rule_is_that_of_all_simple_paths(seed):
    """The metric first, then hops, the larger least ratio, nodes and links by name."""
    draw = np.random.default_rng(seed)
    names = "ABCDEF"
    pairs = [*pairwise(names), "FA"] * 2 + ["AD", "BE"]
    arcs = [
        Arc(*ends, 10, f"{number}", igp=int(draw.integers(1, 3)), delay=int(draw.integers(1, 3)))
        for number, ends in enumerate(pairs)
    ]
    graph = build_topology(names, add_reverse_arcs(arcs))
    free = draw.integers(1, 4, len(graph.arcs))

    def rank(path):
        steps = [(names[graph.head[arc]], graph.arcs[arc].name) for arc in path]
        return int(graph.igp[path].sum()), len(path), -int(free[path].min()), steps

    for source, target in permutations(range(6), 2):
        paths = sorted(simple_paths(graph, source, target), key=rank)
        for hops, delay in product((1, 2, 3, None), (1, 2, 3, 4, 5, 6, None)):
            best = next(
                (
                    path
                    for path in paths
                    if (hops is None or len(path) <= hops)
                    and (delay is None or graph.delay[path].sum() <= delay)
                ),
                None,
            )
            asked = PathConstraints(max_hops=hops, max_delay=delay)
            found = find_constrained_path(graph, source, target, asked, free)
            assert (list(found.path) if isinstance(found, ConstrainedPath) else None) == best


def simple_paths(graph, source, target):
    def walk(node, path, seen):
        if node == target:
            yield path
            return
        for arc in graph.arcs_from[node]:
            head = int(graph.head[arc])
            if head not in seen:
                yield from walk(head, [*path, arc], seen | {head})

    yield from walk(source, [], {source})


def test_a_node_to_pass_later_is_not_passed_before():
    """From S over X, then Y, to T: the short way to X leads through Y, so it takes Z."""
    links = [("S", "Y"), ("Y", "X"), ("Y", "T"), ("S", "Z"), ("Z", "W"), ("W", "X")]
    graph = build_topology("SXYZWT", add_reverse_arcs(Arc(a, b, 10, igp=1) for a, b in links))
    via = tuple(ViaNode(graph.node_number[name]) for name in "XY")
    ends = graph.node_number["S"], graph.node_number["T"]
    found = find_constrained_path(graph, *ends, PathConstraints(via=via), graph.reservable)
    assert isinstance(found, ConstrainedPath)
    assert "".join(graph.list_node_names(found.path)) == "SZWXYT"


@pytest.mark.parametrize(
    ("nodes", "least_refused"), [(2, 2**50), (3, -(-(2**53) // 12)), (17, 16_557_351_571_216)]
)
def test_metrics_whose_sums_could_pass_2_to_the_53_are_refused(nodes, least_refused):
    """N nodes, a path of N arcs at most: a sum of N (4 m + 1) for N = 2 and 3 stays below 2^53.

    For 17 it is 17 (32 m + 1), which is 15 below at the greatest metric: with 2 for 1 it is above.
    """
    names, scale = "ABCDEFGHIJKLMNOPQ"[:nodes], 4 if nodes < 4 else 32
    for metric, is_refused in ((least_refused - 1, False), (least_refused, True)):
        graph = build_topology(names, [Arc("A", "B", 10, igp=metric)])
        assert (nodes * (scale * metric + 1) >= 2**53) == is_refused
        if is_refused:
            with pytest.raises(ValueError, match=f"a metric of {metric} is too large for {nodes}"):
                find_constrained_path(graph, 0, 1, PathConstraints(), graph.reservable)
        else:
            found = find_constrained_path(graph, 0, 1, PathConstraints(), graph.reservable)
            assert isinstance(found, ConstrainedPath)
            assert found.metric == metric


def test_a_path_over_all_nodes_is_taken_where_its_metric_is_less_by_one():
    """A row of links of metric 1 beside a direct link whose metric is that of one more."""
    for nodes in range(2, 27):
        names = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:nodes]
        arcs = [Arc(*ends, 10) for ends in pairwise(names)]
        graph = build_topology(names, [*arcs, Arc("A", names[-1], 10, "direct", igp=nodes)])
        found = find_constrained_path(graph, 0, nodes - 1, PathConstraints(), graph.reservable)
        assert isinstance(found, ConstrainedPath)
        assert found.hops == nodes - 1


def test_the_room_of_an_arc_is_its_free_share_even_of_1_bit_per_second():
    for capacity, free, share in ((1, 1, 1.0), (4, 1, 0.25), (4, 0, 0.0)):
        graph = build_topology("AB", [Arc("A", "B", capacity)])
        found = find_constrained_path(graph, 0, 1, PathConstraints(), np.array([free]))
        assert isinstance(found, ConstrainedPath)
        assert found.fill == share


@pytest.mark.parametrize("bounds", [{}, {"max_delay": 9}])
def test_of_equal_paths_the_least_filled_and_then_the_first_name_is_taken(bounds):
    """The larger least ratio of a path counts; then nodes, then links, in alphabetical order."""
    links = [("z1", "S", "M", 40), ("z2", "M", "T", 90), ("a1", "S", "N", 60), ("a2", "N", "T", 60)]
    links += [("y1", "S", "L", 60), ("y2", "L", "T", 70), ("y3", "L", "T", 60)]
    graph = build_topology(
        "STMNL", [Arc(tail, head, 100, name, delay=1) for name, tail, head, _ in links]
    )
    free = np.array([left for *_, left in links])

    def take():
        # A path over the bound that is cheaper, so that the search under bounds decides.
        dear = build_topology("STMNL", [*graph.arcs, Arc("S", "T", 100, "slow", delay=50)])
        used, left = (dear, np.append(free, 100)) if bounds else (graph, free)
        found = find_constrained_path(used, 0, 1, PathConstraints(**bounds), left)
        assert isinstance(found, ConstrainedPath)
        return [used.arcs[arc].name for arc in found.path], found.fill

    # Over L and N the least ratio is 60 %, over M 40 %; L is before N, y2 before y3.
    assert take() == (["y1", "y2"], 0.6)
    free[5] = 50
    assert take() == (["y1", "y3"], 0.6)
    free[4] = 59
    assert take() == (["a1", "a2"], 0.6)


def test_a_search_under_bounds_ends_after_the_labels_it_may_settle(monkeypatch):
    """Each node of a row is settled once: six for the path from the first to the last of seven."""
    graph = build_topology("ABCDEFG", [Arc(a, b, 1, delay=2) for a, b in pairwise("ABCDEFG")])
    dear = build_topology("ABCDEFG", [*graph.arcs, Arc("A", "G", 1, delay=50)])
    asked = PathConstraints(max_delay=20)
    monkeypatch.setattr(bounded_paths, "MAX_LABELS", 6)
    found = find_constrained_path(dear, 0, 6, asked, dear.reservable)
    assert isinstance(found, ConstrainedPath)
    assert found.hops == 6
    monkeypatch.setattr(bounded_paths, "MAX_LABELS", 5)
    with pytest.raises(bounded_paths.TooManyLabels, match=r"more than 5 partial paths .* A to G"):
        find_constrained_path(dear, 0, 6, asked, dear.reservable)


def test_desrochers_1988_of_labels_that_are_alike_one_is_settled(monkeypatch) -> None:
    """Two equal links from each node to the next: 2 labels arrive at a node, and 1 leaves it."""
    arcs = [
        Arc(*ends, 1, f"{''.join(ends)}{way}", delay=2)
        for ends in pairwise("ABCDE")
        for way in "xy"
    ]
    graph = build_topology("ABCDE", [*arcs, Arc("A", "E", 1, delay=50)])
    monkeypatch.setattr(bounded_paths, "MAX_LABELS", 4)
    found = find_constrained_path(graph, 0, 4, PathConstraints(max_delay=20), graph.reservable)
    assert isinstance(found, ConstrainedPath)
    assert [graph.arcs[arc].name for arc in found.path] == ["ABx", "BCx", "CDx", "DEx"]
