"""The tables of a run: names, types and units of every column, in one place.

Every engine fills these tables and everything after them reads nothing else; terminal, report,
pictures and reference take title, unit and definition of a column from here. Integers are what was
counted; floats are averages or are derived from the integers. A name says its unit: ``_ns``
nanoseconds, ``_s`` seconds, ``_bit_s`` bits per second, ``bytes_`` bytes, ``packets_`` packets, and
each time in ``_ns`` that is a measure has a twin in ``_s``.
How each measure is counted is in ``docs/reference/measures.md``.
"""

from dataclasses import replace
from typing import Final

from trunkline.results.fields import Field, count, delays, derived, mean, name, twins
from trunkline.results.workloads import (
    CALLS,
    COMPLETION_TIMES,
    COMPLETIONS,
    ECHOES,
    TRANSFERS,
    VIDEOS,
)

__all__ = ["HASHED_IF_FILLED", "SCHEMAS", "Field", "column"]

_NONE_ARRIVED = "null where no packet arrived"

_RATES = (
    derived("offered_bit_s", "IP packets sent: `bytes_sent` over the measured time"),
    derived("throughput_bit_s", "IP packets delivered: `bytes_delivered` over the measured time"),
    derived(
        "goodput_bit_s",
        "application data handed over in order: `goodput_bytes` over the measured time; above the "
        "throughput where data that arrived during warm-up is handed over after it",
    ),
    derived("loss_ratio", "packets lost over packets sent; null where none was sent"),
)
_FLOW_DELAYS = delays(_NONE_ARRIVED, "interarrival jitter (RFC 3550 section 6.4.1)")
_ENDS = (
    count("start_ns", "when the source started, jitter included"),
    count("finished_ns", "when a finite transfer was acknowledged in full; null if it was not"),
)

FLOWS: Final = (
    name("flow", "flow"),
    name("source", "node that sends"),
    name("destination", "node that receives"),
    name("protocol", "`tcp`, `udp` or `icmp`"),
    name("dscp", "DSCP of the source by its name in the RFCs, else its number"),
    count("packets_sent", "data packets the source sent, retransmissions included"),
    count("bytes_sent", "IP bytes of those"),
    count("packets_delivered", "data packets that reached the destination"),
    count("bytes_delivered", "IP bytes of those"),
    count("goodput_bytes", "application bytes handed over in order, each once"),
    count("packets_dropped", "data packets lost anywhere"),
    Field("packets_copied", "i64", "derived", "copies of data packets that 1+1 paths made"),
    count("retransmissions", "segments sent again"),
    count("timeouts", "expiries of the retransmission timer"),
    count("fast_retransmits", "entries into fast retransmit"),
    count("acks_sent", "acknowledgements the destination sent"),
    count("acks_dropped", "acknowledgements lost anywhere"),
    count("reordered", "packets that arrived after one sent later"),
    *_FLOW_DELAYS,
    *_ENDS,
    *_RATES,
    *twins(*_FLOW_DELAYS, *_ENDS),
)

# Which buckets there are is the engine's business, so none of this is part of the results hash.
DELAYS: Final = (
    Field("flow", "str", "derived", "flow"),
    Field("upper_ns", "i64", "derived", "upper end of the bucket: 64 to an octave"),
    Field("packets", "i64", "derived", "packets delivered with a delay in the bucket, 1 or more"),
)

_AGGREGATE_DELAYS = delays(
    _NONE_ARRIVED, "the flows' jitter, weighted by packets delivered", of="delay of all its packets"
)

SUMMED: Final = (
    *("packets_sent", "bytes_sent", "packets_delivered", "bytes_delivered", "goodput_bytes"),
    *("packets_dropped", "packets_copied", "reordered"),
)
"""What flows that are gathered have together."""

AGGREGATES: Final = (
    name("dscp", "DSCP of the flows it gathers, by its name in the RFCs"),
    count("flows", "flows gathered"),
    *(replace(field, about="sum over the flows") for field in FLOWS if field.name in SUMMED),
    *(field for field in _AGGREGATE_DELAYS if field.name in ("delay_min_ns", "delay_max_ns")),
    *_RATES,
    *twins(*_AGGREGATE_DELAYS),
    derived(
        "jain_index",
        "Jain's fairness index of the goodput of its flows, 1 / n to 1; null where none arrived",
    ),
)

