"""DS-TE: unreserved bandwidth by RFC 4125 to 4127, and exact blocking of the models."""

import itertools
import math

import numpy as np
import pytest

from trunkline.te.admission import Reservation, Reservations
from trunkline.te.dste import make_bandwidth_constraints

ONE_LINK = np.array([1000])
HELD = {(2, 0): 150, (1, 1): 200, (1, 5): 100, (0, 3): 250, (0, 7): 200}
# By model and class type: unreserved at priority 0 to 7, worked by hand from the formulas.
TABLES = {
    ("mam", (500, 400, 300)): [
        [500, 500, 500, 250, 250, 250, 250, 50],
        [400, 200, 200, 200, 200, 100, 100, 100],
        [150] * 7 + [100],
    ],
    ("rdm", (1000, 600, 300)): [
        [850, 650, 650, 400, 400, 300, 300, 100],
        [450, 250, 250, 250, 250, 150, 150, 100],
        [150] * 7 + [100],
    ],
}


@pytest.mark.parametrize(("model", "constraints"), list(TABLES))
def test_unreserved_bandwidth_of_every_te_class_of_RFC_4125_and_4127(model, constraints):
    state = Reservations(make_bandwidth_constraints(ONE_LINK, model, np.array([constraints])))
    for (class_type, hold), bandwidth in HELD.items():
        state.reserve(f"{class_type}/{hold}", Reservation((0,), bandwidth, class_type, hold))
    assert state.free[0, :3].tolist() == TABLES[model, constraints]
    # No bandwidth is for class types that there are not.
    assert not state.free[0, 3:].any()


@pytest.mark.parametrize("model", ["mam", "rdm"])
@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_RFC_4125_4127_unreserved_of_up_to_eight_class_types_by_their_sums(model, count):
    """Every class type, priority and constraint, added up one reservation at a time.

    RFC 4127, 4.3: TE-class (c, p) has the least of B_k - Reserved(k and above, up to p) over the
    dolls k = 0 to c. RFC 4125, 4.2: B_c - Reserved(c, up to p), and M - all up to p.
    """
    draw = np.random.default_rng(count)
    falling = sorted((int(each) for each in draw.integers(200, 900, count)), reverse=True)
    constraints = [1000, *falling[1:]] if model == "rdm" else falling
    state = Reservations(make_bandwidth_constraints(ONE_LINK, model, np.array([constraints])))
    held = []
    for number in range(40):
        class_type, hold = int(draw.integers(count)), int(draw.integers(8))
        bandwidth = int(draw.integers(1, 25))
        held.append((class_type, hold, bandwidth))
        state.reserve(f"path{number}", Reservation((0,), bandwidth, class_type, hold))

    def reserved(types, priority):
        return sum(b for c, hold, b in held if c in types and hold <= priority)

    for class_type, priority in itertools.product(range(count), range(8)):
        if model == "rdm":
            free = min(
                constraints[doll] - reserved(range(doll, count), priority)
                for doll in range(class_type + 1)
            )
        else:
            free = min(
                constraints[class_type] - reserved([class_type], priority),
                1000 - reserved(range(count), priority),
            )
        assert state.free[0, class_type, priority] == free, (class_type, priority)


def test_RFC_4126_4_a_class_type_above_its_constraint_leaves_the_threshold():
    # M = 100, B = 60/30, T = 10. A request of DBW on CTc is admitted if DBW <= UNRESERVED_BW while
    # RESERVED_BWc <= BCc, and if DBW <= UNRESERVED_BW - RBW_THRES once RESERVED_BWc > BCc.
    state = Reservations(
        make_bandwidth_constraints(np.array([100]), "mar", np.array([[60, 30]]), np.array([10]))
    )
    state.reserve("a", Reservation((0,), 29, 1, 0))
    assert state.free[0, :2, 0].tolist() == [71, 71]
    state.reserve("b", Reservation((0,), 1, 1, 0))
    assert state.free[0, :2, 0].tolist() == [70, 70]
    state.reserve("c", Reservation((0,), 1, 1, 0))
    assert state.free[0, :2, 0].tolist() == [69, 59]
    state.reserve("d", Reservation((0,), 60, 0, 4))
    assert state.free[0, :2, 3].tolist() == [69, 59]
    assert state.free[0, :2, 4].tolist() == [9, -1]
    state.reserve("e", Reservation((0,), 1, 0, 4))
    assert state.free[0, :2, 4].tolist() == [-2, -2]


