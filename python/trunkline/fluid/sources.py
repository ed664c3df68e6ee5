"""What each flow offers: mean rate, sizes, how even its arrivals are, and whether TCP adapts.

A TCP flow without an end is elastic and takes what it gets; one of a given size, or whose transfers
arrive by themselves, offers that much over the measured time. Pages and films are fetched when
earlier ones are there: what they offer is unknown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.scenario.size_law import mean as mean_size

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
LEAST_BYTES: Final = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Data packets of F flows.

    Parameters
    ----------
    rate : array of float64, shape (F,)
        IP bits per second offered; infinite of an elastic flow, nan where unknown.
    size, square : array of float64, shape (F,)
        Mean IP bytes of a packet, and mean of their square.
    scv : array of float64, shape (F,)
        Squared coefficient of variation of the gaps: 1 Poisson, 0 constant bit rate; nan unknown.
    tcp : array of bool, shape (F,)
        Sent by TCP.
    window : array of float64, shape (F,)
        Largest window in bytes of IP packets; infinite of UDP.
    payload : array of float64, shape (F,)
        Part of an IP packet that is data.
    ack : array of float64, shape (F,)
        Bytes of acknowledgements, or of answers to an echo, for a byte of data packets; 0 of UDP.
    ack_bytes : array of float64, shape (F,)
        Bytes of one; 1 of UDP.
    """

    rate: Floats
    size: Floats
    square: Floats
    scv: Floats
    tcp: Bools
    window: Floats
    payload: Floats
    ack: Floats
    ack_bytes: Floats


def sources(flows: Sequence[Mapping[str, Any]], run: Mapping[str, Any]) -> Sources:
    """Read the agents of a compiled network.

    Returns
    -------
    Sources
        Means over the measured time: a flow that runs for a part of it offers that part.
    """
    begins, ends = run["warmup_ns"], run["duration_ns"]
    rows = []
    for flow in flows:
        agent = flow["agent"]
        stop = ends if flow["stop_ns"] is None else min(ends, flow["stop_ns"])
        start = flow["start_ns"] + flow["start_jitter_ns"] / 2
        part = max(0.0, stop - max(start, begins)) / max(1, ends - begins)
        if agent["protocol"] == "udp":
            own = _udp(agent, part, (begins - start, stop - start))
            if flow.get("echo") is not None:
                reply = flow["echo"]["reply_bytes"]
                own = (*own[:7], reply / own[1], float(reply))
        else:
            own = _tcp(flow, agent, part, run)
        rows.append(own)
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 9)
    rate, size, square, scv, tcp, window, payload, ack, ack_bytes = table.T.copy()
    return Sources(rate, size, square, scv, tcp > 0, window, payload, ack, ack_bytes)


def _udp(agent: Mapping[str, Any], part: float, measured: tuple[float, float]) -> tuple[float, ...]:
    arrivals, law = agent["arrivals"], agent["size"]
    mean, square = _sizes(law)
    rate, scv = agent["rate_bit_s"] * part, 1.0
    if arrivals != "poisson":
        kind, its = next(iter(arrivals.items()))
        scv = 0.0 if kind == "cbr" else np.nan
        if kind == "gaps":
            gap, scv = _gaps(its)
            rate = mean * 8e9 / gap * part
        if kind == "on-off":
            rate *= its["mean_on_ns"] / (its["mean_on_ns"] + its["mean_off_ns"])
        if kind == "schedule":
            times = np.array(its["times_ns"], dtype=np.float64)
            sizes = np.array(its["sizes"], dtype=np.float64)
            inside = (times >= measured[0]) & (times < measured[1])
            rate = sizes[inside].sum() * 8e9 / max(1.0, measured[1] - max(0.0, measured[0])) * part
            if len(sizes):
                mean, square = float(sizes.mean()), float((sizes**2).mean())
        if kind == "cbr" and square > mean**2:
            # The gap follows the size: as uneven as the sizes.
            scv = square / mean**2 - 1
    payload = max(0.0, 1 - agent["header_bytes"] / mean)
    return rate, mean, square, scv, 0.0, np.inf, payload, 0.0, 1.0


def _gaps(law: Mapping[str, Any]) -> tuple[float, float]:
    """Mean gap [ns], and its squared coefficient of variation."""
    kind, its = next(iter(law.items()))
    if kind == "fixed":
        return float(its["gap_ns"]), 0.0
    if kind == "exponential":
        return float(its["mean_ns"]), 1.0
    mean = its["location_ns"] + np.euler_gamma * its["scale_ns"]
    return mean, (np.pi * its["scale_ns"]) ** 2 / 6 / mean**2


def _sizes(law: Mapping[str, Any]) -> tuple[float, float]:
    kind, its = next(iter(law.items()))
    if kind == "fixed":
        return float(its["bytes"]), float(its["bytes"]) ** 2
    if kind == "exponential":
        return its["mean_bytes"], 2 * its["mean_bytes"] ** 2
    if kind == "gumbel":
        mean = its["location_bytes"] + np.euler_gamma * its["scale_bytes"] + its["header_bytes"]
        return mean, mean**2 + (np.pi * its["scale_bytes"]) ** 2 / 6
    sizes, weights = np.array(its["bytes"], dtype=np.float64), np.array(its["weights"])
    mean = float(np.average(sizes, weights=weights))
    return max(LEAST_BYTES, mean), float(np.average(sizes**2, weights=weights))


def _tcp(
    flow: Mapping[str, Any], agent: Mapping[str, Any], part: float, run: Mapping[str, Any]
) -> tuple[float, ...]:
    size = float(agent["mss_bytes"] + agent["header_bytes"])
    every = agent["delayed_ack"]["every"] if agent["delayed_ack"] else 1
    rate = np.inf if part > 0 else 0.0
    if (many := flow.get("transfers")) is not None:
        rate = _transfers(many) * part * size / agent["mss_bytes"]
    elif agent["size_bytes"] is not None:
        measured = (run["duration_ns"] - run["warmup_ns"]) / 1e9
        rate = min(rate, agent["size_bytes"] * 8 / measured * size / agent["mss_bytes"])
    window = agent["window_packets"] * size
    payload, ack = agent["mss_bytes"] / size, float(agent["ack_bytes"])
    return rate, size, size**2, np.nan, 1.0, window, payload, ack / every / size, ack


def _transfers(its: Mapping[str, Any]) -> float:
    """Data that transfers offer [bit/s]; nan where users decide."""
    opened = its["opened"]
    if not isinstance(opened, dict) or "arrivals" not in opened:
        return np.nan
    gaps, law = opened["arrivals"]["gaps"], opened["arrivals"]["sizes"]
    kind, gap = next(iter(gaps.items()))
    if kind == "schedule":
        return np.nan
    rate = 1e9 / gap["mean_ns"]
    if kind == "on-off":
        rate *= gap["mean_on_ns"] / (gap["mean_on_ns"] + gap["mean_off_ns"])
    return float(mean_size(law) * 8 * rate)
