"""The order in which label-switched paths move to new routes without an overloaded link.

Each move is make before break (RFC 3209, 2.5): until the traffic has changed over, the old and the
new reservation are both held, and where they share an arc the larger counts (shared explicit
style). An order is good if no arc passes its bound in any step. Where none exists, a path may take
a detour first, or be torn down and set up again later if it may be preempted.

The search is best first over the positions of all paths: fewest preemptions, then fewest detours,
then most paths in place. A move that raises the use of no scarce arc, over where the path is and
where it may go before, is made at once: every order continues at least as well after it. Paths that
share no scarce arc are searched apart. The search ends with an order, with the proof that none
exists, or after `MAX_TRIED_CHANGES`.

Source of the problem: B. G. Józsa, M. Makai, On the solution of reroute sequence planning problem
in MPLS networks, Computer Networks 42(2), 2003. They tear down where it does not fit; here a detour
comes first.
"""

import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trunkline.te.topology import ArcPath, Floats, Ints

MAX_TRIED_CHANGES = 1_000_000
"""Changes of a path that one search tries at most; beyond, it is undecided."""
TORN_DOWN = -1  # Position of a path that is torn down.
BEFORE, AFTER, FIRST_DETOUR = 0, 1, 2
"""Positions of a path: its old route, its new one, its detours."""
StepKind = Literal["move", "detour", "preempt"]
Positions = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PathMove:
    """A path with its old and its new reservation."""

    name: str
    # before, after: Empty: the path is new, or it goes.
    before: ArcPath
    after: ArcPath
    # bandwidth_before, bandwidth_after: Bit/s.
    bandwidth_before: int
    bandwidth_after: int
    class_type: int = 0
    setup: int = 7
    hold: int = 7
    # Routes that it may take for a time, the best first, with the larger bandwidth.
    detours: tuple[ArcPath, ...] = ()

    def get_reservation(self, position: int) -> tuple[ArcPath, int]:
        """Return the path and the bandwidth of a position."""
        if position == TORN_DOWN:
            return (), 0
        if position == BEFORE:
            return self.before, self.bandwidth_before
        if position == AFTER:
            return self.after, self.bandwidth_after
        larger = max(self.bandwidth_before, self.bandwidth_after)
        return self.detours[position - FIRST_DETOUR], larger


@dataclass(frozen=True, slots=True, eq=False)
class UsageBound:
    """A bound on the bandwidth that some class types hold on each arc."""

    class_types: frozenset[int]
    limit: Ints  # shape (E,): Bit/s.
    # shape (E,): Load in every step [bit/s]: paths that stay, load without a path.
    background: Ints


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """A change of one path."""

    move: int  # Number of the path in the list of moves.
    kind: StepKind
    # start, end: Its positions: -1 torn down, 0 old route, 1 new route, 2 and above its detours.
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MigrationOrder:
    """An order of moves, or the knowledge about it."""

    steps: tuple[MigrationStep, ...] | None  # None: no order was found.
    # With steps: none has fewer preemptions, or as many and fewer detours. Without: no order exists
    # with these detours. False after too many changes were tried.
    is_proven: bool

    @property
    def detours(self) -> int:
        """Number of detours."""
        return sum(step.kind == "detour" for step in self.steps or ())

    @property
    def preemptions(self) -> int:
        """Number of paths torn down to be set up again."""
        return sum(step.kind == "preempt" for step in self.steps or ())


@dataclass(frozen=True, slots=True)
class LeastHeadroom:
    """Headroom that an order without detours needs."""

    factor: float  # Largest use over its bound [1], the least of all orders.
    steps: tuple[MigrationStep, ...]
    missing: dict[int, int]  # By arc, bandwidth above the bound in that order [bit/s].


