"""Screen failures: what the network carries after each, with its protection and its routing.

Flow level: rates, not packets. After a failure a label-switched path goes where its protections
send it once all have switched: end to end, else around the failure, else restored. Without any its
load goes as far as the failure and is lost there, since explicit routes stay. Load that follows IP
routing, to and from a path that begins or ends elsewhere too, is rerouted if the scenario has
`rerouting`, else what crosses the failure is lost there; what it would have loaded behind a path's
end stays counted. TCP flows without a demand offer nothing.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trunkline import te
from trunkline.planning.failures import KEPT, MOST, Event, Pairs, events
from trunkline.planning.offers import Offer, offers
from trunkline.planning.repaired import Repairs
from trunkline.scenario.resolved.placement import topology

if TYPE_CHECKING:
    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import Resolved
    from trunkline.te.topology import Bools, Floats, Ints, Path, Topology


@dataclass(frozen=True, slots=True)
class Failed:
    """What a failure does.

    Parameters
    ----------
    kind : {"link", "node", "risk", "named", "pair"}
        What fails.
    mlu : float
        Maximum utilisation of the links that are left [1].
    before : float
        Utilisation of that link without the failure [1].
    lost_bit_s : int
        Offered load that has no way any more.
    unavoidable_bit_s : int
        Of it, what no routing could carry: its ends are down, or no links join them.
    disconnects : tuple of str
        Nodes that are up but cut off from the largest part of the network.
    rerouted : int
        Label-switched paths that go another way.
    unprotected : int
        Label-switched paths that are down.
    stretch_s : float
        Largest growth of the propagation of what goes another way [s].
    lost_by_class : dict of str to int
        Lost load by class of demands [bit/s].
    said : dict
        Its keys in the section `failures` of a scenario.
    """

    failure: str
    kind: str
    mlu: float
    worst_link: str
    before: float
    lost_bit_s: int
    unavoidable_bit_s: int
    disconnects: tuple[str, ...]
    rerouted: int
    unprotected: int
    stretch_s: float
    lost_by_class: dict[str, int]
    said: dict[str, Any]

    @property
    def badness(self) -> tuple[int, float]:
        """The larger the worse: what better routing would have carried, then utilisation."""
        return self.lost_bit_s - self.unavoidable_bit_s, self.mlu


@dataclass(frozen=True, slots=True)
class Needed:
    """Capacity that a direction of a link needs.

    Parameters
    ----------
    needed_bit_s : int
        The least with which it carries its load after every failure, routed as it is.
    failure : str
        The failure that needs it; empty: needed without any.
    """

    link: str
    capacity_bit_s: int
    needed_bit_s: int
    failure: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Pairs of links that were not screened, and bounds on what they do.

    Parameters
    ----------
    lost_bit_s : int
        No more than this is lost after any of them: what both links carry.
    mlu : float
        No link is used more after any of them, as no more than that can move onto it [1].
    certain : int
        So many of the pairs that were screened are worse than any of them.
    """

    pairs: int
    lost_bit_s: int
    mlu: float
    certain: int


@dataclass(frozen=True, slots=True)
class Survival:
    """All failures of a scenario, screened.

    Parameters
    ----------
    mlu : float
        Maximum link utilisation without a failure [1].
    failures : tuple of Failed
        The worst first.
    links : tuple of Needed
        Every direction of a link, in the order of the scenario.
    scale : float
        Factor of all rates in a run; those here are not scaled.
    left_out : LeftOut or None
        Of very many pairs, those whose links carry least.
    """

    mlu: float
    offered_bit_s: int
    failures: tuple[Failed, ...]
    links: tuple[Needed, ...]
    scale: float
    left_out: LeftOut | None = None

    @property
    def mends(self) -> tuple[Needed, ...]:
        """Links that are too small, with or without a failure."""
        return tuple(each for each in self.links if each.needed_bit_s > each.capacity_bit_s)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def survive(
    scenario: Scenario, *, kinds: Sequence[str] = ("link", "node", "risk"), ecmp: bool = False
) -> Survival:
    """Screen failures.

    Parameters
    ----------
    scenario : Scenario
        Its failures do not happen at their times; those of several elements are risk groups.
    kinds : sequence of {"link", "node", "risk", "named", "pair"}
        Failures to screen; named are those of the scenario, several elements or one.
    ecmp : bool, default False
        Everything by equal-cost multipath routing that follows failures, paths or none.

    Returns
    -------
    Survival
        Rates are those of the network itself, whatever its `scale`.
    """
    its = scenario.resolved()
    graph = topology(its.unscaled())
    screen = _Screen(its, graph, ecmp=ecmp)
    pairs = None
    if "pair" in kinds:
        pairs = Pairs(graph, screen.loads, screen.fixed())
    return screen.all(events(its, graph, kinds), pairs, scenario.scale)


