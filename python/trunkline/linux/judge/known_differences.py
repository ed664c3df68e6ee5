"""Known differences of the kernel, with the comparisons that they explain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from trunkline.linux.judge.comparisons import FEW_SEEDS_REASON, ComparisonRow
from trunkline.linux.judge.seed_pair import find_crossed_links, list_crossed_links
from trunkline.network.types import Flow, NetworkData

TTL_MEASURES = (
    "TTL",
    "TTL of segments",
    "TTL of acknowledgements",
    "DSCP, ECN and TTL, each packet",
)
CONVERGENCE_MEASURES = (
    "new routes after",
    "changes of routes",
    "new labels after the failure",
    "changes of labels",
    "packets lost or inside",
)

MAX_HANDSHAKE_SHARES = 5
"""Times the share of a run that a round trip is, by which a handshake may move the means of it."""


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """A behaviour of the reference, and the comparisons that it may move."""

    sentence: str  # The difference, and the measures that show it.
    explains: Callable[[ComparisonRow], bool]  # Whether it may be why a comparison differs.


def explain_rows(
    rows: Sequence[ComparisonRow], differences: Sequence[KnownDifference]
) -> list[ComparisonRow]:
    """The same comparisons; those that do not agree with the known difference that explains them.

    An explanation changes no outcome: what differs differs. What lies inside its margin and only
    lacks seeds needs none.
    """
    return [
        row
        if row.agrees or (row.reason == FEW_SEEDS_REASON and abs(row.difference) <= row.margin)
        else replace(
            row, explanation=next((each.sentence for each in differences if each.explains(row)), "")
        )
        for row in rows
    ]


def list_known_differences(network: NetworkData) -> Iterator[KnownDifference]:
    """List those that a network can meet in a kernel without daemons."""
    if _has_nested_uniform(network):
        yield KnownDifference(
            "TTL: where a uniform path ends on another one, as on a facility bypass, RFC 3443 "
            "section 3 copies the TTL of its label into the one below; Linux leaves it unchanged",
            lambda row: row.measure.partition(":")[0] in TTL_MEASURES,
        )
    if _has_popped_pipe(network):
        yield KnownDifference(
            "TTL: where the last router but one pops the label of a pipe, Linux takes one off the "
            "TTL of the IP packet behind it; RFC 3443 section 3.2 leaves that to the next router",
            lambda row: row.measure.partition(":")[0] in TTL_MEASURES,
        )
    for flow in network["flows"]:
        if flow["agent"]["protocol"] != "tcp":
            continue
        if not flow["agent"].get("linux") and _is_limited_by_own_link(network, flow):
            yield _make_sender_difference(network, flow)
        if not flow["agent"].get("connect"):
            yield _make_handshake_difference(network, flow)


def list_daemon_differences() -> Iterator[KnownDifference]:
    """List those of the daemons of FRR."""
    yield KnownDifference(
        "FRR's timers: zebra holds routes for 10 ms, its interval between computations grows by "
        "the second one each time, and neighbours find each other again by hellos; so its routes "
        "and labels come later, and packets are lost until then",
        lambda row: row.measure.partition(":")[0] in CONVERGENCE_MEASURES,
    )


def _has_popped_pipe(network: NetworkData) -> bool:
    """Whether a router forwards packets of a pipe without a label."""
    return any(
        entry["ttl"] == "pipe" and entry["link"] is not None and not entry["push"]
        for entry in network["nhlfe"]
    )


def _has_nested_uniform(network: NetworkData) -> bool:
    """Whether a path that copies its TTL may end on another one."""
    is_uniform = any(entry["ttl"] == "uniform" for entry in network["nhlfe"])
    protections = (network.get("recovery") or {}).get("protections", ())
    is_nested = any(len(entry["push"]) > 1 for entry in network["nhlfe"])
    has_bypass = any("bypass" in str(each["kind"]) for each in protections)
    return is_uniform and (is_nested or has_bypass)


def _is_limited_by_own_link(network: NetworkData, flow: Flow) -> bool:
    """Whether a sender meets no slower link than its own."""
    crossed = list_crossed_links(network, str(flow["name"]))
    rates = [network["links"][link]["rate_bit_s"] for link in crossed]
    return bool(rates) and rates[0] == min(rates)


def _make_handshake_difference(network: NetworkData, flow: Flow) -> KnownDifference:
    """The round trip before the first segment of a kernel."""
    name = str(flow["name"])
    crossed = [network["links"][link] for link in list_crossed_links(network, name)]
    ends = {(link["from"], link["to"]) for link in crossed}
    links = {
        str(link["name"])
        for link in network["links"]
        if (link["from"], link["to"]) in ends or (link["to"], link["from"]) in ends
    }

    agent = flow["agent"]
    assert agent["protocol"] == "tcp"
    bits = 8 * (agent["mss_bytes"] + agent["header_bytes"])
    trip_s = sum(2 * link["delay_ns"] / 1e9 + bits / link["rate_bit_s"] for link in crossed)
    share = MAX_HANDSHAKE_SHARES * trip_s * 1e9 / network["run"]["duration_ns"]

    def explains(row: ComparisonRow) -> bool:
        subject = row.subject.partition(", ")[0]
        if subject == name and "completion time" in row.measure:
            return 0 < row.difference <= 2 * trip_s
        if subject == name and row.measure.startswith(("ECN of segments", "ECN of ack")):
            # A SYN that is lost is sent again without ECN (RFC 3168 section 6.1.1.1).
            return True
        if row.reference == 0 and (subject == name or subject in links):
            # SYNs are lost too, and sent again after 1, 3 and 7 s: some connections never open.
            return row.measure.startswith(("goodput", "sent by class"))
        is_of_flow = subject == name and row.measure.startswith(("goodput", "mean window"))
        is_of_link = subject in links and row.measure in ("sent by class", "bytes a packet")
        is_small = abs(row.difference) <= share * abs(row.simulator)
        return is_small and (is_of_flow or is_of_link)

    return KnownDifference(
        f"handshake: flow {name} lacks connect: true, so that its first segment leaves at once in "
        "the simulator; Linux connects first, which takes a round trip and segments without data, "
        "and seconds where those are lost",
        explains,
    )


def _make_sender_difference(network: NetworkData, flow: Flow) -> KnownDifference:
    """TCP small queues, which keep the port of a sender short."""
    name = str(flow["name"])
    crossed_by_flow = find_crossed_links(network, [str(each["name"]) for each in network["flows"]])
    own_link = crossed_by_flow[name][0]
    sharing_flows = {each for each, crossed in crossed_by_flow.items() if own_link in crossed}
    link_name = str(network["links"][own_link]["name"])
    measures = ("mean delay", "delay p", "delay,", "mean window", "greatest window")

    def explains(row: ComparisonRow) -> bool:
        subject = row.subject.partition(", ")[0]
        return (
            subject in sharing_flows
            and (row.measure.startswith(measures) or "completion time" in row.measure)
        ) or (subject == link_name and row.measure.startswith(("lost by", "dropped by")))

    return KnownDifference(
        f"TCP small queues: the link of its own sender is the slowest of flow {name}; a segment "
        f"more or less that Linux lets wait in the port {link_name} (without preset: linux all "
        "of the window waits there in the simulator) moves the window and the waits of others",
        explains,
    )