_WITH_DEMAND = "null where none has a demand"
_WATCHED = "null where a probe is missing"

FAIRNESS: Final = (
    Field("of", "str", "derived", "`dscp` of the flows, or `path` that they are bound to"),
    Field("name", "str", "derived", "its name"),
    Field("flows", "i64", "derived", "flows gathered"),
    derived("jain_index", "Jain's fairness index of their goodput; null where none arrived"),
    derived("demand_share", f"throughput of those with a demand over that; {_WITH_DEMAND}"),
    derived("least_demand_share", f"that of the flow that has least of its own; {_WITH_DEMAND}"),
    derived("jain_of_demand", f"Jain's index of the flows' shares of demand; {_WITH_DEMAND}"),
    derived(
        "starved_max_s",
        f"greatest time in which a flow of them got nothing, all steps together; {_WATCHED}",
    ),
    derived("starved_mean_s", f"mean of that time over the flows; {_WATCHED}"),
)

_WAITS = (
    mean("wait_mean_ns", "mean time from arrival to the start of transmission; null if none sent"),
    count("wait_max_ns", "maximum of that time; null if none was sent"),
)

PORTS: Final = (
    name("link", "link the port feeds"),
    name("class", "class of the port"),
    count("packets_offered", "packets that reached the port"),
    count("bytes_offered", "wire bytes of those"),
    count("packets_sent", "packets sent on the link"),
    count("bytes_sent", "wire bytes of those: labels and link header included"),
    count("packets_dropped", "packets dropped at the port"),
    *_WAITS,
    mean("queue_mean_packets", "time average of packets waiting, the one being sent left out"),
    count("queue_max_packets", "most packets waiting at once"),
    derived("throughput_bit_s", "`bytes_sent` over the measured time"),
    derived("utilisation", "`throughput_bit_s` over the rate of the link"),
    derived("loss_ratio", "`packets_dropped` over `packets_offered`; null where none came"),
    *twins(*_WAITS),
)

DROPS: Final = (
    name("flow", "flow the packet belonged to"),
    name("direction", "`forward` (data) or `reverse` (acknowledgements)"),
    name("link", "link it was lost at; null if at a node"),
    name("node", "node it was lost at"),
    name("class", "class whose queue lost it; null if lost outside a queue"),
    count("precedence", "drop precedence, 0 is dropped last"),
    name("cause", "why"),
    count("packets", "packets lost"),
    count("bytes", "IP bytes of those"),
)

SERIES: Final = (
    count("probe", "number of the probe, in the order of the scenario"),
    name("target", "flow or link it watches"),
    name("class", "class of the port; null for a flow or a whole port"),
    count("precedence", "drop precedence; -1 where all are together"),
    name("measure", "what it records"),
    count("time_ns", "end of the step"),
    derived("time_s", "end of the step"),
    mean("value", "value at the end of the step; for a rate, its mean over the step"),
)

_UNASKED = "null without `account: true`"
_UNMET = "null without `account: true` or where none arrived"

_PATH_DELAYS = delays(
    _UNMET, "interarrival jitter within flows (RFC 3550 section 6.4.1)", of="delay from end to end"
)

PATHS: Final = (
    name("path", "label-switched path"),
    count(
        "packets",
        "labelled packets of the path, counted at its head; those of paths that ride it are theirs",
    ),
    count("bytes", "IP bytes and label stack of those"),
    count("packets_delivered", f"data packets that rode it and arrived; {_UNASKED}"),
    count("packets_dropped", f"data packets lost on it or behind it; {_UNASKED}"),
    count("reordered", f"data packets later than one of their flow sent after; {_UNASKED}"),
    *_PATH_DELAYS,
    derived("throughput_bit_s", "`bytes` over the measured time"),
    derived("loss_ratio", f"`packets_dropped` over these and the delivered; {_UNMET}"),
    *twins(*_PATH_DELAYS),
)

