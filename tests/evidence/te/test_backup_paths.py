"""Backups on textbook graphs: bypass and detour of RFC 4090, standbys, shared bandwidth."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from trunkline.te.backup_paths import BackupPath, find_local_backup, find_standby
from trunkline.te.disjoint_paths import find_disjoint_pair
from trunkline.te.path_constraints import PathConstraints
from trunkline.te.refusal import Refusal
from trunkline.te.shared_backups import SharedBandwidth, list_failures_of_path
from trunkline.te.topology import Arc, ArcPath, Topology, add_reverse_arcs, build_topology

ANY = PathConstraints()
FREE = 10**9


def rfc4090() -> Topology:
    """The network of the figures of RFC 4090 section 3: R1 to R5 in a row, R6 to R9 below it."""
    row = [("R1", "R2"), ("R2", "R3"), ("R3", "R4"), ("R4", "R5")]
    below = [("R2", "R6"), ("R6", "R7"), ("R7", "R8"), ("R8", "R9")]
    up = [("R7", "R4"), ("R9", "R5"), ("R1", "R6"), ("R3", "R7"), ("R4", "R8")]
    nodes = [f"R{number}" for number in range(1, 10)]
    return build_topology(nodes, add_reverse_arcs(Arc(*ends, FREE) for ends in row + below + up))


def found(graph: Topology, path: ArcPath, at: int, kind, protect) -> tuple[str, ...]:
    repair = find_local_backup(graph, path, at, kind, protect, ANY, graph.capacity)
    assert isinstance(repair, BackupPath)
    return graph.list_node_names(repair.path)


def test_rfc4090_s3_2_a_bypass_leads_to_the_next_node_or_to_the_one_behind_it() -> None:
    graph = rfc4090()
    path = graph.find_path_through("R1", "R2", "R3", "R4", "R5")
    # R2-R3: R2 R6 R7 R3 has 3 links, R2 R1 R6 R7 R3 has 4. Around R3 to R4: R2 R6 R7 R4.
    assert found(graph, path, 1, "facility-bypass", "link") == ("R2", "R6", "R7", "R3")
    assert found(graph, path, 1, "facility-bypass", "node") == ("R2", "R6", "R7", "R4")


def test_rfc4090_s3_1_a_detour_merges_where_its_way_to_the_end_meets_the_path() -> None:
    graph = rfc4090()
    path = graph.find_path_through("R1", "R2", "R3", "R4", "R5")
    # From R2 to R5 without R2-R3 the shortest way is R2 R6 R7 R4 R5: it joins the path at R4.
    repair = find_local_backup(graph, path, 1, "detour", "link", ANY, graph.capacity)
    assert isinstance(repair, BackupPath)
    assert graph.list_node_names(repair.path) == ("R2", "R6", "R7", "R4")
    assert (repair.leaves_at, repair.joins_at) == (1, 3)


def test_rfc4090_s3_2_the_last_hop_is_protected_as_a_link() -> None:
    graph = rfc4090()
    path = graph.find_path_through("R1", "R2", "R3", "R4", "R5")
    repair = find_local_backup(graph, path, 3, "facility-bypass", "node", ANY, graph.capacity)
    assert isinstance(repair, BackupPath)
    assert repair.protect == "link"
    assert graph.list_node_names(repair.path) == ("R4", "R8", "R9", "R5")


def test_a_bypass_keeps_away_from_links_of_the_same_risk() -> None:
    duct = frozenset({"duct"})
    arcs = [
        Arc("A", "B", FREE, risks=duct),
        Arc("A", "C", FREE, risks=duct),
        Arc("C", "B", FREE),
        Arc("A", "D", FREE),
        Arc("D", "E", FREE),
        Arc("E", "B", FREE),
    ]
    graph = build_topology("ABCDE", add_reverse_arcs(arcs))
    path = graph.find_path_through("A", "B")
    assert found(graph, path, 0, "facility-bypass", "link") == ("A", "C", "B")
    assert found(graph, path, 0, "facility-bypass", "risk") == ("A", "D", "E", "B")


def test_a_bridge_has_no_backup() -> None:
    graph = build_topology("ABC", add_reverse_arcs([Arc("A", "B", FREE), Arc("B", "C", FREE)]))
    repair = find_local_backup(
        graph, graph.find_path_through("A", "B", "C"), 0, "detour", "link", ANY, graph.capacity
    )
    assert isinstance(repair, Refusal)
    assert repair.reason == "disjoint"


def test_a_working_path_may_stand_in_the_way_of_any_second_one() -> None:
    """The trap of removing the shortest path first: the pair exists, but not beside A-B-C-Z."""
    links = [("A", "B", 1), ("B", "C", 1), ("C", "Z", 1), ("A", "D", 3), ("D", "C", 1)]
    links += [("B", "E", 1), ("E", "Z", 3)]
    graph = build_topology(
        "ABCDEZ", add_reverse_arcs(Arc(a, b, FREE, igp=cost) for a, b, cost in links)
    )
    refused = find_standby(
        graph, graph.find_path_through("A", "B", "C", "Z"), "node", ANY, graph.capacity
    )
    assert isinstance(refused, Refusal)
    kept = find_standby(
        graph, graph.find_path_through("A", "B", "E", "Z"), "node", ANY, graph.capacity
    )
    assert isinstance(kept, BackupPath)
    assert graph.list_node_names(kept.path) == ("A", "D", "C", "Z")


@pytest.mark.parametrize("seed", range(8))
def test_backups_are_as_short_as_networkx_finds_without_what_they_go_around(seed: int) -> None:
    drawn = nx.gnm_random_graph(9, 16, seed=seed)
    draw = np.random.default_rng(seed)
    nodes = [f"n{n}" for n in drawn]
    arcs = [Arc(nodes[a], nodes[b], FREE, igp=int(draw.integers(1, 9))) for a, b in drawn.edges]
    graph = build_topology(nodes, add_reverse_arcs(arcs))
    total = nx.Graph()
    total.add_nodes_from(nodes)
    total.add_weighted_edges_from((arc.tail, arc.head, arc.igp) for arc in arcs)
    for source in nodes:
        for target, way in nx.single_source_dijkstra_path(total, source).items():
            if len(way) < 3:
                continue
            path = graph.find_path_through(*way)
            for protect in ("link", "node"):
                left = total.copy()
                if protect == "link":
                    left.remove_edge(way[0], way[1])
                else:
                    left.remove_node(way[1])
                end = way[1] if protect == "link" else way[2]
                repair = find_local_backup(
                    graph, path, 0, "facility-bypass", protect, ANY, graph.capacity
                )
                if not nx.has_path(left, source, end):
                    assert isinstance(repair, Refusal)
                    continue
                assert isinstance(repair, BackupPath)
                best = nx.dijkstra_path_length(left, source, end)
                assert graph.igp[list(repair.path)].sum() == best
            other = find_standby(graph, path, "link", ANY, graph.capacity)
            if isinstance(other, BackupPath):
                assert (other.leaves_at, other.joins_at) == (0, len(path))
                # A pair by hand is never cheaper than the best pair of Suurballe and Bhandari.
                best_pair = find_disjoint_pair(
                    graph, *map(graph.node_number.get, (source, target)), graph.igp
                )
                assert best_pair is not None
                cost = int(graph.igp[list(path)].sum() + graph.igp[list(other.path)].sum())
                assert cost >= best_pair.cost
                assert {graph.link[a] for a in path}.isdisjoint(graph.link[list(other.path)])


def test_rfc4090_s2_backups_of_different_failures_share_their_bandwidth() -> None:
    """A ring of six with 10 on every link each way: every bypass is the other way around.

    On a direction of a link run the bypasses of the five links behind it in the other direction.
    Each serves a different failure, so 10 are enough; with bandwidth of their own 5 * 10.
    """
    names = [f"R{n}" for n in range(6)]
    ends = list(zip(names, names[1:] + names[:1], strict=True))
    graph = build_topology(names, add_reverse_arcs(Arc(a, b, 100) for a, b in ends))
    shared = SharedBandwidth(np.full(12, 90))
    for arc in range(12):
        repair = find_local_backup(graph, (arc,), 0, "facility-bypass", "link", ANY, graph.capacity)
        assert isinstance(repair, BackupPath)
        shared.reserve(repair.path, 10, list_failures_of_path(graph, (arc,), nodes=False))
    assert shared.compute_total().tolist() == [10] * 12
    assert shared.unshared.tolist() == [50] * 12
    # What is left for one more bypass of the same link: 90 less 10; for the failure of a node that
    # no backup is for yet, all.
    link = list_failures_of_path(graph, (0,), nodes=False)
    assert sorted(set(shared.get_free(link).tolist())) == [80, 90]
    assert set(shared.get_free([("node", 0)]).tolist()) == {90}


@pytest.mark.parametrize("protect", ["link", "node"])
def test_rfc4090_s3_1_detours_leave_and_join_where_the_shortest_way_around_does(protect) -> None:
    """From each node: the shortest way to the end without the element, up to the path behind it."""
    joined_behind = 0
    for seed in range(12):
        drawn = nx.gnm_random_graph(9, 15, seed=seed)
        draw = np.random.default_rng(seed)
        nodes = [f"n{n}" for n in drawn]
        # Metrics of powers of two: no two ways cost the same.
        metrics = draw.permutation(15)
        arcs = [
            Arc(nodes[a], nodes[b], FREE, igp=2 ** int(each))
            for (a, b), each in zip(drawn.edges, metrics, strict=True)
        ]
        graph = build_topology(nodes, add_reverse_arcs(arcs))
        total = nx.Graph()
        total.add_nodes_from(nodes)
        total.add_weighted_edges_from((arc.tail, arc.head, arc.igp) for arc in arcs)
        for way in nx.single_source_dijkstra_path(total, nodes[0]).values():
            for hop in range(len(way) - 1):
                path = graph.find_path_through(*way)
                repair = find_local_backup(graph, path, hop, "detour", protect, ANY, graph.capacity)
                left = total.copy()
                is_node = protect == "node" and hop < len(way) - 2
                left.remove_node(way[hop + 1]) if is_node else left.remove_edge(*way[hop : hop + 2])
                if not nx.has_path(left, way[hop], way[-1]):
                    assert isinstance(repair, Refusal)
                    continue
                assert isinstance(repair, BackupPath)
                around = nx.dijkstra_path(left, way[hop], way[-1])
                behind = way[hop + 2 :] if is_node else way[hop + 1 :]
                end = next(place for place, node in enumerate(around) if node in behind)
                assert graph.list_node_names(repair.path) == tuple(around[: end + 1])
                assert (repair.leaves_at, repair.joins_at) == (hop, way.index(around[end]))
                assert repair.protect == ("node" if is_node else "link")
                joined_behind += repair.joins_at > hop + 1 + is_node
    assert joined_behind


def test_the_failures_of_a_path_are_its_links_risks_and_inner_nodes() -> None:
    duct = frozenset({"duct"})
    arcs = [Arc("A", "B", 9, risks=duct), Arc("B", "C", 9), Arc("C", "D", 9, risks=duct)]
    graph = build_topology("ABCD", add_reverse_arcs(arcs))
    path = graph.find_path_through("A", "B", "C", "D")
    links = {("link", number) for number in range(3)} | {("risk", "duct")}
    assert list_failures_of_path(graph, path, nodes=False) == links
    assert list_failures_of_path(graph, path, nodes=True) == links | {("node", 1), ("node", 2)}
    assert list_failures_of_path(graph, path[:1], nodes=True) == {("link", 0), ("risk", "duct")}


def test_a_backup_for_several_failures_gets_what_the_worst_of_them_leaves() -> None:
    """RFC 3469 section 2.2.1: what is held for another failure is free for this one."""
    shared = SharedBandwidth(np.array([10, 10, 2]))
    shared.reserve((0, 1), 4, [("link", 7)])
    shared.reserve((0, 2), 3, [("link", 8), ("node", 1)])
    assert shared.get_free([("link", 7)]).tolist() == [6, 6, 2]
    # On the last arc more is held already than there is.
    assert shared.get_free([("link", 8)]).tolist() == [7, 10, 0]
    assert shared.get_free([("link", 7), ("node", 1), ("link", 9)]).tolist() == [6, 6, 0]
    assert shared.compute_total().tolist() == [4, 4, 3]
    assert shared.unshared.tolist() == [7, 4, 3]
