"""Orders of moves against all orders, and against all states with all detours, by brute force."""

import dataclasses
import heapq
import itertools
import random
from collections import deque

import numpy as np
import pytest

from trunkline.te import migration_order
from trunkline.te.migration_order import (
    PathMove,
    UsageBound,
    _OrderSearch,
    _UsageRows,
    find_least_headroom,
    find_migration_order,
    trace_usage,
)

ALL_TYPES = frozenset(range(8))


def bound(limits, background=None):
    limit = np.array(limits, dtype=np.int64)
    return UsageBound(ALL_TYPES, limit, np.zeros_like(limit) if background is None else background)


def hold_both(old, new):
    """RFC 3209, 2.5: on a shared arc the larger reservation of the session counts once."""
    return {arc: max(old.get(arc, 0), new.get(arc, 0)) for arc in {*old, *new}}


def fits(reservations, limits):
    load = [0] * len(limits)
    for held in reservations:
        for arc, rate in held.items():
            load[arc] += rate
    return all(used <= most for used, most in zip(load, limits, strict=True))


def reserve(path, rate):
    return dict.fromkeys(path, rate)


def find_factor_of_all_orders(moves, limits):
    """The least over all orders of the largest use over its bound, without detours."""
    best = float("inf")
    for order in itertools.permutations(range(len(moves))):
        state = [reserve(each.before, each.bandwidth_before) for each in moves]
        worst = 0.0
        for number in order:
            new = reserve(moves[number].after, moves[number].bandwidth_after)
            state[number] = hold_both(state[number], new)
            load = [sum(held.get(arc, 0) for held in state) for arc in range(len(limits))]
            worst = max(worst, *(used / most for used, most in zip(load, limits, strict=True)))
            state[number] = new
        best = min(best, worst)
    return best


def count_fewest_detours(moves, limits):
    """Fewest detours over all states by breadth-first search with weights 0 and 1; None: none."""
    options = [[move.before, move.after, *move.detours] for move in moves]

    def held(number, position):
        move = moves[number]
        rates = (move.bandwidth_before, move.bandwidth_after)
        return reserve(options[number][position], rates[position] if position < 2 else max(rates))

    queue, fewest = deque([((0,) * len(moves), 0)]), {}
    while queue:
        state, cost = queue.popleft()
        if fewest.get(state, cost + 1) <= cost:
            continue
        fewest[state] = cost
        if set(state) == {1}:
            return cost
        for number, position in enumerate(state):
            if position == 1:
                continue
            rest = [held(other, at) for other, at in enumerate(state) if other != number]
            for end in range(1, len(options[number])):
                both = hold_both(held(number, position), held(number, end))
                if end != position and fits([*rest, both], limits):
                    following = (*state[:number], end, *state[number + 1 :])
                    queue.append((following, cost + (end > 1))) if end > 1 else queue.appendleft(
                        (following, cost)
                    )
    return None


def make_random_moves(stream, count, arcs, detours):
    """Paths of one or two arcs with rates of 1 to 4, and limits that the end states just keep."""
    moves = [
        PathMove(
            f"p{number}",
            tuple(stream.sample(range(arcs), stream.choice((1, 2)))),
            tuple(stream.sample(range(arcs), stream.choice((1, 2)))),
            rate := stream.randint(1, 4),
            rate if stream.random() < 0.7 else stream.randint(1, 4),
            detours=tuple((each,) for each in stream.sample(range(arcs), detours)),
        )
        for number in range(count)
    ]
    limits = [1] * arcs
    for side in ("before", "after"):
        load = [0] * arcs
        for move in moves:
            for arc in getattr(move, side):
                load[arc] += getattr(move, f"bandwidth_{side}")
        limits = [
            max(most, used + (stream.random() < 0.1))
            for most, used in zip(limits, load, strict=True)
        ]
    return moves, limits


def check_steps(moves, steps, limits):
    """Every path ends on its new route, and no arc is above its limit in any step."""
    last = {step.move: step.end for step in steps}
    assert last == dict.fromkeys(range(len(moves)), 1)
    for usage in trace_usage(moves, steps, np.zeros(len(limits), dtype=np.int64)):
        assert (usage <= np.array(limits)).all()


