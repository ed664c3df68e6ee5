"""The tables of a run: names, types and units of every column, in one place.

Every engine fills these tables and everything after them reads nothing else; terminal, report,
pictures and reference take title, unit and definition of a column from here. Integers are what was
counted; floats are averages or are derived from the integers. A name says its unit: ``_ns``
nanoseconds, ``_s`` seconds, ``_bit_s`` bits per second, ``bytes_`` bytes, ``packets_`` packets, and
each time in ``_ns`` that is a measure has a twin in ``_s``.
A measure that averages names its ``base``, the columns that count what it averages: it is null
where they are 0. How each measure is counted is in ``docs/reference/measures.md``.
"""

from dataclasses import replace
from typing import Final

from trunkline.results.fields import (
    Field,
    define_base_count,
    define_count,
    define_delays,
    define_derived,
    define_mean,
    define_name,
    define_seconds,
)
from trunkline.results.workload_schemas import (
    CALLS,
    COMPLETION_TIMES,
    COMPLETIONS,
    ECHOES,
    TRANSFERS,
    VIDEOS,
)

__all__ = ["HASHED_IF_FILLED", "SCHEMAS", "Field", "find_field"]

_RATES = (
    define_derived("offered_bit_s", "IP packets sent: `bytes_sent` over the measured time"),
    define_derived(
        "throughput_bit_s", "IP packets delivered: `bytes_delivered` over the measured time"
    ),
    define_derived(
        "goodput_bit_s",
        "application data handed over in order: `goodput_bytes` over the measured time; above the "
        "throughput where data that arrived during warm-up is handed over after it",
    ),
    define_derived(
        "loss_ratio",
        "packets lost over packets sent, or over packets that ended if these are more",
        *("packets_sent", "packets_delivered", "packets_dropped"),
    ),
)
_FLOW_DELAYS = define_delays("packets_timed", "interarrival jitter (RFC 3550 section 6.4.1)")
_FLOW_BASES = (
    define_base_count(
        "packets_timed",
        "delivered packets whose delay was measured: all except TCP segments without data",
    ),
    define_base_count(
        "delays_compared", "timed packets with a packet before them, which the jitter compares"
    ),
)
_FLOW_TIMES = (
    define_count("start_ns", "when the source started, jitter included"),
    define_count(
        "finished_ns", "when a finite transfer was acknowledged in full; null if it was not"
    ),
)

FLOWS: Final = (
    define_name("flow", "flow"),
    define_name("source", "node that sends"),
    define_name("destination", "node that receives"),
    define_name("protocol", "`tcp`, `udp` or `icmp`"),
    define_name("dscp", "DSCP of the source: its name in the RFCs, else its number"),
    define_count("packets_sent", "data packets the source sent, retransmissions included"),
    define_count("bytes_sent", "IP bytes of those"),
    define_count("packets_delivered", "data packets that reached the destination"),
    define_count("bytes_delivered", "IP bytes of those"),
    define_count("goodput_bytes", "application bytes handed over in order, each once"),
    define_count("packets_dropped", "data packets lost anywhere"),
    Field("packets_copied", "i64", "derived", "copies of data packets that 1+1 paths made"),
    define_count("retransmissions", "segments sent again"),
    define_count("timeouts", "expiries of the retransmission timer"),
    define_count("fast_retransmits", "entries into fast retransmit"),
    define_count("acks_sent", "acknowledgements the destination sent"),
    define_count("acks_dropped", "acknowledgements lost anywhere"),
    Field("packets_ce", "i64", "derived", "data packets that arrived with a congestion mark (CE)"),
    define_count("reordered", "packets that arrived after one sent later"),
    *_FLOW_BASES,
    *_FLOW_DELAYS,
    *_FLOW_TIMES,
    *_RATES,
    *define_seconds(*_FLOW_DELAYS, *_FLOW_TIMES),
)

# Which buckets there are is the engine's business, so none of this is part of the results hash.
DELAYS: Final = (
    Field("flow", "str", "derived", "flow"),
    Field("upper_ns", "i64", "derived", "upper end of the bucket: 64 to an octave"),
    Field("packets", "i64", "derived", "packets delivered with a delay in the bucket, 1 or more"),
)

_AGGREGATE_DELAYS = define_delays(
    "packets_timed",
    "the flows' jitter, weighted by `packets_timed`",
    subject="delay of all its packets",
)

SUMMED_COLUMNS: Final = (
    *("packets_sent", "bytes_sent", "packets_delivered", "bytes_delivered", "goodput_bytes"),
    *("packets_dropped", "packets_copied", "reordered", "packets_timed", "delays_compared"),
)
"""Columns that several flows have together."""