def blocking(model, constraints, threshold, loads, units):
    """Exact blocking of unit requests: product form over the states that admission can reach."""
    pool = make_bandwidth_constraints(
        np.array([units]), model, np.array([constraints]), np.array([threshold])
    )
    weight = 0.0
    refused = [0.0] * len(loads)
    for held in itertools.product(range(units + 1), repeat=len(loads)):
        reserved = np.zeros((1, 8, 8), dtype=np.int64)
        reserved[0, : len(held), 0] = held
        if (pool.compute_unreserved(reserved, np.array([0]))[0, : len(held), 0] < 0).any():
            continue
        chance = math.prod(a**k / math.factorial(k) for a, k in zip(loads, held, strict=True))
        weight += chance
        free = pool.compute_unreserved(reserved, np.array([0]))[0, : len(held), 0]
        for c, left in enumerate(free):
            refused[c] += chance * (left < 1)
    return [share / weight for share in refused]


# Loads of CT0, CT1, CT2; blocking of CT2, CT1, CT0 from a program that is not ours.
@pytest.mark.parametrize(
    ("model", "constraints", "loads", "expected"),
    [
        ("mam", (6, 5, 5), (4, 3, 4), (0.199067, 0.110054, 0.117162)),
        ("mam", (6, 5, 5), (12, 3, 4), (0.199067, 0.110054, 0.556089)),
        ("mam", (9, 7, 6), (4, 3, 4), (0.126026, 0.039486, 0.031602)),
        ("mam", (9, 7, 6), (12, 3, 4), (0.190866, 0.151551, 0.375840)),
        ("rdm", (16, 11, 6), (4, 3, 4), (0.132510, 0.042185, 0.024012)),
        ("rdm", (16, 11, 6), (12, 3, 4), (0.285882, 0.260792, 0.260138)),
        ("none", (16,), (4, 3, 4), (0.038852,) * 3),
        ("none", (16,), (12, 3, 4), (0.264490,) * 3),
    ],
)
def test_exact_blocking_of_the_models_without_preemption(model, constraints, loads, expected):
    got = blocking(model, constraints, 0, loads, 16)
    assert got[::-1] == pytest.approx(expected, abs=1e-6)


def erlang_b(load, servers):
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = load * blocked / (k + load * blocked)
    return blocked


def test_strict_maximum_allocation_is_one_erlang_b_system_a_class_type():
    got = blocking("mam", (6, 5, 5), 0, (4, 3, 4), 16)
    assert got == pytest.approx([erlang_b(4, 6), erlang_b(3, 5), erlang_b(4, 5)], rel=1e-9)


def test_RFC_4124_4_2_at_most_eight_te_classes_and_a_pair_that_is_not_one():
    with pytest.raises(ValueError, match="at most 8 TE-classes"):
        make_bandwidth_constraints(ONE_LINK, classes=frozenset((0, p) for p in range(8)) | {(1, 0)})
    pool = make_bandwidth_constraints(ONE_LINK, classes=frozenset({(0, 7), (1, 3)}))
    assert pool.is_te_class(0, 7)
    assert not pool.is_te_class(0, 3)
    eight = frozenset((0, p) for p in range(8))
    assert make_bandwidth_constraints(ONE_LINK, classes=eight).classes == eight


def test_RFC_4124_4_1_there_are_up_to_eight_class_types_from_CT0_on():
    for count in (0, 9):
        with pytest.raises(ValueError, match=f"1 to 8 class types, not {count}"):
            make_bandwidth_constraints(ONE_LINK, "mam", np.full((1, count), 10))
    with pytest.raises(ValueError, match="the model mam needs bandwidth constraints"):
        make_bandwidth_constraints(ONE_LINK, "mam")
    two = make_bandwidth_constraints(ONE_LINK, "mam", np.array([[600, 500]]))
    assert [two.is_te_class(each, 7) for each in range(3)] == [True, True, False]
    # Without a model there is one bound for all, whatever else is given.
    alone = make_bandwidth_constraints(ONE_LINK, "none", np.array([[600, 500]]))
    assert alone.constraints.tolist() == [[1000]]
    # What names no class type is of CT0.
    state = Reservations(two)
    state.reserve("path", Reservation((0,), 100))
    assert state.free[0, :2, 7].tolist() == [500, 500]
    state.reserve("large", Reservation((0,), 450))
    assert state.free[0, :2, 7].tolist() == [50, 450]


def test_RFC_4127_russian_dolls_do_not_grow_inwards():
    with pytest.raises(ValueError, match="no bandwidth constraint is larger"):
        make_bandwidth_constraints(ONE_LINK, "rdm", np.array([[1000, 300, 400]]))


def test_RFC_4127_3_bounds_of_dolls_may_be_alike_and_never_grow():
    """BC0 >= BC1 >= BC2: equal ones nest."""
    alike = make_bandwidth_constraints(np.array([100]), "rdm", np.array([[100, 60, 60]]))
    assert alike.constraints.tolist() == [[100, 60, 60]]
    with pytest.raises(ValueError, match="larger than the one before it"):
        make_bandwidth_constraints(np.array([100]), "rdm", np.array([[100, 60, 61]]))