@pytest.mark.parametrize("seed", [3, 4, 5, 10, 12, 13])
def test_an_order_is_found_where_one_of_all_720_orders_of_six_paths_is_good(seed):
    stream = random.Random(seed)
    outcomes = set()
    for _ in range(8):
        moves, limits = make_random_moves(stream, 6, 5, 0)
        factor = find_factor_of_all_orders(moves, limits)
        found = find_migration_order(moves, [bound(limits)])
        assert found.is_proven
        assert (found.steps is not None) == (factor <= 1)
        outcomes.add(found.steps is not None)
        if found.steps is not None:
            assert found.detours == 0
            check_steps(moves, found.steps, limits)
        headroom = find_least_headroom(moves, [bound(limits)])
        assert headroom is not None
        assert max(headroom.factor, 1) == pytest.approx(max(factor, 1))
        assert all(rate > 0 for rate in headroom.missing.values())
        # With that much headroom the steps are good, with a little less none are.
        enough = [most + headroom.missing.get(arc, 0) for arc, most in enumerate(limits)]
        check_steps(moves, headroom.steps, enough)
    # Both happen.
    assert outcomes == {True, False}


def test_detours_are_as_few_as_in_a_search_of_all_states():
    stream = random.Random(2)
    seen = []
    for _ in range(80):
        moves, limits = make_random_moves(stream, 5, 4, 2)
        fewest = count_fewest_detours(moves, limits)
        found = find_migration_order(moves, [bound(limits)])
        assert found.is_proven
        assert (None if found.steps is None else found.detours) == fewest
        seen.append(fewest)
        if found.steps is not None:
            check_steps(moves, found.steps, limits)
    assert {None, 0, 1, 2} <= set(seen)


@pytest.mark.parametrize("seed", [994, 1499])
def test_detours_are_fewer_where_paths_with_an_order_of_their_own_move_in_between(seed):
    """Networks of 4 to 6 paths in which one detour does, but two if the others move at the end."""
    stream = random.Random(seed)
    moves, limits = make_random_moves(stream, stream.choice([4, 5, 6]), stream.choice([4, 5, 6]), 2)
    found = find_migration_order(moves, [bound(limits)])
    assert count_fewest_detours(moves, limits) == 1
    assert (found.detours, found.is_proven) == (1, True)
    check_steps(moves, found.steps, limits)


def swap(**more):
    """Two paths of 6 change places on two arcs of 10; a third arc of 10 is free."""
    return [
        PathMove("a", (0,), (1,), 6, 6, **more),
        PathMove("b", (1,), (0,), 6, 6, **more),
    ]


def test_two_paths_that_change_places_need_a_detour_or_room_for_both():
    limits = [10, 10, 10]
    none = find_migration_order(swap(), [bound(limits)])
    assert (none.steps, none.is_proven) == (None, True)
    # 12 on an arc of 10: factor 1.2, 2 too many.
    headroom = find_least_headroom(swap(), [bound(limits)])
    assert headroom is not None
    assert headroom.factor == pytest.approx(1.2)
    assert list(headroom.missing.values()) == [2]
    # 12 on an arc of 11 and of 12: 1 too many, and none.
    for limit, missing in [(11, [1]), (12, [])]:
        least = find_least_headroom(swap(), [bound([limit] * len(limits))])
        assert least is not None
        assert list(least.missing.values()) == missing
    found = find_migration_order(swap(detours=((2,),)), [bound(limits)])
    assert found.steps is not None
    assert [(step.kind, step.end) for step in found.steps] == [
        ("detour", 2),
        ("move", 1),
        ("move", 1),
    ]


def test_a_weaker_path_is_preempted_where_allowed_and_never_a_stronger():
    moves = [
        PathMove("strong", (0,), (1,), 6, 6, setup=2, hold=2),
        PathMove("weak", (1,), (0,), 6, 6, setup=5, hold=5),
    ]
    limits = [bound([10, 10])]
    assert find_migration_order(moves, limits).steps is None
    found = find_migration_order(moves, limits, preemption=True)
    assert found.steps is not None
    assert [(step.move, step.kind) for step in found.steps] == [
        (1, "preempt"),
        (0, "move"),
        (1, "move"),
    ]
    equal = [PathMove(each.name, each.before, each.after, 6, 6) for each in moves]
    assert find_migration_order(equal, limits, preemption=True).steps is None


def test_a_bound_of_some_class_types_counts_only_these():
    moves = [
        PathMove("a", (0,), (1,), 6, 6, class_type=1),
        PathMove("b", (1,), (0,), 6, 6),
    ]
    of_type_1 = UsageBound(frozenset({1}), np.array([10, 10]), np.zeros(2, dtype=np.int64))
    assert find_migration_order(moves, [of_type_1]).steps is not None
    assert find_migration_order(moves, [of_type_1, bound([10, 10])]).steps is None


def test_an_end_state_above_its_bound_is_refused_and_a_search_too_long_is_undecided(monkeypatch):
    with pytest.raises(ValueError, match="state before"):
        find_migration_order([PathMove("a", (0,), (1,), 6, 5)], [bound([5, 9])])
    with pytest.raises(ValueError, match="state after"):
        find_migration_order([PathMove("a", (0,), (1,), 6, 6)], [bound([9, 5])])
    monkeypatch.setattr(migration_order, "MAX_TRIED_CHANGES", 0)
    found = find_migration_order(swap(), [bound([10, 10, 10])])
    assert (found.steps, found.is_proven) == (None, False)


