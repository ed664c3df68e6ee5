"""The story of a flow: offered load, arrivals, losses by place, and the reaction to them."""

from collections import Counter
from itertools import pairwise
from typing import Any

from trunkline.network.types import NetworkData
from trunkline.results import Results
from trunkline.results.number_format import format_duration, format_rate
from trunkline.trace.packet_story import UNTRACED_MESSAGE
from trunkline.trace.phrases import DROP_CAUSE_PHRASES, format_count, format_seconds

MAX_EVENTS_LISTED = 10  # Losses and retransmissions listed one by one.


def flow_story(results: Results, network: NetworkData, name: str) -> list[str]:
    """Tell the story of a flow.

    results: A run; more is shown of a traced one.
    Raises LookupError: No flow has this name.
    """
    rows = [row for row in results.flows.rows() if row["flow"] == name]
    if not rows:
        raise LookupError(
            describe_unknown_name(
                "flow", name, [str(flow_name) for flow_name in results.flows["flow"]]
            )
        )
    row: dict[str, Any] = rows[0]
    lines = [
        f"Flow {name} is {row['protocol'].upper()} from {row['source']} to {row['destination']}, "
        f"DSCP {row['dscp']}; it started at {format_seconds(row['start_ns'])}.",
        "",
        *(f"  {line}" for line in _describe_counts(row)),
    ]
    lost = [drop for drop in results.drops.rows() if drop["flow"] == name]
    if lost:
        lines += ["", "Losses:", *(f"  {_describe_loss(drop)}" for drop in lost)]
    if len(results.packets) == 0:
        return [*lines, "", f"Hops and single packets are not listed: {UNTRACED_MESSAGE}."]
    return lines + _describe_traced(results, network, name)


def describe_unknown_name(kind: str, name: str, known: list[str]) -> str:
    """Describe a name that nothing has."""
    import difflib

    near = difflib.get_close_matches(name, known, 3)
    if near:
        return f"no {kind} is called {name!r}; did you mean {' or '.join(map(repr, near))}?"
    return f"no {kind} is called {name!r}; there are {', '.join(known) or 'none'}"


def _describe_counts(row: dict[str, Any]) -> list[str]:
    lines = [
        f"sent {format_count(row['packets_sent'], 'packet')}, "
        f"{format_rate(row['offered_bit_s'])} of IP; "
        f"{format_count(row['packets_delivered'], 'packet')} arrived, "
        f"{format_rate(row['throughput_bit_s'])}; "
        f"goodput {format_rate(row['goodput_bit_s'])}"
    ]
    if row["packets_dropped"]:
        share = row["loss_ratio"]
        lines.append(
            f"{format_count(row['packets_dropped'], 'packet')} lost"
            + (f", one in {round(1 / share):,}" if share else "")
        )
    if row["delay_mean_ns"] is not None:
        lines.append(
            f"one-way delay {format_duration(row['delay_min_ns'])} to "
            f"{format_duration(row['delay_max_ns'])}, "
            f"mean {format_duration(row['delay_mean_ns'])}, 99 % within "
            f"{format_duration(row['delay_p99_ns'])}; "
            f"jitter {format_duration(row['jitter_ns'])}"
        )
    if row["reordered"]:
        lines.append(f"{format_count(row['reordered'], 'packet')} arrived after one sent later")
    if row["protocol"] == "tcp":
        lines.append(
            f"{format_count(row['retransmissions'], 'segment')} sent again: "
            f"{format_count(row['fast_retransmits'], 'fast retransmit')}, "
            f"{format_count(row['timeouts'], 'timeout')}; "
            f"{format_count(row['acks_sent'], 'acknowledgement')} sent, "
            f"{format_count(row['acks_dropped'], 'lost', 'lost')}"
        )
    if row["finished_ns"] is not None:
        lines.append(
            f"the transfer was acknowledged in full at {format_seconds(row['finished_ns'])}"
        )
    return lines


def _describe_loss(drop: dict[str, Any]) -> str:
    noun = "acknowledgement" if drop["direction"] == "reverse" else "packet"
    place = f"at the port of {drop['link']}" if drop["link"] else f"at {drop['node']}"
    return (
        f"{format_count(drop['packets'], noun)} {place}: "
        f"{DROP_CAUSE_PHRASES.get(drop['cause'], drop['cause'])}"
    )


def _describe_traced(results: Results, network: NetworkData, name: str) -> list[str]:
    """Describe facts that only a trace has."""
    routes: dict[int, list[str]] = {}
    waits: dict[str, list[int]] = {}
    retransmissions: list[dict[str, Any]] = []
    arrivals: list[int] = []
    flow_rows = (row for row in results.packets.rows() if row["flow"] == name)
    rows: list[dict[str, Any]] = [row for row in flow_rows if row["direction"] == "forward"]
    for row in rows:
        if row["event"] == "queued":
            routes.setdefault(row["packet"], []).append(row["link"])
            if row["wait_ns"] is not None:
                waits.setdefault(row["link"], []).append(row["wait_ns"])
        elif row["event"] == "sent" and row["retransmission"]:
            retransmissions.append(row)
        elif row["event"] == "delivered":
            arrivals.append(row["time_ns"])
    route_counts = Counter(tuple(route) for route in routes.values())
    lines = ["", "Ways taken:"]
    for route, packets in route_counts.most_common(MAX_EVENTS_LISTED):
        lines.append(f"  {format_count(packets, 'packet')} over {', '.join(route)}")
    lines += ["", "Waits:"]
    for link, times in waits.items():
        lines.append(
            f"  {link}: mean {format_duration(sum(times) / len(times))}, longest "
            f"{format_duration(max(times))}"
        )
    gaps = [(b - a, a) for a, b in pairwise(arrivals)]
    if gaps:
        longest, since = max(gaps)
        lines += [
            "",
            f"The longest time without an arrival was {format_duration(longest)}, from "
            f"{format_seconds(since)}.",
        ]
    lines += _list_events("Lost", [row for row in rows if row["event"] == "dropped"])
    lines += _list_events("Sent again", retransmissions)
    return lines


def _list_events(title: str, rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    lines = [
        f"  {format_seconds(row['time_ns'])}  packet {row['packet']} "
        f"(number {row['seq']} of the flow)"
        + (f" at {row['link'] or row['node']}: {row['cause']}" if row["cause"] else "")
        for row in rows[:MAX_EVENTS_LISTED]
    ]
    if len(rows) > MAX_EVENTS_LISTED:
        lines.append(f"  and {len(rows) - MAX_EVENTS_LISTED:,} more")
    return ["", f"{title}:", *lines]
