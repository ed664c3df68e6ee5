"""Optima of public networks, the forms of the program against each other and against others."""

import itertools
import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import sndlib
from hypothesis import given, settings, strategies as st
from scipy.optimize import linprog

from trunkline.te import column_generation, fortz_thorup, frank_wolfe, igp_weights
from trunkline.te.arc_formulation import decompose_flow, minimise_congestion
from trunkline.te.frank_wolfe import _find_step_length
from trunkline.te.igp_weights import _choose_start_weights, search_weights
from trunkline.te.optimal_routing import choose_formulation, minimise_utilisation
from trunkline.te.spf import compute_ecmp_loads
from trunkline.te.split_routing import compute_gap, validate_traffic
from trunkline.te.topology import Arc, add_reverse_arcs, build_topology
from trunkline.te.unsplittable import Commodity, compute_lower_bound, route_unsplittable

# Network, capacity, least maximum utilisation by an independent program in highspy, normalised
# Fortz-Thorup cost of equal-cost multipath by hops, and the ratio that twelve shortest paths with
# greedy and local search reached (None: not computed).
PUBLIC = [
    ("pdh", 1000, 0.166500, 1.0352, 2.306),
    ("di-yuan", 10, 0.200000, 1.2151, None),
    ("norway", 1000, 0.273200, 1.0338, 1.003),
    ("india35", 1000, 0.120800, 1.0006, 1.043),
    ("nobel-eu", 200, 1.066667, 111.234, 1.031),
    ("cost266", 50000, 0.762770, 85.921, 1.0006),
    ("germany50", 1000, 0.129500, 1.0000, 1.004),
]


@pytest.mark.parametrize("form", ["arcs", "paths"])
@pytest.mark.parametrize(("name", "capacity", "least"), [row[:3] for row in PUBLIC])
def test_sndlib_least_maximum_utilisation(name, capacity, least, form):
    graph, traffic = sndlib.load_network(name, capacity)
    found = minimise_utilisation(graph, traffic, form)
    assert found.mlu == pytest.approx(least, abs=6e-7)
    assert found.bound == pytest.approx(found.mlu, rel=1e-5)
    assert (found.loads / graph.capacity).max() == pytest.approx(found.mlu)


@pytest.mark.parametrize(("name", "capacity", "least"), [row[:3] for row in PUBLIC[2:]])
def test_frank_wolfe_holds_the_optimum_between_bound_and_value(name, capacity, least):
    graph, traffic = sndlib.load_network(name, capacity)
    found = minimise_utilisation(graph, traffic, "frank-wolfe")
    assert found.bound <= least + 1e-6
    assert found.mlu >= least - 1e-6
    assert compute_gap(found.mlu, found.bound) <= 0.02


@pytest.mark.parametrize(("name", "capacity", "cost"), [(*row[:2], row[3]) for row in PUBLIC])
def test_fortz_thorup_cost_of_sndlib_under_ecmp(name, capacity, cost):
    graph, traffic = sndlib.load_network(name, capacity)
    loads, _ = compute_ecmp_loads(graph, graph.igp, traffic)
    ideal = fortz_thorup.compute_uncapacitated_cost(graph, traffic)
    assert fortz_thorup.compute_cost(graph, loads) / ideal == pytest.approx(cost, abs=6e-5 * cost)


def test_fortz_thorup_2000_cost_at_the_ends_of_its_pieces():
    # 1/3; + 3/3; + 10 (9/10 - 2/3); + 70/10; + 500/10: sums of slope times width.
    graph = build_topology("AB", [Arc("A", "B", 3000)])
    for use, cost in [
        (1 / 3, 1 / 3), (2 / 3, 4 / 3), (0.9, 11 / 3), (1.0, 32 / 3), (1.1, 182 / 3),
        (1.2, 182 / 3 + 500),
    ]:  # fmt: skip
        made = fortz_thorup.compute_cost(graph, np.array([3000 * use]))
        assert made / 3000 == pytest.approx(cost)