def test_fifty_paths_that_follow_each_other_are_ordered():
    # Each moves to the arc that the next one leaves; only the last arc is free.
    moves = [PathMove(f"p{i}", (i,), (i + 1,), 6, 6) for i in range(50)]
    for listed in (moves, random.Random(1).sample(moves, 50)):
        found = find_migration_order(listed, [bound([10] * 51)])
        assert found.steps is not None
        assert [listed[step.move] for step in found.steps] == moves[::-1]
        assert find_least_headroom(listed, [bound([10] * 51)]).factor == 0.6


def test_paths_apart_from_each_other_are_searched_apart():
    """Two paths that change places by a detour, and 30 chains: 3^30 states are not tried.

    In a chain each path moves to the arc that the next one leaves, and has room there then.
    """
    moves, limits = swap(detours=((2,),)), [10] * (3 + 4 * 30)
    for first in range(3, len(limits), 4):
        moves += [PathMove(f"p{arc}", (arc,), (arc + 1,), 6, 6) for arc in range(first, first + 3)]
    found = find_migration_order(moves, [bound(limits)])
    assert (found.detours, found.is_proven) == (1, True)
    check_steps(moves, found.steps, limits)


def count_fewest_preemptions(moves, limits):
    """Fewest preemptions, then detours, over all states by Dijkstra's search; None: no order.

    RFC 3209, 4.7: one of weaker holding priority goes for one that still needs more of an arc that
    it uses; only arcs count that all paths together can fill.
    """
    options = [[move.before, move.after, *move.detours, ()] for move in moves]

    def held(number, position):
        move = moves[number]
        rates = (move.bandwidth_before, move.bandwidth_after)
        return reserve(
            options[number][position], rates[position] if position in (0, 1) else max(rates)
        )

    most = [0] * len(limits)
    for number, positions in enumerate(options):
        each = [held(number, position) for position in range(len(positions))]
        for arc in range(len(limits)):
            most[arc] += max(one.get(arc, 0) for one in each)
    scarce = {arc for arc, limit in enumerate(limits) if most[arc] > limit}

    def can_be_preempted(number, state):
        used = {arc for arc, rate in held(number, state[number]).items() if rate} & scarce
        return bool(moves[number].before) and any(
            position != 1
            and moves[other].setup < moves[number].hold
            and any(held(other, 1).get(arc, 0) > held(other, position).get(arc, 0) for arc in used)
            for other, position in enumerate(state)
            if other != number
        )

    start = (0,) * len(moves)
    heap, done = [((0, 0), start)], set()
    while heap:
        cost, state = heapq.heappop(heap)
        if set(state) == {1}:
            return cost
        if state in done:
            continue
        done.add(state)
        for number, position in enumerate(state):
            if position == 1:
                continue
            rest = [held(other, at) for other, at in enumerate(state) if other != number]
            is_both = moves[number].before and moves[number].after
            for end in range(1, len(options[number]) - 1 if is_both else 2):
                both = hold_both(held(number, position), held(number, end))
                if end != position and fits([*rest, both], limits):
                    following = (*state[:number], end, *state[number + 1 :])
                    heapq.heappush(heap, ((cost[0], cost[1] + (end > 1)), following))
            if position != -1 and can_be_preempted(number, state):
                following = (*state[:number], -1, *state[number + 1 :])
                heapq.heappush(heap, ((cost[0] + 1, cost[1]), following))
    return None


@pytest.mark.parametrize("seed", range(3, 8))
def test_preemptions_and_detours_are_as_few_as_in_a_search_of_all_states(seed):
    """With paths that come and go, priorities, and load that stays on every arc."""
    stream = random.Random(seed)
    seen = []
    for _ in range(30):
        moves, limits = make_random_moves(stream, 4, 4, 1)
        for number, move in enumerate(moves):
            hold = stream.randint(0, 6)
            ends = stream.choice([{}, {}, {}, {"before": ()}, {"after": ()}])
            moves[number] = dataclasses.replace(
                move, hold=hold, setup=stream.randint(hold, 7), **ends
            )
        fewest = count_fewest_preemptions(moves, limits)
        background = np.array([stream.randint(0, 5) for _ in limits])
        total = bound(np.array(limits) + background, background)
        found = find_migration_order(moves, [total], preemption=True)
        if found.is_proven:
            cost = None if found.steps is None else (found.preemptions, found.detours)
            assert cost == fewest
            seen.append(fewest)
        if found.steps is not None:
            # In each step as well: both reservations of the one that changes, and the background.
            for usage in trace_usage(moves, found.steps, background):
                assert (usage <= total.limit).all()
        factor = find_factor_of_all_orders(moves, limits)
        headroom = find_least_headroom(moves, [bound(limits)])
        assert headroom is not None
        assert max(headroom.factor, 1) == pytest.approx(max(factor, 1))
    assert len(set(seen)) > 1
    assert len(seen) > 25


