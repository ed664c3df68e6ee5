"""The cheapest modules against an exhaustive search, and against a published optimum of SNDlib."""

import contextlib
import itertools
import random

import numpy as np
import pytest
from scipy.optimize import linprog
from sndlib import load_network

from trunkline.te import capacity_expansion
from trunkline.te.capacity_expansion import (
    CapacityModule,
    InsufficientModulesError,
    ModuleChoice,
    _ModuleProgram,
    choose_modules,
    cover_needs,
)
from trunkline.te.topology import Arc, add_reverse_arcs, build_topology


def list_simple_paths(graph, source, target, dead):
    """All paths without a node twice, by trying every arc."""
    found, waiting = [], [(source, (), {source})]
    while waiting:
        node, path, seen = waiting.pop()
        if node == target:
            found.append(path)
            continue
        for arc in graph.arcs_from[node]:
            head = int(graph.head[arc])
            if not dead[arc] and head not in seen:
                waiting.append((head, (*path, arc), seen | {head}))
    return found


def can_carry(graph, capacity, traffic, dead):
    """Whether traffic fits: a linear program over all simple paths."""
    columns, owners = [], []
    pairs = np.argwhere(traffic > 0)
    for number, (source, target) in enumerate(pairs):
        for path in list_simple_paths(graph, int(source), int(target), dead):
            columns.append([arc in path for arc in range(len(graph.arcs))])
            owners.append([number == each for each in range(len(pairs))])
    found = linprog(
        np.zeros(len(columns)),
        A_ub=np.array(columns, dtype=float).T,
        b_ub=capacity,
        A_eq=np.array(owners, dtype=float).T,
        b_eq=[traffic[tuple(pair)] for pair in pairs],
    )
    return found.status == 0


def find_cheapest_by_all_choices(graph, cases, modules):
    """The least cost over all numbers of modules on all links."""
    links = len(graph.links)
    options = [
        (sum(n * m.rate for n, m in zip(numbers, modules, strict=True)), numbers)
        for numbers in itertools.product(*(range(m.most + 1) for m in modules))
    ]
    ranked = sorted(
        (
            sum(
                number * module.costs[link]
                for link, (_, numbers) in enumerate(choice)
                for number, module in zip(numbers, modules, strict=True)
            ),
            tuple(added for added, _ in choice),
        )
        for choice in itertools.product(options, repeat=links)
    )
    for cost, added in ranked:
        capacity = graph.capacity + np.array(added)[graph.link]
        if all(can_carry(graph, capacity, *case) for case in cases):
            return cost
    return None


PAIRS = ("AB", "BC", "CD", "DA", "AC")


def draw_square(stream, largest_demand):
    """Draw the capacities of a square with a diagonal, and three demands."""
    graph = build_topology(
        "ABCD",
        add_reverse_arcs(Arc(*ends, stream.choice((4, 8)), "-".join(ends)) for ends in PAIRS),
    )
    traffic = np.zeros((4, 4))
    for source, target in stream.sample(list(itertools.permutations(range(4), 2)), 3):
        traffic[source, target] = stream.randint(3, largest_demand)
    return graph, traffic


# From 7 on more than one integer program is needed.
@pytest.mark.parametrize("seed", [0, 1, 2, 7, 9, 11])
def test_no_choice_of_all_is_cheaper_over_all_single_failures(seed):
    stream = random.Random(seed)
    graph, traffic = draw_square(stream, largest_demand=9)
    cases = [(traffic, np.zeros(10, dtype=bool))]
    cases += [(traffic, graph.link == number) for number in range(5)]
    modules = [CapacityModule("7", 7, tuple(stream.randint(5, 9) for _ in PAIRS), 2)]
    found = choose_modules(graph, cases, modules)
    assert found.gap == 0
    assert found.cost == pytest.approx(find_cheapest_by_all_choices(graph, cases, modules))
    added = found.counts @ np.array([7])
    capacity = graph.capacity + added[graph.link]
    assert all(can_carry(graph, capacity + 1e-6, *case) for case in cases)


@pytest.mark.parametrize("seed", [20, 21, 22, 23, 25, 80, 99])
def test_whatever_it_begins_with_every_case_fits_in_the_end(seed):
    """Where a link has all that it may have and lacks more, others carry it (seeds 25, 80, 99)."""
    stream = random.Random(seed)
    graph, traffic = draw_square(stream, largest_demand=12)
    cases = [(traffic, graph.link == number) for number in range(-1, 5)]
    costs = tuple(stream.randint(5, 9) for _ in PAIRS)
    module = CapacityModule("4", 4, costs, stream.choice((1, 2)))
    program = _ModuleProgram(graph, cases, [module])
    if not all(can_carry(graph, graph.capacity + 4 * module.most, *case) for case in cases):
        with pytest.raises(InsufficientModulesError):
            program.solve()
        return
    start = np.array([stream.randint(0, 1) for _ in PAIRS])
    found = program._repair(start)
    assert (start <= found).all()
    assert (found <= module.most).all()
    capacity = graph.capacity + 4 * found[graph.link]
    assert all(can_carry(graph, capacity + 1e-6, *case) for case in cases)


