"""Place label-switched paths one after the other, with preemption, and place victims again.

Order: as listed, or by priority: setup priority, then bandwidth from the largest, then name. A
victim is placed again at once if there is room, in the same order; since each displaces only
holders weaker than itself, this ends. A request that is to be apart from another comes after it;
whichever of the two is placed later, first or again, stays apart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from trunkline.te.admission import Reservation, Reservations
from trunkline.te.constraints import Constraints
from trunkline.te.cspf import Route, cspf
from trunkline.te.disjoint import Apart, sharing
from trunkline.te.dste import Pools, pools
from trunkline.te.preempt import Rule, victims
from trunkline.te.refusal import Refusal
from trunkline.te.topology import Bools, Floats, Path, Topology

Order = Literal["listed", "priority"]


@dataclass(frozen=True, slots=True)
class Request:
    """A label-switched path that is wanted.

    Parameters
    ----------
    name : str
        Unique.
    source, target : int
        Nodes; different.
    asked : Constraints
        Bandwidth and what else must hold.
    class_type : int
        From 0 to 7.
    setup, hold : int
        Priorities, 0 (strongest) to 7; ``hold`` is numerically at most ``setup`` (RFC 3209, 4.7.1).
    apart : tuple of (str, {"link", "node", "risk"})
        Requests from which the path is disjoint, and in what sense; they are placed before it.
    """

    name: str
    source: int
    target: int
    asked: Constraints
    class_type: int = 0
    setup: int = 7
    hold: int = 7
    apart: tuple[tuple[str, Apart], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request.

    Parameters
    ----------
    request : Request
        As given.
    route : Route or None
        Where it goes; none if it was refused or displaced.
    refusal : Refusal or None
        Why not.
    displaced_by : tuple of str
        Who displaced it, each time it was; it may have been placed again.
    """

    request: Request
    route: Route | None
    refusal: Refusal | None = None
    displaced_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """All requests with their outcomes, and the state they leave.

    Parameters
    ----------
    outcomes : tuple of Outcome
        In the order in which the requests were given.
    order : tuple of str
        Names in the order in which they were placed first.
    state : Reservations
        What is reserved.
    """

    outcomes: tuple[Outcome, ...]
    order: tuple[str, ...]
    state: Reservations

    def loads(self) -> Floats:
        """Bandwidth of the placed requests on each arc.

        Returns
        -------
        array of float64, shape (E,)
            Bit/s.
        """
        return self.state.total().astype(np.float64)

    def paths(self) -> dict[str, Path]:
        """Paths of the placed requests.

        Returns
        -------
        dict of str to tuple of int
            Arcs by name.
        """
        return {o.request.name: o.route.path for o in self.outcomes if o.route is not None}


def place(
    topology: Topology,
    requests: Iterable[Request],
    *,
    order: Order = "priority",
    bounds: Pools | None = None,
    preemption: Rule = "lowest-priority-first",
    usable: Bools | None = None,
    fixed: Mapping[str, Path] | None = None,
) -> Placement:
    """Place requests by constrained shortest path first.

    Parameters
    ----------
    requests : iterable of Request
        What is wanted.
    order : {"listed", "priority"}
        Who comes first.
    bounds : Pools, optional
        Class types and their bandwidth constraints; by default the reservable bandwidth alone.
    preemption : {"lowest-priority-first", "fewest", "least-bandwidth"}
        Whom a stronger request displaces.
    usable : array of bool, shape (E,), optional
        Arcs that are up.
    fixed : mapping of str to tuple of int, optional
        Paths that are given: the request of that name takes this path or none.

    Returns
    -------
    Placement
        Outcomes and reservations.

    Raises
    ------
    ValueError
        A name twice, a holding priority weaker than the setup priority, or a TE-class that is not
        configured.
    """
    listed = list(requests)
    pool = pools(topology.reservable) if bounds is None else bounds
    _check(listed, pool)
    queue = _behind(listed if order == "listed" else sorted(listed, key=precedence))
    work = _Work(topology, Reservations(pool), preemption, usable, fixed or {}, partners(listed))
    for request in queue:
        work.place(request)
    outcomes = tuple(work.outcomes[request.name] for request in listed)
    return Placement(outcomes, tuple(request.name for request in queue), work.state)


def precedence(request: Request) -> tuple[int, int, str]:
    """Sorting key of the order by priority.

    Parameters
    ----------
    request : Request
        What is wanted.

    Returns
    -------
    (int, int, str)
        Setup priority, bandwidth from the largest, name.
    """
    return request.setup, -request.asked.bandwidth, request.name