@pytest.mark.parametrize(("name", "capacity", "ratio"), [(*r[:2], r[4]) for r in PUBLIC if r[4]])
def test_unsplit_routing_is_as_near_as_twelve_shortest_paths_came(name, capacity, ratio):
    graph, traffic = sndlib.load_network(name, capacity)
    np.fill_diagonal(traffic, 0)
    best = minimise_utilisation(graph, traffic)
    demands = listed(traffic)
    major = [max(best.shares[d.source, d.target], key=lambda part: part[1])[0] for d in demands]
    found = min(
        (route_unsplittable(graph, demands, start) for start in (None, major)), key=lambda u: u.mlu
    )
    # Three decimals were noted.
    assert found.mlu / best.mlu <= ratio + 0.0006
    least = compute_lower_bound(graph, demands, best.bound)
    assert least <= found.mlu + 1e-12
    loads = np.zeros(len(graph.arcs))
    for demand, path in zip(demands, found.paths, strict=True):
        assert graph.list_node_names(path)[0] == graph.nodes[demand.source]
        assert graph.list_node_names(path)[-1] == graph.nodes[demand.target]
        loads[list(path)] += demand.rate
    assert np.allclose(loads, found.loads)


def test_pdh_unsplit_is_optimal_since_one_demand_fills_its_link():
    graph, traffic = sndlib.load_network("pdh", 1000)
    demands = listed(traffic)
    # The largest demand is 384, every link 1000.
    assert compute_lower_bound(graph, demands, 0.1665) == pytest.approx(0.384)
    assert route_unsplittable(graph, demands).mlu == pytest.approx(0.384)


@pytest.mark.parametrize(
    ("sizes", "split", "total"),
    [((6, 6, 6, 6), 0.8, 1.2), ((4,) * 5, 2 / 3, 0.8), ((7, 5, 4, 4, 3), 23 / 30, 0.8)],
)
def test_three_routes_of_ten_split_and_unsplit(sizes, split, total):
    # Whole: every assignment of demands to routes was tried by a program of its own.
    ways = [(a, b) for m in "XYZ" for a, b in (("S", m), (m, "T"))]
    graph = build_topology("SXYZT", add_reverse_arcs(Arc(a, b, 10) for a, b in ways))
    traffic = np.zeros((5, 5))
    traffic[0, 4] = sum(sizes)
    for form in ("arcs", "paths"):
        assert minimise_utilisation(graph, traffic, form).mlu == pytest.approx(split)
    demands = [Commodity(0, 4, size) for size in sizes]
    assert route_unsplittable(graph, demands).mlu == pytest.approx(total)
    assert compute_lower_bound(graph, demands, split) == pytest.approx(max(split, max(sizes) / 10))


def test_weights_of_nobel_eu_come_near_the_bound_of_any_routing():
    # By hops 111.234; Fortz and Thorup report a few per cent above the bound on real backbones.
    graph, traffic = sndlib.load_network("nobel-eu", 200)
    found = search_weights(graph, traffic)
    ideal = fortz_thorup.compute_uncapacitated_cost(graph, traffic)
    least = minimise_congestion(graph, traffic).cost / ideal
    assert least <= found.cost <= 1.05 * least
    # Equal-cost multipath with these weights gives these loads.
    loads, _ = compute_ecmp_loads(graph, found.weights, traffic)
    assert np.allclose(loads, found.loads)
    assert fortz_thorup.compute_cost(graph, loads) / ideal == pytest.approx(found.cost)
    again = search_weights(graph, traffic)
    assert (again.weights == found.weights).all()


@st.composite
def problems(draw):
    """A ring with chords, capacities and a few demands."""
    count = draw(st.integers(3, 7))
    names = "ABCDEFG"[:count]
    pairs = {(i, (i + 1) % count) for i in range(count)} if count > 2 else {(0, 1)}
    pairs |= draw(st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))))
    arcs = [
        Arc(names[a], names[b], draw(st.integers(1, 20)), link=f"{a}{b}{way}")
        for a, b in sorted(pairs)
        if a != b
        for way in (0, 1)
    ]
    arcs = [arc if i % 2 == 0 else arc.make_reverse() for i, arc in enumerate(arcs)]
    traffic = np.zeros((count, count))
    for _ in range(draw(st.integers(1, 6))):
        a, b = draw(st.permutations(range(count)))[:2]
        traffic[a, b] += draw(st.integers(1, 30))
    return build_topology(names, arcs), traffic


