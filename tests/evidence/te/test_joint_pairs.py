"""Two disjoint paths placed together, against every pair of paths of small networks."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import trunkline as tl
from trunkline.te import disjoint_paths, joint_pairs
from trunkline.te.disjoint_paths import find_shared_arcs
from trunkline.te.joint_pairs import PairMember, find_joint_pair
from trunkline.te.k_shortest_paths import find_k_shortest_paths
from trunkline.te.path_constraints import PathConstraints, ViaNode
from trunkline.te.topology import Arc, Topology, build_topology

NODES = 7


def random_network(seed: int) -> Topology:
    draw = np.random.default_rng(seed)
    arcs = []
    for number in range(11):
        a, b = (
            (number, (number + 1) % NODES)
            if number < NODES
            else draw.choice(NODES, 2, replace=False).tolist()
        )
        metric, risks = int(draw.integers(1, 9)), draw.choice(6, draw.integers(0, 2), replace=False)
        for tail, head in ((a, b), (b, a)):
            arcs.append(
                Arc(
                    f"n{tail}",
                    f"n{head}",
                    10,
                    f"l{number}",
                    igp=metric,
                    delay=int(draw.integers(1, 5)),
                    risks=frozenset(f"r{risk}" for risk in risks),
                )
            )
    return build_topology([f"n{i}" for i in range(NODES)], arcs)


def least_pair(graph: Topology, first: PairMember, second: PairMember, kind) -> int | None:
    """The least sum over all pairs of loop-free paths."""

    def paths(member: PairMember):
        for path in find_k_shortest_paths(graph, member.source, member.target, graph.igp, 10_000):
            delay = int(graph.delay[list(path)].sum())
            if (member.constraints.max_delay or 10**9) >= delay:
                yield path

    return min(
        (
            int(graph.igp[[*p, *q]].sum())
            for p, q in product(paths(first), list(paths(second)))
            if not find_shared_arcs(graph, p, kind) & set(q)
            and not find_shared_arcs(graph, q, kind) & set(p)
        ),
        default=None,
    )


@pytest.mark.parametrize("kind", ["link", "node", "risk"])
@pytest.mark.parametrize("most_first_paths", [1, 64])
def test_no_other_pair_has_a_smaller_sum(
    kind, most_first_paths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # After one first path nothing is proven, so the integer program decides.
    monkeypatch.setattr(joint_pairs, "MAX_FIRST_PATHS", most_first_paths)
    found_some = refused_some = 0
    for seed in range(12):
        graph = random_network(seed)
        free = np.full(len(graph.tail), 10)
        usable = np.ones(len(graph.tail), dtype=bool)
        ends = ((0, 3), (0, 3)) if seed % 2 else ((0, 3), (1, 4))
        bounds = (None, 9) if seed % 3 == 0 else (None, None)
        first, second = (
            PairMember(*pair, PathConstraints(5, max_delay=bound), free, usable)
            for pair, bound in zip(ends, bounds, strict=True)
        )
        best = least_pair(graph, first, second, kind)
        found = find_joint_pair(graph, first, second, kind)
        if best is None:
            assert found is None
            refused_some += 1
            continue
        assert found is not None, (seed, best)
        assert not find_shared_arcs(graph, found[0], kind) & set(found[1])
        assert int(graph.igp[[*found[0], *found[1]]].sum()) == best
        found_some += 1
    assert found_some
    assert refused_some or kind == "link"


@pytest.mark.parametrize("kind", ["link", "node", "risk"])
@pytest.mark.parametrize("are_apart", [False, True])
def test_each_path_of_the_best_pair_uses_arcs_of_its_own_choice(kind, are_apart: bool) -> None:
    """Arcs that the other path may use are none of its: random ones, or all but those."""
    found_some = 0
    for seed in range(30):
        draw = np.random.default_rng(seed)
        graph = random_network(seed)
        mask = draw.random(len(graph.tail)) < 0.6
        other = ~mask if are_apart else draw.random(len(graph.tail)) < 0.8
        free = np.full(len(graph.tail), 10)
        members = [PairMember(0, 3, PathConstraints(), free, each) for each in (mask, other)]
        best = min(
            (
                int(graph.igp[[*p, *q]].sum())
                for p, q in product(
                    *(
                        list(find_k_shortest_paths(graph, 0, 3, graph.igp, 10_000, each.usable))
                        for each in members
                    )
                )
                if not find_shared_arcs(graph, p, kind) & set(q)
            ),
            default=None,
        )
        found = find_joint_pair(graph, *members, kind)
        assert (found is None) == (best is None)
        if found is not None:
            found_some += 1
            assert int(graph.igp[[*found[0], *found[1]]].sum()) == best
            for path, member in zip(found, members, strict=True):
                assert member.usable[list(path)].all()
    assert found_some


PAIR = """\
trunkline: 1
nodes: [A, B, C, D, E, Z]
defaults: {{link: {{rate: 100 Mbit/s, delay: 1 ms}}}}
links:
  {{A-B: {{}}, B-C: {{}}, C-Z: {{}}, A-D: {{metric: 3}}, D-C: {{}}, B-E: {{}}, E-Z: {{metric: 3}}}}