def _behind(requests: list[Request]) -> list[Request]:
    """In the same order, but each after those that it is to be apart from."""
    by_name = {request.name: request for request in requests}
    done: dict[str, Request] = {}

    def take(request: Request, waiting: frozenset[str]) -> None:
        for other, _ in request.apart:
            if other in by_name and other not in done and other not in waiting:
                take(by_name[other], waiting | {other})
        done.setdefault(request.name, request)

    for request in requests:
        take(request, frozenset({request.name}))
    return list(done.values())


def partners(requests: Iterable[Request]) -> dict[str, dict[str, Apart]]:
    """Which requests are apart from which, seen from both.

    Parameters
    ----------
    requests : iterable of Request
        What is wanted.

    Returns
    -------
    dict of str to dict of str to {"link", "node", "risk"}
        The others by name, for each that has any.
    """
    found: dict[str, dict[str, Apart]] = {}
    for request in requests:
        for other, kind in request.apart:
            found.setdefault(request.name, {})[other] = kind
            found.setdefault(other, {}).setdefault(request.name, kind)
    return found


def shared_with(
    topology: Topology, apart: Mapping[str, Apart], outcomes: Mapping[str, Outcome]
) -> frozenset[int]:
    """Arcs that a request may not use since they are not apart from placed partners.

    Parameters
    ----------
    apart : mapping of str to {"link", "node", "risk"}
        From `partners`.
    outcomes : mapping of str to Outcome
        What is placed.

    Returns
    -------
    frozenset of int
        Arcs.
    """
    avoid: set[int] = set()
    for other, kind in apart.items():
        outcome = outcomes.get(other)
        if outcome is not None and outcome.route is not None:
            avoid |= sharing(topology, outcome.route.path, kind)
    return frozenset(avoid)


def split(request: Request, parts: int) -> list[Request]:
    """Several paths in place of one, which share its bandwidth as equally as whole bits allow.

    Parameters
    ----------
    request : Request
        What is wanted.
    parts : int
        How many, 1 or more.

    Returns
    -------
    list of Request
        ``NAME#1`` to ``NAME#parts``; the request itself for one part.
    """
    if parts == 1:
        return [request]
    share, rest = divmod(request.asked.bandwidth, parts)
    return [
        replace(
            request,
            name=f"{request.name}#{i + 1}",
            asked=replace(request.asked, bandwidth=share + (i < rest)),
        )
        for i in range(parts)
    ]


def _check(requests: list[Request], pool: Pools) -> None:
    if len({request.name for request in requests}) != len(requests):
        raise ValueError("two requests have the same name")
    for request in requests:
        if request.hold > request.setup:
            raise ValueError(
                f"{request.name}: holding priority {request.hold} is weaker than setup priority "
                f"{request.setup} (RFC 3209, 4.7.1)"
            )
        if not pool.knows(request.class_type, request.setup, request.hold):
            raise ValueError(
                f"{request.name}: class type {request.class_type} with priorities "
                f"{request.setup} and {request.hold} is no TE-class here (RFC 4124, 4.2)"
            )


@dataclass
class _Work:
    """State while requests are placed."""

    topology: Topology
    state: Reservations
    rule: Rule
    usable: Bools | None
    fixed: Mapping[str, Path]
    apart: Mapping[str, Mapping[str, Apart]]
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def place(self, request: Request, displaced_by: tuple[str, ...] = ()) -> None:
        found = self._route(request)
        if isinstance(found, Refusal):
            self.outcomes[request.name] = Outcome(request, None, found, displaced_by)
            return
        self.outcomes[request.name] = Outcome(request, found, None, displaced_by)
        held = Reservation(found.path, request.asked.bandwidth, request.class_type, request.hold)
        self.state.hold(request.name, held)
        gone = victims(self.state, found.path, request.name, request.setup, self.rule)
        again = [self.outcomes[name] for name in gone]
        for name in gone:
            self.state.tear(name)
            self.outcomes[name] = replace(self.outcomes[name], route=None)
        for outcome in sorted(again, key=lambda one: precedence(one.request)):
            self.place(outcome.request, (*outcome.displaced_by, request.name))

    def _route(self, request: Request) -> Route | Refusal:
        free = self.state.unreserved(request.class_type, request.setup)
        asked = request.asked
        usable = self.usable
        if request.name in self.fixed:
            arcs = list(self.fixed[request.name])
            usable = np.zeros(len(free), dtype=bool)
            usable[arcs] = True if self.usable is None else self.usable[arcs]
        avoid = shared_with(self.topology, self.apart.get(request.name, {}), self.outcomes)
        if avoid:
            asked = replace(asked, avoid=asked.avoid | avoid)
        return cspf(self.topology, request.source, request.target, asked, free, usable)