def by_demand(graph, traffic):
    """The program with a commodity for each demand, written for this test: its least value."""
    ends = list(zip(*np.nonzero(traffic), strict=True))
    arcs, count = len(graph.arcs), len(graph.nodes)
    columns = len(ends) * arcs + 1
    equal, right = np.zeros((len(ends) * count, columns)), np.zeros(len(ends) * count)
    upper = np.zeros((arcs, columns))
    for k, (source, target) in enumerate(ends):
        for a in range(arcs):
            equal[k * count + graph.tail[a], k * arcs + a] += 1
            equal[k * count + graph.head[a], k * arcs + a] -= 1
            upper[a, k * arcs + a] = 1
        right[k * count + source] = traffic[source, target]
        right[k * count + target] = -traffic[source, target]
    objective = np.zeros(columns)
    upper[:, -1], objective[-1] = -graph.capacity, 1
    limit = np.zeros(arcs)
    return linprog(objective, A_eq=equal, b_eq=right, A_ub=upper, b_ub=limit, method="highs-ds").fun


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(problems())
def test_all_forms_agree_with_a_program_by_demand(problem):
    graph, traffic = problem
    least = by_demand(graph, traffic)
    for form in ("arcs", "paths"):
        assert minimise_utilisation(graph, traffic, form).mlu == pytest.approx(least, rel=1e-6)
    rough = minimise_utilisation(graph, traffic, "frank-wolfe")
    assert rough.bound <= least * (1 + 1e-9)
    assert rough.mlu >= least * (1 - 1e-9)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_shares_carry_all_traffic_and_make_the_loads(problem):
    graph, traffic = problem
    for form in ("arcs", "paths"):
        found = minimise_utilisation(graph, traffic, form)
        loads = np.zeros(len(graph.arcs))
        for (source, target), parts in found.shares.items():
            assert sum(share for _, share in parts) == pytest.approx(1)
            for path, share in parts:
                assert graph.list_node_names(path)[0] == graph.nodes[source]
                assert graph.list_node_names(path)[-1] == graph.nodes[target]
                loads[list(path)] += share * traffic[source, target]
        # Loops of a flow are left out, so paths load no arc more.
        assert (loads <= found.loads + 1e-6 * traffic.sum()).all()
        assert (loads / graph.capacity).max() == pytest.approx(found.mlu, rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(problems())
def test_no_routing_beats_its_bound(problem):
    graph, traffic = problem
    best = minimise_utilisation(graph, traffic)
    demands = listed(traffic)
    total = route_unsplittable(graph, demands)
    assert total.mlu >= compute_lower_bound(graph, demands, best.bound) - 1e-9
    assert total.mlu <= total.greedy_mlu
    weighed = search_weights(graph, traffic, evaluations=100)
    assert weighed.mlu >= best.bound - 1e-9
    least = minimise_congestion(graph, traffic).cost
    assert weighed.cost * fortz_thorup.compute_uncapacitated_cost(graph, traffic) >= least * (
        1 - 1e-9
    )


def listed(traffic):
    return [
        Commodity(int(a), int(b), float(traffic[a, b]))
        for a, b in zip(*np.nonzero(traffic), strict=True)
    ]


def test_which_form_answers_follows_from_the_size():
    names = [f"n{i}" for i in range(300)]
    graph = build_topology(names, add_reverse_arcs(Arc(a, b, 10) for a, b in pairwise(names)))
    full = 1.0 - np.eye(300)
    few = np.zeros((300, 300))
    few[:, 0] = 1
    few[0, 0] = 0
    small = np.zeros((300, 300))
    small[:10] = full[:10]
    # 300 sources by 598 arcs are above 40,000 columns; 10 sources are below.
    assert [choose_formulation(graph, t) for t in (small, few, full)] == [
        "arcs",
        "paths",
        "frank-wolfe",
    ]


def test_a_form_is_chosen_up_to_its_size():
    """100 sources by 400 arcs are 40,000 columns; 10,000 demands are those of 100 sources and more.

    A table of 2,000 sources by 2,000 nodes has 4,000,000 cells.
    """
    ring = [f"n{i}" for i in range(200)]
    links = [Arc(a, b, 10) for a, b in pairwise([*ring, ring[0]])]
    graph = build_topology(ring, add_reverse_arcs(links))
    # 181 sources by 221 arcs are 40,001 columns.
    wide = build_topology(
        ring, [*links, *(Arc(ring[0], ring[-2], 10, f"chord{each}") for each in range(21))]
    )
    some = np.zeros((200, 200))
    some[:181, -1] = 1.0
    assert choose_formulation(wide, some) == "paths"
    assert choose_formulation(wide, some[:180]) == "arcs"
    for sources, demands, form in (
        (100, 19_900, "arcs"),
        (101, 10_000, "paths"),
        (101, 10_001, "frank-wolfe"),
    ):
        traffic = np.zeros((200, 200))
        places = np.flatnonzero(1.0 - np.eye(200)[:sources])
        # Each source has a demand, the others follow in their order.
        first = np.arange(sources) * 200 + (np.arange(sources) + 1) % 200
        chosen = [*first, *np.setdiff1d(places, first)][:demands]
        traffic.flat[chosen] = 1.0
        assert np.count_nonzero(traffic.any(axis=1)) == sources
        assert np.count_nonzero(traffic) == demands
        assert choose_formulation(graph, traffic) == form
    for count, is_possible in ((2000, True), (2001, False)):
        names = [f"n{i}" for i in range(count)]
        large = build_topology(names, [Arc(a, b, 10) for a, b in pairwise([*names, names[0]])])
        everywhere = np.ones((count, count), dtype=bool)
        if is_possible:
            assert choose_formulation(large, everywhere) == "frank-wolfe"
        else:
            with pytest.raises(ValueError, match="2001 sources in 2001 nodes are too many"):
                choose_formulation(large, everywhere)


@pytest.mark.parametrize("sharpness", [1.0, 5.0, 40.0])
@pytest.mark.parametrize("change", [(1.0, -0.5), (0.3, -0.9), (2.0, -2.0)])
def test_the_step_of_frank_wolfe_ends_where_the_potential_is_least(sharpness, change):
    """Of two links exp(s u) c + exp(s v) d = 0 at u - v + x (c - d) = ln(-d / c) / s."""
    c, d = change
    for start in (0.2, 0.5):
        utilisation = np.array([0.1, 0.1 + start])
        exact = (math.log(-d / c) / sharpness + start) / (c - d)
        found = _find_step_length(sharpness, utilisation, np.array(change))
        assert found == pytest.approx(min(1.0, max(0.0, exact)), abs=1e-8)


def test_fortz_thorup_2000_the_search_begins_with_the_best_of_three_weights():
    """By hand: S to T over A (weights 1, thin), B (weights 2, wide) or both, cost by the slopes."""
    for rates, metrics, load in (
        # The metrics lead over the thin way, equal weights over both; the capacities over the wide.
        ((20, 200), (1, 2), 16),
        ((200, 20), (2, 1), 16),
        ((200, 20), (1, 2), 12),
        ((20, 20), (1, 2), 12),
        ((20, 20), (2, 2), 12),
    ):
        graph = build_topology(
            "SABT",
            add_reverse_arcs(
                Arc(*ends, rate, igp=metric)
                for way, rate, metric in zip("AB", rates, metrics, strict=True)
                for ends in (("S", way), (way, "T"))
            ),
        )
        traffic = np.zeros((4, 4))
        traffic[graph.node_number["S"], graph.node_number["T"]] = load

        def cost(share, rates=rates, load=load):
            """Both links of each way carry its share of the load."""
            total = 0.0
            for rate, part in zip(rates, (share, 1 - share), strict=True):
                slopes = zip((0, 1 / 3, 2 / 3), (1 / 3, 2 / 3, 9 / 10), (1, 3, 10), strict=True)
                used = part * load / rate
                total += (
                    2
                    * rate
                    * sum(
                        slope * (min(used, high) - low) for low, high, slope in slopes if used > low
                    )
                )
            return total

        by_metrics = 1.0 if metrics[0] < metrics[1] else 0.5
        by_capacity = 0.5 if rates[0] == rates[1] else float(rates[0] > rates[1])
        least = min(cost(by_metrics), cost(0.5), cost(by_capacity))
        found = search_weights(graph, traffic, evaluations=0)
        assert found.start_cost == found.cost == pytest.approx(least / (2 * load))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((0, 1, -1.0), "traffic is finite and 0 or more"),
        ((0, 1, np.inf), "traffic is finite and 0 or more"),
        ((0, 2, 1.0), "no links lead from A to C"),
    ],
)
def test_traffic_that_nothing_can_route_is_refused(change, message):
    graph = build_topology("ABC", add_reverse_arcs([Arc("A", "B", 10)]))
    traffic = np.zeros((3, 3))
    traffic[change[0], change[1]] = change[2]
    with pytest.raises(ValueError, match=message):
        validate_traffic(graph, traffic)


