"""Preemption: a new reservation displaces holders of weaker priority, link by link (RFC 4829).

A request with setup priority s may displace holders with a holding priority numerically above s.
The links of the path are visited in order; victims of one link also free bandwidth on the next.
"""

from collections.abc import Callable
from typing import Literal

from trunkline.te.admission import Reservation, Reservations
from trunkline.te.topology import ArcPath

PreemptionRule = Literal["lowest-priority-first", "fewest", "least-bandwidth"]
VictimCandidate = tuple[str, Reservation]


def choose_victims(
    reservations: Reservations,
    path: ArcPath,
    name: str,
    setup: int,
    rule: PreemptionRule = "lowest-priority-first",
) -> list[str]:
    """Choose the holders to tear down so that no bound is passed on a path.

    reservations: With the reservation of the new request included.
    path, name, setup: Those of the new request, which is never a victim.
    rule: The criterion to minimise (RFC 4829, 2). The first: priority of those displaced, then
        their bandwidth from the largest, then names from the last. The second: their number, then
        priority. The third: bandwidth displaced; each time the smallest that is enough alone, or
        else the largest.
    Returns: Names, in the order chosen. Empty if no bound is passed.
    """
    chosen: dict[str, Reservation] = {}
    for arc in path:
        for types, bound in reservations.constraints.list_bounds():
            excess = int(reservations.reserved[arc, sorted(types)].sum()) - int(bound[arc])
            arc_holders = [
                (holder, reservations.holders[holder])
                for holder in reservations.list_holders(arc)
                if reservations.holders[holder].class_type in types
            ]
            excess -= sum(held.bandwidth for holder, held in arc_holders if holder in chosen)
            if excess <= 0:
                continue
            weaker = [
                (holder, held)
                for holder, held in arc_holders
                if holder != name and holder not in chosen and held.hold > setup and held.bandwidth
            ]
            chosen.update(_CHOOSERS[rule](weaker, excess))
    return list(chosen)


def _choose_lowest_priority_first(
    weaker: list[VictimCandidate], excess: int
) -> list[VictimCandidate]:
    victims: list[VictimCandidate] = []
    order = sorted(
        weaker,
        key=lambda candidate: (candidate[1].hold, candidate[1].bandwidth, candidate[0]),
        reverse=True,
    )
    for candidate in order:
        if excess <= 0:
            break
        victims.append(candidate)
        excess -= candidate[1].bandwidth
    return victims


def _choose_fewest(weaker: list[VictimCandidate], excess: int) -> list[VictimCandidate]:
    order = sorted(
        weaker, key=lambda candidate: (-candidate[1].bandwidth, -candidate[1].hold, candidate[0])
    )
    victims: list[VictimCandidate] = []
    while excess > 0 and order:
        enough = [candidate for candidate in order if candidate[1].bandwidth >= excess]
        # The last one is the weakest that will do; before it, the largest.
        candidate = (
            max(enough, key=lambda c: (c[1].hold, -c[1].bandwidth, c[0])) if enough else order[0]
        )
        victims.append(candidate)
        order.remove(candidate)
        excess -= candidate[1].bandwidth
    return victims


def _choose_least_bandwidth(weaker: list[VictimCandidate], excess: int) -> list[VictimCandidate]:
    order = sorted(
        weaker, key=lambda candidate: (candidate[1].bandwidth, -candidate[1].hold, candidate[0])
    )
    victims: list[VictimCandidate] = []
    while excess > 0 and order:
        enough = [candidate for candidate in order if candidate[1].bandwidth >= excess]
        candidate = enough[0] if enough else order[-1]
        victims.append(candidate)
        order.remove(candidate)
        excess -= candidate[1].bandwidth
    # None is needless: the last one, of which some is needed, is no larger than those before it.
    return victims


_CHOOSERS: dict[PreemptionRule, Callable[[list[VictimCandidate], int], list[VictimCandidate]]] = {
    "lowest-priority-first": _choose_lowest_priority_first,
    "fewest": _choose_fewest,
    "least-bandwidth": _choose_least_bandwidth,
}