def test_a_path_on_an_arc_that_may_carry_nothing_has_no_factor():
    """The factor of 1 bit/s over a bound of 0 is infinite, that of nothing is none."""
    blocked = find_least_headroom([PathMove("a", (0,), (1,), 1, 1)], [bound([1, 0, 0])])
    assert blocked is not None
    assert blocked.factor == float("inf")
    assert blocked.missing == {1: 1}
    # Two of 1 that change places on arcs of 1 need 2 on one of them.
    swapped = [PathMove("a", (0,), (1,), 1, 1), PathMove("b", (1,), (0,), 1, 1)]
    least = find_least_headroom(swapped, [bound([1, 1])])
    assert least is not None
    assert (least.factor, sorted(least.missing.values())) == (2, [1])


def test_a_move_that_frees_room_is_made_before_any_other_is_tried(monkeypatch) -> None:
    """Two change places and cannot; twenty leave their arcs for free ones: not 2^20 states."""
    monkeypatch.setattr(migration_order, "MAX_TRIED_CHANGES", 2000)
    moves = [*swap(), *(PathMove(f"p{i}", (i % 2,), (2 + i,), 1, 1) for i in range(20))]
    found = find_migration_order(moves, [bound([16, 16, *[9] * 20])])
    assert found.steps is not None
    tight = [PathMove("a", (0,), (1,), 20, 20), PathMove("b", (1,), (0,), 20, 20)]
    found = find_migration_order([*tight, *moves[2:]], [bound([30, 30, *[9] * 20])])
    assert (found.steps, found.is_proven) == (None, True)


def test_a_bound_of_0_on_an_arc_of_others_makes_no_order_worse() -> None:
    """b frees the arc that a goes to, so that b is first; c needs an arc that may carry nothing."""
    moves = [
        PathMove("a", (0,), (1,), 6, 6),
        PathMove("b", (1,), (2,), 6, 6),
        PathMove("c", (3,), (4,), 1, 1),
    ]
    for order in itertools.permutations(moves):
        found = find_least_headroom(order, [bound([10, 10, 10, 1, 0])])
        assert found is not None
        assert found.missing == {4: 1}


def test_a_detour_is_tried_unless_an_earlier_one_takes_no_more_of_any_scarce_arc() -> None:
    """Two of 6 fill an arc of 10 together; arc 4 has room for all and counts for nothing."""
    ways = ((2,), (2, 3), (3,), (2,), (3, 4))
    for detours, tried in ((ways, [2, 4]), (((4,), *ways), [2])):
        moves = swap(detours=detours)
        rows = _UsageRows(moves, [bound([10, 10, 10, 10, 99])], use_detours=True)
        assert _OrderSearch(moves, rows, preemption=False).detours == [tried] * 2
    # Neither a path to set up nor one to remove has traffic for a detour.
    moves = [
        PathMove("a", (), (1,), 6, 6, detours=ways),
        PathMove("b", (1,), (), 6, 6, detours=ways),
    ]
    rows = _UsageRows(moves, [bound([10] * 5)], use_detours=True)
    assert _OrderSearch(moves, rows, preemption=False).detours == [[], []]


@pytest.mark.parametrize(("before", "after"), [((3,), (2,)), ((2,), (3,))])
def test_a_detour_is_taken_before_others_fill_its_arc_or_after_they_leave(before, after) -> None:
    """Arc 2 has room for one of 6: the detour of a swap, or the path that comes or goes."""
    limits = [10] * 4
    moves = [*swap(detours=((2,),)), PathMove("other", before, after, 6, 6)]
    for order in itertools.permutations(moves):
        found = find_migration_order(order, [bound(limits)])
        assert (found.detours, found.is_proven) == (1, True)
        check_steps(order, found.steps, limits)


def test_RFC_3209_4_7_a_path_of_the_same_priority_displaces_none() -> None:
    """Not even where a stronger one is there that needs nothing from it."""
    moves = [
        PathMove("a", (0,), (1,), 6, 6, setup=5, hold=5),
        PathMove("b", (1,), (0,), 6, 6, setup=5, hold=5),
        PathMove("c", (1,), (2,), 1, 1, setup=2, hold=2),
    ]
    found = find_migration_order(moves, [bound([10, 10, 10])], preemption=True)
    assert (found.steps, found.is_proven) == (None, True)