def test_a_gap_is_relative_and_zero_where_nothing_is_offered():
    assert compute_gap(1.1, 1.0) == pytest.approx(0.1)
    assert compute_gap(1.0, 1.0 + 1e-12) == 0
    assert compute_gap(0.0, 0.0) == 0
    assert compute_gap(1.0, 0.0) is None


def test_of_parts_as_wide_the_one_of_fewer_hops_comes_first() -> None:
    """The widest path first, then the fewest hops; the parts of each destination sum to 1."""
    links = [("A", "Z"), ("A", "B"), ("B", "Z"), ("A", "C"), ("C", "D"), ("D", "Z")]
    graph = build_topology("ABCDZ", [Arc(*ends, 10) for ends in links])
    traffic = np.zeros(5)
    traffic[[4, 2]] = 12, 1
    flow = np.array([4.0, 4.0, 4.0, 5.0, 4.0, 4.0])
    found = decompose_flow(graph, 0, traffic, flow)
    assert found == {
        (0, 4): [((0,), 1 / 3), ((1, 2), 1 / 3), ((3, 4, 5), 1 / 3)],
        (0, 2): [((3,), 1.0)],
    }
    flow[0] = 3.5
    traffic[4] = 11.5
    parts = decompose_flow(graph, 0, traffic, flow)[0, 4]
    assert [path for path, _ in parts] == [(1, 2), (3, 4, 5), (0,)]
    assert [share for _, share in parts] == pytest.approx([4 / 11.5, 4 / 11.5, 3.5 / 11.5])
    # Less than a thousand millionth of the traffic is rounding, in any unit.
    for unit in (1e-9, 1.0, 1e12):
        flow[:] = unit * np.array([1 - 1e-12, 1e-12, 1e-12, 0, 0, 0])
        assert decompose_flow(graph, 0, unit * np.eye(5)[4], flow) == {(0, 4): [((0,), 1.0)]}


