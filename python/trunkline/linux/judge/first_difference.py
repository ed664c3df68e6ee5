"""The first packet by which two engines part, and the tie that it met."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trunkline.linux.judge.port_ties import METER, CloseEvents, Ints
from trunkline.linux.judge.seed_pair import ComparisonMethod, SeedPair, count_hops
from trunkline.network.types import NetworkData, Port

CLOCKLESS_SCHEDULERS: Final = ("fifo", "priority", "drr")
"""Schedulers that act on arrivals and departures alone."""
CLOCKLESS_AQMS: Final = ("drop-tail", "precedence-drop-tail")


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """Where two engines part."""

    at_ns: int  # By then some packet differs, by the simulator's time.
    tie: str  # The tie that explains it, in words; empty where there is none.
    # Whether a port goes by a clock of its own, whose ties with packets are not known.
    has_clock: bool


def find_first_difference(pair: SeedPair, method: ComparisonMethod) -> FirstDifference | None:
    """Find the first packet with another fate, mark or time of arrival; None where none has."""
    simulator, reference = pair.runs
    names = [str(flow["name"]) for flow in pair.network["flows"]]
    limits = [method.compute_delay_tolerance(count_hops(pair.network, name)) for name in names]
    fates = [_list_other_fates(pair, name) for name in names]
    lateness = [
        _measure_lateness(pair, name, limit) for name, limit in zip(names, limits, strict=True)
    ]
    different = [fates[index] | lateness[index].keys() for index in range(len(names))]
    if not any(different):
        return None
    at_ns = min(
        int(simulator.decided_ns[name][list(numbers)].min())
        for name, numbers in zip(names, different, strict=True)
        if numbers
    )
    has_clock = any(_has_clock(port) for port in _list_ports(pair.network))
    for name in names:
        ours, theirs = simulator.flows[name], reference.flows[name]
        lost_in_one = np.setxor1d(ours.number, theirs.number)
        for number in np.intersect1d(pair.left_out[name], lost_in_one).tolist():
            if ours.sent_ns[number] <= at_ns:
                tie = f"packet {number} of {name} comes at a failure or a switch"
                return FirstDifference(at_ns, tie, has_clock)
    tie = _describe_tie(pair, fates, lateness, at_ns, np.array(limits))
    return FirstDifference(at_ns, tie, has_clock)


def _list_other_fates(pair: SeedPair, name: str) -> set[int]:
    """List the packets of a flow that one engine alone lost, or that it marked otherwise."""
    ours, theirs, our_lost, their_lost = pair.datagrams[name]
    numbers, first, second = _match(pair, name)
    is_marked = (
        (ours.dscp[first] != theirs.dscp[second])
        | (ours.ecn[first] != theirs.ecn[second])
        | (ours.ttl[first] != theirs.ttl[second])
    )
    return {*np.setxor1d(our_lost, their_lost).tolist(), *numbers[is_marked].tolist()}


def _measure_lateness(pair: SeedPair, name: str, limit_ns: int) -> dict[int, int]:
    """Measure how much later packets of a flow come in the reference, where they do [ns]."""
    ours, theirs, _, _ = pair.datagrams[name]
    numbers, first, second = _match(pair, name)
    lateness = theirs.delay_ns[second] - ours.delay_ns[first]
    is_other = abs(lateness) > limit_ns
    return dict(zip(numbers[is_other].tolist(), lateness[is_other].tolist(), strict=True))


def _list_lost_in_both(pair: SeedPair, name: str) -> set[int]:
    """List the packets of a flow of which neither engine has a time of arrival."""
    _, _, our_lost, their_lost = pair.datagrams[name]
    return set(np.intersect1d(our_lost, their_lost).tolist())


def _match(pair: SeedPair, name: str) -> tuple[Ints, Ints, Ints]:
    """Find the packets of a flow that both delivered, and their positions in each."""
    ours, theirs, _, _ = pair.datagrams[name]
    return np.intersect1d(ours.number, theirs.number, assume_unique=True, return_indices=True)


def _describe_tie(
    pair: SeedPair,
    fates: list[set[int]],
    lateness: list[dict[int, int]],
    at_ns: int,
    limits_ns: Ints,
) -> str:
    """Describe the last tie that explains why packets differ, until one is certain to differ.

    Of two that changed places one comes later and the other earlier, where both come. A packet that
    found no room for one that was about to leave, or no token, has another fate itself.
    """
    events = pair.runs[0].close_events
    limit_ns = limits_ns[events.flow]
    events = events.select((events.gap_ns <= limit_ns) & (events.time_ns <= at_ns + limit_ns))
    without_time = [
        fates[index] | set(pair.left_out[name].tolist()) | _list_lost_in_both(pair, name)
        for index, name in enumerate(str(flow["name"]) for flow in pair.network["flows"])
    ]

    def may_explain(flow: int, number: int, arrives: int, other_flow: int, other: int) -> bool:
        if number in fates[flow] and arrives:
            return True
        if other_flow == METER:
            return False
        own, others = (lateness[flow].get(number, 0), lateness[other_flow].get(other, 0))
        is_unknown = other in without_time[other_flow]
        return own * others < 0 or (is_unknown and (own != 0 or number in fates[flow]))

    columns = (
        events.flow,
        events.number,
        events.is_arrival,
        events.other_flow,
        events.other_number,
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    explains = np.array([may_explain(*row) for row in rows], dtype=bool)
    # Where flows or classes take turns a tie lasts until the port has nothing left.
    for link, here in enumerate(pair.network["links"]):
        if _takes_turns(pair.network["ports"][here["port"]]):
            explains |= _find_still_busy(events, link)
    chosen = np.flatnonzero(explains)
    if not len(chosen):
        return ""
    last = chosen[np.argmax(events.time_ns[chosen])]
    return _describe_event(pair.network, events, int(last))


def _find_still_busy(events: CloseEvents, link: int) -> NDArray[np.bool_]:
    """Find the events of the time in which a port was busy last."""
    last_ns = events.busy_from_ns[events.link == link].max(initial=-1)
    found: NDArray[np.bool_] = (events.link == link) & (events.busy_from_ns == last_ns)
    return found


def _describe_event(network: NetworkData, events: CloseEvents, index: int) -> str:
    flows, links = network["flows"], network["links"]
    packet = f"packet {events.number[index]} of {flows[int(events.flow[index])]['name']}"
    place = str(links[int(events.link[index])]["name"])
    when = f"{events.time_ns[index] / 1e9:.6f} s"
    gap = f"{events.gap_ns[index] / 1e3:g} us"
    if events.other_flow[index] == METER:
        return f"{packet} comes to the meter of {place} at {when}, {gap} from another colour"
    other = f"packet {events.other_number[index]} of {flows[int(events.other_flow[index])]['name']}"
    return f"{packet} and {other} meet at {place} at {when}, {gap} apart"


def _list_ports(network: NetworkData) -> list[Port]:
    """List the ports of all links."""
    return [network["ports"][link["port"]] for link in network["links"]]


def _has_clock(port: Port) -> bool:
    """Whether it does anything that neither an arrival nor a departure causes."""
    queues = [each["queue"] for each in port["classes"]]
    flow_queues = [found for queue in queues if (found := queue.get("flows"))]
    return (
        port["scheduler"]["kind"] not in CLOCKLESS_SCHEDULERS
        or any(queue["aqm"]["kind"] not in CLOCKLESS_AQMS for queue in queues)
        # How long a flow was away decides whether it is new.
        or any(each["new_first"] for each in flow_queues)
    )


def _takes_turns(port: Port) -> bool:
    """Whether classes or flows have turns: a tie may show in packets that did not meet it."""
    return port["scheduler"]["kind"] not in ("fifo", "priority") or any(
        each["queue"].get("flows") for each in port["classes"]
    )