AGGREGATES: Final = (
    define_name("dscp", "DSCP of the flows it gathers, by its name in the RFCs"),
    define_count("flows", "flows gathered"),
    *(
        replace(field, about="sum over the flows")
        for field in FLOWS
        if field.name in SUMMED_COLUMNS
    ),
    *(field for field in _AGGREGATE_DELAYS if field.name in ("delay_min_ns", "delay_max_ns")),
    *_RATES,
    *define_seconds(*_AGGREGATE_DELAYS),
    define_derived(
        "jain_index",
        "Jain's fairness index of the goodput of its flows, 1 / n to 1",
        "goodput_bytes",
    ),
)

_NULL_WITHOUT_DEMAND = "null where none has a demand"
_NULL_WITHOUT_PROBE = "null where a probe is missing"

FAIRNESS: Final = (
    Field("of", "str", "derived", "`dscp` or `path`: the property that the flows share"),
    Field("name", "str", "derived", "name of the DSCP or path"),
    Field("flows", "i64", "derived", "flows gathered"),
    define_derived("jain_index", "Jain's fairness index of their goodput; null where none arrived"),
    define_derived(
        "demand_share",
        f"throughput over offered rate of flows with a demand; {_NULL_WITHOUT_DEMAND}",
    ),
    define_derived(
        "least_demand_share",
        f"minimum over the flows of their share of demand; {_NULL_WITHOUT_DEMAND}",
    ),
    define_derived(
        "jain_of_demand", f"Jain's index of the flows' shares of demand; {_NULL_WITHOUT_DEMAND}"
    ),
    define_derived(
        "starved_max_s",
        f"maximum over the flows of the time without data, all steps together; "
        f"{_NULL_WITHOUT_PROBE}",
    ),
    define_derived("starved_mean_s", f"mean of that time over the flows; {_NULL_WITHOUT_PROBE}"),
)

_WAITS = (
    define_mean(
        "wait_mean_ns", "mean time from arrival to the start of transmission", "packets_waited"
    ),
    define_count("wait_max_ns", "maximum of that time", "packets_waited"),
)

PORTS: Final = (
    define_name("link", "link the port feeds"),
    define_name("class", "class of the port"),
    define_count("packets_offered", "packets that reached the port"),
    define_count("bytes_offered", "wire bytes of those"),
    define_count("packets_sent", "packets sent on the link"),
    define_count("bytes_sent", "wire bytes of those: labels and link header included"),
    define_count("packets_dropped", "packets dropped at the port"),
    Field("packets_marked", "i64", "derived", "packets that the port marked (ECN)"),
    define_base_count("packets_waited", "packets whose wait was measured, 0 ns included"),
    *_WAITS,
    define_mean(
        "queue_mean_packets", "time average of packets waiting, the one being sent left out"
    ),
    define_count("queue_max_packets", "most packets waiting at once"),
    define_derived("throughput_bit_s", "`bytes_sent` over the measured time"),
    define_derived("utilisation", "`throughput_bit_s` over the rate of the link"),
    define_derived("loss_ratio", "`packets_dropped` over `packets_offered`", "packets_offered"),
    *define_seconds(*_WAITS),
)

DROPS: Final = (
    define_name("flow", "flow the packet belonged to"),
    define_name("direction", "`forward` (data) or `reverse` (acknowledgements)"),
    define_name("link", "link where it was lost; null if at a node"),
    define_name("node", "node where it was lost"),
    define_name("class", "class whose queue lost it; null if lost outside a queue"),
    define_count("precedence", "drop precedence, 0 is dropped last"),
    define_name("cause", "cause of the loss"),
    define_count("packets", "packets lost"),
    define_count("bytes", "IP bytes of those"),
)

# Marks came after many a recorded hash, and no hash but theirs may change: so it leaves them out.
MARKS: Final = (
    Field("flow", "str", "derived", "flow the packet belonged to"),
    Field("direction", "str", "derived", "`forward` (data) or `reverse` (acknowledgements)"),
    Field("link", "str", "derived", "link whose port marked it"),
    Field("class", "str", "derived", "class of the port"),
    Field("precedence", "i64", "derived", "drop precedence"),
    Field("packets", "i64", "derived", "packets marked: CE, or its traffic class under a label"),
    Field("bytes", "i64", "derived", "IP bytes of those"),
)

SERIES: Final = (
    define_count("probe", "number of the probe, in the order of the scenario"),
    define_name("target", "flow or link it watches"),
    define_name("class", "class of the port; null for a flow or a whole port"),
    define_count("precedence", "drop precedence; -1 where all are together"),
    define_name("measure", "measure that the probe records"),
    define_count("time_ns", "end of the step"),
    define_derived("time_s", "end of the step"),
    define_mean(
        "value",
        "value at the end of the step; for a rate or a delay, its mean over the step; null where "
        "the step has none",
    ),
)