COLOURS: Final = (
    name("link", "link at whose end the conditioner is"),
    name("end", "`near` (`conditioner`) or `far` (`ingress`)"),
    name("conditioner", "its name"),
    name("profile", "profile; of a profile per flow, `profile/flow`"),
    name("colour", "`green`, `yellow` or `red`"),
    count("packets", "packets that the meter gave this colour"),
    count("bytes", "their IP bytes"),
    derived("throughput_bit_s", "`bytes` over the measured time"),
    derived("share", "`packets` over those of all colours of the profile; null without any"),
)

ACCOUNTS: Final = (
    name("link", "link with `account: true`"),
    name("flow", "flow"),
    name("direction", "`forward` (data) or `reverse` (acknowledgements)"),
    name("dscp", "DSCP as the packets reach the port"),
    name("colour", "colour they came with: `green`, `yellow` or `red`"),
    name("class", "class of the port"),
    count("precedence", "drop precedence"),
    count("packets_offered", "packets that came to the port"),
    count("bytes_offered", "their bytes on the wire"),
    count("packets_dropped", "those of them that it dropped"),
    count("bytes_dropped", "their bytes on the wire"),
    derived("loss_ratio", "`packets_dropped` over `packets_offered`; null without any"),
)

TIMELINE: Final = (
    count("time_ns", "when"),
    derived("time_s", "when"),
    name(
        "event",
        "`failed`, `detected`, `notified`, `held-off`, `switched`, `no-path`, "
        "`repaired`, `repair-detected`, `repair-notified`, `reverted` or `rerouted`",
    ),
    name("protection", "protection it concerns; null for a link or router by itself"),
    name("path", "working path of that protection"),
    name("link", "link that failed or was repaired; null for a switch"),
    name("node", "node that noticed or acted; null for the failure itself"),
)

LSPS: Final = (
    name("path", "signalled path, or process of requests: all its requests together"),
    count("asked", "times its head began to set it up; of requests, those after the warm-up"),
    count("up", "times it was set up"),
    count("moved", "times it was moved, make before break"),
    count("blocked", "requests that found no route or no room"),
    count("refused", "attempts that a node refused"),
    count("preempted", "times it gave way, softly or not"),
    count("down", "times it was lost"),
    mean("setup_mean_ns", "mean time from the wish to the first Resv at the head; null if none"),
    count("setup_max_ns", "maximum of that time; null if none"),
    count("out_ns", "time in which it was asked for and not up; null for requests"),
    derived("blocking_ratio", "`blocked` over `asked`; null without any"),
    *twins(
        mean("setup_mean_ns", "mean time from the wish to the first Resv at the head"),
        count("setup_max_ns", "maximum of that time"),
        count("out_ns", "time in which it was asked for and not up"),
    ),
)

CONTROL: Final = (
    name("link", "link the messages were sent on"),
    name("protocol", "flow of the protocol, such as `rsvp-te`"),
    name("message", "kind of message"),
    count("messages", "messages sent"),
    count("bytes", "IP bytes of those"),
    derived("throughput_bit_s", "`bytes` over the measured time"),
)

SIGNALLING: Final = (
    count("time_ns", "when"),
    derived("time_s", "when"),
    name(
        "event",
        "`asked`, `up`, `moved`, `down`, `torn`, `refused`, `no-route`, `blocked`, `preempted`, "
        "`soft-preempted`, `protected` (every node of it but the tail has a backup), `repaired` "
        "and `reverted` (the node before the failure did), `timed-out` or `lost` (a message, after "
        "its last resend)",
    ),
    name("path", "path, or process of requests"),
    count("session", "number of the session; each request has its own"),
    count("lsp", "LSP ID"),
    name("node", "node where it happened"),
    name("link", "link it concerns; null without one"),
    count("bandwidth_bit_s", "bandwidth asked for"),
    count("value", "of `up` and `moved`: time since it was asked for [ns]; null elsewhere"),
    name("error", "of `refused` and `down`: code and value of RSVP, `1/2` no bandwidth"),
)

MESSAGES: Final = (
    name("flow", "flow of the protocol"),
    Field("seq", "i64", "derived", "number of the message in its flow, as in the packets table"),
    name("source", "node whose address the IP header bears"),
    name("destination", "node it is addressed to; null: all routers on the link"),
    Field("ip_protocol", "i64", "derived", "protocol number in the IP header"),
    Field("header_bytes", "i64", "derived", "IP header with its options"),
    name("octets", "what is behind the IP header, hexadecimal"),
)

