"""Robust placement against every choice of pairs, against itself without a list, and the screen."""

from __future__ import annotations

from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest

import trunkline as tl
from trunkline.planning import place, place_robustly, survive, write_solution
from trunkline.te import robust_bypasses, robust_program
from trunkline.te.k_shortest_paths import find_k_shortest_paths
from trunkline.te.linear_program import IntegerSolution, solve_integer_program
from trunkline.te.optimal_routing import minimise_utilisation
from trunkline.te.robust_bypasses import BypassProgram
from trunkline.te.robust_program import ProtectedPath, RobustProgram
from trunkline.te.robust_routing import minimise_worst_utilisation
from trunkline.te.topology import Arc, Topology, add_reverse_arcs, build_topology

PROTECTIONS = ("none", "backup", "one-plus-one")


def random_case(seed: int, node_count: int = 5, link_count: int = 8, hours: int = 2):
    """A network without bridges, demands of several hours, and all single failures of links."""
    draw = np.random.default_rng(seed)
    pairs = [(each, (each + 1) % node_count) for each in range(node_count)]
    while len(pairs) < link_count:
        a, b = sorted(draw.choice(node_count, 2, replace=False).tolist())
        if (a, b) not in pairs and (b, a) not in pairs:
            pairs.append((a, b))
    links = [
        Arc(f"n{a}", f"n{b}", int(draw.integers(8, 20)), igp=int(draw.integers(1, 5)))
        for a, b in pairs
    ]
    graph = build_topology([f"n{each}" for each in range(node_count)], add_reverse_arcs(links))
    ends = [tuple(draw.choice(node_count, 2, replace=False).tolist()) for _ in range(3)]
    rates = draw.integers(1, 9, (hours, len(ends))).astype(float)
    failures = np.array([graph.link == link for link in range(-1, len(graph.links))])
    return graph, ends, rates, failures


