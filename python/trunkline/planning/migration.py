"""Migration of the paths of one scenario to those of another: the order of moves, step by step.

A path counts on a link with its bandwidth, or with its load if that is more. Load without a path
counts in every step, as in the worse of the two scenarios. New and larger links are there before
the first step. Computed backups follow the routes and are not counted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trunkline import te
from trunkline.planning.loads import require_shortest_paths
from trunkline.planning.offered_loads import list_offered_loads
from trunkline.scenario.resolved.placement import (
    build_bandwidth_constraints,
    build_topology,
    find_arcs,
    format_route,
    make_constraints,
    make_request,
)
from trunkline.scenario.units import format_rate
from trunkline.scenario.unsupported import make_unsupported_error
from trunkline.te.migration_order import (
    AFTER,
    BEFORE,
    MigrationOrder,
    PathMove,
    UsageBound,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trunkline.scenario import Scenario
    from trunkline.scenario.diagnostic import DocumentPath
    from trunkline.scenario.path import LabelSwitchedPath
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.te.topology import ArcPath, Ints, Topology

MAX_DETOURS_TRIED = 30  # Detours of each path that are tried, the shortest first.
MigrationOutcome = Literal["found", "impossible", "undecided"]
StepAction = Literal["move", "resize", "set up", "tear", "detour", "preempt"]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A change of one path."""

    path: str
    action: StepAction  # ``preempt`` tears a path that is set up again in a later step.
    # route_before, route: Routes before and after; empty where the path is not up.
    route_before: tuple[str, ...]
    route: tuple[str, ...]
    bandwidth_bit_s: int  # Reservation after the step.
    busiest_link: str  # The link that is nearest to its bound during the change.
    # Its use during the change, where old and new reservation are both held [1].
    utilisation: float


@dataclass(frozen=True, slots=True)
class LinkCourse:
    """The use of a direction of a link that some move touches."""

    link: str
    capacity_bit_s: int
    utilisations: tuple[float, ...]  # Before the first step, then during each step [1].


@dataclass(frozen=True, slots=True)
class NeededHeadroom:
    """Headroom that an order without detours and preemptions needs."""

    factor: float  # Largest use over its bound in the order where that is least [1].
    missing_bit_s: dict[str, int]  # Bandwidth above its bound in that order, by link.
    order: tuple[str, ...]  # The paths in that order.


@dataclass(frozen=True, slots=True)
class Migration:
    """An order of moves, or the proof that there is none."""

    # ``impossible`` is proven over all orders and all detours; ``undecided``: the search tried as
    # many changes, or detours, as it may.
    outcome: MigrationOutcome
    # Whether it is proven that no order has fewer preemptions, or as many and fewer detours.
    is_fewest: bool
    bound: float  # Largest utilisation allowed [1].
    detours: int
    preemptions: int
    steps: tuple[PlannedStep, ...]  # Empty where no order was found.
    links: tuple[LinkCourse, ...]  # Links that a move touches, the most used first.
    # Where no order without detours exists; None: one exists, or too many orders.
    headroom: NeededHeadroom | None
    unchanged: int  # Paths that stay.
    scale: float

    def to_dict(self) -> dict[str, Any]:
        """Build plain data."""
        return asdict(self)


def migrate(
    before: Scenario, after: Scenario, *, bound: float = 1.0, preemption: bool = False
) -> Migration:
    """Find the order in which paths move so that no link passes a bound.

    Parameters
    ----------
    before, after : Scenario
        The second has all nodes and links of the first, and carries demands of the same names on
        paths of the same names.
    bound : float
        Largest utilisation of a link [1], above 0.
    preemption : bool
        Whether a path may be torn down for a stronger one, and set up again later.

    Returns
    -------
    Migration
        Fewest preemptions, then fewest detours. Rates are not scaled by `scale`.

    Raises
    ------
    ScenarioError
        The scenarios do not fit together, or one of them passes the bound already; with the place.
    ValueError
        The bound is not above 0.
    """
    for scenario in (before, after):
        require_shortest_paths(scenario)
    try:
        return _MigrationProblem(before, after, bound).solve(preemption)
    except _MisfitError as misfit:
        misfitting = after if misfit.is_after else before
        raise make_unsupported_error("relation", misfitting, [(str(misfit), misfit.path)]) from None


