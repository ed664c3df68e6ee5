"""The cheapest modules against an exhaustive search, and against a published optimum of SNDlib."""

import itertools
import random

import numpy as np
import pytest
from scipy.optimize import linprog

from trunkline.te.capacity_expansion import (
    CapacityModule,
    InsufficientModulesError,
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


@pytest.mark.parametrize("seed", range(4))
def test_no_choice_of_all_is_cheaper_over_all_single_failures(seed):
    stream = random.Random(seed)
    pairs = ["AB", "BC", "CD", "DA", "AC"]
    graph = build_topology(
        "ABCD",
        add_reverse_arcs(Arc(*ends, stream.choice((4, 8)), "-".join(ends)) for ends in pairs),
    )
    traffic = np.zeros((4, 4))
    for source, target in stream.sample(list(itertools.permutations(range(4), 2)), 3):
        traffic[source, target] = stream.randint(3, 9)
    cases = [(traffic, np.zeros(10, dtype=bool))]
    cases += [(traffic, graph.link == number) for number in range(5)]
    modules = [CapacityModule("7", 7, tuple(stream.randint(5, 9) for _ in pairs), 2)]
    found = choose_modules(graph, cases, modules)
    assert found.gap == 0
    assert found.cost == pytest.approx(find_cheapest_by_all_choices(graph, cases, modules))
    added = found.counts @ np.array([7])
    capacity = graph.capacity + added[graph.link]
    assert all(can_carry(graph, capacity + 1e-6, *case) for case in cases)


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
