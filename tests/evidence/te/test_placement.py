"""Placement and preemption worked by hand, and what must hold after any sequence of events."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from trunkline.te.admission import Reservation, Reservations
from trunkline.te.cspf import ConstrainedPath, find_constrained_path
from trunkline.te.dste import make_bandwidth_constraints
from trunkline.te.path_constraints import PathConstraints
from trunkline.te.placement import PathRequest, place_paths
from trunkline.te.preemption import choose_victims
from trunkline.te.topology import Arc, add_reverse_arcs, build_topology


def diamond():
    """P-Q-T costs 2, P-R-T costs 4; 30 everywhere."""
    links = [("P", "Q", 1), ("Q", "T", 1), ("P", "R", 2), ("R", "T", 2)]
    return build_topology("PQRT", add_reverse_arcs(Arc(a, b, 30, igp=cost) for a, b, cost in links))


def requests():
    listed = [
        ("gold", 20, 2, 2),
        ("bronze1", 10, 6, 6),
        ("bronze2", 10, 6, 6),
        ("silver", 20, 4, 4),
        ("gold2", 20, 1, 0),
    ]
    return [
        PathRequest(n, 0, 3, PathConstraints(bw), 0, setup, hold) for n, bw, setup, hold in listed
    ]


def ways(graph, placement):
    paths = placement.get_paths()
    return {name: "".join(graph.list_node_names(path)) for name, path in paths.items()}


def test_four_requests_as_listed_before_the_fifth_displaces_any():
    graph = diamond()
    done = place_paths(graph, requests()[:4], order="listed")
    assert ways(graph, done) == {
        "gold": "PQT",
        "bronze1": "PQT",
        "bronze2": "PRT",
        "silver": "PRT",
    }


@pytest.mark.parametrize(
    ("rule", "displaced"),
    [("lowest-priority-first", {"bronze1", "gold"}), ("fewest", {"gold"})],
)
def test_the_fifth_displaces_by_rule_and_gold_is_placed_again(rule, displaced):
    graph = diamond()
    done = place_paths(graph, requests(), order="listed", preemption=rule)
    by_gold2 = {o.request.name for o in done.outcomes if "gold2" in o.displaced_by}
    assert by_gold2 == displaced
    found = ways(graph, done)
    assert found["gold2"] == "PQT"
    assert found["gold"] == "PRT"


def test_order_by_priority_sorts_by_setup_bandwidth_and_name():
    done = place_paths(diamond(), requests())
    assert done.order == ("gold2", "gold", "silver", "bronze1", "bronze2")
    assert not any(o.displaced_by for o in done.outcomes)


def test_RFC_4829_least_bandwidth_spares_what_is_not_needed():
    graph = build_topology("AB", [Arc("A", "B", 100)])
    state = Reservations(make_bandwidth_constraints(graph.reservable))
    for name, bandwidth in (("five", 5), ("thirty", 30), ("sixty", 60)):
        state.reserve(name, Reservation((0,), bandwidth))
    state.reserve("new", Reservation((0,), 37, 0, 0))
    # 32 over: sixty alone is enough and least after the smaller two (35) are compared by the rule.
    assert choose_victims(state, (0,), "new", 0, "fewest") == ["sixty"]
    assert choose_victims(state, (0,), "new", 0, "least-bandwidth") == ["sixty"]
    state.tear_down("new")
    state.reserve("new", Reservation((0,), 10, 0, 0))
    assert choose_victims(state, (0,), "new", 0, "least-bandwidth") == ["five"]


def test_RFC_3209_4_7_1_a_hold_weaker_than_its_setup_is_refused():
    with pytest.raises(ValueError, match="weaker than setup"):
        place_paths(diamond(), [PathRequest("x", 0, 3, PathConstraints(1), 0, 3, 5)])


def test_a_path_apart_from_another_takes_the_other_side():
    graph = diamond()
    asked = [
        PathRequest("p0", 0, 3, PathConstraints(5)),
        PathRequest("p1", 0, 3, PathConstraints(5), disjoint_from=(("p0", "node"),)),
        PathRequest("p2", 0, 3, PathConstraints(5), disjoint_from=(("p0", "link"), ("p1", "link"))),
    ]
    done = place_paths(graph, asked)
    assert ways(graph, done) == {"p0": "PQT", "p1": "PRT"}
    refused = done.outcomes[2].refusal
    assert refused is not None
    assert refused.reason == "disjoint"


@pytest.mark.parametrize("order", ["listed", "priority"])
def test_a_path_apart_from_two_that_hold_all_and_one_without_a_route_is_refused_for_those(order):
    """None of the two can give way to it, and the one without a route has none to give."""
    graph = diamond()
    away = tuple((name, "link") for name in ("wide", "p0", "p1"))
    listed = [
        PathRequest("wide", 0, 3, PathConstraints(40)),
        PathRequest("p0", 0, 3, PathConstraints(5)),
        PathRequest("p1", 0, 3, PathConstraints(5), disjoint_from=(("p0", "link"),)),
        PathRequest("p2", 0, 3, PathConstraints(5), disjoint_from=away),
    ]
    done = place_paths(graph, listed, order=order)
    assert ways(graph, done) == {"p0": "PQT", "p1": "PRT"}
    reasons = {each.request.name: each.refusal.reason for each in done.outcomes if each.refusal}
    assert reasons == {"wide": "bandwidth", "p2": "disjoint"}


def random_network(seed):
    draw = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(8)]
    arcs = [Arc(names[i], names[(i + 1) % 8], int(draw.integers(20, 60))) for i in range(8)]
    for number in range(6):
        a, b = draw.choice(8, 2, replace=False)
        arcs.append(Arc(names[a], names[b], int(draw.integers(20, 60)), f"x{number}"))
    return build_topology(names, add_reverse_arcs(arcs))


MODELS = {
    "none": None,
    "mam": (0.6, 0.5, 0.4),
    "rdm": (1.0, 0.6, 0.3),
    "mar": (0.5, 0.3, 0.2),
}


def model_of(graph, name):
    shares = MODELS[name]
    if shares is None:
        return make_bandwidth_constraints(graph.reservable)
    constraints = (graph.reservable[:, None] * np.array(shares)).astype(np.int64)
    return make_bandwidth_constraints(graph.reservable, name, constraints, graph.reservable // 10)


def within_bounds(state):
    """No bound is passed at any priority: the strongest holders alone, the next with them, ..."""
    held = state.reserved.cumsum(axis=2)
    for types, bound in state.constraints.list_bounds():
        assert (held[:, sorted(types)].sum(axis=1) <= bound[:, None]).all()


EVENT = st.tuples(
    st.sampled_from(["place", "place", "place", "tear", "fail"]),
    st.integers(0, 7),
    st.integers(0, 7),
    st.integers(1, 30),
    st.integers(0, 2),
    st.integers(0, 7),
    st.integers(0, 7),
)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5), st.sampled_from(list(MODELS)), st.lists(EVENT, max_size=25))
def test_no_link_is_over_reserved_after_any_sequence_and_all_torn_leaves_zero(seed, model, events):
    graph = random_network(seed)
    state = Reservations(model_of(graph, model))
    for number, (kind, a, b, bandwidth, class_type, setup, hold) in enumerate(events):
        if kind == "place" and a != b:
            free = state.get_unreserved(class_type, setup)
            found = find_constrained_path(graph, a, b, PathConstraints(bandwidth), free)
            if isinstance(found, ConstrainedPath):
                name = f"l{number}"
                reservation = Reservation(found.path, bandwidth, class_type, min(setup, hold))
                state.reserve(name, reservation)
                for rule in ("fewest", "least-bandwidth", "lowest-priority-first"):
                    gone = choose_victims(state, found.path, name, setup, rule)
                    assert all(state.holders[victim].hold > setup for victim in gone)
                for victim in gone:
                    state.tear_down(victim)
        elif kind == "tear" and state.holders:
            state.tear_down(list(state.holders)[a % len(state.holders)])
        elif kind == "fail":
            for victim in state.list_holders(bandwidth % len(graph.arcs)):
                state.tear_down(victim)
        within_bounds(state)
        assert (state.sum_reserved() <= graph.reservable).all()
    for name in list(state.holders):
        state.tear_down(name)
    assert not state.reserved.any()


WANTED = st.tuples(
    st.integers(0, 7), st.integers(0, 7), st.integers(1, 25), st.integers(0, 7), st.integers(0, 7)
)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 5),
    st.lists(WANTED, max_size=15),
    st.randoms(use_true_random=False),
    st.sampled_from(["fewest", "lowest-priority-first", "least-bandwidth"]),
)
def test_order_of_declaration_does_not_matter_and_a_placement_is_a_fixed_point(
    seed, wanted, mixer, rule
):
    graph = random_network(seed)
    listed = [
        PathRequest(f"r{i}", a, b, PathConstraints(bw), 0, max(p, q), min(p, q))
        for i, (a, b, bw, p, q) in enumerate(wanted)
        if a != b
    ]
    first = place_paths(graph, listed, preemption=rule)
    within_bounds(first.reservations)
    shuffled = listed[:]
    mixer.shuffle(shuffled)
    second = place_paths(graph, shuffled, preemption=rule)
    assert first.get_paths() == second.get_paths()
    kept = [outcome.request for outcome in first.outcomes if outcome.route is not None]
    again = place_paths(graph, kept, fixed_paths=first.get_paths(), preemption=rule)
    assert again.get_paths() == first.get_paths()


@pytest.mark.parametrize("rule", ["lowest-priority-first", "fewest", "least-bandwidth"])
def test_RFC_4829_2_no_other_victims_of_a_link_are_better_by_the_rule(rule):
    """One link, all choices of victims: the weakest first, the fewest, none that is needless."""
    for seed in range(60):
        draw = np.random.default_rng(seed)
        held = {
            f"h{number}": (int(draw.integers(1, 12)), int(draw.integers(2, 8)))
            for number in range(6)
        }
        total = sum(bandwidth for bandwidth, _ in held.values())
        asked = int(draw.integers(1, total))
        state = Reservations(make_bandwidth_constraints(np.array([total])))
        for name, (bandwidth, hold) in held.items():
            state.reserve(name, Reservation((0,), bandwidth, hold=hold))
        state.reserve("new", Reservation((0,), asked, hold=0))
        setup = int(draw.integers(1, 5))
        chosen = choose_victims(state, (0,), "new", setup, rule)
        weaker = [name for name, (_, hold) in held.items() if hold > setup]
        assert set(chosen) <= set(weaker)

        def free(names, held=held):
            return sum(held[name][0] for name in names)

        enough = [
            names
            for count in range(len(weaker) + 1)
            for names in itertools.combinations(weaker, count)
            if free(names) >= asked
        ]
        if not enough:
            assert set(chosen) == set(weaker)
            continue
        assert free(chosen) >= asked
        # What is left of each but the last one chosen does not do.
        assert all(free(chosen[:count]) < asked for count in range(len(chosen)))
        if rule == "fewest":
            assert len(chosen) == len(enough[0])
        if rule == "lowest-priority-first":
            keys = [(held[name][1], held[name][0], name) for name in weaker]
            assert chosen == [name for *_, name in sorted(keys, reverse=True)][: len(chosen)]


def test_RFC_4829_2_ties_of_victims_by_hand():
    """Of as many the weakest, of as weak the smallest, of as small by name; 10 are to be freed."""
    cases = [
        ("fewest", {"a": (10, 5), "b": (12, 6), "c": (20, 6)}, ["b"]),
        ("fewest", {"a": (10, 5), "b": (10, 5)}, ["b"]),
        ("fewest", {"a": (7, 6), "b": (6, 6), "c": (3, 7), "d": (2, 7)}, ["a", "c"]),
        ("fewest", {"a": (6, 6), "b": (6, 7), "c": (6, 7)}, ["b", "c"]),
        ("least-bandwidth", {"a": (12, 7), "b": (11, 6), "c": (11, 7), "d": (11, 7)}, ["c"]),
        ("least-bandwidth", {"a": (6, 7), "b": (6, 6), "c": (4, 7), "d": (5, 5)}, ["b", "c"]),
        ("lowest-priority-first", {"a": (5, 7), "b": (5, 7), "c": (9, 6)}, ["b", "a"]),
        ("lowest-priority-first", {"a": (5, 6), "b": (9, 7), "c": (1, 7)}, ["b", "c"]),
        # One bit/s that is missing takes another victim.
        ("fewest", {"a": (9, 6), "b": (1, 6)}, ["a", "b"]),
        ("least-bandwidth", {"a": (9, 6), "b": (1, 6)}, ["a", "b"]),
        ("lowest-priority-first", {"a": (9, 6), "b": (1, 5)}, ["a", "b"]),
    ]
    # The order of admission decides nothing.
    for (rule, held, expected), admit in itertools.product(cases, (list, reversed)):
        total = sum(bandwidth for bandwidth, _ in held.values())
        state = Reservations(make_bandwidth_constraints(np.array([total])))
        for name in admit(held):
            bandwidth, hold = held[name]
            state.reserve(name, Reservation((0,), bandwidth, hold=hold))
        state.reserve("new", Reservation((0,), 10, hold=0))
        assert choose_victims(state, (0,), "new", 0, rule) == expected, (rule, held)


@pytest.mark.parametrize("rule", ["lowest-priority-first", "fewest", "least-bandwidth"])
def test_one_bit_per_second_too_much_displaces_and_none_does_not(rule):
    for asked, victims in ((1, ["a"]), (0, [])):
        state = Reservations(make_bandwidth_constraints(np.array([10])))
        state.reserve("a", Reservation((0,), 10, hold=6))
        state.reserve("new", Reservation((0,), asked, hold=0))
        assert choose_victims(state, (0,), "new", 0, rule) == victims


def test_RFC_4829_2_what_goes_on_one_link_frees_the_next_and_its_own_class_type_alone():
    graph = build_topology("ABC", [Arc("A", "B", 20), Arc("B", "C", 20)])
    state = Reservations(make_bandwidth_constraints(graph.reservable))
    for name, path in (("first", (0,)), ("both", (0, 1)), ("second", (1,))):
        state.reserve(name, Reservation(path, 10, hold=6))
    state.reserve("new", Reservation((0, 1), 10, hold=0))
    # Of the two on the first link the last by name, "first"; on the second then "second".
    assert choose_victims(state, (0, 1), "new", 0) == ["first", "second"]
    assert choose_victims(state, (1, 0), "new", 0) == ["second", "first"]
    # CT1 may have 10 of 20 (RFC 4125): a path of CT1 displaces its own, not a weaker one of CT0.
    state = Reservations(
        make_bandwidth_constraints(graph.reservable, "mam", np.array([[20, 10], [20, 10]]))
    )
    state.reserve("of CT0", Reservation((0,), 5, 0, 7))
    state.reserve("of CT1", Reservation((0,), 10, 1, 5))
    state.reserve("new", Reservation((0,), 5, 1, 0))
    assert choose_victims(state, (0,), "new", 4) == ["of CT1"]
    assert choose_victims(state, (0,), "new", 5) == []


def test_requests_that_cannot_be_told_apart_or_are_of_no_te_class_are_refused():
    same = [PathRequest("x", 0, 3, PathConstraints(1))] * 2
    with pytest.raises(ValueError, match="two requests have the same name"):
        place_paths(diamond(), same)
    constraints = make_bandwidth_constraints(
        diamond().reservable, classes=frozenset({(0, 7), (0, 3)})
    )
    asked = [PathRequest("x", 0, 3, PathConstraints(1), 0, 7, 3)]
    assert place_paths(diamond(), asked, bandwidth_constraints=constraints).get_paths()
    # A request that names neither is of CT0 with the weakest priorities.
    weakest = make_bandwidth_constraints(diamond().reservable, classes=frozenset({(0, 7)}))
    asked = [PathRequest("x", 0, 3, PathConstraints(1))]
    assert place_paths(diamond(), asked, bandwidth_constraints=weakest).get_paths()
    asked = [PathRequest("x", 0, 3, PathConstraints(1), 0, 7, 4)]
    with pytest.raises(ValueError, match="class type 0 with priorities 7 and 4 is no TE-class"):
        place_paths(diamond(), asked, bandwidth_constraints=constraints)


def test_two_that_name_each_other_are_placed_apart_from_a_third_too():
    """Three ways of 10: r has the first, so that p, apart from both, and q take the others."""
    links = [(end, way, cost) for way, cost in zip("QRU", (1, 2, 3), strict=True) for end in "PT"]
    graph = build_topology("PTQRU", add_reverse_arcs(Arc(a, b, 10, igp=c) for a, b, c in links))
    asked = [
        PathRequest("r", 0, 1, PathConstraints(4), setup=0, hold=0),
        PathRequest("p", 0, 1, PathConstraints(4), disjoint_from=(("q", "node"), ("r", "node"))),
        PathRequest("q", 0, 1, PathConstraints(4), disjoint_from=(("p", "node"),)),
    ]
    # q may share the way of r; p may not.
    assert ways(graph, place_paths(graph, asked)) == {"r": "PQT", "p": "PRT", "q": "PQT"}
    asked[2] = PathRequest(
        "q", 0, 1, PathConstraints(4), disjoint_from=(("p", "node"), ("r", "node"))
    )
    found = ways(graph, place_paths(graph, asked))
    assert (found["r"], {found["p"], found["q"]}) == ("PQT", {"PRT", "PUT"})


def test_bhandari_1999_a_path_in_the_way_moves_or_the_refusal_says_where_to() -> None:
    """A-B-C-Z of the trap leaves no second path; A-B-E-Z and A-D-C-Z are apart."""
    links = [("A", "B", 1), ("B", "C", 1), ("C", "Z", 1), ("A", "D", 3), ("D", "C", 1)]
    links += [("B", "E", 1), ("E", "Z", 3)]
    graph = build_topology("AZBCDE", add_reverse_arcs(Arc(a, b, 9, igp=c) for a, b, c in links))
    asked = [
        PathRequest("p", 0, 1, PathConstraints(1)),
        PathRequest("q", 0, 1, PathConstraints(1), disjoint_from=(("p", "link"),)),
    ]
    assert set(ways(graph, place_paths(graph, asked)).values()) == {"ABEZ", "ADCZ"}
    listed = place_paths(graph, asked, order="listed")
    assert ways(graph, listed) == {"p": "ABCZ"}
    refusal = listed.outcomes[1].refusal
    assert refusal is not None
    assert (refusal.reason, refusal.partner) == ("disjoint", "p")
    pair = {"".join(graph.list_node_names(path)) for path in refusal.pair}
    assert pair == {"ABEZ", "ADCZ"}
    # Without room there is no pair either: p keeps its bandwidth and the refusal names no other.
    asked[1] = PathRequest("q", 0, 1, PathConstraints(10), disjoint_from=(("p", "link"),))
    full = place_paths(graph, asked)
    assert ways(graph, full) == {"p": "ABCZ"}
    assert full.outcomes[1].refusal is not None
    assert full.outcomes[1].refusal.partner == ""
    assert full.compute_loads().sum() == 3


@pytest.mark.parametrize("fixed", ["p", "q"])
def test_of_two_that_name_each_other_one_with_a_route_of_its_own_has_that_route(fixed) -> None:
    """Without it both would be placed together, and either may have the cheaper route."""
    graph = diamond()
    asked = [
        PathRequest(name, 0, 3, PathConstraints(1), disjoint_from=((other, "link"),))
        for name, other in ("pq", "qp")
    ]
    routes = {fixed: graph.find_path_through(*"PRT")}
    found = ways(graph, place_paths(graph, asked, fixed_paths=routes))
    assert found.pop(fixed) == "PRT"
    assert list(found.values()) == ["PQT"]


@pytest.mark.parametrize("order", ["listed", "priority"])
def test_a_partner_that_is_not_asked_for_is_in_nobodys_way(order) -> None:
    graph = diamond()
    away = (("unknown", "link"), ("p", "link"))
    asked = [
        PathRequest("p", 0, 3, PathConstraints(1)),
        PathRequest("q", 0, 1, PathConstraints(1), disjoint_from=away),
        PathRequest("r", 0, 3, PathConstraints(30), disjoint_from=away),
        PathRequest("s", 0, 3, PathConstraints(30), disjoint_from=(*away, ("r", "link"))),
    ]
    done = place_paths(graph, asked, order=order)
    reasons = {each.request.name: each.refusal.reason for each in done.outcomes if each.refusal}
    assert reasons.get("s") == "disjoint"
