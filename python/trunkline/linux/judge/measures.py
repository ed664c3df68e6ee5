"""The measures of one run, the same of every engine, each by what it is of."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from trunkline import _core
from trunkline.linux.judge.observed import Datagrams, Observed
from trunkline.linux.judge.phases import Phase
from trunkline.network.types import Network
from trunkline.results import Results, dscp

QUANTILES = {"delay p50": 0.5, "delay p95": 0.95, "delay p99": 0.99}
COMPLETED = (0.5, 0.95)
FEWEST_DELAYS = 100
"""Packets, or transfers, below which a phase has no quantiles: each of its packets would be one."""
MOST_WINDOWS = 16
"""TCP flows whose windows are compared: beyond, the series would be the larger part of a run."""


class Key(NamedTuple):
    """What a value is of: flow, class or link; name in `trunkline.linux.judge.margin.MEASURES`.

    ``detail`` is which of several: a DSCP, a cause.
    """

    subject: str
    measure: str
    detail: str = ""


Values = dict[Key, float | None]
"""Null is what the engine does not tell; a count that is not here is 0."""


@dataclass(frozen=True)
class Frame:
    """What both engines of a seed are measured by.

    Parameters
    ----------
    warmup_ns, end_ns : int
        Only packets sent from the one on; when the run ends.
    settled_ns : int
        What is sent from then on may still be under way when the run ends.
    phases : sequence of Phase
        Of a failure; none without.
    """

    warmup_ns: int
    end_ns: int
    settled_ns: int
    phases: Sequence[Phase]


def frame(network: Network, phases: Sequence[Phase], both: Sequence[Observed]) -> Frame:
    """The frame of a seed."""
    run = network["run"]
    longest = max(
        (
            int(flow.delay_ns.max())
            for each in both
            for flow in each.flows.values()
            if len(flow.number)
        ),
        default=0,
    )
    return Frame(run["warmup_ns"], run["duration_ns"], run["duration_ns"] - longest, phases)


def measure(seen: Observed, network: Network, within: Frame) -> Values:
    """Every measure of one seed in one engine."""
    found: Values = {}
    for name, flow in seen.flows.items():
        found.update(_datagrams(name, flow, within))
    tcp = [str(flow["name"]) for flow in network["flows"] if flow["agent"]["protocol"] == "tcp"]
    found.update(_connections(seen.results, tcp, within))
    found.update(_completions(seen.results))
    found.update(_ports(seen.results))
    found.update(_drops(seen.results))
    found.update(_colours(seen.results))
    return found


def _datagrams(name: str, flow: Datagrams, within: Frame) -> Iterator[tuple[Key, float | None]]:
    """Of a UDP flow: what was sent, arrived, was lost, how late and how marked."""
    whole = Phase("", within.warmup_ns, within.end_ns)
    for phase in (whole, *within.phases):
        subject = f"{name}, {phase.name}" if phase.name else name
        start, end = max(phase.start_ns, within.warmup_ns), phase.end_ns
        inside = (flow.sent_ns >= start) & (flow.sent_ns < end)
        got = np.zeros(len(inside), dtype=bool)
        got[flow.number] = True
        settled = inside & (flow.sent_ns < within.settled_ns)
        if not phase.name:
            yield Key(subject, "packets sent"), float(inside.sum())
        yield Key(subject, "packets delivered"), float((inside & got).sum())
        yield Key(subject, "packets lost"), float((settled & ~got).sum())
        yield from _delays(subject, flow.delay_ns[inside[flow.number]], brief=bool(phase.name))
    yield Key(name, "out of order"), float(flow.reordered)
    chosen = flow.sent_ns[flow.number] >= within.warmup_ns
    for field, values, said in (
        ("DSCP", flow.dscp, dscp.name),
        ("ECN", flow.ecn, _core.ECN.__getitem__),
        ("TTL", flow.ttl, str),
    ):
        for value, count in zip(*np.unique(values[chosen], return_counts=True), strict=True):
            yield Key(name, field, said(int(value))), float(count)


def _delays(subject: str, delays: Any, *, brief: bool) -> Iterator[tuple[Key, float | None]]:
    if not len(delays):
        return
    yield Key(subject, "mean delay"), float(delays.mean()) / 1e9
    if brief and len(delays) < FEWEST_DELAYS:
        return
    ordered = np.sort(delays)
    for key, share in QUANTILES.items():
        yield Key(subject, key), float(ordered[math.ceil(share * len(ordered)) - 1]) / 1e9


def _connections(
    results: Results, tcp: Sequence[str], within: Frame
) -> Iterator[tuple[Key, float | None]]:
    """Of TCP flows: each by itself, and all together."""
    several = ", each of several" if len(tcp) > 1 else ""
    goodputs = []
    for name in tcp:
        row = results.flows.where(flow=name)
        goodput = _number(row["goodput_bit_s"])
        goodputs.append(goodput or 0.0)
        yield Key(name, f"goodput{several}"), goodput
        yield Key(name, "sent again"), _number(row["retransmissions"])
        yield Key(name, "timeouts"), _number(row["timeouts"])
        yield Key(name, "mean delay"), _number(row["delay_mean_s"])
    if several:
        yield Key(f"{len(tcp)} TCP flows", "goodput"), sum(goodputs)
        yield Key(f"{len(tcp)} TCP flows", "fairness (Jain)"), jain(goodputs)
    for name in tcp if len(tcp) <= MOST_WINDOWS else ():
        # The second half, when the start is over.
        table = results.series
        rows = zip(table["target"], table["time_ns"], table["value"], strict=True)
        window = [
            float(value)
            for target, time, value in rows
            if target == name and int(time or 0) >= within.end_ns // 2 and value is not None
        ]
        if window and not all(math.isnan(each) for each in window):
            yield Key(name, f"mean window{several}"), sum(window) / len(window)
            if not several:
                yield Key(name, "greatest window"), max(window)


def _completions(results: Results) -> Iterator[tuple[Key, float | None]]:
    """Of flows of transfers: how many were complete, and after what time."""
    rows = [row for row in results.transfers.rows() if row["fct_s"] is not None]
    for row in results.completions.rows():
        if row["sizes"] != "all":
            continue
        name = str(row["flow"])
        yield Key(name, "transfers complete"), _number(row["finished"])
        times = np.sort([float(str(each["fct_s"])) for each in rows if each["flow"] == name])
        if not len(times):
            continue
        yield Key(name, "mean completion time"), float(times.mean())
        for share in COMPLETED if len(times) >= FEWEST_DELAYS else ():
            ranked = times[math.ceil(share * len(times)) - 1]
            yield Key(name, f"completion time p{round(100 * share)}"), float(ranked)


def jain(values: Sequence[float]) -> float:
    """Jain's index of fairness: (sum x)^2 / (n sum x^2)."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def _ports(results: Results) -> Iterator[tuple[Key, float | None]]:
    """Of each class of a port: what it sent, what one packet has on the wire, what it dropped."""
    for row in results.ports.rows():
        subject = f"{row['link']}, {row['class']}"
        sent, size = _number(row["packets_sent"]), _number(row["bytes_sent"])
        yield Key(subject, "sent by class"), sent
        yield Key(subject, "dropped by class"), _number(row["packets_dropped"])
        if sent and size is not None:
            yield Key(subject, "bytes a packet"), size / sent


def _drops(results: Results) -> Iterator[tuple[Key, float | None]]:
    """Of each link or node: what was lost there, by cause."""
    found: Values = {}
    for row in results.drops.rows():
        # An AQM's forced drops are its early ones in Linux, which does not tell them apart.
        cause = "early" if row["cause"] == "forced" else str(row["cause"])
        key = Key(str(row["link"] or row["node"]), "lost by cause", cause)
        found[key] = (found.get(key) or 0.0) + (_number(row["packets"]) or 0.0)
    yield from found.items()


def _colours(results: Results) -> Iterator[tuple[Key, float | None]]:
    for row in results.colours.rows():
        where = f"{row['link']}, {row['end']} end, {row['conditioner']}, {row['profile']}"
        yield Key(where, "coloured", str(row["colour"])), _number(row["packets"])


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))