_NULL_WITHOUT_ACCOUNT = "null without `account: true`"

_PATH_DELAYS = define_delays(
    "packets_delivered",
    "interarrival jitter within flows (RFC 3550 section 6.4.1)",
    subject="delay from end to end",
)

PATHS: Final = (
    define_name("path", "label-switched path"),
    define_count(
        "packets",
        "labelled packets of the path, counted at its head, without those of paths that ride it",
    ),
    define_count("bytes", "IP bytes and label stack of those"),
    define_count(
        "packets_delivered", f"data packets that rode it and arrived; {_NULL_WITHOUT_ACCOUNT}"
    ),
    define_count(
        "packets_dropped", f"data packets lost on the path or behind it; {_NULL_WITHOUT_ACCOUNT}"
    ),
    define_count(
        "reordered",
        f"data packets that arrived after a later one of their flow; {_NULL_WITHOUT_ACCOUNT}",
    ),
    define_base_count(
        "delays_compared",
        "delivered packets with one of their flow before them, which the jitter compares; "
        + _NULL_WITHOUT_ACCOUNT,
    ),
    *_PATH_DELAYS,
    define_derived("throughput_bit_s", "`bytes` over the measured time"),
    define_derived(
        "loss_ratio",
        "`packets_dropped` over `packets_dropped` and `packets_delivered`",
        *("packets_delivered", "packets_dropped"),
    ),
    *define_seconds(*_PATH_DELAYS),
)

COLOURS: Final = (
    define_name("link", "link at whose end the conditioner is"),
    define_name("end", "`near` (`conditioner`) or `far` (`ingress`)"),
    define_name("conditioner", "its name"),
    define_name("profile", "profile; `profile/flow` if it has a meter for each flow"),
    define_name("colour", "`green`, `yellow` or `red`"),
    define_count("packets", "packets that the meter gave this colour"),
    define_count("bytes", "their IP bytes"),
    define_derived("throughput_bit_s", "`bytes` over the measured time"),
    define_derived(
        "share", "`packets` over the packets of all colours of the profile; null without any"
    ),
)

ACCOUNTS: Final = (
    define_name("link", "link with `account: true`"),
    define_name("flow", "flow"),
    define_name("direction", "`forward` (data) or `reverse` (acknowledgements)"),
    define_name("dscp", "DSCP as the packets reach the port"),
    define_name("colour", "colour on arrival: `green`, `yellow` or `red`"),
    define_name("class", "class of the port"),
    define_count("precedence", "drop precedence"),
    define_count("packets_offered", "packets that arrived at the port"),
    define_count("bytes_offered", "their bytes on the wire"),
    define_count("packets_dropped", "packets that the port dropped"),
    define_count("bytes_dropped", "their bytes on the wire"),
    define_derived("loss_ratio", "`packets_dropped` over `packets_offered`", "packets_offered"),
)

TIMELINE: Final = (
    define_count("time_ns", "when"),
    define_derived("time_s", "when"),
    define_name(
        "event",
        "`failed`, `detected`, `notified`, `held-off`, `switched`, `no-path`, "
        "`repaired`, `repair-detected`, `repair-notified`, `reverted`, `rerouted`, or `drained` "
        "before a planned outage",
    ),
    define_name("protection", "protection it concerns; null for a link or router by itself"),
    define_name("path", "working path of that protection"),
    define_name("link", "link that failed or was repaired; null for a switch"),
    define_name("node", "node that noticed or acted; null for the failure itself"),
)

_SET_UP_TIMES = (
    define_mean(
        "setup_mean_ns", "mean time from the request to the first Resv at the head", "setups"
    ),
    define_count("setup_max_ns", "maximum of that time", "setups"),
)
_OUT = define_count("out_ns", "time in which the path was requested and not up; null for requests")

LSPS: Final = (
    define_name("path", "signalled path, or process of requests: all its requests together"),
    define_count(
        "asked", "times its head began to set it up; for requests, those after the warm-up"
    ),
    define_count("up", "times it was set up"),
    define_count("moved", "times it was moved, make before break"),
    define_count("blocked", "requests that found no route or no room"),
    define_count("refused", "attempts that a node refused"),
    define_count("preempted", "times it was preempted, with or without soft preemption"),
    define_count("down", "times it was lost"),
    define_base_count("setups", "set-ups and moves whose time is known"),
    *_SET_UP_TIMES,
    _OUT,
    define_derived("blocking_ratio", "`blocked` over `asked`", "asked"),
    *define_seconds(*_SET_UP_TIMES, _OUT),
)

CONTROL: Final = (
    define_name("link", "link the messages were sent on"),
    define_name("protocol", "flow of the protocol, such as `rsvp-te`"),
    define_name("message", "kind of message"),
    define_count("messages", "messages sent"),
    define_count("bytes", "IP bytes of those"),
    define_derived("throughput_bit_s", "`bytes` over the measured time"),
)