def test_no_traffic_costs_nothing_and_the_first_pair_that_nothing_joins_is_named() -> None:
    graph = build_topology("ABC", add_reverse_arcs([Arc("A", "B", 10)]))
    nothing = minimise_congestion(graph, np.eye(3))
    assert (nothing.cost, nothing.mlu, nothing.loads.tolist()) == (0, 0, [0, 0])
    nowhere = minimise_utilisation(graph, np.zeros((3, 3)))
    assert (nowhere.form, nowhere.mlu, nowhere.bound, nowhere.steps) == ("arcs", 0, 0, 1)
    assert minimise_utilisation(graph, np.zeros((3, 3)), "paths").form == "paths"
    traffic = np.zeros((3, 3))
    traffic[0, 1] = traffic[1, 2] = traffic[2, 0] = 1
    with pytest.raises(ValueError, match="no links lead from B to C"):
        validate_traffic(graph, traffic)
    with pytest.raises(ValueError, match=r"a matrix of 3 nodes is 3 by 3, not \(2, 2\)"):
        validate_traffic(graph, np.zeros((2, 2)))


@pytest.mark.parametrize("seed", range(4))
def test_fortz_thorup_2000_the_descent_ends_where_no_step_of_one_weight_helps(seed: int) -> None:
    """Steps of 1, 2, 4 and 8 up and down, weights of 1 to 20; every evaluation is counted."""
    draw = np.random.default_rng(seed)
    names = [f"n{number}" for number in range(6)]
    ends = [*zip(names, names[1:] + names[:1], strict=True), ("n0", "n3"), ("n1", "n4")]
    arcs = [Arc(*pair, int(draw.integers(4, 12)), igp=int(draw.integers(1, 50))) for pair in ends]
    graph = build_topology(names, add_reverse_arcs(arcs))
    traffic = draw.random((6, 6)) * 2.5
    np.fill_diagonal(traffic, 0.0)
    found = search_weights(graph, traffic)

    def cost(weights: np.ndarray) -> float:
        loads, _ = compute_ecmp_loads(graph, weights, traffic)
        return fortz_thorup.compute_cost(graph, loads)

    ideal = fortz_thorup.compute_uncapacitated_cost(graph, traffic)
    assert found.evaluations < 2000
    assert found.cost == pytest.approx(cost(found.weights) / ideal)
    assert found.mlu == pytest.approx((found.loads / graph.capacity).max())
    assert found.loads == pytest.approx(compute_ecmp_loads(graph, found.weights, traffic)[0])
    assert (found.weights >= 1).all()
    assert (found.weights <= 20).all()
    for arc, step in itertools.product(range(len(graph.arcs)), (1, -1, 2, -2, 4, -4, 8, -8)):
        weights = found.weights.copy()
        weights[arc] += step
        if 1 <= weights[arc] <= 20:
            assert cost(weights) >= cost(found.weights) * (1 - 1e-8)
    for count in (1, 7):
        assert search_weights(graph, traffic, evaluations=count).evaluations == count