def list_paths(graph: Topology, source: int, target: int) -> list[tuple[int, ...]]:
    """By another program: every simple path between two nodes."""
    drawn = nx.DiGraph(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
    return [
        tuple(graph.arcs_between[each][0] for each in pairwise(nodes))
        for nodes in nx.all_simple_paths(drawn, source, target)
    ]


def search_all_pairs(graph: Topology, ends, rates, failures, protection: str) -> float:
    """The least worst utilisation over every choice of a pair for each demand."""
    choices = []
    for number, (source, target) in enumerate(ends):
        paths = list_paths(graph, source, target)
        use_of_pairs = []
        for path, backup in product(paths, paths):
            if protection != "none":
                links = set(graph.link[list(path)].tolist())
                if links & set(graph.link[list(backup)].tolist()):
                    continue
            elif path is not backup:
                continue
            use = np.zeros((len(rates), *failures.shape))
            for failure, dead in enumerate(failures):
                broken = dead[list(path)].any()
                carriers = [backup] if broken else [path]
                if protection == "none":
                    carriers = [] if broken else [path]
                elif protection == "one-plus-one":
                    carriers = [path, backup]
                for carrier in carriers:
                    use[:, failure, list(carrier)] += rates[:, number][:, None]
                use[:, failure, dead] = 0
            use_of_pairs.append(use / graph.capacity)
        choices.append(use_of_pairs)
    return min(float(sum(each).max()) for each in product(*choices))


@pytest.mark.parametrize("protection", PROTECTIONS)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most_rows", [1, 300])
def test_the_worst_state_is_the_least_of_all_choices_of_pairs(
    seed: int, protection, most_rows: int, monkeypatch
) -> None:
    """Also where rows of states come one by one, so that both programs need many rounds."""
    monkeypatch.setattr(robust_program, "MAX_ROWS_PER_ROUND", most_rows)
    graph, ends, rates, failures = random_case(seed)
    if protection == "none":
        failures = failures[:1]
    least = search_all_pairs(graph, ends, rates, failures, protection)
    found = minimise_worst_utilisation(graph, ends, rates, failures, protection)
    assert found.is_complete
    assert found.mlu == pytest.approx(least)
    # The integer program proves it.
    assert found.single_path_bound == pytest.approx(least)
    assert found.bound <= found.split_mlu <= least + 1e-9


@pytest.mark.parametrize("protection", PROTECTIONS)
@pytest.mark.parametrize("seed", range(20, 24))
def test_generated_columns_reach_the_linear_program_over_all(
    seed: int, protection, monkeypatch
) -> None:
    graph, ends, rates, failures = random_case(seed, 6, 9)
    if protection == "none":
        failures = failures[:1]
    listed = minimise_worst_utilisation(graph, ends, rates, failures, protection)
    monkeypatch.setattr(robust_program, "MAX_LISTED_COLUMNS", 0)
    generated = minimise_worst_utilisation(graph, ends, rates, failures, protection)
    assert listed.is_complete
    assert not generated.is_complete
    assert listed.bound == pytest.approx(listed.split_mlu)
    assert generated.split_mlu == pytest.approx(listed.split_mlu, rel=1e-5)
    assert generated.bound <= listed.split_mlu * (1 + 1e-6)
    if protection != "backup":
        assert generated.bound == pytest.approx(listed.split_mlu, rel=1e-5)
    assert listed.mlu <= generated.mlu * (1 + 1e-9)
    assert generated.single_path_bound <= listed.mlu * (1 + 1e-6)


@pytest.mark.parametrize("protection", PROTECTIONS)
@pytest.mark.parametrize("seed", range(40, 52))
def test_no_column_costs_less_than_the_bound_of_its_price_whatever_fails(
    seed: int, protection
) -> None:
    """Links that never fail may carry both paths of a pair; a failure may separate the ends."""
    draw = np.random.default_rng(seed)
    graph, ends, rates, _ = random_case(seed, 6, 8)
    if seed % 2:
        stub = add_reverse_arcs([Arc("n0", "stub", 30)])
        graph = build_topology([*graph.nodes, "stub"], [*graph.arcs, *stub])
        ends = [(graph.node_number["n1"], graph.node_number["stub"])]
        rates = rates[:, :1]
    count = len(graph.links) if seed % 3 == 0 else draw.integers(1, len(graph.links))
    links = draw.permutation(len(graph.links))[:count]
    failures = np.array([graph.link == link for link in (-1, *links.tolist())])
    failures = failures[:1] if protection == "none" else failures
    program = RobustProgram(graph, ends, rates, failures, protection)
    for demand in range(len(ends)):
        program._add_column(demand, program._find_first_pair(demand))
    assert program._list_all_columns()
    for _ in range(10):
        prices = draw.random(failures.shape) * (draw.random(failures.shape) < 0.5)
        for demand in range(len(ends)):
            price = prices * program.joined[demand][:, None]
            costs = [
                price[column.path_carries][:, list(column.pair.path)].sum()
                + price[column.backup_carries][:, list(column.pair.backup or ())].sum()
                for column in program.columns
                if column.demand == demand
            ]
            assert program._bound_price(demand, price) <= min(costs) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("protection", PROTECTIONS)
@pytest.mark.parametrize(("demands", "routes"), [(3, 3), (4, 3), (6, 3), (8, 4), (7, 5), (12, 4)])
def test_moves_alone_level_equal_demands_over_equal_routes(
    demands: int, routes: int, protection, monkeypatch
) -> None:
    """Pigeonhole: n paths on k routes load one with n / k rounded up; 1+1 is twice the paths.

    A backup needs the routes that a failure leaves, k - 1. No integer program chooses here.
    """
    monkeypatch.setattr(robust_program, "MAX_INTEGER_COLUMNS", 0)
    links = [
        Arc(*pair, 10) for each in range(routes) for pair in (("S", f"m{each}"), (f"m{each}", "T"))
    ]
    nodes = ["S", "T", *(f"m{each}" for each in range(routes))]
    graph = build_topology(nodes, add_reverse_arcs(links))
    failures = np.array([graph.link == link for link in range(-1, len(graph.links))])
    failures = failures if protection == "backup" else failures[:1]
    ends = [(graph.node_number["S"], graph.node_number["T"])] * demands
    found = minimise_worst_utilisation(graph, ends, np.ones((1, demands)), failures, protection)
    paths, ways = {
        "none": (demands, routes),
        "one-plus-one": (2 * demands, routes),
        "backup": (demands, routes - 1),
    }[protection]
    assert found.mlu == pytest.approx(-(-paths // ways) / 10)
    assert found.split_mlu == pytest.approx(paths / ways / 10, rel=1e-5)


def test_one_hour_without_failures_is_the_published_optimum_of_pdh() -> None:
    # Known from elsewhere: the least utilisation of pdh at 1000 is 0.166500 split; on single
    # paths the demand of 384 fills its widest path.
    from trunkline.importers.network import ImportRules, read_network

    made = read_network("topohub:sndlib/pdh", ImportRules(10**9, 10**6))
    found = place_robustly(tl.load(made.text), kinds=(), hours=_own_hour(tl.load(made.text)))
    single, split, _ = found.methods
    assert split.mlu == pytest.approx(0.1665)
    assert split.bound == pytest.approx(0.1665)
    assert single.mlu == pytest.approx(0.384)
    assert single.gap == 0


def _own_hour(scenario):
    demands = scenario.resolve().demands.values()
    return {"now": [(each.source, each.target, "", each.rate) for each in demands]}


RING = """\
trunkline: 1
nodes: [A, B, C, D, E]
links:
  A-B: {rate: 10 Mbit/s}
  B-C: {rate: 10 Mbit/s}
  C-D: {rate: 10 Mbit/s}
  D-E: {rate: 10 Mbit/s}
  E-A: {rate: 10 Mbit/s}
  A-C: {rate: 10 Mbit/s, te: {risks: [duct]}}
  A-D: {rate: 10 Mbit/s, te: {risks: [duct]}}
traffic: {data: {agent: udp, size: 500 B}}
demands:
  one: {from: A, to: C, rate: 4 Mbit/s, class: data}
  two: {from: A, to: D, rate: 3 Mbit/s, class: data}
run: {duration: 1 s, warm_up: 100 ms}
"""


@pytest.mark.parametrize("kinds", [("link",), ("link", "risk"), ("link", "node", "risk")])
def test_the_screen_sees_the_written_scenario_as_planned(kinds) -> None:
    scenario = tl.load(RING)
    plan = place_robustly(scenario, kinds=kinds)
    written = tl.load(write_solution(scenario, plan))
    screened = survive(written, kinds=kinds)
    planned = {(each.failure, each.kind): each.mlu for each in plan.states}
    assert planned.pop(("none", "none")) == pytest.approx(screened.mlu)
    assert {(each.failure, each.kind): each.mlu for each in screened.failures} == pytest.approx(
        planned
    )
    assert all(each.lost_bit_s == each.unavoidable_bit_s for each in screened.failures)
    risks = [each for each in screened.failures if each.kind == "risk"]
    # The duct takes A-C and A-D, so no pair has one on each side.
    assert bool(risks) == ("risk" in kinds)
    assert [each.route for each in place(written).paths[:2]] == [each.route for each in plan.paths]


def test_paths_for_two_hours_by_hand() -> None:
    # Two ways of 10 from A to D. By day a sends 8 and b 2, by night 2 and 8: together on one way
    # they use 1.0 in each hour, apart 0.8. Peaks, 8 and 8, would say 0.8 as well, but 1.6 together.
    text = """\
trunkline: 1
nodes: [A, B, C, D]
defaults: {link: {rate: 10 Mbit/s}}
links: {A-B: {}, B-D: {}, A-C: {}, C-D: {}}
demands:
  a: {from: A, to: D, rate: 8 Mbit/s}
  b: {from: A, to: D, rate: 8 Mbit/s, class: EF}
  c: {from: A, to: B, rate: 2 Mbit/s}
run: {duration: 1 s}
"""
    hours = {
        "day": [("A", "D", "DF", 8e6), ("A", "D", "EF", 2e6)],
        "night": [("A", "D", "DF", 2e6), ("A", "D", "EF", 8e6), ("A", "B", "", 2e6)],
    }
    plan = place_robustly(tl.load(text), kinds=(), hours=hours)
    assert plan.methods[0].mlu == pytest.approx(0.8)
    assert plan.methods[0].bound == pytest.approx(0.8)
    # Split, 12 Mbit/s over both ways at night and 10 by day: 0.6.
    assert plan.methods[1].mlu == pytest.approx(0.6)
    assert [each.hour for each in plan.states] == ["day", "night"]
    assert plan.backups == {}
    routes = [each.route for each in plan.paths]
    # c is beside the 2 of the night.
    assert routes[2] == ("A", "B")
    assert routes[0] == ("A", "B", "D")
    assert routes[1] == ("A", "C", "D")


def test_what_cannot_be_placed_is_refused() -> None:
    scenario = tl.load(RING)
    with pytest.raises(ValueError, match="no failure and no hour"):
        place_robustly(scenario, kinds=("named",))
    with pytest.raises(ValueError, match="a demand from C to A"):
        place_robustly(scenario, hours={"x": [("C", "A", "", 1e6)]})
    with pytest.raises(ValueError, match="without protection"):
        place_robustly(scenario, protection="none")
    # Any two of the links at C share a duct, and each duct leaves one of them.
    trap = RING
    for link, risks in (("A-C", "r1, r2"), ("B-C", "r1, r3"), ("C-D", "r2, r3")):
        line = next(each for each in trap.splitlines() if each.startswith(f"  {link}:"))
        trap = trap.replace(line, f"  {link}: {{rate: 10 Mbit/s, te: {{risks: [{risks}]}}}}")
    with pytest.raises(ValueError, match="no two paths from A to C"):
        place_robustly(tl.load(trap), kinds=("risk",))


def test_a_failure_that_separates_the_ends_does_not_forbid_a_pair() -> None:
    # F has one link: no pair avoids it, and its failure is lost in any case.
    text = RING.replace("E]", "E, F]").replace("  A-C:", "  F-A: {rate: 10 Mbit/s}\n  A-C:", 1)
    text = text.replace("from: A, to: C", "from: F, to: C")
    plan = place_robustly(tl.load(text), kinds=("link",))
    assert plan.backups["one"][:2] == ("F", "A")
    screened = survive(tl.load(write_solution(tl.load(text), plan)), kinds=("link",))
    (cut,) = [each for each in screened.failures if each.failure == "F-A"]
    assert cut.lost_bit_s == cut.unavoidable_bit_s == 4_000_000


def search_all_bypasses(graph: Topology, ends, rates, failures) -> float:
    """The least worst utilisation over every path of each demand and every bypass of each arc."""
    least = np.inf
    for paths in product(*(list_paths(graph, *each) for each in ends)):
        flow = np.zeros((len(rates), len(graph.arcs)))
        for number, path in enumerate(paths):
            flow[:, list(path)] += rates[:, number][:, None]
        worst = float((flow / graph.capacity).max())
        # The arcs of one failure alone share it, so failures are searched one by one.
        for dead in failures[1:]:
            broken = [arc for arc in np.flatnonzero(dead).tolist() if flow[:, arc].any()]
            rounds = [
                [
                    path
                    for path in list_paths(graph, int(graph.tail[arc]), int(graph.head[arc]))
                    if not dead[list(path)].any()
                ]
                for arc in broken
            ]
            best = np.inf
            for bypasses in product(*rounds):
                loads = np.where(dead, 0.0, flow)
                for arc, bypass in zip(broken, bypasses, strict=True):
                    loads[:, list(bypass)] += flow[:, arc][:, None]
                best = min(best, float((loads / graph.capacity).max()))
            worst = max(worst, best)
        least = min(least, worst)
    return least


@pytest.mark.parametrize("seed", range(30, 36))
def test_paths_with_bypasses_lie_between_their_bound_and_every_choice(seed: int) -> None:
    graph, ends, rates, failures = random_case(seed, hours=1)
    least = search_all_bypasses(graph, ends[:2], rates[:, :2], failures)
    found = minimise_worst_utilisation(graph, ends[:2], rates[:, :2], failures, "facility-bypass")
    assert found.bound <= found.split_mlu <= least * (1 + 1e-6)
    assert found.bound == pytest.approx(found.split_mlu, rel=1e-5)
    # The integer program over all paths and bypasses proves it, to the gap of both programs.
    assert found.single_path_bound == pytest.approx(least, rel=5e-6)
    assert found.mlu == pytest.approx(least)


def test_bypasses_are_what_the_screen_of_the_written_scenario_uses() -> None:
    scenario = tl.load(RING)
    plan = place_robustly(scenario, kinds=("link", "risk"), protection="facility-bypass")
    assert plan.bypasses
    assert all(each.kind == "risk" or each.mlu <= plan.methods[0].mlu for each in plan.states)
    screened = survive(tl.load(write_solution(scenario, plan)), kinds=("link", "risk"))
    planned = {(each.failure, each.kind): each.mlu for each in plan.states}
    del planned["none", "none"]
    assert {(each.failure, each.kind): each.mlu for each in screened.failures} == pytest.approx(
        planned
    )
    assert all(each.lost_bit_s == 0 for each in screened.failures)
    with pytest.raises(ValueError, match="does not survive the failure of its end"):
        place_robustly(scenario, protection="facility-bypass")


def sum_loads_by_hand(graph: Topology, ends, rates, failures, protection: str, found):
    """The loads of every state of a routing, one demand after the other, shape (M, F, E)."""
    loads = np.zeros((len(rates), *failures.shape))
    for failure, dead in enumerate(failures):
        drawn = nx.DiGraph()
        drawn.add_nodes_from(range(len(graph.nodes)))
        up = np.flatnonzero(~dead)
        drawn.add_edges_from(zip(graph.tail[up].tolist(), graph.head[up].tolist(), strict=True))
        for number, (pair, rate) in enumerate(zip(found.paths, rates.T, strict=True)):
            if not nx.has_path(drawn, *ends[number]):
                continue
            broken = [arc for arc in pair.path if dead[arc]]
            carriers = [pair.path]
            if protection == "one-plus-one":
                carriers = [pair.path, pair.backup]
            elif protection == "backup" and broken:
                carriers = [pair.backup]
            elif protection == "facility-bypass":
                carriers += [found.bypasses[arc] for arc in broken if arc in found.bypasses]
            for arcs in carriers:
                for arc in arcs:
                    loads[:, failure, arc] += 0 if dead[arc] else rate
    return loads


@pytest.mark.parametrize("protection", [*PROTECTIONS, "facility-bypass"])
@pytest.mark.parametrize("most_listed", [0, 3000])
def test_loads_of_all_states_and_the_shortest_pairs_by_hand(
    protection, most_listed: int, monkeypatch
) -> None:
    """A stub whose link fails separates the last demand's ends: it is lost, its pair stays."""
    monkeypatch.setattr(robust_program, "MAX_LISTED_COLUMNS", most_listed)
    for seed in range(60, 64):
        graph, ends, rates, _ = random_case(seed, 6, 9)
        graph = build_topology(
            [*graph.nodes, "stub"], [*graph.arcs, *add_reverse_arcs([Arc("n0", "stub", 30)])]
        )
        ends[-1] = (graph.node_number["n1"], graph.node_number["stub"])
        failures = np.array([graph.link == link for link in (-1, 0, 3, 5, len(graph.links) - 1)])
        failures = failures[:1] if protection == "none" else failures
        found = minimise_worst_utilisation(graph, ends, rates, failures, protection)
        by_hand = sum_loads_by_hand(graph, ends, rates, failures, protection, found)
        assert found.loads == pytest.approx(by_hand)
        worst = (by_hand / graph.capacity).max(axis=2)
        assert found.worst == pytest.approx(worst)
        assert found.mlu == pytest.approx(worst.max())
        assert found.bound <= found.split_mlu * (1 + 1e-9)
        assert found.bound <= found.single_path_bound * (1 + 1e-9) <= found.mlu * (1 + 2e-9)
        assert found.mlu <= found.shortest_mlu * (1 + 1e-9)
        if protection == "none":
            loads = np.zeros((len(rates), len(graph.arcs)))
            for number, (source, target) in enumerate(ends):
                path = next(find_k_shortest_paths(graph, source, target, graph.igp, 1))
                loads[:, list(path)] += rates[:, number][:, None]
            assert found.shortest_mlu == pytest.approx((loads / graph.capacity).max())


@pytest.mark.parametrize("seed", range(70, 76))
def test_the_bound_of_generated_backups_is_free_rerouting_of_the_worst_state(
    seed: int, monkeypatch
) -> None:
    """No protection undercuts what each state needs alone, by the program over arcs."""
    monkeypatch.setattr(robust_program, "MAX_LISTED_COLUMNS", 0)
    graph, ends, rates, failures = random_case(seed, 6, 9)
    found = minimise_worst_utilisation(graph, ends, rates, failures, "backup")
    least = 0.0
    for dead in failures:
        left = build_topology(
            graph.nodes, [arc for arc, gone in zip(graph.arcs, dead, strict=True) if not gone]
        )
        for row in rates:
            traffic = np.zeros((len(graph.nodes),) * 2)
            for pair, rate in zip(ends, row, strict=True):
                traffic[pair] += rate
            least = max(least, minimise_utilisation(left, traffic, "arcs").mlu)
    assert found.bound == pytest.approx(min(least, found.split_mlu), rel=1e-5)


@pytest.mark.parametrize("seed", range(80, 84))
def test_one_bypass_serves_two_hours_as_well_as_any_does(seed: int) -> None:
    graph, ends, rates, failures = random_case(seed, hours=2)
    least = search_all_bypasses(graph, ends[:2], rates[:, :2], failures)
    found = minimise_worst_utilisation(graph, ends[:2], rates[:, :2], failures, "facility-bypass")
    assert found.bound <= found.split_mlu <= least * (1 + 1e-6)
    assert found.mlu == pytest.approx(least)


def test_failures_without_protection_and_a_first_state_with_one_are_refused() -> None:
    graph, ends, rates, failures = random_case(0)
    with pytest.raises(ValueError, match="loses what it breaks"):
        minimise_worst_utilisation(graph, ends, rates, failures[:2], "none")
    with pytest.raises(ValueError, match="the first state has no failure"):
        minimise_worst_utilisation(graph, ends, rates, failures[1:], "backup")


def build_two_ways(rate: int) -> Topology:
    """S to T over A, or over B and C; the first link to A has the rate, all others have 100."""
    links = [Arc(*ends, 100) for ends in ("AT", "SB", "BC", "CT")]
    return build_topology("STABC", add_reverse_arcs([Arc("S", "A", rate), *links]))


@pytest.mark.parametrize(
    ("busy", "rate", "way"),
    [(1.10, 100, "SAT"), (1.11, 100, "SBCT"), (1.0, 51, "SAT"), (1.0, 49, "SBCT")],
)
def test_the_next_way_adds_least_to_the_sum_of_the_eighth_powers(busy, rate, way: str) -> None:
    """The price of a link is the slope of u^8: 1.10^7 is less than 2, 1.11^7 is more.

    A unit of load on a link of half the capacity costs twice as much.
    """
    graph = build_two_ways(rate)
    program = RobustProgram(
        graph, [(0, 1)], np.ones((1, 1)), np.zeros((1, len(graph.arcs)), dtype=bool), "none"
    )
    use = np.zeros((1, 1, len(graph.arcs)))
    use[0, 0, graph.find_path_through("S", "A")[0]] = busy
    use[0, 0, list(graph.find_path_through("S", "B", "C"))] = 1.0
    [number] = program._list_alternatives(0, use)
    assert graph.list_node_names(program.columns[number].pair.path) == tuple(way)


def test_what_levels_nothing_is_no_move(monkeypatch) -> None:
    """Two equal ways: a demand and a bypass stay where they are, however many moves may be."""
    for most in (1, 2, 3):
        monkeypatch.setattr(robust_program, "MAX_MOVES", most)
        monkeypatch.setattr(robust_bypasses, "MAX_MOVES", most)
        arcs = add_reverse_arcs(Arc(*ends, 100) for ends in ("SA", "AT", "SB", "BT"))
        graph = build_topology("STAB", arcs)
        no_failure = np.zeros((1, len(arcs)), dtype=bool)
        program = RobustProgram(graph, [(0, 1)], np.ones((1, 1)), no_failure, "none")
        for way in ("SAT", "SBT"):
            program._add_column(0, ProtectedPath(graph.find_path_through(*way), None))
        assert [program._move_demands([each]) for each in (0, 1)] == [[0], [1]]
        graph = build_topology("STAB", [*arcs, *add_reverse_arcs([Arc("S", "T", 200)])])
        failures = np.array([graph.link == link for link in (-1, 4)])
        bypasses = BypassProgram(
            graph, [(0, 1)], np.full((1, 1), 60.0), failures, "facility-bypass"
        )
        bypasses._add_column(0, ProtectedPath(graph.find_path_through("S", "T"), None))
        # Without the direct link its bypass has all 60; the other way would be as busy.
        for way in ("SAT", "SBT"):
            bypasses.bypasses[8] = [graph.find_path_through(*way)]
            bypasses._choose_bypass(8, 0)
            bypasses._move_bypasses([0])
            assert graph.list_node_names(bypasses._get_bypass(8)) == tuple(way)


def test_a_link_whose_ends_one_of_its_failures_separates_needs_no_bypass() -> None:
    """Both failures of S-T leave no common way round; in the second nothing joins the ends."""
    links = [("S", "T"), ("S", "A"), ("A", "T"), ("S", "B"), ("B", "T")]
    graph = build_topology("STAB", add_reverse_arcs([Arc(*ends, 100) for ends in links]))
    down = [(), ("S-T", "A-S"), ("S-T", "A-S", "B-S")]
    failures = np.array([[arc.name in names for arc in graph.arcs] for names in down])
    ends = [(0, 1)]
    found = minimise_worst_utilisation(graph, ends, np.ones((1, 1)), failures, "facility-bypass")
    assert found.bypasses == {}
    # Where the second failure leaves the way over A, each joins the ends and no bypass serves both.
    down[2] = ("S-T", "B-S")
    failures = np.array([[arc.name in names for arc in graph.arcs] for names in down])
    program = BypassProgram(graph, ends, np.ones((1, 1)), failures, "facility-bypass")
    loads = np.zeros((1, 3, len(graph.arcs)))
    loads[0, 0, 0] = 1
    with pytest.raises(ValueError, match="no path round link S-T from S to T survives each"):
        program.get_bypasses(loads)


@pytest.mark.parametrize("protection", [*PROTECTIONS, "facility-bypass"])
@pytest.mark.parametrize(("seed", "most_listed"), [(0, 3000), (40, 0)])
def test_the_optimum_of_little_traffic_is_as_exact(
    seed: int, most_listed: int, protection, monkeypatch
) -> None:
    """With a millionth of the traffic every utilisation and bound is a millionth."""
    # So that both programs need many rounds.
    monkeypatch.setattr(robust_program, "MAX_ROWS_PER_ROUND", 1)
    monkeypatch.setattr(robust_program, "MAX_LISTED_COLUMNS", most_listed)
    graph, ends, rates, failures = random_case(seed)
    failures = failures[:1] if protection == "none" else failures
    found, little = (
        minimise_worst_utilisation(graph, ends, each, failures, protection)
        for each in (rates, rates / 10**6)
    )
    for name in ("mlu", "bound", "split_mlu", "single_path_bound"):
        assert getattr(little, name) * 10**6 == pytest.approx(getattr(found, name), rel=1e-6)


@pytest.mark.parametrize(
    ("demands", "most", "is_complete"),
    [(1, 4, True), (1, 3, False), (2, 6, True), (2, 5, False), (4, 12, True), (4, 3, False)],
)
def test_all_columns_are_listed_as_long_as_they_are_few(
    demands: int, most: int, is_complete: bool, monkeypatch
) -> None:
    """Three ways from S to T: as many columns as demands times ways; fewer ways than columns."""
    monkeypatch.setattr(robust_program, "MAX_LISTED_COLUMNS", most)
    links = [("S", way) for way in "ABC"] + [(way, "T") for way in "ABC"]
    graph = build_topology("STABC", add_reverse_arcs(Arc(*ends, 10) for ends in links))
    ends = [(0, 1)] * demands
    no_failure = np.zeros((1, len(graph.arcs)), dtype=bool)
    found = minimise_worst_utilisation(graph, ends, np.ones((1, demands)), no_failure, "none")
    assert found.is_complete == is_complete
    assert found.mlu == pytest.approx(-(-demands // 3) / 10)


@pytest.mark.parametrize(("most", "is_solved"), [(9, True), (8, False)])
def test_an_integer_program_chooses_as_long_as_columns_are_few(
    most: int, is_solved: bool, monkeypatch
) -> None:
    """3 + 3 + 2 on ways of 10, 7 and 5: split, all are as busy; whole, 3 are on the way of 7."""
    solved = []

    def note_call(*arguments, **options):
        solved.append(arguments)
        return solve_integer_program(*arguments, **options)

    monkeypatch.setattr(robust_program, "MAX_INTEGER_COLUMNS", most)
    monkeypatch.setattr(robust_program, "solve_integer_program", note_call)
    rates = {"A": 10, "B": 7, "C": 5}
    links = [Arc(*ends, rates[way]) for way in "ABC" for ends in (("S", way), (way, "T"))]
    graph = build_topology("STABC", add_reverse_arcs(links))
    no_failure = np.zeros((1, len(graph.arcs)), dtype=bool)
    demands = np.array([[3.0, 3.0, 2.0]])
    found = minimise_worst_utilisation(graph, [(0, 1)] * 3, demands, no_failure, "none")
    assert bool(solved) == is_solved
    assert found.split_mlu == pytest.approx(8 / 22)
    if is_solved:
        assert found.mlu == found.single_path_bound == pytest.approx(3 / 7)


@pytest.mark.parametrize(("most", "are_all"), [(8, True), (7, False), (5, False), (1, False)])
def test_all_paths_and_bypasses_are_listed_as_long_as_they_are_few(
    most: int, are_all: bool, monkeypatch
) -> None:
    """A square with a diagonal: two demands with 3 and 3 ways, a bypass between ends with 2."""
    links = ["AB", "BC", "CD", "DA", "AC"]
    graph = build_topology("ABCD", add_reverse_arcs(Arc(*ends, 10) for ends in links))
    ends = [(0, 2), (0, 1)]
    failures = np.zeros((2, len(graph.arcs)), dtype=bool)
    # Of one direction alone: its ends have three ways, with itself.
    failures[1, graph.find_path_through("C", "A")[0]] = True
    program = BypassProgram(graph, ends, np.ones((1, 2)), failures, "facility-bypass")
    ways = sum(len(list_paths(graph, *pair)) for pair in (*ends, (2, 0)))
    for demand in range(2):
        program._add_column(demand, program._find_first_pair(demand))
    monkeypatch.setattr(robust_bypasses, "MAX_LISTED_PATHS", ways - 8 + most)
    assert program._list_all_paths() == are_all
    if are_all:
        assert [len(each) for each in program.columns_of] == [
            len(list_paths(graph, *pair)) for pair in ends
        ]


@pytest.mark.parametrize(("capacity", "ends_on"), [(50, "SAT"), (100, "SAT"), (110, "SBT")])
def test_a_bypass_moves_to_a_way_on_which_it_is_less_busy(capacity: int, ends_on: str) -> None:
    """60 of a link that fails, over A of 100 or over B."""
    links = {"SA": 100, "AT": 100, "SB": capacity, "BT": capacity, "ST": 200}
    graph = build_topology("STAB", add_reverse_arcs(Arc(*e, rate) for e, rate in links.items()))
    failures = np.array([graph.link == link for link in (-1, graph.links.index("S-T"))])
    rates = np.array([[60.0, 0.0], [30.0, 0.0]])
    program = BypassProgram(graph, [(0, 1), (0, 2)], rates, failures, "facility-bypass")
    for demand, way in enumerate(("ST", "SA")):
        program._add_column(demand, ProtectedPath(graph.find_path_through(*way), None))
    arc = graph.find_path_through("S", "T")[0]
    program.bypasses[arc] = [graph.find_path_through(*"SAT")]
    program._choose_bypass(arc, 0)
    program._move_bypasses([0, 1])
    assert graph.list_node_names(program._get_bypass(arc)) == tuple(ends_on)
    busiest = (program._sum_loads([0, 1]) / graph.capacity).max()
    assert busiest == pytest.approx(0.6 if ends_on == "SAT" else 60 / capacity)


def test_the_busiest_places_become_rows_a_few_at_a_time(monkeypatch) -> None:
    """Places above a utilisation, at most so many new ones of the four times as many busiest."""
    graph = build_topology("ABCDEF", add_reverse_arcs(Arc(a, b, 10) for a, b in pairwise("ABCDEF")))
    busy = np.array([[[7.0, 9, 1, 8, 2, 6, 3, 5, 4, 10]]])
    by_load = [(0, 0, arc) for arc in (9, 1, 3, 0, 5, 7, 8, 6, 4, 2)]

    def build() -> RobustProgram:
        no_failure = np.zeros((1, 10), dtype=bool)
        return RobustProgram(graph, [(0, 5)], np.ones((1, 1)), no_failure, "none")

    monkeypatch.setattr(robust_program, "MAX_ROWS_PER_ROUND", 2)
    program = build()
    assert [program._add_rows(busy, 0.0) for _ in range(5)] == [True] * 4 + [False]
    assert program.rows == by_load[:8]
    program = build()
    # 0.7 is not above 0.7; two of the three places above are one round.
    assert [program._add_rows(busy, 0.7) for _ in range(3)] == [True, True, False]
    assert program.rows == by_load[:3]


def start_program(seed: int, protection):
    """A program of first pairs and their rows, with its prices."""
    graph, ends, rates, failures = random_case(seed, 6, 9)
    failures = failures[:1] if protection == "none" else failures
    kind = BypassProgram if protection == "facility-bypass" else RobustProgram
    program = kind(graph, ends, rates, failures, protection)
    for demand in range(len(ends)):
        program._add_column(demand, program._find_first_pair(demand))
    program._add_rows(program._sum_loads([each[0] for each in program.columns_of]), 0.0)
    return program


@pytest.mark.parametrize("protection", [*PROTECTIONS, "facility-bypass"])
def test_a_bound_and_new_columns_are_the_same_in_any_unit_of_prices(protection) -> None:
    """Lagrangean duality: any prices bound the optimum, which those of the last round prove."""
    found_some = False
    for seed in range(20, 23):
        results = []
        for factor in (1.0, 0.5, 1e-9, 1e9):
            program = start_program(seed, protection)
            _, _, prices, demand_prices = program._solve_program()
            found = program._price_all(factor * prices, factor * demand_prices)
            results.append((*found, program.seen))
        bounds, _, columns = zip(*results, strict=True)
        # Prices are rounded to a millionth.
        assert bounds == pytest.approx([bounds[0]] * 4, rel=2e-6)
        assert all(each == columns[0] for each in columns)
        found_some |= results[0][1]
        program = start_program(seed, protection)
        program._generate(False)
        relaxed, _, prices, demand_prices = program._solve_program()
        count = len(program.columns)
        for factor in (1.0, 0.5, 1e-9, 1e9):
            bound, is_any_new = program._price_all(factor * prices, factor * demand_prices)
            assert not is_any_new
            assert len(program.columns) == count
            # Of backups no bound follows from prices.
            assert bound == pytest.approx(0.0 if protection == "backup" else relaxed, rel=2e-6)
    assert found_some


TRAP_LINKS = [("A", "B", 1), ("B", "C", 1), ("C", "Z", 1), ("A", "D", 3), ("D", "C", 1)]
TRAP_LINKS += [("B", "E", 1), ("E", "Z", 3)]


@pytest.mark.parametrize("protection", ["backup", "one-plus-one"])
@pytest.mark.parametrize(
    ("more", "risk", "fails", "ways"),
    [
        ([], "", "links", {"ABEZ", "ADCZ"}),
        ([], "all", "links", {"ABEZ", "ADCZ"}),
        # With a second link from A to B the pair of least sum shares B.
        ([("A", "B", 1)], "", "links", {"ABCZ", "ABEZ"}),
        ([("A", "B", 1)], "", "nodes", {"ABEZ", "ADCZ"}),
    ],
)
def test_bhandari_1999_where_first_paths_have_no_backup_a_pair_is_found_at_once(
    more, risk, fails, ways, protection, monkeypatch
) -> None:
    """The trap: what is left beside A-B-C-Z joins nothing. No common risk is best."""
    monkeypatch.setattr(robust_program, "MAX_FIRST_PATHS", 1)
    arcs = [
        Arc(a, b, 10, f"{a}{b}{number}", igp=cost, risks=frozenset(risk))
        for number, (a, b, cost) in enumerate(TRAP_LINKS + more)
    ]
    graph = build_topology("ABCDEZ", add_reverse_arcs(arcs))
    failures = [np.zeros(len(graph.arcs), dtype=bool)]
    if fails == "links":
        failures += [graph.link == link for link in range(len(graph.links))]
    else:
        failures += [(graph.tail == node) | (graph.head == node) for node in range(1, 5)]
    program = RobustProgram(graph, [(0, 5)], np.ones((1, 1)), np.array(failures), protection)
    pair = program._find_first_pair(0)
    assert pair.backup is not None
    if more and fails == "links":
        # The first path has a backup then: over the second link.
        assert graph.list_node_names(pair.path) == tuple("ABCZ")
    found = {"".join(graph.list_node_names(path)) for path in (pair.path, pair.backup)}
    assert found == ways


@pytest.mark.parametrize("protection", [*PROTECTIONS, "facility-bypass"])
def test_a_demand_without_any_path_is_refused(protection) -> None:
    graph = build_topology("ABC", add_reverse_arcs([Arc("A", "B", 10)]))
    no_failure = np.zeros((1, 2), dtype=bool)
    with pytest.raises(ValueError, match="no links lead from A to C"):
        minimise_worst_utilisation(graph, [(0, 2)], np.ones((1, 1)), no_failure, protection)


def build_ways(count: int, rate: int = 10) -> tuple[Topology, list[tuple[int, ...]]]:
    """As many ways of two links from S to T, and their paths."""
    nodes = [f"m{each}" for each in range(count)]
    links = [Arc(*pair, rate) for each in nodes for pair in (("S", each), (each, "T"))]
    graph = build_topology(["S", "T", *nodes], add_reverse_arcs(links))
    return graph, [graph.find_path_through("S", each, "T") for each in nodes]


def test_backups_are_priced_for_the_cheapest_path_and_the_newest_known_ones() -> None:
    """Six working paths in all: way 7 costs nothing, then those of the newest columns."""
    graph, paths = build_ways(8)
    failures = np.array([graph.link == link for link in range(-1, len(graph.links))])
    program = RobustProgram(graph, [(0, 1)], np.ones((1, 1)), failures, "backup")
    for way in range(6):
        program._add_column(0, ProtectedPath(paths[way], paths[way + 1]))
    price = np.ones(failures.shape)
    price[:, list(paths[7])] = 0.0
    found = list(program._find_cheap_pairs(0, price, 1e-9))
    assert [paths.index(pair.path) for pair in found] == [7, 5, 4, 3, 2, 1]
    assert [pair.backup == paths[7] for pair in found] == [False, *[True] * 5]


def choose(values: list[float], shares, script, bound: float, monkeypatch, is_complete=True):
    """Choose among ways on which the demand uses so much, with answers of the program by script."""
    graph, paths = build_ways(len(values), 1000)
    arcs = [
        Arc(arc.tail, arc.head, round(1 / values[number // 4]), arc.link)
        for number, arc in enumerate(graph.arcs)
    ]
    graph = build_topology(graph.nodes, arcs)
    no_failure = np.zeros((1, len(arcs)), dtype=bool)
    program = RobustProgram(graph, [(0, 1)], np.ones((1, 1)), no_failure, "none")
    for path in paths:
        program._add_column(0, ProtectedPath(path, None))
    answers = iter(script)
    monkeypatch.setattr(program, "_move_demands", list)
    monkeypatch.setattr(program, "_solve_integer_program", lambda best: next(answers))
    found = program._choose_single(np.array(shares), bound, is_complete)
    assert next(answers, "all are read") == "all are read"
    return found


def test_a_choice_stays_until_the_program_finds_a_better_one(monkeypatch) -> None:
    """It ends where bound and value meet, where none is better, or where no row is missing."""
    cases = [
        # The better of the largest share and of the first column.
        (([0.1, 0.05], [0.2, 0.8], [], 0.05), ([1], 0.05)),
        (([0.05, 0.1], [0.2, 0.8], [], 0.05), ([0], 0.05)),
        # None is better: the value is the bound.
        (([0.1, 0.05], [0.9, 0.1], [None], 0.02), ([0], 0.1)),
        # It stopped at its limit: its bound counts, up to the value.
        (([0.1, 0.05], [0.9, 0.1], [(None, 0.04)], 0.02), ([0], 0.04)),
        (([0.1, 0.05], [0.9, 0.1], [(None, 0.01)], 0.02), ([0], 0.02)),
        (([0.1, 0.05], [0.9, 0.1], [(None, 0.3)], 0.02), ([0], 0.1)),
        # A better one, and one as good; each has rows that are missing.
        (([0.1, 0.05], [0.9, 0.1], [([1], 0.03), ([1], 0.03)], 0.02), ([1], 0.03)),
        (([0.1, 0.1], [0.9, 0.1], [([1], 0.04), ([1], 0.04)], 0.02), ([0], 0.04)),
        (([0.1, 0.05], [0.9, 0.1], [([1], 0.05)], 0.02), ([1], 0.05)),
    ]
    for (values, shares, script, bound), expected in cases:
        assert choose(values, shares, script, bound, monkeypatch) == (
            expected[0],
            pytest.approx(expected[1]),
        )
    # Where columns are missing the program proves nothing.
    found = choose([0.1, 0.05], [0.9, 0.1], [None], 0.02, monkeypatch, is_complete=False)
    assert found == ([0], 0.02)


def test_a_program_that_ends_at_its_limit_bounds_the_utilisation(monkeypatch) -> None:
    """Its loads are over the best value so far, and so is its bound."""
    graph, paths = build_ways(2)
    no_failure = np.zeros((1, len(graph.arcs)), dtype=bool)
    program = RobustProgram(graph, [(0, 1)], np.full((1, 1), 4.0), no_failure, "none")
    for path in paths:
        program._add_column(0, ProtectedPath(path, None))
    program._add_rows(program._sum_loads([0]), 0.0)
    monkeypatch.setattr(
        robust_program, "solve_integer_program", lambda *_, **__: IntegerSolution(None, 0.5)
    )
    assert program._solve_integer_program(0.4) == (None, pytest.approx(0.2))


def test_of_ways_as_good_the_first_that_is_known_is_taken() -> None:
    """Two demands are on the first of four equal ways: one goes to the second."""
    graph, paths = build_ways(4)
    no_failure = np.zeros((1, len(graph.arcs)), dtype=bool)
    for order in ([1, 2, 3], [3, 2, 1], [2, 1, 3]):
        program = RobustProgram(graph, [(0, 1)] * 2, np.ones((1, 2)), no_failure, "none")
        for demand in range(2):
            for way in (0, *order):
                program._add_column(demand, ProtectedPath(paths[way], None))
        first, second = (program.columns_of[demand][0] for demand in range(2))
        moved = program._move_demands([first, second])
        assert [paths.index(program.columns[each].pair.path) for each in moved] == [order[0], 0]


@pytest.mark.parametrize(
    ("load", "rates", "way"),
    [
        (11.0, (100, 100), "SBT"),
        (11.1, (100, 100), "SCDT"),
        (25.0, (250, 400), "SBT"),
        (16.0, (160, 400), "SCDT"),
    ],
)
def test_the_next_bypass_adds_least_to_the_sum_of_the_eighth_powers(load, rates, way: str) -> None:
    """As for paths: 1.10^7 is less than 2 and 1.11^7 is more; 1 / 250 < 2 / 400 < 1 / 160."""
    over_b, over_c = rates
    links = {"ST": 200, "SA": 100, "AT": 100, "SB": over_b, "BT": over_b}
    links |= dict.fromkeys(("SC", "CD", "DT"), over_c)
    graph = build_topology("STABCD", add_reverse_arcs(Arc(*e, rate) for e, rate in links.items()))
    failures = np.array([graph.link == link for link in (-1, graph.links.index("S-T"))])
    ways = ["ST", "SA", "SB", "SCD"]
    ends = [(0, graph.node_number[each[-1]]) for each in ways]
    demands = np.array([[60.0, 30.0, load, over_c / 10]])
    program = BypassProgram(graph, ends, demands, failures, "facility-bypass")
    for demand, nodes in enumerate(ways):
        program._add_column(demand, ProtectedPath(graph.find_path_through(*nodes), None))
    arc = graph.find_path_through("S", "T")[0]
    program.bypasses[arc] = [graph.find_path_through(*"SAT")]
    program._choose_bypass(arc, 0)
    program._move_bypasses(range(4))
    assert graph.list_node_names(program._get_bypass(arc)) == tuple(way)


def build_bypasses(rates: list[float], over_b: int = 200) -> tuple[BypassProgram, int]:
    """A link S-T that fails, with bypasses over A of 100 and over B."""
    links = {"ST": 200, "SA": 100, "AT": 100, "SB": over_b, "BT": over_b}
    graph = build_topology("STAB", add_reverse_arcs(Arc(*e, rate) for e, rate in links.items()))
    failures = np.array([graph.link == link for link in (-1, graph.links.index("S-T"))])
    program = BypassProgram(graph, [(0, 1)], np.array(rates)[:, None], failures, "facility-bypass")
    arc = graph.find_path_through("S", "T")[0]
    program._add_column(0, ProtectedPath((arc,), None))
    program.bypasses = {arc: [graph.find_path_through(*way) for way in ("SAT", "SBT")]}
    program._choose_bypass(arc, 0)
    return program, arc


def test_the_parts_of_bypasses_are_those_of_their_load_and_alike_without_any() -> None:
    program, arc = build_bypasses([60.0, 0.0])
    back = program.topology.find_path_through("T", "S")[0]
    program.bypasses[back] = program.bypasses[arc] * 2
    program._set_portions(np.array([[3.0, 0.0], [1.0, 0.0], *[[2.0, 5.0], [0.0, 0.0]] * 2]))
    assert program.portions[arc].tolist() == [[0.75, 0.5], [0.25, 0.5]]
    assert program.portions[back].tolist() == [[0.5, 0.5], [0.0, 0.0]] * 2


def test_bypasses_stay_until_the_program_finds_better_ones(monkeypatch) -> None:
    """60 over A use 0.6, over B 0.3; the columns are the path, an amount and a choice of each."""
    over_a, over_b = np.array([1, 0, 0, 1, 0, 0]), np.array([1, 0, 0, 0, 1, 0])

    def run(start: int, script, bound: float, rate_over_b: int = 200):
        program, arc = build_bypasses([60.0], rate_over_b)
        program._choose_bypass(arc, start)
        answers = iter(script)
        monkeypatch.setattr(program, "_solve_choice", lambda best: next(answers))
        chosen, proven = program._choose_by_program([0], bound)
        assert chosen == [0]
        assert next(answers, "all are read") == "all are read"
        return program.bypasses[arc].index(program._get_bypass(arc)), pytest.approx(proven)

    assert run(0, [None], 0.1) == (0, 0.6)
    assert run(0, [IntegerSolution(over_b, 0.6)], 0.1) == (0, 0.6)
    assert run(0, [IntegerSolution(None, 0.31)], 0.1) == (0, 0.31)
    assert run(0, [IntegerSolution(None, 0.1)], 0.2) == (0, 0.2)
    better = [IntegerSolution(over_b, 0.25), IntegerSolution(over_b, 0.25)]
    assert run(0, better, 0.1) == (1, 0.25)
    assert run(0, [IntegerSolution(over_b, 0.2), None], 0.1) == (1, 0.3)
    assert run(1, [IntegerSolution(over_a, 0.2), IntegerSolution(over_a, 0.2)], 0.1) == (1, 0.2)
    # One as good takes no place.
    as_good = [IntegerSolution(over_b, 0.5), IntegerSolution(over_b, 0.5)]
    assert run(0, as_good, 0.1, rate_over_b=100) == (0, 0.5)


def test_the_program_of_bypasses_bounds_the_best_choice() -> None:
    """60 over A of 100 use 0.6, over B of 150 they use 0.4: no choice is better."""
    program, arc = build_bypasses([60.0], 150)
    for number in (0, 1):
        program._choose_bypass(arc, number)
        program._add_rows(program._sum_loads([0]), 0.0)
    for best in (0.6, 0.4):
        found = program._solve_choice(best)
        assert found is not None
        assert found.values is not None
        assert found.bound == pytest.approx(0.4)
        # The path, an amount over each bypass and the choice of the second.
        assert found.values[[0, 3, 4]].tolist() == [1, 0, 1]
