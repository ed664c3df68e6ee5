"""Two disjoint paths placed together, each with its own ends and constraints, of least sum.

Between the same ends and with the same links, links and nodes are Suurballe's problem
(`disjoint_paths`). All else is tried: shortest first paths in order of cost, each with the best
second one. The least sum is proven as soon as no later first path can be cheaper. Where it is not
after `MAX_FIRST_PATHS`, an integer program decides: one flow for each path, and for each group of
links that must not be shared (a link, a risk, the links at a node) a choice of who may use it.

Sources: J. Q. Hu, Diverse Routing in Optical Mesh Networks, IEEE Trans. Communications 51(3), 2003
(the program; pairs apart in shared risks are NP-complete).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix

from trunkline.te.cspf import ConstrainedPath, find_constrained_path
from trunkline.te.disjoint_paths import (
    MAX_FIRST_PATHS,
    Disjointness,
    find_disjoint_pair,
    find_shared_arcs,
)
from trunkline.te.k_shortest_paths import find_k_shortest_paths
from trunkline.te.linear_program import solve_integer_program
from trunkline.te.path_constraints import PathConstraints, find_permitted_arcs
from trunkline.te.topology import ArcPath, Bools, Ints, Topology

MAX_PROGRAM_NODES = 10_000  # Nodes that the search of the integer program visits at most.


@dataclass(frozen=True, slots=True, eq=False)
class PairMember:
    """One path of a pair."""

    source: int
    target: int
    constraints: PathConstraints
    free: Ints  # shape (E,): Bandwidth that it may take on every arc [bit/s].
    usable: Bools  # shape (E,): Arcs that it may use.

    def find_arcs(self, topology: Topology) -> Bools:
        """Find the arcs that meet the constraints of single links."""
        permitted = find_permitted_arcs(topology, self.constraints, self.usable)
        return permitted & (self.free >= self.constraints.bandwidth)


def find_joint_pair(
    topology: Topology, first: PairMember, second: PairMember, kind: Disjointness
) -> tuple[ArcPath, ArcPath] | None:
    """Find two disjoint paths of least total metric, each within its constraints.

    None means that there is no such pair, or that none was found: with nodes to visit no program
    decides, and its search has `MAX_PROGRAM_NODES`.
    """
    if kind != "risk" and _is_suurballe(topology, first, second):
        metric = topology.get_metric(first.constraints.metric)
        usable = first.find_arcs(topology)
        pair = find_disjoint_pair(topology, first.source, first.target, metric, kind, usable)
        return None if pair is None else (pair.first, pair.second)
    has_via = bool(first.constraints.via or second.constraints.via)
    best, is_proven = _find_pair_by_trial(topology, first, second, kind)
    if is_proven or has_via:
        return best
    return _solve_pair_program(topology, first, second, kind) or best


def _is_suurballe(topology: Topology, first: PairMember, second: PairMember) -> bool:
    """Whether both paths have the same ends, links and metric, and no bounds on the whole path."""
    rules = first.constraints
    return (
        (first.source, first.target) == (second.source, second.target)
        and replace(second.constraints, bandwidth=rules.bandwidth) == rules
        and not (rules.via or rules.max_hops is not None or rules.max_delay is not None)
        and bool((first.find_arcs(topology) == second.find_arcs(topology)).all())
    )


def _find_pair_by_trial(
    topology: Topology, first: PairMember, second: PairMember, kind: Disjointness
) -> tuple[tuple[ArcPath, ArcPath] | None, bool]:
    """Find the best pair of the shortest first paths, and whether no other is better."""
    # A node between the ends of the second is no end of the first either.
    inner_ends = {first.source, first.target} - {second.target} if kind == "node" else set()
    closed = frozenset(np.flatnonzero(np.isin(topology.head, list(inner_ends))).tolist())
    alone = _find_second(topology, second, closed)
    if alone is None:
        return None, True
    metric = topology.get_metric(first.constraints.metric)
    best: tuple[int, tuple[ArcPath, ArcPath]] | None = None
    tried = 0
    for path in find_k_shortest_paths(
        topology, first.source, first.target, metric, MAX_FIRST_PATHS, first.find_arcs(topology)
    ):
        tried += 1
        cost = int(metric[list(path)].sum())
        if best is not None and cost + alone.metric >= best[0]:
            return best[1], True
        if not _meets_path_constraints(topology, path, first):
            continue
        other = _find_second(topology, second, closed | find_shared_arcs(topology, path, kind))
        if other is not None and (best is None or cost + other.metric < best[0]):
            best = cost + other.metric, (path, other.path)
    return (None if best is None else best[1]), tried < MAX_FIRST_PATHS


def _find_second(
    topology: Topology, member: PairMember, avoid: frozenset[int]
) -> ConstrainedPath | None:
    constraints = replace(member.constraints, avoid=member.constraints.avoid | avoid)
    found = find_constrained_path(
        topology, member.source, member.target, constraints, member.free, member.usable
    )
    return found if isinstance(found, ConstrainedPath) else None


def _meets_path_constraints(topology: Topology, path: ArcPath, member: PairMember) -> bool:
    """Whether the path alone is one that the constraints allow."""
    usable = np.zeros(len(member.usable), dtype=bool)
    usable[list(path)] = member.usable[list(path)]
    found = find_constrained_path(
        topology, member.source, member.target, member.constraints, member.free, usable
    )
    return isinstance(found, ConstrainedPath) and found.path == path


def _list_conflicts(
    topology: Topology, first: PairMember, second: PairMember, kind: Disjointness
) -> Iterator[tuple[Ints, Ints]]:
    """List the arcs of the first and of the second of which only one path may use some."""
    for link in range(len(topology.links)):
        arcs = np.flatnonzero(topology.link == link)
        yield arcs, arcs
    if kind == "risk":
        for arcs_of_risk in topology.group_arcs_by_risk().values():
            arcs = np.array(sorted(arcs_of_risk))
            yield arcs, arcs
    if kind == "node":
        for node in range(len(topology.nodes)):
            entering = np.flatnonzero(topology.head == node)
            touching = np.flatnonzero((topology.head == node) | (topology.tail == node))
            if node != first.target:
                yield entering, touching
            if node != second.target:
                yield touching, entering


def _solve_pair_program(
    topology: Topology, first: PairMember, second: PairMember, kind: Disjointness
) -> tuple[ArcPath, ArcPath] | None:
    """Solve for two unit flows and a choice in each conflict: variables are arcs and choices."""
    arc_count = len(topology.tail)
    conflicts = list(_list_conflicts(topology, first, second, kind))
    size = 2 * arc_count + len(conflicts)
    costs, most = np.zeros(size), np.ones(size)
    # Every row is a sum of variables with weights, and its least value.
    rows: list[tuple[dict[int, float], float]] = []
    for number, member in enumerate((first, second)):
        offset = number * arc_count
        costs[offset : offset + arc_count] = topology.get_metric(member.constraints.metric)
        most[offset : offset + arc_count] = member.find_arcs(topology)
        for node in range(len(topology.nodes)):
            weights = {offset + int(arc): 1.0 for arc in np.flatnonzero(topology.tail == node)}
            weights |= {offset + int(arc): -1.0 for arc in np.flatnonzero(topology.head == node)}
            balance = float(node == member.source) - float(node == member.target)
            rows.append((weights, balance))
            rows.append(({key: -value for key, value in weights.items()}, -balance))
        for bound, weight in (
            (member.constraints.max_hops, np.ones(arc_count)),
            (member.constraints.max_delay, topology.delay),
        ):
            if bound is not None:
                weights = {offset + arc: -float(weight[arc]) for arc in range(arc_count)}
                rows.append((weights, -float(bound)))
    for number, (of_first, of_second) in enumerate(conflicts):
        choice = 2 * arc_count + number
        rows += (({int(arc): -1.0, choice: 1.0}, 0.0) for arc in of_first)
        rows += (({arc_count + int(arc): -1.0, choice: -1.0}, -1.0) for arc in of_second)
    entries = [
        (row, column, value)
        for row, (weights, _) in enumerate(rows)
        for column, value in weights.items()
    ]
    row_numbers, columns, values = zip(*entries, strict=True)
    matrix = csr_matrix((values, (row_numbers, columns)), shape=(len(rows), size))
    least = np.array([value for _, value in rows])
    solution = solve_integer_program(costs, matrix, least, most, max_nodes=MAX_PROGRAM_NODES)
    if solution is None or solution.values is None:
        return None
    flows = solution.values[: 2 * arc_count].astype(bool).reshape(2, arc_count)
    return (
        _follow_flow(topology, first.source, first.target, flows[0]),
        _follow_flow(topology, second.source, second.target, flows[1]),
    )


def _follow_flow(topology: Topology, source: int, target: int, flow: Bools) -> ArcPath:
    path: list[int] = []
    node = source
    while node != target:
        arc = next(arc for arc in topology.arcs_from[node] if flow[arc] and arc not in path)
        path.append(int(arc))
        node = int(topology.head[arc])
    return tuple(path)
