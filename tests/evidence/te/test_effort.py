"""The effort of each search and program on small networks, as ``tests/pinned-effort.csv`` lists it.

A search that does twice the work gives the same answer later, and no other test sees that. So what
costs time is counted: programs for the solver, with their size and steps, shortest-path searches
and entries of heaps. The answer is hashed too: of equally good ones it is always the same.

``./dev python -m pytest tests/evidence/te/test_effort.py --pin`` rewrites the table; look at each
number that grows. Another version of the solver or another kind of processor may take other steps,
so that the test is skipped there. The vector instructions of an x86-64 change none.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import heapq
import platform
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
import scipy

from trunkline.te import (
    arc_formulation,
    capacity_expansion,
    column_generation,
    disjoint_paths,
    frank_wolfe,
    joint_pairs,
    linear_program,
    robust_program,
    spf,
    unsplittable,
)
from trunkline.te.arc_formulation import minimise_added_capacity, minimise_congestion
from trunkline.te.capacity_expansion import CapacityModule, choose_modules
from trunkline.te.cspf import find_constrained_path
from trunkline.te.igp_weights import search_weights
from trunkline.te.joint_pairs import PairMember, find_joint_pair
from trunkline.te.k_shortest_paths import find_k_shortest_paths
from trunkline.te.migration_order import (
    PathMove,
    UsageBound,
    find_least_headroom,
    find_migration_order,
)
from trunkline.te.path_constraints import PathConstraints, ViaNode
from trunkline.te.post_failure_routing import ShortestPathRouting
from trunkline.te.robust_routing import minimise_worst_utilisation
from trunkline.te.topology import Arc, Topology, add_reverse_arcs, build_topology
from trunkline.te.unsplittable import Commodity, compute_lower_bound, route_unsplittable

PINNED = Path(__file__).resolve().parents[2] / "pinned-effort.csv"
SOLVER = "1.17."
"""Versions of SciPy, which brings the solver, with which the table was made."""
COUNTS = ["linear", "integer", "columns", "rows", "steps", "nodes", "searches", "heap"]
"""Programs, their columns and rows, steps and nodes of the solver, searches, entries of heaps."""


def draw_network(seed: int, nodes: int = 7, links: int = 11) -> Topology:
    """A ring with chords."""
    draw = random.Random(seed)
    pairs = [(each, (each + 1) % nodes) for each in range(nodes)]
    while len(pairs) < links:
        ends = tuple(sorted(draw.sample(range(nodes), 2)))
        if ends not in pairs and ends[::-1] not in pairs:
            pairs.append(ends)
    return build_topology(
        [f"n{each}" for each in range(nodes)],
        add_reverse_arcs(
            Arc(
                f"n{a}",
                f"n{b}",
                draw.choice([8, 10, 16, 20]),
                igp=draw.randint(1, 4),
                delay=draw.randint(1, 5),
                risks=frozenset(f"r{risk}" for risk in draw.sample(range(5), draw.randint(0, 1))),
            )
            for a, b in pairs
        ),
    )


def draw_traffic(seed: int, nodes: int, demands: int) -> np.ndarray:
    draw = random.Random(100 + seed)
    traffic = np.zeros((nodes, nodes))
    for ends in draw.sample(
        [(a, b) for a in range(nodes) for b in range(nodes) if a != b], demands
    ):
        traffic[ends] = draw.randint(1, 8)
    return traffic


def list_demands(traffic: np.ndarray) -> list[Commodity]:
    return [
        Commodity(int(a), int(b), float(traffic[a, b]))
        for a, b in zip(*np.nonzero(traffic), strict=True)
    ]


def route_by(form: Callable[[Topology, np.ndarray], object], seed: int) -> object:
    with pytest.MonkeyPatch.context() as patch:
        # So that the first paths are not enough.
        patch.setattr(column_generation, "PREPARATION_STEPS", 2)
        return form(draw_network(seed, 10, 16), draw_traffic(seed, 10, 25))


def fail_links(graph: Topology, *links: int) -> np.ndarray:
    return np.array([graph.link == link for link in (-1, *links)])


def place_robustly(seed: int, protection: str, most_listed: int, most_rows: int) -> object:
    """``most_listed``, ``most_rows``: Columns that are listed, and rows that a round adds."""
    nodes, links, count = (5, 7, 3) if protection == "facility-bypass" else (6, 9, 6)
    graph = draw_network(seed, nodes, links)
    demands = list_demands(draw_traffic(seed, nodes, count))
    rates = np.array([[each.rate for each in demands], [each.rate for each in demands[::-1]]])
    failures = fail_links(graph, *(() if protection == "none" else range(len(graph.links))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(robust_program, "MAX_LISTED_COLUMNS", most_listed)
        patch.setattr(robust_program, "MAX_ROWS_PER_ROUND", most_rows)
        return minimise_worst_utilisation(
            graph,
            [(each.source, each.target) for each in demands],
            rates,
            failures,
            protection,  # type: ignore[arg-type]
        )


def choose_modules_of(seed: int) -> object:
    graph = draw_network(seed, 5, 7)
    traffic = draw_traffic(seed, 5, 6) * 3
    cases = [(traffic, dead) for dead in fail_links(graph, 0, 2, 4)]
    draw = random.Random(seed)
    modules = [
        CapacityModule(str(rate), rate, tuple(float(draw.randint(3, 9)) for _ in graph.links), 9)
        for rate in (5, 9)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity_expansion, "MAX_ROWS_PER_ROUND", 3)
        return choose_modules(graph, cases, modules)


def add_capacity(seed: int) -> object:
    graph, traffic = draw_network(seed), draw_traffic(seed, 7, 12)
    return minimise_added_capacity(graph, [(traffic * 2, dead) for dead in fail_links(graph, 0, 4)])


def route_single(seed: int) -> object:
    graph, traffic = draw_network(seed), draw_traffic(seed, 7, 14)
    demands = list_demands(traffic)
    return route_unsplittable(graph, demands), compute_lower_bound(graph, demands, 0.1)


def find_pairs(seed: int, kind: str, most_first_paths: int) -> object:
    graph = draw_network(seed)
    usable = np.ones(len(graph.tail), dtype=bool)
    bounds = [PathConstraints(5), PathConstraints(5, max_delay=12)]
    members = [
        PairMember(*ends, bound, graph.capacity, usable)
        for ends, bound in zip([(0, 3), (1, 4)], bounds, strict=True)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_pairs, "MAX_FIRST_PATHS", most_first_paths)
        return (
            find_joint_pair(graph, *members, kind),  # type: ignore[arg-type]
            disjoint_paths.find_disjoint_pair(graph, 0, 3, graph.igp, kind),  # type: ignore[arg-type]
        )


def find_paths(seed: int) -> object:
    graph = draw_network(seed, 9, 16)
    asked = [
        PathConstraints(max_hops=4, max_delay=9),
        PathConstraints(via=(ViaNode(5), ViaNode(2, strict=True))),
        PathConstraints(max_delay=3),
        PathConstraints(19),
        PathConstraints(metric="delay", max_hops=3),
    ]
    return (
        [find_constrained_path(graph, 0, 4, each, graph.reservable) for each in asked],
        list(find_k_shortest_paths(graph, 0, 4, graph.igp, 12)),
    )


def order_moves(seed: int) -> object:
    draw = random.Random(seed)
    arcs = 5
    moves = [
        PathMove(
            f"p{number}",
            tuple(draw.sample(range(arcs), draw.randint(1, 2))),
            tuple(draw.sample(range(arcs), draw.randint(1, 2))),
            rate := draw.randint(1, 4),
            rate,
            setup=(priority := draw.randint(0, 7)),
            hold=priority,
            detours=tuple((arc,) for arc in draw.sample(range(arcs), 2)),
        )
        for number in range(6)
    ]
    limit = np.zeros(arcs, dtype=np.int64)
    for side in ("before", "after"):
        load = np.zeros_like(limit)
        for move in moves:
            load[list(getattr(move, side))] += move.bandwidth_before
        limit = np.maximum(limit, load)
    bounds = [UsageBound(frozenset(range(8)), limit, np.zeros_like(limit))]
    return (
        find_migration_order(moves, bounds),
        find_migration_order(moves, bounds, preemption=True),
        find_least_headroom(moves, bounds),
    )


def fail_each_link(seed: int) -> object:
    graph, traffic = draw_network(seed), draw_traffic(seed, 7, 14)
    routing = ShortestPathRouting(graph, graph.igp, traffic)
    return [routing.route_after_failure(graph.link == link) for link in range(len(graph.links))]


MANY_ROUNDS = {
    "none": (2, 4, 8),
    "backup": (4, 5, 9),
    "one-plus-one": (4, 7, 9),
    "facility-bypass": (2, 6, 9),
}
"""Seeds of networks that need many rounds, by protection."""
SEARCHES: dict[str, Callable[[int], object]] = {
    "optimum by arcs": functools.partial(route_by, arc_formulation.minimise_utilisation),
    "optimum by paths": functools.partial(route_by, column_generation.minimise_utilisation),
    "frank-wolfe": functools.partial(route_by, frank_wolfe.minimise_utilisation),
    "least congestion": functools.partial(route_by, minimise_congestion),
    "weights": lambda seed: search_weights(draw_network(seed), draw_traffic(seed, 7, 14), 150),
    "single paths": route_single,
    "added capacity": add_capacity,
    "modules": choose_modules_of,
    **{
        f"{protection}, {listed} listed, {rows} rows": functools.partial(
            place_robustly, protection=protection, most_listed=listed, most_rows=rows
        )
        for protection in MANY_ROUNDS
        for listed, rows in ((3000, 2), (0, 5))
    },
    **{
        f"pairs, {kind}, {paths} paths": functools.partial(
            find_pairs, kind=kind, most_first_paths=paths
        )
        for kind in ("link", "node", "risk")
        for paths in (2, 64)
    },
    "paths": find_paths,
    "moves": order_moves,
    "failures": fail_each_link,
}
CASES = [
    (what, seed) for what in SEARCHES for seed in MANY_ROUNDS.get(what.split(",")[0], (0, 1, 2))
]


def write_parts(value: object) -> Iterator[str]:
    """The numbers and words of an answer, to six digits."""
    if is_dataclass(value):
        for each in fields(value):
            yield each.name
            yield from write_parts(getattr(value, each.name))
    elif isinstance(value, dict):
        yield from write_parts(list(value.items()))
    elif isinstance(value, np.ndarray):
        yield from write_parts(value.tolist())
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from write_parts(part)
    else:
        yield f"{value:.6g}" if isinstance(value, float) else str(value)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What is counted from now on."""
    counts: Counter[str] = Counter()

    def count_linear(**program):  # type: ignore[no-untyped-def]
        solution = scipy.optimize.linprog(**program)
        rows = sum(program[key].shape[0] for key in ("A_ub", "A_eq") if key in program)
        counts.update(linear=1, columns=len(program["c"]), rows=rows, steps=int(solution.nit))
        return solution

    def count_integer(costs, *, constraints, **options):  # type: ignore[no-untyped-def]
        solution = scipy.optimize.milp(costs, constraints=constraints, **options)
        rows = sum(each.A.shape[0] for each in constraints)
        nodes = int(solution.mip_node_count or 0)
        counts.update(integer=1, columns=len(costs), rows=rows, nodes=nodes)
        return solution

    def count_search(*arguments, **options):  # type: ignore[no-untyped-def]
        counts.update(searches=int(np.size(options["indices"])))
        return scipy.sparse.csgraph.dijkstra(*arguments, **options)

    push = heapq.heappush

    def count_push(heap, entry):  # type: ignore[no-untyped-def]
        counts.update(heap=1)
        push(heap, entry)

    monkeypatch.setattr(linear_program, "linprog", count_linear)
    monkeypatch.setattr(linear_program, "milp", count_integer)
    monkeypatch.setattr(spf, "dijkstra", count_search)
    monkeypatch.setattr(heapq, "heappush", count_push)
    for module in (arc_formulation, unsplittable):
        monkeypatch.setattr(module, "heappush", count_push)
    return counts