_OF_TCP = "null for another protocol"

PACKETS: Final = (
    count("time_ns", "when"),
    derived("time_s", "when"),
    name("event", "`sent`, `queued`, `arrived`, `delivered`, `dropped` or `copied` (1+1)"),
    count("packet", "number of the packet, counted from 0 as they are sent or copied"),
    name("flow", "flow"),
    name("direction", "`forward` (data) or `reverse` (acknowledgements)"),
    count("seq", "number of the segment or datagram in its flow, from 0; of a SYN -1"),
    count("ack", "of an acknowledgement: next segment expected"),
    count("seq_bytes", f"TCP: bytes of the stream before this segment; {_OF_TCP}"),
    count("ack_bytes", f"of an acknowledgement: next byte expected; {_OF_TCP}"),
    name("sack", "SACK blocks, the newest first: `5-8 10-12` is segments 5 to 7, 10 and 11"),
    name("tcp_flags", f"`SYN`, `ACK`, `ECE`, `CWR`; {_OF_TCP}"),
    count("echo_ns", "of an acknowledgement: when the segment it answers was sent"),
    count("retransmission", "1 for a segment sent before, else 0"),
    name("link", "link; null where the event is at a node"),
    name("node", "node; null where the event is on a link"),
    name("class", "class of the port it was queued or dropped at"),
    count("precedence", "drop precedence there; null elsewhere"),
    name("cause", "of a drop: why"),
    count("wait_ns", "of `queued`: until its first bit was sent; null if that did not come"),
    derived("wait_s", "the same"),
    count("ip_bytes", "IP header and all above"),
    name("dscp", "DSCP by its name in the RFCs, else its number"),
    name("ecn", "`Not-ECT`, `ECT(1)`, `ECT(0)` or `CE`"),
    name("colour", "colour of the last meter: `green`, `yellow` or `red`"),
    count("ttl", "TTL of the IP header"),
    count("labels", "depth of the label stack"),
    count("label", "label on top; null without one"),
    name("stack", "label stack from the top: `1001/5/63` is label 1001, TC 5, TTL 63"),
)

SUMMARY: Final = (
    mean("measured_s", "measured time: duration less warm-up"),
    # How many events an engine needs, and how many packets it holds, are no result of the
    # network: a faster engine may change them.
    Field("events", "i64", "derived", "events the engine handled"),
    count("packet_hops", "packets sent on links, summed over links"),
    count("packets_sent", "packets the agents sent, acknowledgements included"),
    count("packets_delivered", "packets that reached their destination"),
    count("packets_dropped", "packets lost"),
    count("packets_inside_before", "packets in the network when the counters started"),
    count("packets_inside_after", "packets in the network at the end"),
    Field("packets_peak", "i64", "derived", "most packets in the network at once, of 1001 counts"),
)

SCHEMAS: Final[dict[str, tuple[Field, ...]]] = {
    "flows": FLOWS,
    "delays": DELAYS,
    "aggregates": AGGREGATES,
    "fairness": FAIRNESS,
    "ports": PORTS,
    "paths": PATHS,
    "drops": DROPS,
    "colours": COLOURS,
    "accounts": ACCOUNTS,
    "series": SERIES,
    "calls": CALLS,
    "echoes": ECHOES,
    "videos": VIDEOS,
    "transfers": TRANSFERS,
    "completions": COMPLETIONS,
    "completion_times": COMPLETION_TIMES,
    "timeline": TIMELINE,
    "lsps": LSPS,
    "control": CONTROL,
    "signalling": SIGNALLING,
    "messages": MESSAGES,
    "packets": PACKETS,
    "summary": SUMMARY,
}
"""Every table by name, in the order of the results hash and of the files."""

HASHED_IF_FILLED: Final = frozenset(
    {
        "fairness",
        "calls",
        "echoes",
        "videos",
        "transfers",
        "completions",
        "lsps",
        "control",
        "signalling",
        "messages",
    }
)
"""Tables that the results hash leaves out where they are empty."""


def column(table: str, name: str) -> Field:
    """A column of a table by its name."""
    return next(field for field in SCHEMAS[table] if field.name == name)