class _MisfitError(ValueError):
    """The scenarios do not fit together, or one passes the bound."""

    def __init__(self, message: str, path: DocumentPath, *, is_after: bool):
        super().__init__(message)
        self.path, self.is_after = path, is_after  # Its position in one of them.


class _MigrationProblem:
    """Two scenarios as moves and bounds."""

    def __init__(self, before: Scenario, after: Scenario, bound: float):
        if not bound > 0:
            raise ValueError(f"the bound is above 0, not {bound:g}")
        self.bound, self.scale = bound, before.scale
        self.old, self.new = before.resolve().get_unscaled(), after.resolve().get_unscaled()
        _check_elements(self.old, self.new)
        self.graph = build_topology(self.new)
        sides = [
            _PathState(self.old, self.new, self.graph),
            _PathState(self.new, self.new, self.graph),
        ]
        _check_trunks(self.old, self.new)
        self.moves, staying = _list_moves(*sides)
        self.ip_load: Ints = np.maximum(sides[0].ip_load, sides[1].ip_load)
        self.unchanged = len(staying)
        self.bounds = self._make_bounds(staying)

    def _make_bounds(self, staying: Sequence[PathMove]) -> list[UsageBound]:
        def sum_staying(types: frozenset[int]) -> Ints:
            held = np.zeros(len(self.graph.arcs), dtype=np.int64)
            for each in staying:
                if each.class_type in types:
                    held[list(each.before)] += each.bandwidth_before
            return held

        every = frozenset(range(te.dste.CLASS_TYPES))
        limit = np.rint(self.graph.capacity * self.bound).astype(np.int64)
        bounds = [UsageBound(every, limit, sum_staying(every) + self.ip_load)]
        constraints = build_bandwidth_constraints(self.new, self.graph.reservable)
        for types, reservable in constraints.list_bounds():
            bounds.append(UsageBound(types, reservable, sum_staying(types)))
        return bounds

    def solve(self, preemption: bool) -> Migration:
        if not self.moves:
            return Migration(
                "found", True, self.bound, 0, 0, (), (), None, self.unchanged, self.scale
            )
        self._check_end_states()
        order = te.migration_order.find_migration_order(self.moves, self.bounds)
        headroom, has_all_detours = None, True
        if order.steps is None:
            headroom = self._find_headroom()
            has_all_detours = self._add_detours()
            order = te.migration_order.find_migration_order(
                self.moves, self.bounds, preemption=preemption
            )
        outcome: MigrationOutcome = "found"
        if order.steps is None:
            outcome = "impossible" if order.is_proven and has_all_detours else "undecided"
        return Migration(
            outcome,
            order.is_proven and (has_all_detours or order.preemptions == 0 >= order.detours - 1),
            self.bound,
            order.detours,
            order.preemptions,
            self._describe_steps(order),
            self._trace_links(order),
            headroom,
            self.unchanged,
            self.scale,
        )

    def _check_end_states(self) -> None:
        for side, word in ((BEFORE, "before"), (AFTER, "after")):
            for bound in self.bounds:
                usage = bound.background.copy()
                for move in self.moves:
                    if move.class_type in bound.class_types:
                        path, bandwidth = move.get_reservation(side)
                        usage[list(path)] += bandwidth
                excess = usage - bound.limit
                if (excess > 0).any():
                    arc = int(excess.argmax())
                    raise _MisfitError(
                        f"{word} the migration {self.new.arcs[arc].name} holds "
                        f"{format_rate(int(usage[arc]))}, the bound is "
                        f"{format_rate(int(bound.limit[arc]))}: no order keeps it",
                        ("links", self.new.arcs[arc].link),
                        is_after=side == AFTER,
                    )

    def _add_detours(self) -> bool:
        """Add the detours of each move; return whether these are all that there are."""
        is_complete = True
        for number, move in enumerate(self.moves):
            if not move.before or not move.after:
                continue
            detours, has_all = self._list_detours(move)
            self.moves[number] = replace(move, detours=detours)
            is_complete = is_complete and has_all
        return is_complete

    def _list_detours(self, move: PathMove) -> tuple[tuple[ArcPath, ...], bool]:
        """List detours within the constraints of the new path, and whether these are all."""
        bandwidth = max(move.bandwidth_before, move.bandwidth_after)
        constraints = make_constraints(self.graph, self.new.paths[move.name], bandwidth)
        room = np.min(
            [
                bound.limit - bound.background
                for bound in self.bounds
                if move.class_type in bound.class_types
            ],
            axis=0,
        )
        usable = te.path_constraints.find_permitted_arcs(self.graph, constraints, room >= bandwidth)
        found = te.k_shortest_paths.find_k_shortest_paths(
            self.graph,
            int(self.graph.tail[move.after[0]]),
            int(self.graph.head[move.after[-1]]),
            self.graph.get_metric(constraints.metric),
            MAX_DETOURS_TRIED + 3,
            usable,
        )
        routes = list(found)
        detours = [
            path
            for path in routes
            if path not in (move.before, move.after)
            and (constraints.max_hops is None or len(path) <= constraints.max_hops)
            and (
                constraints.max_delay is None
                or int(self.graph.delay[list(path)].sum()) <= constraints.max_delay
            )
        ]
        return tuple(detours[:MAX_DETOURS_TRIED]), len(routes) < MAX_DETOURS_TRIED + 3

    def _find_headroom(self) -> NeededHeadroom | None:
        least = te.migration_order.find_least_headroom(self.moves, self.bounds)
        if least is None:
            return None
        return NeededHeadroom(
            least.factor,
            {self.new.arcs[arc].name: missing for arc, missing in sorted(least.missing.items())},
            tuple(self.moves[step.move].name for step in least.steps),
        )

    def _describe_steps(self, order: MigrationOrder) -> tuple[PlannedStep, ...]:
        if order.steps is None:
            return ()
        usage = te.migration_order.trace_usage(self.moves, order.steps, self.bounds[0].background)
        described = []
        for step, used in zip(order.steps, usage[1:], strict=True):
            move = self.moves[step.move]
            (start, _), (end, bandwidth) = (
                move.get_reservation(step.start),
                move.get_reservation(step.end),
            )
            changing = sorted({*start, *end})
            utilisation = used[changing] / self.graph.capacity[changing]
            busiest = int(utilisation.argmax())
            described.append(
                PlannedStep(
                    move.name,
                    _name_action(step.kind, start, end),
                    format_route(self.new, start),
                    format_route(self.new, end),
                    bandwidth,
                    self.new.arcs[changing[busiest]].name,
                    float(utilisation[busiest]),
                )
            )
        return tuple(described)

    def _trace_links(self, order: MigrationOrder) -> tuple[LinkCourse, ...]:
        series = np.array(
            te.migration_order.trace_usage(self.moves, order.steps or (), self.bounds[0].background)
        )
        touched = np.zeros(len(self.graph.arcs), dtype=bool)
        for move in self.moves:
            touched[[*move.before, *move.after]] = True
        for step in order.steps or ():
            touched[list(self.moves[step.move].get_reservation(step.end)[0])] = True
        share = series / self.graph.capacity
        ranked = sorted(np.flatnonzero(touched).tolist(), key=lambda arc: -share[:, arc].max())
        return tuple(
            LinkCourse(
                self.new.arcs[arc].name,
                int(self.graph.capacity[arc]),
                tuple(map(float, share[:, arc])),
            )
            for arc in ranked
        )


