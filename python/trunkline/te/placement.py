"""Place label-switched paths one after the other, with preemption, and place victims again.

The order is as listed, or by priority: setup priority, then bandwidth from the largest, then name.
A victim is placed again at once if there is room, in the same order. Each displaces only holders
weaker than itself, so this ends. A request that must be disjoint from another is placed after it;
whichever of the two is placed later, first or again, stays disjoint. Two that name each other are
placed together, with the least sum of their metrics. If only one names the other and finds no
disjoint route, the two are placed together too, except in the order as listed: then the refusal
names a pair of routes that would do.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from trunkline.te.admission import Reservation, Reservations
from trunkline.te.cspf import ConstrainedPath, find_constrained_path
from trunkline.te.disjoint_paths import Disjointness, find_shared_arcs
from trunkline.te.dste import BandwidthConstraints, make_bandwidth_constraints
from trunkline.te.joint_pairs import PairMember, find_joint_pair
from trunkline.te.path_constraints import PathConstraints
from trunkline.te.preemption import PreemptionRule, choose_victims
from trunkline.te.refusal import Refusal
from trunkline.te.topology import ArcPath, Bools, Floats, Topology

PlacementOrder = Literal["listed", "priority"]


@dataclass(frozen=True, slots=True)
class PathRequest:
    """A label-switched path that is wanted."""

    name: str  # Unique.
    source: int
    target: int
    constraints: PathConstraints
    class_type: int = 0
    # setup, hold: ``hold`` is numerically at most ``setup`` (RFC 3209, 4.7.1).
    setup: int = 7
    hold: int = 7
    # Requests from which the path is disjoint, and in which sense; they are placed before it, or
    # with it if they name it too.
    disjoint_from: tuple[tuple[str, Disjointness], ...] = ()


@dataclass(frozen=True, slots=True)
class PlacementOutcome:
    """The result of a request: a route, or the reason why it has none.

    ``displaced_by`` names the request that displaced it each time; it may have been placed again. A
    displaced request may have neither route nor refusal.
    """

    request: PathRequest
    route: ConstrainedPath | None
    refusal: Refusal | None = None
    displaced_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """All requests with their outcomes, and the resulting reservations.

    ``outcomes`` are in the order of the requests; ``order`` has the names in the order in which
    they were placed first.
    """

    outcomes: tuple[PlacementOutcome, ...]
    order: tuple[str, ...]
    reservations: Reservations

    def compute_loads(self) -> Floats:
        """Compute the bandwidth of the placed requests on each arc, bit/s."""
        return self.reservations.sum_reserved().astype(np.float64)

    def get_paths(self) -> dict[str, ArcPath]:
        """Return the paths of the placed requests by name."""
        return {o.request.name: o.route.path for o in self.outcomes if o.route is not None}


def place_paths(
    topology: Topology,
    requests: Iterable[PathRequest],
    *,
    order: PlacementOrder = "priority",
    bandwidth_constraints: BandwidthConstraints | None = None,
    preemption: PreemptionRule = "lowest-priority-first",
    usable: Bools | None = None,
    fixed_paths: Mapping[str, ArcPath] | None = None,
) -> Placement:
    """Place requests by constrained shortest path first.

    order: See the module.
    bandwidth_constraints: Class types and their bandwidth constraints; by default the reservable
        bandwidth alone.
    preemption: The holders that a stronger request displaces, see `preemption.choose_victims`.
    fixed_paths: The request of that name takes this path or none.
    Raises ValueError: A name twice, a holding priority weaker than the setup priority, or a
        TE-class that is not configured.
    """
    listed = list(requests)
    constraints = (
        make_bandwidth_constraints(topology.reservable)
        if bandwidth_constraints is None
        else bandwidth_constraints
    )
    _validate_requests(listed, constraints)
    queue = _order_after_partners(
        listed if order == "listed" else sorted(listed, key=make_priority_key)
    )
    state = _PlacementState(
        topology,
        Reservations(constraints),
        preemption,
        usable,
        fixed_paths or {},
        find_disjoint_partners(listed),
    )
    by_name = {request.name: request for request in listed}
    for request in queue:
        if request.name in state.outcomes:
            continue
        mutual = _find_mutual_partner(request, by_name, state.outcomes)
        if mutual is None or not state.place_pair(request, mutual):
            state.place_request(request)
        state.retry_with_partner(request, by_name, moves_partner=order == "priority")
    outcomes = tuple(state.outcomes[request.name] for request in listed)
    return Placement(outcomes, tuple(request.name for request in queue), state.reservations)


def make_priority_key(request: PathRequest) -> tuple[int, int, str]:
    """Make the sorting key of the order by priority: setup priority, largest bandwidth, name."""
    return request.setup, -request.constraints.bandwidth, request.name


def _order_after_partners(requests: list[PathRequest]) -> list[PathRequest]:
    """Keep the order, but move each request behind those from which it must be disjoint."""
    by_name = {request.name: request for request in requests}
    placed: dict[str, PathRequest] = {}

    def add_after_partners(request: PathRequest, ancestors: frozenset[str]) -> None:
        for other, _ in request.disjoint_from:
            if other in by_name and other not in placed and other not in ancestors:
                add_after_partners(by_name[other], ancestors | {other})
        placed.setdefault(request.name, request)

    for request in requests:
        add_after_partners(request, frozenset({request.name}))
    return list(placed.values())


def find_disjoint_partners(requests: Iterable[PathRequest]) -> dict[str, dict[str, Disjointness]]:
    """Find for each request the others from which it must be disjoint, seen from both."""
    found: dict[str, dict[str, Disjointness]] = {}
    for request in requests:
        for other, kind in request.disjoint_from:
            found.setdefault(request.name, {})[other] = kind
            found.setdefault(other, {}).setdefault(request.name, kind)
    return found


def _find_mutual_partner(
    request: PathRequest,
    requests: Mapping[str, PathRequest],
    outcomes: Mapping[str, PlacementOutcome],
) -> PathRequest | None:
    """Find a request that is not placed yet and names this one, as this one names it."""
    for name, kind in request.disjoint_from:
        other = None if name in outcomes else requests.get(name)
        if other is not None and (request.name, kind) in other.disjoint_from:
            return other
    return None


def find_arcs_to_avoid(
    topology: Topology,
    partner_kinds: Mapping[str, Disjointness],
    outcomes: Mapping[str, PlacementOutcome],
) -> frozenset[int]:
    """Find the arcs that a request may not use, because a placed partner does.

    ``partner_kinds`` comes from `find_disjoint_partners`.
    """
    avoid: set[int] = set()
    for other, kind in partner_kinds.items():
        outcome = outcomes.get(other)
        if outcome is not None and outcome.route is not None:
            avoid |= find_shared_arcs(topology, outcome.route.path, kind)
    return frozenset(avoid)


def _validate_requests(requests: list[PathRequest], constraints: BandwidthConstraints) -> None:
    if len({request.name for request in requests}) != len(requests):
        raise ValueError("two requests have the same name")
    for request in requests:
        if request.hold > request.setup:
            raise ValueError(
                f"{request.name}: holding priority {request.hold} is weaker than setup priority "
                f"{request.setup} (RFC 3209, 4.7.1)"
            )
        if not constraints.is_te_class(request.class_type, request.setup, request.hold):
            raise ValueError(
                f"{request.name}: class type {request.class_type} with priorities "
                f"{request.setup} and {request.hold} is no TE-class here (RFC 4124, 4.2)"
            )


@dataclass
class _PlacementState:
    """The state while requests are placed."""

    topology: Topology
    reservations: Reservations
    preemption: PreemptionRule
    usable: Bools | None
    fixed_paths: Mapping[str, ArcPath]
    partners: Mapping[str, Mapping[str, Disjointness]]
    outcomes: dict[str, PlacementOutcome] = field(default_factory=dict)

    def place_request(self, request: PathRequest, displaced_by: tuple[str, ...] = ()) -> None:
        found = self._find_route(request)
        if isinstance(found, Refusal):
            self.outcomes[request.name] = PlacementOutcome(request, None, found, displaced_by)
            return
        self.outcomes[request.name] = PlacementOutcome(request, found, None, displaced_by)
        held = Reservation(
            found.path, request.constraints.bandwidth, request.class_type, request.hold
        )
        self.reservations.reserve(request.name, held)
        victim_names = choose_victims(
            self.reservations, found.path, request.name, request.setup, self.preemption
        )
        displaced_outcomes = [self.outcomes[name] for name in victim_names]
        for name in victim_names:
            self.reservations.tear_down(name)
            self.outcomes[name] = replace(self.outcomes[name], route=None)
        for outcome in sorted(
            displaced_outcomes, key=lambda displaced: make_priority_key(displaced.request)
        ):
            self.place_request(outcome.request, (*outcome.displaced_by, request.name))

    def place_pair(self, first: PathRequest, second: PathRequest) -> bool:
        """Place two requests together, if there is a pair of routes for them."""
        pair = self._find_pair(first, second)
        if pair is None:
            return False
        for request, path in zip((first, second), pair, strict=True):
            written = self.fixed_paths
            self.fixed_paths = {**written, request.name: path}
            self.place_request(request)
            self.fixed_paths = written
        return True

    def retry_with_partner(
        self, request: PathRequest, requests: Mapping[str, PathRequest], *, moves_partner: bool
    ) -> None:
        """Place a request that found no disjoint route together with its partner, or say how."""
        outcome = self.outcomes[request.name]
        if outcome.refusal is None or outcome.refusal.reason != "disjoint":
            return
        for name, _ in request.disjoint_from:
            placed = self.outcomes.get(name)
            if placed is None or placed.route is None:
                continue
            partner = requests[name]
            held = self.reservations.tear_down(name)
            self.outcomes[name] = replace(placed, route=None)
            pair = self._find_pair(partner, request)
            if pair is not None and moves_partner:
                self.place_pair(partner, request)
                return
            self.reservations.reserve(name, held)
            self.outcomes[name] = placed
            if pair is not None:
                refusal = replace(outcome.refusal, partner=name, pair=pair)
                self.outcomes[request.name] = replace(outcome, refusal=refusal)
                return

    def _find_pair(self, first: PathRequest, second: PathRequest) -> tuple[ArcPath, ArcPath] | None:
        if first.name in self.fixed_paths or second.name in self.fixed_paths:
            return None
        members = []
        for request, other in ((first, second), (second, first)):
            partners = {
                name: kind
                for name, kind in self.partners.get(request.name, {}).items()
                if name != other.name
            }
            avoid = find_arcs_to_avoid(self.topology, partners, self.outcomes)
            constraints = replace(request.constraints, avoid=request.constraints.avoid | avoid)
            free = self.reservations.get_unreserved(request.class_type, request.setup)
            usable = np.ones(len(free), dtype=bool) if self.usable is None else self.usable
            members.append(PairMember(request.source, request.target, constraints, free, usable))
        kind = self.partners[first.name][second.name]
        return find_joint_pair(self.topology, members[0], members[1], kind)

    def _find_route(self, request: PathRequest) -> ConstrainedPath | Refusal:
        free = self.reservations.get_unreserved(request.class_type, request.setup)
        constraints = request.constraints
        usable = self.usable
        if request.name in self.fixed_paths:
            arcs = list(self.fixed_paths[request.name])
            usable = np.zeros(len(free), dtype=bool)
            usable[arcs] = True if self.usable is None else self.usable[arcs]
        avoid = find_arcs_to_avoid(
            self.topology, self.partners.get(request.name, {}), self.outcomes
        )
        if avoid:
            constraints = replace(constraints, avoid=constraints.avoid | avoid)
        return find_constrained_path(
            self.topology, request.source, request.target, constraints, free, usable
        )