class _UsageRows:
    """Usage of the moves on the rows (bound and arc) that may be scarce.

    usage: shape (positions, R): Usage of each move by position; the last row, position -1, is zero.
    room: shape (R,): Bound less background.
    """

    def __init__(
        self, moves: Sequence[PathMove], bounds: Sequence[UsageBound], *, use_detours: bool
    ):
        arcs = len(bounds[0].limit)
        self.room: Ints = np.concatenate([bound.limit - bound.background for bound in bounds])
        self.limit: Ints = np.concatenate([bound.limit for bound in bounds])
        self.usage: list[Ints] = []
        largest = np.zeros(len(self.room), dtype=np.int64)
        for move in moves:
            positions = FIRST_DETOUR + (len(move.detours) if use_detours else 0)
            rows = np.zeros((positions + 1, len(self.room)), dtype=np.int64)
            for position in range(positions):
                path, bandwidth = move.get_reservation(position)
                for number, bound in enumerate(bounds):
                    if move.class_type in bound.class_types:
                        rows[position, [number * arcs + arc for arc in path]] = bandwidth
            self.usage.append(rows)
            largest += rows.max(axis=0)
        self.scarce = np.flatnonzero(largest > self.room)
        self.arc: Ints = self.scarce % arcs
        self.room, self.limit = self.room[self.scarce], self.limit[self.scarce]
        self.usage = [rows[:, self.scarce] for rows in self.usage]

    def sum_usage(self, positions: Positions) -> Ints:
        """Sum the reservations of the paths in their positions, shape (R,)."""
        total = np.zeros(len(self.room), dtype=np.int64)
        for rows, position in zip(self.usage, positions, strict=True):
            total += rows[position]
        return total

    def compute_held(self, move: int, start: int, end: int) -> Ints:
        """Usage of a path while it changes over: the larger of both on each row."""
        held: Ints = np.maximum(self.usage[move][start], self.usage[move][end])
        return held


def find_migration_order(
    moves: Sequence[PathMove], bounds: Sequence[UsageBound], *, preemption: bool = False
) -> MigrationOrder:
    """Find an order of fewest preemptions and then fewest detours.

    moves: Paths that change; all others are background.
    bounds: One or more. The states before and after keep them.
    preemption: Whether a path may be torn down and set up later, if its holding priority is weaker
        than the setup priority of another path that still has to move to arcs that it uses.
    Raises ValueError: The state before or after passes a bound.
    """
    _check_end_states(moves, bounds)
    steps: list[MigrationStep] = []
    stuck: list[int] = []
    for group in _group_by_scarce_rows(moves, bounds):
        found = _search([moves[each] for each in group], bounds, moves, group, BEFORE)
        if found.steps is None:
            stuck += group
        else:
            steps += found.steps
    if not stuck:
        return MigrationOrder(tuple(steps), True)
    members = [moves[each] for each in sorted(stuck)]
    # The others have an order of their own: before the stuck ones, or after them.
    for others in (BEFORE, AFTER):
        found = _search(
            members, bounds, moves, sorted(stuck), others, detours=True, preemption=preemption
        )
        if found.steps is None:
            continue
        ordered = [*found.steps, *steps] if others == BEFORE else [*steps, *found.steps]
        # With one detour there is no order without any: only detours use arcs of the others.
        is_fewest = found.preemptions == 0 and found.detours <= 1
        if is_fewest or len(stuck) == len(moves):
            return MigrationOrder(tuple(ordered), True)
        joint = _search_jointly(moves, bounds, preemption)
        if joint.is_proven:
            return joint
        return MigrationOrder(tuple(ordered), False)
    return _search_jointly(moves, bounds, preemption)


def _search_jointly(
    moves: Sequence[PathMove], bounds: Sequence[UsageBound], preemption: bool
) -> MigrationOrder:
    everyone = list(range(len(moves)))
    return _search(moves, bounds, moves, everyone, BEFORE, detours=True, preemption=preemption)


def find_least_headroom(
    moves: Sequence[PathMove], bounds: Sequence[UsageBound]
) -> LeastHeadroom | None:
    """Find the order without detours whose largest use over its bound is least.

    None after too many changes were tried. The factor is infinite where a path needs an arc with a
    bound of 0.
    """
    rows = _UsageRows(moves, bounds, use_detours=False)
    steps: list[MigrationStep] = []
    for group in _group_by_scarce_rows(moves, bounds):
        found = _search_least_factor(rows, group)
        if found is None:
            return None
        steps += found
    positions = [BEFORE] * len(moves)
    peak = rows.sum_usage(tuple(positions))
    for step in steps:
        usage = rows.sum_usage(tuple(positions)) - rows.usage[step.move][step.start]
        peak = np.maximum(peak, usage + rows.compute_held(step.move, step.start, step.end))
        positions[step.move] = step.end
    excess = peak - rows.room
    missing: dict[int, int] = {}
    for row in np.flatnonzero(excess > 0).tolist():
        arc = int(rows.arc[row])
        missing[arc] = max(missing.get(arc, 0), int(excess[row]))
    return LeastHeadroom(_compute_factor(rows, peak), tuple(steps), missing)