def _name_action(kind: str, start: ArcPath, end: ArcPath) -> StepAction:
    if kind == "preempt":
        return "preempt"
    if kind == "detour":
        return "detour"
    if not start:
        return "set up"
    if not end:
        return "tear"
    return "resize" if start == end else "move"


class _PathState:
    """The reservations of a scenario on the arcs of a graph that has all its links.

    held: dict of str to PathMove; each path as a move that changes nothing.
    ip_load: shape (E,): Load without a path, and before and behind paths [bit/s].
    """

    def __init__(self, scenario: ResolvedScenario, target: ResolvedScenario, graph: Topology):
        own = build_topology(scenario)
        number = {
            (arc.link, arc.source, arc.target): index for index, arc in enumerate(target.arcs)
        }
        arc_number = [number[arc.link, arc.source, arc.target] for arc in scenario.arcs]
        path_load: dict[str, float] = {}
        traffic = np.zeros((len(own.nodes),) * 2)
        self.held: dict[str, PathMove] = {}
        ends: dict[str, tuple[int, int]] = {}
        for name, path in list_movable_paths(scenario).items():
            arcs = find_arcs(scenario, path) or ()
            ends[name] = int(own.tail[arcs[0]]), int(own.head[arcs[-1]])
            request = make_request(scenario, own, name, path)
            mapped = tuple(arc_number[arc] for arc in arcs)
            bandwidth = request.constraints.bandwidth
            self.held[name] = PathMove(
                name,
                mapped,
                mapped,
                bandwidth,
                bandwidth,
                request.class_type,
                path.setup,
                path.hold,
            )
        for load in list_offered_loads(scenario, own, use_paths=True):
            if load.path in ends:
                path_load[load.path] = path_load.get(load.path, 0.0) + load.rate
                head, tail = ends[load.path]
                traffic[load.source, head] += load.rate
                traffic[tail, load.target] += load.rate
            else:
                traffic[load.source, load.target] += load.rate
        np.fill_diagonal(traffic, 0.0)
        routing = te.post_failure_routing.ShortestPathRouting(
            own, own.igp, traffic, single_path=True
        )
        self.ip_load: Ints = np.zeros(len(graph.arcs), dtype=np.int64)
        self.ip_load[arc_number] = np.ceil(routing.loads - 1e-6).astype(np.int64)
        for name, load_bit_s in path_load.items():
            more = max(self.held[name].bandwidth_before, int(np.ceil(load_bit_s - 1e-6)))
            self.held[name] = replace(self.held[name], bandwidth_before=more, bandwidth_after=more)


