"""Whom a new reservation displaces: holders of weaker priority, chosen link by link (RFC 4829).

A request with setup priority s may displace holders with a holding priority numerically above s.
The links of the path are visited in order, and whoever was chosen for one link counts on the next.
"""

from collections.abc import Callable
from typing import Literal

from trunkline.te.admission import Reservation, Reservations
from trunkline.te.topology import Path

Rule = Literal["lowest-priority-first", "fewest", "least-bandwidth"]
Candidate = tuple[str, Reservation]


def victims(
    state: Reservations, path: Path, name: str, setup: int, rule: Rule = "lowest-priority-first"
) -> list[str]:
    """Holders to tear down so that no bound is passed on a path.

    Parameters
    ----------
    state : Reservations
        With the newcomer's reservation counted already.
    path : tuple of int
        Arcs of the newcomer.
    name : str
        The newcomer, never a victim.
    setup : int
        Its setup priority.
    rule : {"lowest-priority-first", "fewest", "least-bandwidth"}
        What is least, in this order of criteria (RFC 4829, 2). The first: priority of those
        displaced, then their bandwidth from the largest, then names from the last. The second:
        their number, then priority. The third: bandwidth displaced; each time the smallest that is
        enough alone, or else the largest, and then those not needed after all are spared.

    Returns
    -------
    list of str
        Names, in the order chosen. Empty if nothing is over its bound.
    """
    chosen: dict[str, Reservation] = {}
    for arc in path:
        for types, bound in state.pools.bounds():
            over = int(state.reserved[arc, sorted(types)].sum()) - int(bound[arc])
            here = [
                (holder, state.holders[holder])
                for holder in state.holding(arc)
                if state.holders[holder].class_type in types
            ]
            over -= sum(held.bandwidth for holder, held in here if holder in chosen)
            if over <= 0:
                continue
            weaker = [
                (holder, held)
                for holder, held in here
                if holder != name and holder not in chosen and held.hold > setup and held.bandwidth
            ]
            chosen.update(_RULES[rule](weaker, over))
    return list(chosen)


def _lowest_priority_first(weaker: list[Candidate], over: int) -> list[Candidate]:
    taken: list[Candidate] = []
    order = sorted(weaker, key=lambda one: (one[1].hold, one[1].bandwidth, one[0]), reverse=True)
    for one in order:
        if over <= 0:
            break
        taken.append(one)
        over -= one[1].bandwidth
    return taken


def _fewest(weaker: list[Candidate], over: int) -> list[Candidate]:
    order = sorted(weaker, key=lambda one: (-one[1].bandwidth, -one[1].hold, one[0]))
    taken: list[Candidate] = []
    while over > 0 and order:
        enough = [one for one in order if one[1].bandwidth >= over]
        # The last one is the weakest that will do; before it, the largest.
        one = max(enough, key=lambda c: (c[1].hold, -c[1].bandwidth, c[0])) if enough else order[0]
        taken.append(one)
        order.remove(one)
        over -= one[1].bandwidth
    return taken


def _least_bandwidth(weaker: list[Candidate], over: int) -> list[Candidate]:
    order = sorted(weaker, key=lambda one: (one[1].bandwidth, -one[1].hold, one[0]))
    taken: list[Candidate] = []
    while over > 0 and order:
        enough = [one for one in order if one[1].bandwidth >= over]
        one = enough[0] if enough else order[-1]
        taken.append(one)
        order.remove(one)
        over -= one[1].bandwidth
    for one in sorted(taken, key=lambda c: -c[1].bandwidth):
        if over + one[1].bandwidth <= 0:
            taken.remove(one)
            over += one[1].bandwidth
    return taken


_RULES: dict[Rule, Callable[[list[Candidate], int], list[Candidate]]] = {
    "lowest-priority-first": _lowest_priority_first,
    "fewest": _fewest,
    "least-bandwidth": _least_bandwidth,
}