def read_table() -> dict[tuple[str, int], list[str]]:
    with PINNED.open(newline="") as file:
        return {
            (row["what"], int(row["seed"])): [row[key] for key in (*COUNTS, "answer")]
            for row in csv.DictReader(file)
        }


@pytest.mark.skipif(
    not scipy.__version__.startswith(SOLVER) or platform.machine() not in ("x86_64", "AMD64"),
    reason="another solver's or processor's steps",
)
@pytest.mark.parametrize(("what", "seed"), CASES)
def test_the_effort_and_the_answer_are_as_pinned(
    what: str, seed: int, counted: Counter[str], request: pytest.FixtureRequest
) -> None:
    answer = "\n".join(write_parts(SEARCHES[what](seed)))
    digest = hashlib.sha256(answer.encode()).hexdigest()[:12]
    found = [*(str(counted[key]) for key in COUNTS), digest]
    table = read_table() if PINNED.exists() else {}
    if request.config.getoption("--pin"):
        table[what, seed] = found
        with PINNED.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["what", "seed", *COUNTS, "answer"])
            writer.writerows([*key, *row] for key, row in sorted(table.items()))
    assert table[what, seed] == found


def test_no_effort_is_pinned_that_is_no_longer_measured() -> None:
    assert list(read_table()) == sorted(CASES)