SIGNALLING: Final = (
    define_count("time_ns", "when"),
    define_derived("time_s", "when"),
    define_name(
        "event",
        "`asked`, `up`, `moved`, `down`, `torn`, `refused`, `no-route`, `blocked`, `preempted`, "
        "`soft-preempted`, `protected` (every node of it but the tail has a backup), `repaired` "
        "and `reverted` (the node before the failure did), `timed-out` or `lost` (a message, after "
        "its last resend)",
    ),
    define_name("path", "path, or process of requests"),
    define_count("session", "number of the session; each request has its own"),
    define_count("lsp", "LSP ID"),
    define_name("node", "node where it happened"),
    define_name("link", "link it concerns; null without one"),
    define_count("bandwidth_bit_s", "bandwidth asked for"),
    define_count("value", "for `up` and `moved`: time since the request [ns]; null elsewhere"),
    define_name(
        "error", "for `refused` and `down`: error code and value of RSVP, `1/2` no bandwidth"
    ),
)

MESSAGES: Final = (
    define_name("flow", "flow of the protocol"),
    Field("seq", "i64", "derived", "number of the message in its flow, as in the packets table"),
    define_name("source", "node of the source address in the IP header"),
    define_name("destination", "node of the destination address; null: all routers on the link"),
    Field("ip_protocol", "i64", "derived", "protocol number in the IP header"),
    Field("header_bytes", "i64", "derived", "IP header with its options"),
    define_name("octets", "octets behind the IP header, hexadecimal"),
)

_NULL_UNLESS_TCP = "null for another protocol"

PACKETS: Final = (
    define_count("time_ns", "when"),
    define_derived("time_s", "when"),
    define_name("event", "`sent`, `queued`, `arrived`, `delivered`, `dropped` or `copied` (1+1)"),
    define_count("packet", "number of the packet, counted from 0 as they are sent or copied"),
    define_name("flow", "flow"),
    define_name("direction", "`forward` (data) or `reverse` (acknowledgements)"),
    define_count("seq", "number of the segment or datagram in its flow, from 0; of a SYN -1"),
    define_count("ack", "of an acknowledgement: next segment expected"),
    define_count("seq_bytes", f"TCP: bytes of the stream before this segment; {_NULL_UNLESS_TCP}"),
    define_count("ack_bytes", f"of an acknowledgement: next byte expected; {_NULL_UNLESS_TCP}"),
    define_name("sack", "SACK blocks, the newest first: `5-8 10-12` is segments 5 to 7, 10 and 11"),
    define_name("tcp_flags", f"`SYN`, `ACK`, `ECE`, `CWR`; {_NULL_UNLESS_TCP}"),
    define_count("echo_ns", "of an acknowledgement: when the segment it answers was sent"),
    define_count("retransmission", "1 for a segment sent before, else 0"),
    define_name("link", "link; null where the event is at a node"),
    define_name("node", "node; null where the event is on a link"),
    define_name("class", "class of the port it was queued or dropped at"),
    define_count("precedence", "drop precedence there; null elsewhere"),
    define_name("cause", "cause of a drop; null elsewhere"),
    define_count(
        "wait_ns", "for `queued`: time until its first bit was sent; null if it was never sent"
    ),
    define_derived("wait_s", "the same in seconds"),
    define_count("ip_bytes", "IP packet: header and payload"),
    define_name("dscp", "DSCP by its name in the RFCs, else its number"),
    define_name("ecn", "`Not-ECT`, `ECT(1)`, `ECT(0)` or `CE`"),
    define_name("colour", "colour of the last meter: `green`, `yellow` or `red`"),
    define_count("ttl", "TTL of the IP header"),
    define_count("labels", "depth of the label stack"),
    define_count("label", "label on top; null without one"),
    define_name("stack", "label stack from the top: `1001/5/63` is label 1001, TC 5, TTL 63"),
)

SUMMARY: Final = (
    define_mean("measured_s", "measured time: duration less warm-up"),
    # How many events an engine needs, and how many packets it holds, are no result of the
    # network: a faster engine may change them.
    Field("events", "i64", "derived", "events the engine handled"),
    define_count("packet_hops", "packets sent on links, summed over links"),
    define_count("packets_sent", "packets the agents sent, acknowledgements included"),
    define_count("packets_delivered", "packets that reached their destination"),
    define_count("packets_dropped", "packets lost"),
    define_count("packets_inside_before", "packets in the network when the counters started"),
    define_count("packets_inside_after", "packets in the network at the end"),
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
    "marks": MARKS,
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


def find_field(table: str, name: str) -> Field:
    """Find a column of a table by its name."""
    return next(field for field in SCHEMAS[table] if field.name == name)