class _Screen:
    """Loads without a failure, and what each failure changes."""

    def __init__(self, scenario: Resolved, graph: Topology, *, ecmp: bool):
        self.scenario, self.graph = scenario, graph
        self.repairs = Repairs(scenario, graph)
        self.offers = offers(scenario, graph, paths=not ecmp)
        self.by_ip = {offer: its for offer in self.offers if (its := self._by_ip(offer))}
        table = np.zeros((len(graph.nodes),) * 2)
        for offer, its in self.by_ip.items():
            for ends in its:
                table[ends] += offer.rate
        self.routing = te.survive.Routing(graph, graph.igp, table, single=not ecmp)
        self.reroutes = ecmp or scenario.rerouting is not None
        self.riding: dict[str, list[Offer]] = defaultdict(list)
        for offer in self.offers:
            if offer.path is not None:
                self.riding[offer.path].append(offer)
        self.rate = {name: sum(each.rate for each in its) for name, its in self.riding.items()}
        self.loads = self.routing.loads.copy()
        self.crossing: dict[int, list[str]] = defaultdict(list)
        for name, rate in self.rate.items():
            for arc in self.repairs.route[name]:
                self.loads[arc] += rate
                self.crossing[arc].append(name)
        ways = set() if self.reroutes else {ends for its in self.by_ip.values() for ends in its}
        self.stays = {ends: self.routing.route(*ends) for ends in ways}
        self.needed = self.loads.copy()
        self.by = np.full(len(graph.arcs), -1)

    def _by_ip(self, offer: Offer) -> list[tuple[int, int]]:
        """Where an offer follows IP routing: all its way, or to and from its path."""
        if offer.path is None:
            return [(offer.source, offer.target)]
        route = self.repairs.route[offer.path]
        head, tail = self.graph.tail[route[0]], self.graph.head[route[-1]]
        ways = [(offer.source, int(head)), (int(tail), offer.target)]
        return [ends for ends in ways if ends[0] != ends[1]]

    def fixed(self) -> Floats:
        """Load of every arc that nothing restores; protection may fail in pairs of failures."""
        loads = np.zeros(len(self.loads)) if self.reroutes else self.routing.loads.copy()
        for name, rate in self.rate.items():
            if not self.repairs.restores(name):
                loads[list(self.repairs.route[name])] += rate
        return loads

    def _pairs(self, pairs: Pairs, number: int) -> tuple[list[Failed], LeftOut | None]:
        """Screen pairs until all others are certainly less bad than the worst."""
        found: list[Failed] = []
        worst: list[tuple[float, float]] = []
        while len(found) < len(pairs):
            if len(worst) >= KEPT and (len(found) >= MOST or pairs.bound(len(found)) <= worst[0]):
                break
            each = self.one(number + len(found), pairs.event(len(found)))
            found.append(each)
            heapq.heappush(worst, each.badness)
            if len(worst) > KEPT:
                heapq.heappop(worst)
        at = len(found)
        if at == len(pairs):
            return found, None
        bound = pairs.bound(at)
        certain = sum(each.badness >= bound for each in found)
        lost = math.ceil(pairs.carried[at:].max())
        return found, LeftOut(len(pairs) - at, lost, bound[1], certain)

    def all(self, found: Sequence[Event], pairs: Pairs | None, scale: float) -> Survival:
        failed = [self.one(number, event) for number, event in enumerate(found)]
        left_out = None
        if pairs is not None:
            several, left_out = self._pairs(pairs, len(failed))
            failed += several
        links = tuple(
            Needed(
                self.scenario.arcs[arc].name,
                int(self.graph.capacity[arc]),
                int(np.ceil(self.needed[arc])),
                failed[self.by[arc]].failure if self.by[arc] >= 0 else "",
            )
            for arc in range(len(self.needed))
        )
        return Survival(
            float((self.loads / self.graph.capacity).max(initial=0.0)),
            round(sum(each.rate for each in self.offers)),
            tuple(sorted(failed, key=lambda each: each.badness, reverse=True)),
            links,
            scale,
            left_out,
        )

    def one(self, number: int, event: Event) -> Failed:
        graph, dead = self.graph, event.dead
        part = te.survive.parts(graph, ~dead)
        gone: dict[Offer, None] = {}
        loads, stretch = self._ip(dead, part, gone)
        hit = dict.fromkeys(n for arc in np.flatnonzero(dead) for n in self.crossing[int(arc)])
        down = 0
        for name in hit:
            old, new = self.repairs.route[name], self.repairs.after(name, dead)
            loads[list(old)] -= self.rate[name]
            if new is None:
                down += 1
                loads[_until(old, dead)] += self.rate[name]
                gone.update(dict.fromkeys(self.riding[name]))
                continue
            np.add.at(loads, list(new), self.rate[name])
            grown = int(graph.delay[list(new)].sum()) - int(graph.delay[list(old)].sum())
            stretch = max(stretch, grown)
        loads[dead] = 0.0
        lost: dict[str, float] = defaultdict(float)
        for offer in gone:
            lost[offer.class_] += offer.rate
        # Half a bit per second is rounding.
        more = loads > self.needed + 0.5
        self.needed[more], self.by[more] = loads[more], number
        use = loads / graph.capacity
        worst = int(use.argmax())
        return Failed(
            event.name,
            event.kind,
            float(use[worst]),
            self.scenario.arcs[worst].name,
            float(self.loads[worst] / graph.capacity[worst]),
            round(sum(lost.values())),
            round(sum(each.rate for each in self.offers if part[each.source] != part[each.target])),
            _cut_off(graph, part, event),
            len(hit) - down,
            down,
            float(stretch) / 1e9,
            {class_: round(rate) for class_, rate in sorted(lost.items())},
            event.said,
        )

    def _ip(self, dead: Bools, part: Ints, gone: dict[Offer, None]) -> tuple[Floats, float]:
        """Loads of all, those by IP routing as they are after the failure, and their stretch."""
        if self.reroutes:
            after = self.routing.after(dead)
            for offer, its in self.by_ip.items():
                if any(part[source] != part[target] for source, target in its):
                    gone[offer] = None
            return self.loads - self.routing.loads + after.loads, after.stretch
        loads = self.loads.copy()
        hit = {ends for ends, route in self.stays.items() if dead[list(route)].any()}
        for offer, its in self.by_ip.items() if hit else ():
            for ends in hit.intersection(its):
                loads[list(self.stays[ends])] -= offer.rate
                loads[_until(self.stays[ends], dead)] += offer.rate
                gone[offer] = None
        return loads, 0.0


def _until(route: Path, dead: Bools) -> list[int]:
    """Arcs that are loaded still where nothing takes over: those before the failure."""
    return list(route[: next(place for place, arc in enumerate(route) if dead[arc])])


def _cut_off(graph: Topology, part: Ints, event: Event) -> tuple[str, ...]:
    """Nodes that are up, but apart from the largest part."""
    up = [node for node in range(len(part)) if node not in event.nodes]
    largest = np.bincount(part[up]).argmax() if up else 0
    return tuple(graph.nodes[node] for node in up if part[node] != largest)
