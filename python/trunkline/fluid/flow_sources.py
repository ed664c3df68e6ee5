"""Offered load of each flow: mean rate, sizes, burstiness, and whether TCP adapts.

A TCP flow without an end is elastic and takes what it gets; one of a given size, or whose transfers
arrive by themselves, offers that much over the measured time. Pages and films are fetched when
earlier ones are there: what they offer is unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from trunkline.scenario.size_law import compute_mean as mean_size
from trunkline.te.topology import Bools, Floats

MIN_PACKET_BYTES: Final = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class FlowSources:
    """Data packets of F flows."""

    # shape (F,): IP bits per second offered; infinite of an elastic flow, nan where unknown.
    rate: Floats
    # size, mean_square_size: shape (F,): Mean IP bytes of a packet, and mean of their square.
    size: Floats
    mean_square_size: Floats
    # shape (F,): Squared coefficient of variation of the gaps: 1 Poisson, 0 constant bit rate; nan
    # unknown.
    gap_scv: Floats
    is_tcp: Bools  # shape (F,): Sent by TCP.
    window: Floats  # shape (F,): Largest window in bytes of IP packets; infinite of UDP.
    payload_share: Floats  # shape (F,): Part of an IP packet that is data.
    # shape (F,): Bytes of acknowledgements, or of answers to an echo, for a byte of data packets; 0
    # of UDP.
    ack_ratio: Floats
    ack_bytes: Floats  # shape (F,): Bytes of one; 1 of UDP.


def read_flow_sources(flows: Sequence[Mapping[str, Any]], run: Mapping[str, Any]) -> FlowSources:
    """Read the agents of a compiled network.

    Returns: Means over the measured time: a flow that runs for a part of it offers that part.
    """
    measured_begin, measured_end = run["warmup_ns"], run["duration_ns"]
    rows = []
    for flow in flows:
        agent = flow["agent"]
        stop = measured_end if flow["stop_ns"] is None else min(measured_end, flow["stop_ns"])
        start = flow["start_ns"] + flow["start_jitter_ns"] / 2
        active_share = max(0.0, stop - max(start, measured_begin)) / max(
            1, measured_end - measured_begin
        )
        if agent["protocol"] == "udp":
            flow_row = _read_udp(agent, active_share, (measured_begin - start, stop - start))
            if flow.get("echo") is not None:
                reply = flow["echo"]["reply_bytes"]
                flow_row = (*flow_row[:7], reply / flow_row[1], float(reply))
        else:
            flow_row = _read_tcp(flow, agent, active_share, run)
        rows.append(flow_row)
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 9)
    rate, size, square, scv, tcp, window, payload, ack, ack_bytes = table.T.copy()
    return FlowSources(rate, size, square, scv, tcp > 0, window, payload, ack, ack_bytes)


def _read_udp(
    agent: Mapping[str, Any], active_share: float, measured: tuple[float, float]
) -> tuple[float, ...]:
    arrivals, law = agent["arrivals"], agent["size"]
    mean, square = read_size_moments(law)
    rate, scv = agent["rate_bit_s"] * active_share, 1.0
    if arrivals != "poisson":
        kind, parameters = next(iter(arrivals.items()))
        scv = 0.0 if kind == "cbr" else np.nan
        if kind == "gaps":
            gap, scv = _read_gaps(parameters)
            rate = mean * 8e9 / gap * active_share
        if kind == "on-off":
            rate *= parameters["mean_on_ns"] / (
                parameters["mean_on_ns"] + parameters["mean_off_ns"]
            )
        if heeds_congestion(arrivals):
            rate = np.nan
        if kind == "schedule":
            times = np.array(parameters["times_ns"], dtype=np.float64)
            sizes = np.array(parameters["sizes"], dtype=np.float64)
            is_measured = (times >= measured[0]) & (times < measured[1])
            rate = (
                sizes[is_measured].sum()
                * 8e9
                / max(1.0, measured[1] - max(0.0, measured[0]))
                * active_share
            )
            if len(sizes):
                mean, square = float(sizes.mean()), float((sizes**2).mean())
        if kind == "cbr" and square > mean**2:
            # The gap follows the size: as uneven as the sizes.
            scv = square / mean**2 - 1
    payload = max(0.0, 1 - agent["header_bytes"] / mean)
    return rate, mean, square, scv, 0.0, np.inf, payload, 0.0, 1.0


def heeds_congestion(arrivals: Any) -> bool:
    """Whether datagrams come at a rate that depends on the network: TFRC, interactive media."""
    return "tfrc" in arrivals or "media" in arrivals


def _read_gaps(law: Mapping[str, Any]) -> tuple[float, float]:
    """Mean gap [ns], and its squared coefficient of variation."""
    kind, parameters = next(iter(law.items()))
    if kind == "fixed":
        return float(parameters["gap_ns"]), 0.0
    if kind == "exponential":
        return float(parameters["mean_ns"]), 1.0
    mean = parameters["location_ns"] + np.euler_gamma * parameters["scale_ns"]
    return mean, (np.pi * parameters["scale_ns"]) ** 2 / 6 / mean**2


def read_size_range(agent: Mapping[str, Any], max_bytes: int) -> tuple[float, float]:
    """Smallest and largest IP packet that an agent sends; laws without an end reach `max_bytes`."""
    if agent["protocol"] != "udp":
        size = float(agent["mss_bytes"] + agent["header_bytes"])
        return size, size
    arrivals = agent["arrivals"]
    if isinstance(arrivals, dict) and "schedule" in arrivals:
        sizes = arrivals["schedule"]["sizes"] or [MIN_PACKET_BYTES]
        return float(min(sizes)), float(max(sizes))
    kind, parameters = next(iter(agent["size"].items()))
    if kind == "fixed":
        return float(parameters["bytes"]), float(parameters["bytes"])
    if kind in ("exponential", "gumbel"):
        return MIN_PACKET_BYTES, float(max_bytes)
    return float(min(parameters["bytes"])), float(max(parameters["bytes"]))


def read_size_moments(law: Mapping[str, Any]) -> tuple[float, float]:
    """Read the mean of the sizes of a law [B], and mean of their squares."""
    kind, parameters = next(iter(law.items()))
    if kind == "fixed":
        return float(parameters["bytes"]), float(parameters["bytes"]) ** 2
    if kind == "exponential":
        return parameters["mean_bytes"], 2 * parameters["mean_bytes"] ** 2
    if kind == "gumbel":
        mean = (
            parameters["location_bytes"]
            + np.euler_gamma * parameters["scale_bytes"]
            + parameters["header_bytes"]
        )
        return mean, mean**2 + (np.pi * parameters["scale_bytes"]) ** 2 / 6
    sizes, weights = (
        np.array(parameters["bytes"], dtype=np.float64),
        np.array(parameters["weights"]),
    )
    mean = float(np.average(sizes, weights=weights))
    return max(MIN_PACKET_BYTES, mean), float(np.average(sizes**2, weights=weights))


def _read_tcp(
    flow: Mapping[str, Any], agent: Mapping[str, Any], active_share: float, run: Mapping[str, Any]
) -> tuple[float, ...]:
    size = float(agent["mss_bytes"] + agent["header_bytes"])
    packets_per_ack = agent["delayed_ack"]["every"] if agent["delayed_ack"] else 1
    rate = np.inf if active_share > 0 else 0.0
    if (transfers := flow.get("transfers")) is not None:
        rate = _compute_transfer_rate(transfers) * active_share * size / agent["mss_bytes"]
    elif agent["size_bytes"] is not None:
        measured = (run["duration_ns"] - run["warmup_ns"]) / 1e9
        rate = min(rate, agent["size_bytes"] * 8 / measured * size / agent["mss_bytes"])
    window = agent["window_packets"] * size
    payload, ack = agent["mss_bytes"] / size, float(agent["ack_bytes"])
    return rate, size, size**2, np.nan, 1.0, window, payload, ack / packets_per_ack / size, ack


def _compute_transfer_rate(transfers: Mapping[str, Any]) -> float:
    """Compute the data that transfers offer [bit/s]; nan where users decide."""
    arrivals = read_open_arrivals(transfers)
    if arrivals is None or arrivals[0] == "schedule":
        return np.nan
    kind, gap, mean_bytes = arrivals
    rate = 1e9 / (gap["gap_ns"] if kind == "periodic" else gap["mean_ns"])
    if kind == "on-off":
        rate *= gap["mean_on_ns"] / (gap["mean_on_ns"] + gap["mean_off_ns"])
    return float(mean_bytes * 8 * rate)


def read_open_arrivals(
    transfers: Mapping[str, Any],
) -> tuple[str, Mapping[str, Any], float] | None:
    """Read the law by which transfers arrive by themselves.

    Returns: Kind and parameters of their gaps, mean size [B]; None where users decide.
    """
    opened = transfers["opened"]
    if not isinstance(opened, dict) or "arrivals" not in opened:
        return None
    kind, gap = next(iter(opened["arrivals"]["gaps"].items()))
    return kind, gap, float(mean_size(opened["arrivals"]["sizes"]))