# SNDlib's dfn-gwin: cost of the module of 155; that of 622 costs three times as much.
DFN_GWIN_COSTS = {
    "Berlin": "Hamburg 1416 Hannover 1372 Koeln 2244 Leipzig 960 Muenchen 2320 Stuttgart 2432 "
    "Erlangen 1832 Essen 2180 Frankfurt 2044",
    "Erlangen": "Essen 1816 Frankfurt 1104 Hamburg 2200 Hannover 1700 Koeln 1616 Leipzig 1276 "
    "Muenchen 1012 Stuttgart 1076",
    "Essen": "Frankfurt 1172 Hamburg 1632 Hannover 1252 Koeln 716 Leipzig 1892 Muenchen 2356 "
    "Stuttgart 1752",
    "Frankfurt": "Hamburg 1972 Hannover 1444 Koeln 924 Leipzig 1564 Muenchen 1588 Stuttgart 1024",
    "Hamburg": "Hannover 932 Koeln 1860 Leipzig 1584 Muenchen 2804 Stuttgart 2560",
    "Hannover": "Koeln 1404 Leipzig 1264 Muenchen 2312 Stuttgart 2028",
    "Koeln": "Leipzig 1872 Muenchen 2108 Stuttgart 1456",
    "Leipzig": "Muenchen 1784 Stuttgart 1888",
    "Muenchen": "Stuttgart 1192",
}
DFN_GWIN_OPTIMUM = 38_752 - 2 * 1200
"""MIPLIB 2010, dfn-gwin-UUM, less the two links to IP that are there and cost 1200 each.

Undirected links and demands, modular capacities, continuous routing: the sum over both directions
bounds a link, as here with each demand in both directions.
"""


@pytest.mark.slow
def test_the_published_optimum_of_dfn_gwin_lies_between_bound_and_cost(monkeypatch):
    monkeypatch.setattr(capacity_expansion, "MAX_CUT_ROUNDS", 2)
    monkeypatch.setattr(capacity_expansion, "MAX_SEARCH_NODES", 1)
    monkeypatch.setattr(capacity_expansion, "MAX_TRIED_REMOVALS", 60)
    small, traffic = load_network("dfn-gwin", 1)
    costs = {}
    for first, row in DFN_GWIN_COSTS.items():
        words = row.split()
        costs |= {
            f"{first}-{second}": float(cost)
            for second, cost in zip(words[::2], words[1::2], strict=True)
        }
    # Thousandths of SNDlib's unit, since capacities are whole.
    arcs = [
        Arc(arc.tail, arc.head, 622_000 if "IP" in (arc.tail, arc.head) else 1, arc.link)
        for arc in small.arcs
    ]
    graph = build_topology(small.nodes, arcs)
    case = (1000 * (traffic + traffic.T), np.zeros(len(arcs), dtype=bool))
    prices = [costs.get(link, np.inf) for link in graph.links]
    modules = [
        CapacityModule("155", 155_000, tuple(prices), 20),
        CapacityModule("622", 622_000, tuple(3 * price for price in prices), 20),
    ]
    assert sum(map(np.isfinite, prices)) == 45
    found = choose_modules(graph, [case], modules)
    assert found.bound <= DFN_GWIN_OPTIMUM <= found.cost
    # The bound is that of the relaxation at least, and the repaired choice is no bad one.
    assert found.bound > 25_000
    assert found.cost < 1.3 * DFN_GWIN_OPTIMUM


def test_a_catalogue_that_cannot_carry_names_the_case():
    graph = build_topology("AB", add_reverse_arcs([Arc("A", "B", 10)]))
    traffic = np.array([[0.0, 25.0], [0.0, 0.0]])
    case = (traffic, np.zeros(2, dtype=bool))
    enough = choose_modules(graph, [case], [CapacityModule("m", 10, (3.0,), 2)])
    assert (enough.cost, enough.counts.tolist()) == (6, [[2]])
    for module in (CapacityModule("m", 10, (3.0,), 1), CapacityModule("m", 10, (np.inf,), 9)):
        with pytest.raises(InsufficientModulesError) as error:
            choose_modules(graph, [(traffic / 5, case[1]), case], [module])
        assert error.value.case == 1