paths:
  p: {{from: A, to: Z, route: auto, bandwidth: 1 Mbit/s, {p}}}
  q: {{from: A, to: Z, route: auto, bandwidth: 1 Mbit/s, disjoint_from: {{p: link}}}}
te: {{unplaced: igp, order: {order}}}
run: {{duration: 1 s}}
"""


def routes(p: str, order: str) -> dict[str, str]:
    scenario = tl.loads(PAIR.format(p=p, order=order)).resolve()
    return {name: "".join(path.route) for name, path in scenario.paths.items()}


def test_bhandari_1999_the_shortest_path_of_a_trap_leaves_no_second_one() -> None:
    """The trap of Survivable Networks: A-B-C-Z is shortest; the best pair costs 10."""
    mutual = "disjoint_from: {q: link}"
    assert set(routes(mutual, "listed").values()) == {"ABEZ", "ADCZ"}
    # One that names the other gets its route too, as the first gives way.
    assert set(routes("hold: 7", "priority").values()) == {"ABEZ", "ADCZ"}
    # First come, first served, where that is asked: and the refusal says what would do.
    assert routes("hold: 7", "listed") == {"p": "ABCZ"}
    scenario = tl.loads(PAIR.format(p="hold: 7", order="listed"))
    (refused,) = [
        outcome for outcome in scenario.resolve().placement.outcomes if outcome.route is None
    ]
    assert refused.refusal is not None
    assert refused.refusal.partner == "p"
    assert len(refused.refusal.pair) == 2


@pytest.mark.parametrize("kind", ["link", "node", "risk"])
def test_pairs_with_nodes_to_visit_and_bounds_on_hops_are_the_best_of_all(kind) -> None:
    """The first, the second or both visit a node; ends are alike or not (RFC 3209 section 4.3)."""
    found_some = 0
    for seed in range(36):
        draw = np.random.default_rng(seed)
        graph = random_network(seed)
        free = np.full(len(graph.tail), 10)
        usable = np.ones(len(graph.tail), dtype=bool)
        ends = ((0, 3), (0, 3)) if seed % 2 else ((0, 3), (1, 4))
        visits = [None, None]
        for number in ([0], [1], [0, 1], [])[seed % 4]:
            visits[number] = int(draw.choice([2, 5, 6]))
        hops = [int(draw.integers(2, 6)) if draw.random() < 0.4 else None for _ in range(2)]
        members = [
            PairMember(
                *pair,
                PathConstraints(via=() if visit is None else (ViaNode(visit),), max_hops=most),
                free,
                usable,
            )
            for pair, visit, most in zip(ends, visits, hops, strict=True)
        ]

        def list_paths(member: PairMember, graph=graph):
            (visit,) = [each.node for each in member.constraints.via] or (None,)
            for path in find_k_shortest_paths(
                graph, member.source, member.target, graph.igp, 10_000
            ):
                nodes = graph.head[list(path)].tolist()
                if len(path) <= (member.constraints.max_hops or 99) and visit in (None, *nodes):
                    yield path

        best = min(
            (
                int(graph.igp[[*p, *q]].sum())
                for p, q in product(*map(list, map(list_paths, members)))
                if not find_shared_arcs(graph, p, kind) & set(q)
                and not find_shared_arcs(graph, q, kind) & set(p)
            ),
            default=None,
        )
        found = find_joint_pair(graph, *members, kind)
        assert (found is None) == (best is None), seed
        if found is not None:
            found_some += 1
            assert not find_shared_arcs(graph, found[0], kind) & set(found[1])
            assert not find_shared_arcs(graph, found[1], kind) & set(found[0])
            assert int(graph.igp[[*found[0], *found[1]]].sum()) == best, seed
            assert all(path in list_paths(each) for path, each in zip(found, members, strict=True))
    assert found_some > 5


@pytest.mark.parametrize(
    ("bound", "ways"),
    [
        ({}, {"SAT", "SBT"}),
        ({"max_hops": 1}, {"ST"}),
        ({"max_delay": 9}, {"SBT", "SCT"}),
        ({"via": (ViaNode(4),)}, {"SCT"}),
    ],
    ids=["no bound", "hops", "delay", "node"],
)
def test_a_bound_that_both_paths_have_holds_for_both(bound, ways: set[str]) -> None:
    """The two cheapest are over A, 20 ns long, and B; with a bound both paths are others."""
    links = [("S", "A", 1, 10), ("A", "T", 1, 10), ("S", "B", 2, 4), ("B", "T", 2, 4)]
    links += [("S", "C", 3, 1), ("C", "T", 3, 1), ("S", "T", 20, 1)]
    arcs = [
        Arc(a, b, 10, f"{a}{b}{copy}", igp=cost, delay=delay)
        for a, b, cost, delay in links
        for copy in range(2 if "C" in (a, b) or (a, b) == ("S", "T") else 1)
    ]
    graph = build_topology("STABC", arcs)
    usable = np.ones(len(arcs), dtype=bool)
    members = [
        PairMember(0, 1, PathConstraints(rate, **bound), graph.capacity, usable) for rate in (1, 2)
    ]
    found = find_joint_pair(graph, *members, "link")
    assert found is not None
    assert {"".join(graph.list_node_names(path)) for path in found} == ways
    assert not find_shared_arcs(graph, found[0], "link") & set(found[1])


def test_of_pairs_with_the_same_sum_the_one_of_the_cheaper_first_path_is_taken() -> None:
    """x of 2 with w of 5, or y of 3 with z of 4; v of 3 shares a risk with x and with y."""
    costs = {"x": 2, "y": 3, "z": 4, "w": 5, "v": 3}
    risks = {"x": "pq", "y": "r", "z": "p", "w": "", "v": "qr"}
    graph = build_topology(
        "ST",
        [Arc("S", "T", 10, name, igp=costs[name], risks=frozenset(risks[name])) for name in costs],
    )
    members = [
        PairMember(
            0, 1, PathConstraints(), graph.capacity, np.array([name in use for name in costs])
        )
        for use in ("xy", "vzw")
    ]
    found = find_joint_pair(graph, *members, "risk")
    assert found is not None
    assert [graph.arcs[path[0]].name for path in found] == ["x", "w"]


def test_a_pair_that_shares_no_risk_is_found_behind_paths_that_have_no_partner(monkeypatch) -> None:
    """Of 6 ways each shares a duct with each other one, but for two behind the first 2."""
    monkeypatch.setattr(disjoint_paths, "MAX_FIRST_PATHS", 2)
    monkeypatch.setattr(joint_pairs, "MAX_FIRST_PATHS", 2)
    ducts = [pair for pair in combinations(range(6), 2) if pair != (3, 4)]
    arcs = [
        Arc("A", "Z", 1, f"w{way}", igp=way + 1, risks=frozenset(str(d) for d in ducts if way in d))
        for way in range(6)
    ]
    free, usable = np.ones(6, dtype=np.int64), np.ones(6, dtype=bool)
    member = PairMember(0, 1, PathConstraints(), free, usable)
    assert find_joint_pair(build_topology("AZ", arcs), member, member, "risk") == ((3,), (4,))


def test_a_path_visits_its_node_even_where_few_first_paths_are_tried(monkeypatch) -> None:
    """Either path of the pair; a program over all pairs knows no nodes to visit."""
    monkeypatch.setattr(joint_pairs, "MAX_FIRST_PATHS", 1)
    found_some = 0
    for seed, visitor in product(range(20), (0, 1)):
        graph = random_network(seed)
        free, usable = np.full(len(graph.tail), 10), np.ones(len(graph.tail), dtype=bool)
        rules = [PathConstraints(), PathConstraints()]
        rules[visitor] = PathConstraints(via=(ViaNode(5),))
        members = [PairMember(0, 3, each, free, usable) for each in rules]
        found = find_joint_pair(graph, *members, "link")
        if found is not None:
            found_some += 1
            assert 5 in graph.head[list(found[visitor])]
    assert found_some > 5