def trace_usage(
    moves: Sequence[PathMove], steps: Sequence[MigrationStep], background: Ints
) -> list[Ints]:
    """Compute the reservations of all paths on each arc, background included: at each step.

    While a path changes over, the larger of its two reservations counts on a shared arc.
    """
    positions = [BEFORE] * len(moves)

    def compute_usage(changing: MigrationStep | None) -> Ints:
        usage = background.copy()
        for number, move in enumerate(moves):
            held = np.zeros(len(background), dtype=np.int64)
            ends = [positions[number]]
            if changing is not None and changing.move == number:
                ends.append(changing.end)
            for position in ends:
                path, bandwidth = move.get_reservation(position)
                held[list(path)] = np.maximum(held[list(path)], bandwidth)
            usage += held
        return usage

    series = [compute_usage(None)]
    for step in steps:
        series.append(compute_usage(step))
        positions[step.move] = step.end
    return series


def _check_end_states(moves: Sequence[PathMove], bounds: Sequence[UsageBound]) -> None:
    rows = _UsageRows(moves, bounds, use_detours=False)
    for position, word in ((BEFORE, "before"), (AFTER, "after")):
        if (rows.sum_usage((position,) * len(moves)) > rows.room).any():
            raise ValueError(f"the state {word} the moves passes a bound")


def _group_by_scarce_rows(
    moves: Sequence[PathMove], bounds: Sequence[UsageBound]
) -> list[list[int]]:
    """Group moves that share a scarce row, directly or through others, in their order."""
    rows = _UsageRows(moves, bounds, use_detours=False)
    touches = [set(np.flatnonzero(usage.any(axis=0)).tolist()) for usage in rows.usage]
    groups: list[tuple[set[int], list[int]]] = []
    for number, touched in enumerate(touches):
        joined = [group for group in groups if group[0] & touched]
        members = sorted([number, *(each for group in joined for each in group[1])])
        groups = [group for group in groups if not group[0] & touched]
        groups.append((touched.union(*(group[0] for group in joined)), members))
    return sorted(members for _, members in groups)


def _search(
    members: Sequence[PathMove],
    bounds: Sequence[UsageBound],
    moves: Sequence[PathMove],
    numbers: Sequence[int],
    others: int,
    *,
    detours: bool = False,
    preemption: bool = False,
) -> MigrationOrder:
    """Search an order of some moves, the others being in the given position."""
    resting = [move for number, move in enumerate(moves) if number not in set(numbers)]
    rows = _UsageRows(members, _add_background(bounds, resting, others), use_detours=detours)
    found = _OrderSearch(members, rows, preemption).find_order()
    if found.steps is None:
        return found
    named = tuple(
        MigrationStep(numbers[step.move], step.kind, step.start, step.end) for step in found.steps
    )
    return MigrationOrder(named, True)


def _add_background(
    bounds: Sequence[UsageBound], resting: Sequence[PathMove], position: int
) -> list[UsageBound]:
    added = []
    for bound in bounds:
        background = bound.background.copy()
        for move in resting:
            if move.class_type in bound.class_types:
                path, bandwidth = move.get_reservation(position)
                background[list(path)] += bandwidth
        added.append(UsageBound(bound.class_types, bound.limit, background))
    return added


