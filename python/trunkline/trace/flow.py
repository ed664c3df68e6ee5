"""The story of a flow: what it offered, what arrived, what was lost where, and how it took it."""

from collections import Counter
from itertools import pairwise
from typing import Any

from trunkline.network.types import Network
from trunkline.results import Results
from trunkline.results.numbers import rate, span
from trunkline.trace.packet import UNTRACED
from trunkline.trace.words import FATES, count, seconds

MOST = 10
"""Losses and retransmissions told one by one."""


def flow_story(results: Results, network: Network, name: str) -> list[str]:
    """Tell the story of a flow.

    Parameters
    ----------
    results : Results
        A run; more is shown of a traced one.

    Raises
    ------
    LookupError
        No flow has this name.
    """
    rows = [row for row in results.flows.rows() if row["flow"] == name]
    if not rows:
        raise LookupError(unknown("flow", name, [str(it) for it in results.flows["flow"]]))
    row: dict[str, Any] = rows[0]
    lines = [
        f"Flow {name} is {row['protocol'].upper()} from {row['source']} to {row['destination']}, "
        f"DSCP {row['dscp']}; it started at {seconds(row['start_ns'])}.",
        "",
        *(f"  {line}" for line in _counts(row)),
    ]
    lost = [drop for drop in results.drops.rows() if drop["flow"] == name]
    if lost:
        lines += ["", "Losses:", *(f"  {_loss(drop)}" for drop in lost)]
    if len(results.packets) == 0:
        return [*lines, "", f"Hops and single packets are not told: {UNTRACED}."]
    return lines + _traced(results, network, name)


def unknown(kind: str, name: str, known: list[str]) -> str:
    """What to say of a name that nothing has."""
    import difflib

    near = difflib.get_close_matches(name, known, 3)
    if near:
        return f"no {kind} is called {name!r}; did you mean {' or '.join(map(repr, near))}?"
    return f"no {kind} is called {name!r}; there are {', '.join(known) or 'none'}"


def _counts(row: dict[str, Any]) -> list[str]:
    told = [
        f"sent {count(row['packets_sent'], 'packet')}, {rate(row['offered_bit_s'])} of IP; "
        f"{count(row['packets_delivered'], 'packet')} arrived, {rate(row['throughput_bit_s'])}; "
        f"goodput {rate(row['goodput_bit_s'])}"
    ]
    if row["packets_dropped"]:
        told.append(
            f"{count(row['packets_dropped'], 'packet')} lost, one in "
            f"{max(1, round(row['packets_sent'] / row['packets_dropped'])):,}"
        )
    if row["packets_delivered"]:
        told.append(
            f"one-way delay {span(row['delay_min_ns'])} to {span(row['delay_max_ns'])}, "
            f"mean {span(row['delay_mean_ns'])}, 99 % within {span(row['delay_p99_ns'])}; "
            f"jitter {span(row['jitter_ns'])}"
        )
    if row["reordered"]:
        told.append(f"{count(row['reordered'], 'packet')} arrived after one sent later")
    if row["protocol"] == "tcp":
        told.append(
            f"{count(row['retransmissions'], 'segment')} sent again: "
            f"{count(row['fast_retransmits'], 'fast retransmit')}, "
            f"{count(row['timeouts'], 'timeout')}; "
            f"{count(row['acks_sent'], 'acknowledgement')} sent, {row['acks_dropped']:,} lost"
        )
    if row["finished_ns"] is not None:
        told.append(f"the transfer was acknowledged in full at {seconds(row['finished_ns'])}")
    return told


def _loss(drop: dict[str, Any]) -> str:
    what = "acknowledgement" if drop["direction"] == "reverse" else "packet"
    place = f"at the port of {drop['link']}" if drop["link"] else f"at {drop['node']}"
    return f"{count(drop['packets'], what)} {place}: {FATES.get(drop['cause'], drop['cause'])}"


def _traced(results: Results, network: Network, name: str) -> list[str]:
    """What only a trace knows."""
    ways: dict[int, list[str]] = {}
    waits: dict[str, list[int]] = {}
    again: list[dict[str, Any]] = []
    arrivals: list[int] = []
    own = (row for row in results.packets.rows() if row["flow"] == name)
    rows: list[dict[str, Any]] = [row for row in own if row["direction"] == "forward"]
    for row in rows:
        if row["event"] == "queued":
            ways.setdefault(row["packet"], []).append(row["link"])
            if row["wait_ns"] is not None:
                waits.setdefault(row["link"], []).append(row["wait_ns"])
        elif row["event"] == "sent" and row["retransmission"]:
            again.append(row)
        elif row["event"] == "delivered":
            arrivals.append(row["time_ns"])
    taken = Counter(tuple(way) for way in ways.values())
    lines = ["", "Ways taken:"]
    for way, packets in taken.most_common(MOST):
        lines.append(f"  {count(packets, 'packet')} over {', '.join(way)}")
    lines += ["", "Waits:"]
    for link, times in waits.items():
        lines.append(f"  {link}: mean {span(sum(times) / len(times))}, longest {span(max(times))}")
    gaps = [(b - a, a) for a, b in pairwise(arrivals)]
    if gaps:
        longest, since = max(gaps)
        lines += [
            "",
            f"The longest time without an arrival was {span(longest)}, from {seconds(since)}.",
        ]
    lines += _one_by_one("Lost", [row for row in rows if row["event"] == "dropped"])
    lines += _one_by_one("Sent again", again)
    return lines


def _one_by_one(title: str, rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    told = [
        f"  {seconds(row['time_ns'])}  packet {row['packet']} (number {row['seq']} of the flow)"
        + (f" at {row['link'] or row['node']}: {row['cause']}" if row["cause"] else "")
        for row in rows[:MOST]
    ]
    if len(rows) > MOST:
        told.append(f"  and {len(rows) - MOST:,} more")
    return ["", f"{title}:", *told]