def list_movable_paths(scenario: ResolvedScenario) -> dict[str, LabelSwitchedPath]:
    """List the paths that a migration moves: no backups, segment lists, and riders of tunnels."""
    backups = {protection.backup for protection in scenario.protections.values()}
    return {
        name: path
        for name, path in scenario.paths.items()
        if name not in backups and not path.segments and find_arcs(scenario, path) is not None
    }


def _list_moves(old: _PathState, new: _PathState) -> tuple[list[PathMove], list[PathMove]]:
    """List the paths that change, those that are there before first, and the paths that stay."""
    moves: list[PathMove] = []
    staying: list[PathMove] = []
    for name in {**old.held, **new.held}:
        start, end = old.held.get(name), new.held.get(name)
        kept = end or start
        assert kept is not None
        move = replace(
            kept,
            before=start.before if start else (),
            after=end.after if end else (),
            bandwidth_before=start.bandwidth_before if start else 0,
            bandwidth_after=end.bandwidth_after if end else 0,
        )
        is_same = (move.before, move.bandwidth_before) == (move.after, move.bandwidth_after)
        (staying if is_same else moves).append(move)
    return moves, staying


def _check_elements(old: ResolvedScenario, new: ResolvedScenario) -> None:
    missing_nodes = set(old.nodes) - set(new.nodes)
    if missing_nodes:
        name = min(missing_nodes)
        message = f"the second scenario has no node {name}: it must have all of the first"
        raise _MisfitError(message, ("nodes", name), is_after=False)
    ends = {(arc.link, arc.source, arc.target) for arc in new.arcs}
    missing = [arc for arc in old.arcs if (arc.link, arc.source, arc.target) not in ends]
    if missing:
        raise _MisfitError(
            f"the second scenario has no link {missing[0].link} from {missing[0].source} to "
            f"{missing[0].target}: links go after the last step",
            ("links", missing[0].link),
            is_after=False,
        )
    old_paths, new_paths = list_movable_paths(old), list_movable_paths(new)
    for name in old_paths.keys() & new_paths.keys():
        ends_of = [
            (nodes[0], nodes[-1])
            for scenario in (old, new)
            if (nodes := scenario.list_route_nodes(name))
        ]
        if ends_of[0] != ends_of[1]:
            raise _MisfitError(
                f"path {name} leads from {ends_of[0][0]} to {ends_of[0][1]} before, and from "
                f"{ends_of[1][0]} to {ends_of[1][1]} after: a path keeps its ends",
                ("paths", name),
                is_after=True,
            )


def _check_trunks(old: ResolvedScenario, new: ResolvedScenario) -> None:
    """Check that no flow changes from one path to another: its path moves."""
    carriers = [
        {flow: trunk.path for trunk in scenario.trunks.values() for flow in trunk.flows}
        for scenario in (old, new)
    ]
    for flow, path in carriers[0].items():
        other = carriers[1].get(flow, path)
        if other != path:
            trunk = next(name for name, each in new.trunks.items() if flow in each.flows)
            raise _MisfitError(
                f"{flow} is on path {path} before and on path {other} after: give the path one "
                "name in both scenarios",
                ("trunks", trunk),
                is_after=True,
            )