class _OrderSearch:
    """A best-first search over positions."""

    def __init__(self, moves: Sequence[PathMove], rows: _UsageRows, preemption: bool):
        self.moves, self.rows, self.preemption = moves, rows, preemption
        self.goal: Positions = (AFTER,) * len(moves)
        self.detours = [self._list_useful_detours(number) for number in range(len(moves))]
        # Where each path may go before its new route.
        self.later_positions = [
            [*detours, *([TORN_DOWN] if self._has_stronger(number) else [])]
            for number, detours in enumerate(self.detours)
        ]

    def _list_useful_detours(self, move: int) -> list[int]:
        """List the detours that no earlier one replaces with less use of every scarce row."""
        if not (self.moves[move].before and self.moves[move].after):
            # A path to set up or to remove has no traffic to send on a detour.
            return []
        rows = self.rows.usage[move]
        kept: list[int] = []
        for position in range(FIRST_DETOUR, len(rows) - 1):
            if not any((rows[other] <= rows[position]).all() for other in kept):
                kept.append(position)
        return kept

    def find_order(self) -> MigrationOrder:
        start: Positions = (BEFORE,) * len(self.moves)
        cost_of: dict[Positions, tuple[int, int]] = {}
        came_from: dict[Positions, tuple[Positions, MigrationStep]] = {}
        # Of states that are alike the first one found comes first.
        number = itertools.count()
        heap = [((0, 0), len(self.moves), next(number), start)]
        done: set[Positions] = set()
        while heap:
            cost, _, _, state = heapq.heappop(heap)
            if state in done:
                continue
            if state == self.goal:
                return MigrationOrder(_trace_steps(came_from, state), True)
            done.add(state)
            if len(done) * len(self.moves) > MAX_TRIED_CHANGES:
                return MigrationOrder(None, False)
            for step in self._list_steps(state):
                following = (*state[: step.move], step.end, *state[step.move + 1 :])
                new_cost = (cost[0] + (step.kind == "preempt"), cost[1] + (step.kind == "detour"))
                if following not in cost_of or new_cost < cost_of[following]:
                    cost_of[following] = new_cost
                    came_from[following] = state, step
                    away = sum(position != AFTER for position in following)
                    heapq.heappush(heap, (new_cost, away, next(number), following))
        return MigrationOrder(None, True)

    def _list_steps(self, state: Positions) -> Iterator[MigrationStep]:
        rows, usage = self.rows, self.rows.sum_usage(state)
        waiting = [number for number, position in enumerate(state) if position != AFTER]
        for number in waiting:
            # No row gains, nor would it elsewhere: this never makes another order worse.
            places = [state[number], *self.later_positions[number]]
            if (rows.usage[number][AFTER] <= rows.usage[number][places]).all():
                yield MigrationStep(number, "move", state[number], AFTER)
                return
        for number in waiting:
            position = state[number]
            free = rows.room - (usage - rows.usage[number][position])
            ends = [AFTER]
            ends += [each for each in self.detours[number] if each != position]
            for end in ends:
                if (rows.compute_held(number, position, end) <= free).all():
                    yield MigrationStep(number, "move" if end == AFTER else "detour", position, end)
            if position != TORN_DOWN and self._can_be_preempted(number, state):
                yield MigrationStep(number, "preempt", position, TORN_DOWN)

    def _has_stronger(self, number: int) -> bool:
        """Whether another path may ever preempt a path that is there before."""
        hold = self.moves[number].hold
        return (
            self.preemption
            and bool(self.moves[number].before)
            and any(other.setup < hold for other in self.moves)
        )

    def _can_be_preempted(self, number: int, state: Positions) -> bool:
        """Whether a stronger path lacks room on a row that this one uses (RFC 3209, 4.7)."""
        if not self._has_stronger(number):
            return False
        usage = self.rows.usage
        used = usage[number][state[number]] > 0
        return any(
            position != AFTER
            and self.moves[other].setup < self.moves[number].hold
            and (used & (usage[other][AFTER] > usage[other][position])).any()
            for other, position in enumerate(state)
            if other != number
        )


def _search_least_factor(rows: _UsageRows, group: Sequence[int]) -> list[MigrationStep] | None:
    """Order the moves of a group so that the largest use over its bound is least."""
    members = [rows.usage[number] for number in group]
    base = rows.sum_usage((BEFORE,) * len(rows.usage))
    start: Positions = (BEFORE,) * len(group)
    best: dict[Positions, float] = {start: 0.0}
    came_from: dict[Positions, tuple[Positions, MigrationStep]] = {}
    heap = [(0.0, len(group), start)]
    done: set[Positions] = set()
    while heap:
        factor, away, state = heapq.heappop(heap)
        if state in done:
            continue
        if not away:
            return list(_trace_steps(came_from, state))
        done.add(state)
        if len(done) * len(group) > MAX_TRIED_CHANGES:
            return None
        usage = base.copy()
        for usage_rows, position in zip(members, state, strict=True):
            usage += usage_rows[position] - usage_rows[BEFORE]
        for place, number in enumerate(group):
            if state[place] == AFTER:
                continue
            changing = usage - members[place][BEFORE] + rows.compute_held(number, BEFORE, AFTER)
            touched = members[place][:-1].any(axis=0)
            new_factor = max(factor, _compute_factor(rows, np.where(touched, changing, 0)))
            following = (*state[:place], AFTER, *state[place + 1 :])
            if new_factor < best.get(following, np.inf) or following not in best:
                best[following] = new_factor
                came_from[following] = state, MigrationStep(number, "move", BEFORE, AFTER)
                heapq.heappush(heap, (new_factor, away - 1, following))
    return None


def _compute_factor(rows: _UsageRows, usage: Ints) -> float:
    """Compute the largest use over its bound, background included."""
    if not len(usage):
        return 0.0
    total: Floats = (usage + rows.limit - rows.room).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(total > 0, total / rows.limit, 0.0)
    return float(ratio.max())


def _trace_steps(
    came_from: dict[Positions, tuple[Positions, MigrationStep]], state: Positions
) -> tuple[MigrationStep, ...]:
    steps: list[MigrationStep] = []
    while state in came_from:
        state, step = came_from[state]
        steps.append(step)
    return tuple(reversed(steps))