def test_each_link_alone_takes_the_cheapest_of_all_sums():
    stream = random.Random(7)
    for _ in range(40):
        modules = [
            CapacityModule(str(rate), rate, (float(stream.randint(1, 20)),), 3)
            for rate in stream.sample(range(1, 30), 3)
        ]
        need = stream.randint(1, 120)
        sums = [
            sum(n * m.costs[0] for n, m in zip(numbers, modules, strict=True))
            for numbers in itertools.product(range(4), repeat=3)
            if sum(n * m.rate for n, m in zip(numbers, modules, strict=True)) >= need
        ]
        counts, short = cover_needs([need], modules)
        if not sums:
            assert short == [0]
            continue
        cost = sum(int(n) * m.costs[0] for n, m in zip(counts[0], modules, strict=True))
        assert cost == min(sums)


def test_a_need_of_one_unit_takes_a_module_and_none_takes_none():
    modules = [CapacityModule("m", 10, (3.0, 3.0, 3.0, 3.0), 2)]
    counts, short = cover_needs([0, 1, 10, 11], modules)
    assert (counts[:, 0].tolist(), short) == ([0, 1, 1, 2], [])


def test_modules_that_cost_nothing_carry_for_nothing():
    graph = build_topology("AB", add_reverse_arcs([Arc("A", "B", 10)]))
    case = (np.array([[0.0, 25.0], [0.0, 0.0]]), np.zeros(2, dtype=bool))
    found = choose_modules(graph, [case], [CapacityModule("m", 10, (0.0,), 2)])
    assert found.cost == 0
    assert found.counts.sum() == 2


@pytest.mark.parametrize(
    ("cost", "bound", "gap"),
    [(12, 10, 0.2), (10, 10, 0), (10 + 5e-9, 10, 0), (0, 0, 0), (3, 0, np.inf), (0.75, 0.5, 0.5)],
)
def test_the_gap_is_the_cost_over_its_bound_less_one(cost, bound, gap):
    assert ModuleChoice(np.zeros((1, 1)), cost, bound).gap == pytest.approx(gap)


@pytest.mark.parametrize("seed", [30, 31, 32, 33])
def test_modules_that_are_taken_off_leave_none_that_is_not_needed(seed):
    """The dearest link first; what is left carries every case, and less of any link does not."""
    stream = random.Random(seed)
    graph, traffic = draw_square(stream, largest_demand=7)
    cases = [(traffic, graph.link == number) for number in (-1, 0, 3)]
    costs = stream.sample(range(5, 15), len(PAIRS))
    program = _ModuleProgram(graph, cases, [CapacityModule("4", 4, tuple(map(float, costs)), 3)])
    kept = program._remove_unneeded(program.most.astype(np.int64))

    def fits(counts):
        return all(can_carry(graph, graph.capacity + 4 * counts[graph.link], *c) for c in cases)

    def take_off(counts):
        """By hand: as many of each link as can go, in the order of cost."""
        for link in sorted(range(len(PAIRS)), key=lambda each: -costs[each]):
            while counts[link] and fits(counts - np.eye(len(PAIRS), dtype=int)[link]):
                counts = counts - np.eye(len(PAIRS), dtype=int)[link]
        return counts

    assert kept.tolist() == take_off(np.full(len(PAIRS), 3)).tolist()


@pytest.mark.parametrize(("most", "left"), [(0, 3), (1, 2), (2, 1), (9, 1)])
def test_so_many_programs_look_for_modules_that_are_not_needed(most, left, monkeypatch) -> None:
    """Of three modules one is needed; each that goes takes a program."""
    monkeypatch.setattr(capacity_expansion, "MAX_TRIED_REMOVALS", most)
    graph = build_topology("AB", add_reverse_arcs([Arc("A", "B", 10)]))
    case = (np.array([[0.0, 15.0], [0.0, 0.0]]), np.zeros(2, dtype=bool))
    program = _ModuleProgram(graph, [case], [CapacityModule("m", 10, (3.0,), 3)])
    assert program._remove_unneeded(np.array([3])).tolist() == [left]


@pytest.mark.parametrize("unit", [1, 10**6])
@pytest.mark.parametrize(("beyond", "cost"), [(0.5e-6, 0.0), (2e-6, 3.0)])
def test_a_millionth_of_the_largest_demand_is_rounding(unit: int, beyond: float, cost) -> None:
    graph = build_topology("AB", add_reverse_arcs([Arc("A", "B", 10 * unit)]))
    traffic = np.array([[0.0, 10 * unit * (1 + beyond)], [0.0, 0.0]])
    case = (traffic, np.zeros(2, dtype=bool))
    module = CapacityModule("m", 10 * unit, (3.0,), 3)
    assert choose_modules(graph, [case], [module]).cost == cost
    program = _ModuleProgram(graph, [case], [module])
    assert program._remove_unneeded(np.array([3])).tolist() == [cost / 3]
    # Where no module may be added, too.
    with pytest.raises(InsufficientModulesError) if cost else contextlib.nullcontext():
        program._check_cases(np.zeros(1))