@pytest.mark.parametrize("form", ["arcs", "paths"])
@pytest.mark.parametrize("factor", [1, 10**6])
def test_the_optimum_of_little_traffic_is_as_exact(form, factor, monkeypatch) -> None:
    """Gaps are relative: with a millionth of the traffic the bound is as near."""
    # So that the first paths are not enough.
    monkeypatch.setattr(column_generation, "PREPARATION_STEPS", 1)
    for name, capacity, least in (("nobel-eu", 200, 1.066667), ("di-yuan", 10, 0.2)):
        graph, traffic = sndlib.load_network(name, capacity * factor)
        found = minimise_utilisation(graph, traffic, form)
        assert found.mlu * factor == pytest.approx(least, abs=5e-7)
        assert found.bound == pytest.approx(found.mlu, rel=1e-6)


def test_a_path_over_busy_arcs_is_added_where_the_known_ones_are_busier(monkeypatch) -> None:
    """50 leave C and D over 54: no routing is below 50/54, and one is there."""
    monkeypatch.setattr(column_generation, "PREPARATION_STEPS", 1)
    rates = {"AB": 20, "BC": 14, "BD": 12, "CD": 12, "CE": 13, "DE": 15, "EA": 12}
    arcs = add_reverse_arcs(Arc(*ends, rate) for ends, rate in rates.items())
    graph = build_topology("ABCDE", arcs)
    traffic = np.zeros((5, 5))
    traffic[[2, 2, 3, 4], [3, 4, 1, 2]] = 4, 27, 23, 1
    found = minimise_utilisation(graph, traffic, "paths")
    assert found.mlu == pytest.approx(50 / 54)
    assert found.bound == pytest.approx(50 / 54)


def test_shares_of_a_demand_sum_to_1_without_those_that_are_rounding() -> None:
    """Of a half, a quarter and 10^-10 two thirds and a third are left."""
    program = SimpleNamespace(
        paths=[(0,), (1,), (2,)], demand=[0, 0, 0], row=[0], target=[4], sources=[3]
    )
    found = column_generation._compute_shares(program, np.array([0.5, 0.25, 1e-10]))  # type: ignore[arg-type]
    assert found == {(3, 4): [((0,), pytest.approx(2 / 3)), ((1,), pytest.approx(1 / 3))]}


def test_fortz_thorup_2000_weights_to_begin_with_are_in_their_range() -> None:
    """Metrics scaled so that the largest is 20; all 1; the largest capacity over each, 20 at most.

    A metric that is in the range stays.
    """
    rates, metrics = (100, 5, 1, 60), (10, 50, 100, 1)
    links = zip(rates, metrics, strict=True)
    graph = build_topology(
        "AB", [Arc("A", "B", rate, f"l{rate}", igp=cost) for rate, cost in links]
    )
    found = [each.tolist() for each in _choose_start_weights(graph)]
    assert found == [[2, 10, 20, 1], [1] * 4, [1, 20, 20, 2]]
    graph = build_topology("AB", [Arc("A", "B", 10, f"l{cost}", igp=cost) for cost in (1, 7, 20)])
    assert _choose_start_weights(graph)[0].tolist() == [1, 7, 20]


def test_a_demand_stays_where_another_way_is_as_busy() -> None:
    """A move lowers the maximum, or leaves fewer links at it; one that only swaps them is none."""
    graph = build_topology("SATB", add_reverse_arcs(Arc(*e, 10) for e in ("SA", "AT", "SB", "BT")))
    for way, rate in itertools.product(("SAT", "SBT"), (3.0, 10.0, 30.0)):
        start = graph.find_path_through(*way)
        demand = Commodity(0, graph.node_number["T"], rate)
        found = route_unsplittable(graph, [demand], [start])
        assert (found.paths, found.moves) == ([start], 0)
        assert found.mlu == found.greedy_mlu == rate / 10
        # A second one on the same way leaves it.
        found = route_unsplittable(graph, [demand] * 2, [start] * 2)
        assert (len(set(found.paths)), found.moves) == (2, 1)
        assert (found.mlu, found.greedy_mlu) == (rate / 10, rate / 5)


