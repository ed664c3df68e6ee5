"""The tables of a run: names, types and units of every column, in one place.

Every engine fills these tables and everything after them reads nothing else; terminal, report,
pictures and reference take title, unit and definition of a column from here. Integers are what was
counted; floats are averages or are derived from the integers. A name says its unit: ``_ns``
nanoseconds, ``_s`` seconds, ``_bit_s`` bits per second, ``bytes_`` bytes, ``packets_`` packets, and
each time in ``_ns`` that is a measure has a twin in ``_s``.
How each measure is counted is in ``docs/reference/measures.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["str", "i64", "f64"]
Origin = Literal["name", "counted", "averaged", "derived"]


@dataclass(frozen=True, slots=True)
class Field:
    """One column.

    Parameters
    ----------
    name : str
        Name of the column; ends in the unit where there is one.
    kind : {"str", "i64", "f64"}
        Arrow type: string, int64 or double.
    origin : {"name", "counted", "averaged", "derived"}
        A name from the scenario, an integer of the engine, an average of the engine, or computed
        here from the others.
    about : str
        What it holds; when it is null.
    """

    name: str
    kind: Kind
    origin: Origin
    about: str

    @property
    def in_json(self) -> bool:
        """Whether JSON carries it: base units only, so nanoseconds are left to the tables."""
        return not self.name.endswith("_ns")

    @property
    def in_hash(self) -> bool:
        """Whether the results hash covers it: names and integers, never floats."""
        return self.origin in ("name", "counted")

    @property
    def unit(self) -> str:
        """``bit/s``, ``s``, ``ns``, ``B``, ``%`` (of a share of 1); empty for names and numbers."""
        if self.name.endswith(("_ratio", "utilisation", "share")):
            return "%"
        if "bytes" in self.name:
            return "B"
        return next((unit for end, unit in _UNITS.items() if self.name.endswith(end)), "")

    @property
    def adds_up(self) -> bool:
        """Whether the sum over rows means something: counts and rates, not delays or extremes."""
        extreme = any(word in self.name for word in ("_max", "_min", "_mean"))
        return self.kind != "str" and self.unit in ("", "B", "bit/s") and not extreme

    @property
    def title(self) -> str:
        """Head of the column in tables for people."""
        return _TITLES.get(self.name, self.name.replace("_", " "))


_UNITS = {"_bit_s": "bit/s", "_ns": "ns", "_s": "s"}
_TITLES = {
    "dscp": "DSCP",
    "offered_bit_s": "offered",
    "throughput_bit_s": "throughput",
    "goodput_bit_s": "goodput",
    "loss_ratio": "loss",
    "delay_mean_s": "delay",
    "delay_p99_s": "p99",
    "delay_max_s": "max",
    "jitter_s": "jitter",
    "retransmissions": "resent",
    "utilisation": "use",
    "packets_offered": "offered",
    "packets_dropped": "dropped",
    "wait_mean_s": "wait",
    "queue_mean_packets": "queue",
    "queue_max_packets": "queue max",
    "fct_mean_s": "mean",
    "fct_p50_s": "p50",
    "fct_p95_s": "p95",
    "fct_p99_s": "p99",
    "slowdown_mean": "slowdown",
    "slowdown_p99": "p99 of it",
}


def _name(name: str, about: str) -> Field:
    return Field(name, "str", "name", about)


def _count(name: str, about: str) -> Field:
    return Field(name, "i64", "counted", about)


def _mean(name: str, about: str) -> Field:
    return Field(name, "f64", "averaged", about)


def _derived(name: str, about: str) -> Field:
    return Field(name, "f64", "derived", about)


def _delays(null: str, jitter: str, *, of: str = "one-way delay") -> tuple[Field, ...]:
    """Measures of delay in ns, each with the rule for when it is null."""
    later = [("p95", "95"), ("p99", "99"), ("p999", "99.9")]
    return (
        _mean("delay_mean_ns", f"mean {of}; {null}"),
        _count("delay_min_ns", f"minimum {of}; {null}"),
        _count("delay_max_ns", f"maximum {of}; {null}"),
        _count("delay_p50_ns", f"median {of}; {null}"),
        _count("delay_p90_ns", f"90th percentile of the {of}; {null}"),
        *(
            _count(f"delay_{name}_ns", f"{share}th percentile of it; {null}")
            for name, share in later
        ),
        _mean("jitter_ns", f"{jitter}; {null}"),
    )


def _twins(*fields: Field) -> tuple[Field, ...]:
    """The same in seconds; after the percentiles, the range of the delay."""
    made = []
    for field in fields:
        if field.name == "jitter_ns":
            null = field.about.rpartition("; ")[2]
            made.append(_derived("delay_range_s", f"maximum less minimum one-way delay; {null}"))
        made.append(_derived(field.name.removesuffix("_ns") + "_s", field.about))
    return tuple(made)


_NONE_ARRIVED = "null where no packet arrived"

_RATES = (
    _derived("offered_bit_s", "IP packets sent: `bytes_sent` over the measured time"),
    _derived("throughput_bit_s", "IP packets delivered: `bytes_delivered` over the measured time"),
    _derived(
        "goodput_bit_s",
        "application data handed over in order: `goodput_bytes` over the measured time; above the "
        "throughput where data that arrived during warm-up is handed over after it",
    ),
    _derived("loss_ratio", "packets lost over packets sent; null where none was sent"),
)
_FLOW_DELAYS = _delays(_NONE_ARRIVED, "interarrival jitter (RFC 3550 section 6.4.1)")
_ENDS = (
    _count("start_ns", "when the source started, jitter included"),
    _count("finished_ns", "when a finite transfer was acknowledged in full; null if it was not"),
)

FLOWS: Final = (
    _name("flow", "flow"),
    _name("source", "node that sends"),
    _name("destination", "node that receives"),
    _name("protocol", "`tcp` or `udp`"),
    _name("dscp", "DSCP of the source by its name in the RFCs, else its number"),
    _count("packets_sent", "data packets the source sent, retransmissions included"),
    _count("bytes_sent", "IP bytes of those"),
    _count("packets_delivered", "data packets that reached the destination"),
    _count("bytes_delivered", "IP bytes of those"),
    _count("goodput_bytes", "application bytes handed over in order, each once"),
    _count("packets_dropped", "data packets lost anywhere"),
    Field("packets_copied", "i64", "derived", "copies of data packets that 1+1 paths made"),
    _count("retransmissions", "segments sent again"),
    _count("timeouts", "expiries of the retransmission timer"),
    _count("fast_retransmits", "entries into fast retransmit"),
    _count("acks_sent", "acknowledgements the destination sent"),
    _count("acks_dropped", "acknowledgements lost anywhere"),
    _count("reordered", "packets that arrived after one sent later"),
    *_FLOW_DELAYS,
    *_ENDS,
    *_RATES,
    *_twins(*_FLOW_DELAYS, *_ENDS),
)

# Which buckets there are is the engine's business, so none of this is part of the results hash.
DELAYS: Final = (
    Field("flow", "str", "derived", "flow"),
    Field("upper_ns", "i64", "derived", "upper end of the bucket: 64 to an octave"),
    Field("packets", "i64", "derived", "packets delivered with a delay in the bucket, 1 or more"),
)

_CLASS_DELAYS = _delays(
    _NONE_ARRIVED, "the flows' jitter, weighted by packets delivered", of="delay of all its packets"
)

CLASSES: Final = (
    _name("class", "DSCP of the flows it gathers, by its name in the RFCs"),
    _count("flows", "flows gathered"),
    _count("packets_sent", "sum over the flows"),
    _count("bytes_sent", "sum over the flows"),
    _count("packets_delivered", "sum over the flows"),
    _count("bytes_delivered", "sum over the flows"),
    _count("goodput_bytes", "sum over the flows"),
    _count("packets_dropped", "sum over the flows"),
    Field("packets_copied", "i64", "derived", "sum over the flows"),
    _count("reordered", "sum over the flows"),
    *(field for field in _CLASS_DELAYS if field.name in ("delay_min_ns", "delay_max_ns")),
    *_RATES,
    *_twins(*_CLASS_DELAYS),
)

_WAITS = (
    _mean("wait_mean_ns", "mean time from arrival to the start of transmission; null if none sent"),
    _count("wait_max_ns", "maximum of that time; null if none was sent"),
)

PORTS: Final = (
    _name("link", "link the port feeds"),
    _name("class", "class of the port"),
    _count("packets_offered", "packets that reached the port"),
    _count("bytes_offered", "wire bytes of those"),
    _count("packets_sent", "packets sent on the link"),
    _count("bytes_sent", "wire bytes of those: labels and link header included"),
    _count("packets_dropped", "packets dropped at the port"),
    *_WAITS,
    _mean("queue_mean_packets", "time average of packets waiting, the one being sent left out"),
    _count("queue_max_packets", "most packets waiting at once"),
    _derived("throughput_bit_s", "`bytes_sent` over the measured time"),
    _derived("utilisation", "`throughput_bit_s` over the rate of the link"),
    _derived("loss_ratio", "`packets_dropped` over `packets_offered`; null where none came"),
    *_twins(*_WAITS),
)

DROPS: Final = (
    _name("flow", "flow the packet belonged to"),
    _name("direction", "`forward` (data) or `reverse` (acknowledgements)"),
    _name("link", "link it was lost at; null if at a node"),
    _name("node", "node it was lost at"),
    _name("class", "class whose queue lost it; null if lost outside a queue"),
    _count("precedence", "drop precedence, 0 is dropped last"),
    _name("cause", "why"),
    _count("packets", "packets lost"),
    _count("bytes", "IP bytes of those"),
)

SERIES: Final = (
    _count("probe", "number of the probe, in the order of the scenario"),
    _name("target", "flow or link it watches"),
    _name("class", "class of the port; null for a flow or a whole port"),
    _count("precedence", "drop precedence; -1 where all are together"),
    _name("measure", "what it records"),
    _count("time_ns", "end of the step"),
    _derived("time_s", "end of the step"),
    _mean("value", "value at the end of the step; for a rate, its mean over the step"),
)

_UNASKED = "null without `account: true`"
_UNMET = "null without `account: true` or where none arrived"

_PATH_DELAYS = _delays(
    _UNMET, "interarrival jitter within flows (RFC 3550 section 6.4.1)", of="delay from end to end"
)

PATHS: Final = (
    _name("path", "label-switched path"),
    _count(
        "packets",
        "labelled packets of the path, counted at its head; those of paths that ride it are theirs",
    ),
    _count("bytes", "IP bytes and label stack of those"),
    _count("packets_delivered", f"data packets that rode it and arrived; {_UNASKED}"),
    _count("packets_dropped", f"data packets lost on it or behind it; {_UNASKED}"),
    _count("reordered", f"data packets later than one of their flow sent after; {_UNASKED}"),
    *_PATH_DELAYS,
    _derived("throughput_bit_s", "`bytes` over the measured time"),
    _derived("loss_ratio", f"`packets_dropped` over these and the delivered; {_UNMET}"),
    *_twins(*_PATH_DELAYS),
)

COLOURS: Final = (
    _name("link", "link at whose end the conditioner is"),
    _name("end", "`near` (`conditioner`) or `far` (`ingress`)"),
    _name("conditioner", "its name"),
    _name("profile", "profile; of a profile per flow, `profile/flow`"),
    _name("colour", "`green`, `yellow` or `red`"),
    _count("packets", "packets that the meter gave this colour"),
    _count("bytes", "their IP bytes"),
    _derived("throughput_bit_s", "`bytes` over the measured time"),
    _derived("share", "`packets` over those of all colours of the profile; null without any"),
)

ACCOUNTS: Final = (
    _name("link", "link with `account: true`"),
    _name("flow", "flow"),
    _name("direction", "`forward` (data) or `reverse` (acknowledgements)"),
    _name("dscp", "DSCP as the packets reach the port"),
    _name("colour", "colour they came with: `green`, `yellow` or `red`"),
    _name("class", "class of the port"),
    _count("precedence", "drop precedence"),
    _count("packets_offered", "packets that came to the port"),
    _count("bytes_offered", "their bytes on the wire"),
    _count("packets_dropped", "those of them that it dropped"),
    _count("bytes_dropped", "their bytes on the wire"),
    _derived("loss_ratio", "`packets_dropped` over `packets_offered`; null without any"),
)

_UNFINISHED = "null where it is not complete"
_NONE_COMPLETE = "null where none is complete"
_OF_ENDS = (
    _count("start_ns", "when it was begun"),
    _count("finish_ns", f"when its last byte arrived; {_UNFINISHED}"),
)

TRANSFERS: Final = (
    _name("flow", "flow of transfers with `record: true`"),
    _count("size_bytes", "application data"),
    *_OF_ENDS,
    *_twins(*_OF_ENDS),
    _derived("fct_s", f"flow completion time: from start to finish; {_UNFINISHED}"),
    _derived("slowdown", f"that over the least time it can take alone; {_UNFINISHED}"),
)

_COMPLETION_TIMES = (
    _mean("fct_mean_ns", f"mean completion time; {_NONE_COMPLETE}"),
    _count("fct_min_ns", f"least; {_NONE_COMPLETE}"),
    _count("fct_max_ns", f"greatest; {_NONE_COMPLETE}"),
    *(
        _count(f"fct_p{share}_ns", f"{share}th percentile; {_NONE_COMPLETE}")
        for share in (50, 90, 95, 99)
    ),
)

COMPLETIONS: Final = (
    _name("flow", "flow of transfers, pages or requests"),
    _name("sizes", "`all` transfers, a bin of their sizes (`to 10 kB`), or `pages`"),
    _count("started", "transfers or pages begun in the measured time"),
    _count("finished", "those of them that were complete at the end"),
    _count("unfinished", "those that were not: left out of all times here"),
    _count("finished_bytes", "application data of the complete"),
    _count("objects", "transfers; of pages, their objects"),
    *_COMPLETION_TIMES,
    *_twins(*_COMPLETION_TIMES),
    _derived("slowdown_mean", "mean completion time over the least alone; null for pages"),
    *(
        _derived(f"slowdown_p{share}", f"{share}th percentile of it; null for pages")
        for share in (50, 90, 95, 99)
    ),
)

COMPLETION_TIMES: Final = (
    Field("flow", "str", "derived", "flow of transfers"),
    Field("sizes", "str", "derived", "as in `completions`"),
    Field("upper_ns", "i64", "derived", "upper end of the bucket: 64 to an octave"),
    Field("count", "i64", "derived", "transfers or pages complete after a time in the bucket"),
)

TIMELINE: Final = (
    _count("time_ns", "when"),
    _derived("time_s", "when"),
    _name(
        "event",
        "`failed`, `detected`, `notified`, `held-off`, `switched`, `no-path`, "
        "`repaired`, `repair-detected`, `repair-notified`, `reverted` or `rerouted`",
    ),
    _name("protection", "protection it concerns; null for a link or router by itself"),
    _name("path", "working path of that protection"),
    _name("link", "link that failed or was repaired; null for a switch"),
    _name("node", "node that noticed or acted; null for the failure itself"),
)

_OF_TCP = "null for another protocol"

PACKETS: Final = (
    _count("time_ns", "when"),
    _derived("time_s", "when"),
    _name("event", "`sent`, `queued`, `arrived`, `delivered`, `dropped` or `copied` (1+1)"),
    _count("packet", "number of the packet, counted from 0 as they are sent or copied"),
    _name("flow", "flow"),
    _name("direction", "`forward` (data) or `reverse` (acknowledgements)"),
    _count("seq", "number of the segment or datagram in its flow, from 0"),
    _count("ack", "of an acknowledgement: next segment expected"),
    _count("seq_bytes", f"TCP: bytes of the stream before this segment; {_OF_TCP}"),
    _count("ack_bytes", f"of an acknowledgement: next byte expected; {_OF_TCP}"),
    _name("sack", "SACK blocks, the newest first: `5-8 10-12` is segments 5 to 7, 10 and 11"),
    _name("tcp_flags", f"`ACK`, `ECE`, `CWR`; {_OF_TCP}"),
    _count("echo_ns", "of an acknowledgement: when the segment it answers was sent"),
    _count("retransmission", "1 for a segment sent before, else 0"),
    _name("link", "link; null where the event is at a node"),
    _name("node", "node; null where the event is on a link"),
    _name("class", "class of the port it was queued or dropped at"),
    _count("precedence", "drop precedence there; null elsewhere"),
    _name("cause", "of a drop: why"),
    _count("wait_ns", "of `queued`: until its first bit was sent; null if that did not come"),
    _derived("wait_s", "the same"),
    _count("ip_bytes", "IP header and all above"),
    _name("dscp", "DSCP by its name in the RFCs, else its number"),
    _name("ecn", "`Not-ECT`, `ECT(1)`, `ECT(0)` or `CE`"),
    _name("colour", "colour of the last meter: `green`, `yellow` or `red`"),
    _count("ttl", "TTL of the IP header"),
    _count("labels", "depth of the label stack"),
    _count("label", "label on top; null without one"),
    _name("stack", "label stack from the top: `1001/5/63` is label 1001, TC 5, TTL 63"),
)

SUMMARY: Final = (
    _mean("measured_s", "measured time: duration less warm-up"),
    # How many events an engine needs, and how many packets it holds, are no result of the
    # network: a faster engine may change them.
    Field("events", "i64", "derived", "events the engine handled"),
    _count("packet_hops", "packets sent on links, summed over links"),
    _count("packets_sent", "packets the agents sent, acknowledgements included"),
    _count("packets_delivered", "packets that reached their destination"),
    _count("packets_dropped", "packets lost"),
    _count("packets_inside_before", "packets in the network when the counters started"),
    _count("packets_inside_after", "packets in the network at the end"),
    Field("packets_peak", "i64", "derived", "most packets in the network at once, of 1001 counts"),
)

SCHEMAS: Final[dict[str, tuple[Field, ...]]] = {
    "flows": FLOWS,
    "delays": DELAYS,
    "classes": CLASSES,
    "ports": PORTS,
    "paths": PATHS,
    "drops": DROPS,
    "colours": COLOURS,
    "accounts": ACCOUNTS,
    "series": SERIES,
    "transfers": TRANSFERS,
    "completions": COMPLETIONS,
    "completion_times": COMPLETION_TIMES,
    "timeline": TIMELINE,
    "packets": PACKETS,
    "summary": SUMMARY,
}
"""Every table by name, in the order of the results hash and of the files."""

HASHED_IF_FILLED: Final = frozenset({"transfers", "completions"})
"""Tables that the results hash leaves out where they are empty."""


def column(table: str, name: str) -> Field:
    """A column of a table by its name."""
    return next(field for field in SCHEMAS[table] if field.name == name)
