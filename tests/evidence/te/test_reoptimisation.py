"""Paths moved off the busiest link, by hand and over random networks."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from trunkline.te.disjoint_paths import find_shared_arcs
from trunkline.te.optimal_routing import minimise_utilisation
from trunkline.te.path_constraints import PathConstraints
from trunkline.te.placement import PathRequest, place_paths
from trunkline.te.reoptimisation import reoptimise_placement
from trunkline.te.topology import Arc, add_reverse_arcs, build_topology


def diamond():
    """P-Q-T costs 2, P-R-T costs 4; 30 everywhere."""
    links = [("P", "Q", 1), ("Q", "T", 1), ("P", "R", 2), ("R", "T", 2)]
    return build_topology("PQRT", add_reverse_arcs(Arc(a, b, 30, igp=cost) for a, b, cost in links))


def test_one_of_two_paths_moves_and_the_maximum_halves():
    # Both of 10 fit on P-Q-T: 20 of 30. One on each way: 10 of 30.
    graph = diamond()
    first = place_paths(graph, [PathRequest(n, 0, 3, PathConstraints(10)) for n in "ab"])
    assert (first.compute_loads() / graph.capacity).max() == pytest.approx(2 / 3)
    better, moves = reoptimise_placement(graph, first, {"a": 10, "b": 10})
    assert moves == 1
    assert (better.compute_loads() / graph.capacity).max() == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("asked", "keep"),
    [
        (PathConstraints(10, max_hops=2, via=()), {"a", "b"}),
        (PathConstraints(10, exclude={"red"}), ()),
    ],
)
def test_a_path_stays_that_may_not_leave(asked, keep):
    links = [("P", "Q", 1, ""), ("Q", "T", 1, ""), ("P", "R", 2, "red"), ("R", "T", 2, "")]
    graph = build_topology(
        "PQRT",
        add_reverse_arcs(
            Arc(a, b, 30, igp=m, colours=frozenset({c} - {""})) for a, b, m, c in links
        ),
    )
    first = place_paths(graph, [PathRequest(n, 0, 3, asked) for n in "ab"])
    better, moves = reoptimise_placement(graph, first, {"a": 10, "b": 10}, pinned=keep)
    assert moves == 0
    assert better.get_paths() == first.get_paths()


@pytest.mark.parametrize("order", ["listed", "priority"])
def test_a_path_apart_from_another_is_placed_after_it_whatever_the_order(order):
    # The one that is to be apart is listed first and is the larger.
    graph = diamond()
    wanted = [
        PathRequest("second", 0, 3, PathConstraints(20), disjoint_from=(("first", "link"),)),
        PathRequest("first", 0, 3, PathConstraints(10)),
    ]
    done = place_paths(graph, wanted, order=order)
    assert done.order == ("first", "second")
    ways = {name: "".join(graph.list_node_names(path)) for name, path in done.get_paths().items()}
    assert ways == {"first": "PQT", "second": "PRT"}


def test_a_displaced_path_stays_apart_when_it_is_placed_again():
    # Strong fills P-Q-T. P-R-T is second's, which is to be apart: bandwidth is what first lacks on
    # the only way that is left to it.
    graph = diamond()
    wanted = [
        PathRequest("first", 0, 3, PathConstraints(10), disjoint_from=()),
        PathRequest("second", 0, 3, PathConstraints(10), disjoint_from=(("first", "link"),)),
        PathRequest("strong", 0, 3, PathConstraints(30), setup=0, hold=0),
    ]
    done = place_paths(graph, wanted, order="listed")
    outcomes = {each.request.name: each for each in done.outcomes}
    assert outcomes["strong"].route is not None
    assert outcomes["second"].route is not None
    assert outcomes["first"].route is None
    assert outcomes["first"].refusal.reason == "bandwidth"


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_link_over_reserved_constraints_kept_and_never_below_the_bound(data):
    count = data.draw(st.integers(4, 8))
    names = "ABCDEFGH"[:count]
    pairs = {(i, (i + 1) % count) for i in range(count)}
    pairs |= {
        (min(p), max(p))
        for p in data.draw(
            st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=6)
        )
        if abs(p[0] - p[1]) > 1
    }
    graph = build_topology(
        names,
        add_reverse_arcs(
            Arc(names[a], names[b], data.draw(st.integers(5, 30)), link=f"{a}-{b}")
            for a, b in sorted(pairs)
        ),
    )
    wanted = []
    traffic = np.zeros((count, count))
    for number in range(data.draw(st.integers(1, 10))):
        source, target = data.draw(st.permutations(range(count)))[:2]
        rate = data.draw(st.integers(1, 8))
        apart = (("r0", "link"),) if number and data.draw(st.booleans()) else ()
        wanted.append(
            PathRequest(
                f"r{number}", source, target, PathConstraints(rate, max_hops=5), disjoint_from=apart
            )
        )
    first = place_paths(graph, wanted)
    before = float((first.compute_loads() / graph.capacity).max())
    rates = {each.request.name: each.request.constraints.bandwidth for each in first.outcomes}
    placed = set(first.get_paths())
    better, _ = reoptimise_placement(graph, first, rates)
    assert set(better.get_paths()) == placed
    assert (better.reservations.free >= 0).all()
    after = float((better.compute_loads() / graph.capacity).max())
    assert after <= before + 1e-12
    paths = better.get_paths()
    for request in wanted:
        if request.name not in paths:
            continue
        traffic[request.source, request.target] += request.constraints.bandwidth
        assert len(paths[request.name]) <= 5
        for other, kind in request.disjoint_from:
            if other in paths:
                assert not set(paths[request.name]) & find_shared_arcs(graph, paths[other], kind)
    assert after >= minimise_utilisation(graph, traffic).bound - 1e-9
    for name in paths:
        better.reservations.tear_down(name)
    assert not better.reservations.reserved.any()