def test_fortz_thorup_2000_weights_change_by_1_2_4_and_8_up_and_down(monkeypatch) -> None:
    """The busiest arc's first, within 1 to 20; here no change helps."""
    tried: list[tuple[int, int]] = []

    def note(self, arc: int, weight: int) -> bool:
        tried.append((arc, weight))
        return False

    monkeypatch.setattr(igp_weights._SearchState, "try_weight", note)
    graph = build_topology("AB", [Arc("A", "B", 10, "x", igp=10), Arc("B", "A", 10, "x", igp=19)])
    found = search_weights(graph, np.array([[0.0, 1.0], [2.0, 0.0]]))
    assert found.weights.tolist() == [10, 19]
    assert [weight for arc, weight in tried if arc == 0] == [11, 9, 12, 8, 14, 6, 18, 2]
    assert [weight for arc, weight in tried if arc == 1] == [20, 18, 17, 15, 11]
    assert tried[0][0] == 1
    assert found.evaluations == 13


def test_frank_wolfe_takes_the_steps_that_it_says() -> None:
    """The first routing is step 1; the second moves half of the traffic to the other way."""
    graph = build_topology("SATB", [Arc(*ends, 10) for ends in ("SA", "AT", "SB", "BT")])
    traffic = np.zeros((4, 4))
    traffic[0, graph.node_number["T"]] = 10
    routings = {
        steps: frank_wolfe.minimise_utilisation(graph, traffic, 0.0, steps) for steps in (1, 2)
    }
    assert {steps: each.steps for steps, each in routings.items()} == {1: 1, 2: 2}
    assert [each.mlu for each in routings.values()] == pytest.approx([1.0, 0.5], abs=1e-6)
    # The bound of the even prices is that of half on each way from the start.
    assert frank_wolfe.minimise_utilisation(graph, traffic, target_gap=1.0).steps == 1


def test_fortz_thorup_2000_the_ideal_cost_counts_each_demand_times_its_hops() -> None:
    """A to B to C one way: from C nothing leads back, and nothing is asked from there."""
    graph = build_topology("ABC", [Arc("A", "B", 10, igp=7), Arc("B", "C", 10)])
    traffic = np.zeros((3, 3))
    traffic[0, 1], traffic[0, 2] = 3, 5
    assert fortz_thorup.compute_uncapacitated_cost(graph, traffic) == 3 + 2 * 5


def test_kleinberg_1996_no_demand_fits_better_than_on_its_widest_path() -> None:
    """By hand: 5 on the only way of 10 need 0.5, 20 on 100 need 0.2; beside them 0.1 and 0.6."""
    links = [("A", "B", 10), ("A", "C", 100), ("C", "B", 10), ("C", "D", 100)]
    graph = build_topology("ABCD", [Arc(*each) for each in links])
    demands = [Commodity(0, 1, 5.0), Commodity(0, 3, 20.0), Commodity(2, 3, 0.0)]
    for order in itertools.permutations(demands):
        assert compute_lower_bound(graph, order, 0.1) == pytest.approx(0.5)
        assert compute_lower_bound(graph, order, 0.6) == 0.6
    assert compute_lower_bound(graph, [], 0.1) == 0.1


@pytest.mark.parametrize("form", ["arcs", "paths", "frank-wolfe"])
def test_nodes_that_nothing_reaches_are_no_part_of_the_bound(form) -> None:
    """A to B over two ways of 10 and 5; nothing leads to C or from B."""
    links = [("A", "B", "x", 10), ("A", "B", "y", 5), ("C", "A", "z", 10)]
    graph = build_topology("ABC", [Arc(a, b, rate, name) for a, b, name, rate in links])
    traffic = np.zeros((3, 3))
    traffic[0, 1] = 6
    found = minimise_utilisation(graph, traffic, form)
    assert found.bound == pytest.approx(0.4, rel=0.02)
    assert found.mlu == pytest.approx(0.4, rel=0.02)
    assert found.bound <= found.mlu
