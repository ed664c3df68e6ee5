"""Paths moved off the busiest link, by hand and over random networks."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from trunkline.te.constraints import Constraints
from trunkline.te.disjoint import sharing
from trunkline.te.optimum import minimum_utilisation
from trunkline.te.place import Request, place
from trunkline.te.reoptimise import reoptimise
from trunkline.te.topology import Arc, both, topology


def diamond():
    """P-Q-T costs 2, P-R-T costs 4; 30 everywhere."""
    links = [("P", "Q", 1), ("Q", "T", 1), ("P", "R", 2), ("R", "T", 2)]
    return topology("PQRT", both(Arc(a, b, 30, igp=cost) for a, b, cost in links))


def test_one_of_two_paths_moves_and_the_maximum_halves():
    # Both of 10 fit on P-Q-T: 20 of 30. One on each way: 10 of 30.
    graph = diamond()
    first = place(graph, [Request(n, 0, 3, Constraints(10)) for n in "ab"])
    assert (first.loads() / graph.capacity).max() == pytest.approx(2 / 3)
    better, moves = reoptimise(graph, first, {"a": 10, "b": 10})
    assert moves == 1
    assert (better.loads() / graph.capacity).max() == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("asked", "keep"),
    [(Constraints(10, max_hops=2, via=()), {"a", "b"}), (Constraints(10, exclude={"red"}), ())],
)
def test_a_path_stays_that_may_not_leave(asked, keep):
    links = [("P", "Q", 1, ""), ("Q", "T", 1, ""), ("P", "R", 2, "red"), ("R", "T", 2, "")]
    graph = topology(
        "PQRT",
        both(Arc(a, b, 30, igp=m, colours=frozenset({c} - {""})) for a, b, m, c in links),
    )
    first = place(graph, [Request(n, 0, 3, asked) for n in "ab"])
    better, moves = reoptimise(graph, first, {"a": 10, "b": 10}, keep=keep)
    assert moves == 0
    assert better.paths() == first.paths()


@pytest.mark.parametrize("order", ["listed", "priority"])
def test_a_path_apart_from_another_is_placed_after_it_whatever_the_order(order):
    # The one that is to be apart is listed first and is the larger.
    graph = diamond()
    wanted = [
        Request("second", 0, 3, Constraints(20), apart=(("first", "link"),)),
        Request("first", 0, 3, Constraints(10)),
    ]
    done = place(graph, wanted, order=order)
    assert done.order == ("first", "second")
    ways = {name: "".join(graph.along(path)) for name, path in done.paths().items()}
    assert ways == {"first": "PQT", "second": "PRT"}


def test_a_displaced_path_stays_apart_when_it_is_placed_again():
    # Strong fills P-Q-T. P-R-T is second's, which is to be apart: bandwidth is what first lacks on
    # the only way that is left to it.
    graph = diamond()
    wanted = [
        Request("first", 0, 3, Constraints(10), apart=()),
        Request("second", 0, 3, Constraints(10), apart=(("first", "link"),)),
        Request("strong", 0, 3, Constraints(30), setup=0, hold=0),
    ]
    done = place(graph, wanted, order="listed")
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
    graph = topology(
        names,
        both(
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
            Request(f"r{number}", source, target, Constraints(rate, max_hops=5), apart=apart)
        )
    first = place(graph, wanted)
    before = float((first.loads() / graph.capacity).max())
    rates = {each.request.name: each.request.asked.bandwidth for each in first.outcomes}
    placed = set(first.paths())
    better, _ = reoptimise(graph, first, rates)
    assert set(better.paths()) == placed
    assert (better.state.free >= 0).all()
    after = float((better.loads() / graph.capacity).max())
    assert after <= before + 1e-12
    paths = better.paths()
    for request in wanted:
        if request.name not in paths:
            continue
        traffic[request.source, request.target] += request.asked.bandwidth
        assert len(paths[request.name]) <= 5
        for other, kind in request.apart:
            if other in paths:
                assert not set(paths[request.name]) & sharing(graph, paths[other], kind)
    assert after >= minimum_utilisation(graph, traffic).bound - 1e-9
    for name in paths:
        better.state.tear(name)
    assert not better.state.reserved.any()
