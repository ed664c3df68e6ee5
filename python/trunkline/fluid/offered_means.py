"""Mean load that each flow offers in the measured time, over all seeds.

Only sources with an exact mean are here: Poisson arrivals, gaps of an exponential law, and on-off
sources, of datagrams or of transfers. Constant bit rate has no spread, and what elastic flows and
users send depends on the network.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from trunkline.fluid.flow_sources import read_open_arrivals, read_size_moments
from trunkline.stats.control_variates import OfferedMean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trunkline.network.types import NetworkData


def read_offered_means(network: NetworkData) -> dict[str, OfferedMean]:
    """Read the means that are known from a compiled network, by the flow's name."""
    run = network["run"]
    means = {}
    for flow in network["flows"]:
        offered = _read_flow_mean(flow, run["warmup_ns"], run["duration_ns"])
        if offered is not None and offered.mean > 0:
            means[flow["name"]] = offered
    return means


def _read_flow_mean(
    flow: Mapping[str, Any], measured_begin: int, measured_end: int
) -> OfferedMean | None:
    start, jitter = flow["start_ns"], flow["start_jitter_ns"]
    end = measured_end if flow["stop_ns"] is None else min(measured_end, flow["stop_ns"])
    if jitter and start + jitter > measured_begin:
        return None  # A part of the measured time is random.
    begin, end = max(start, measured_begin) - start, end - start
    agent, transfers = flow["agent"], flow.get("transfers")
    if agent["protocol"] == "udp":
        return _read_datagram_mean(agent, begin, end, has_jitter=jitter > 0)
    arrivals = read_open_arrivals(transfers) if transfers is not None else None
    if arrivals is None:
        return None
    kind, parameters, size = arrivals
    if kind == "poisson":
        return OfferedMean("started", max(0, end - begin) / parameters["mean_ns"], size)
    if kind == "on-off" and not jitter:
        time_on = _compute_time_on(parameters, begin, end)
        return OfferedMean("started", time_on / parameters["mean_ns"], size)
    return None


def _read_datagram_mean(
    agent: Mapping[str, Any], begin: int, end: int, *, has_jitter: bool
) -> OfferedMean | None:
    arrivals, rate = agent["arrivals"], agent["rate_bit_s"]
    kind, parameters = (arrivals, {}) if isinstance(arrivals, str) else next(iter(arrivals.items()))
    size, _ = read_size_moments(agent["size"])
    # The first datagram leaves at the start, without a gap before it.
    first = 1.0 if begin == 0 else 0.0
    if kind == "on-off" and not has_jitter:
        # Within bursts the gap follows the size. Its last one is unfinished, by half on average.
        time_on = _compute_time_on(parameters, begin, end)
        return OfferedMean("bytes_sent", rate * time_on / 8e9 + first * size / 2, 1.0)
    if kind == "poisson" and rate:
        gap = 8e9 * size / rate
    elif kind == "gaps" and "exponential" in parameters:
        gap = float(parameters["exponential"]["mean_ns"])
    else:
        return None
    count = first + max(0, end - begin) / gap
    if "gumbel" in agent["size"]:
        # Sizes below the header's are cut, which changes their mean, but not their number.
        return OfferedMean("packets_sent", count, size)
    return OfferedMean("bytes_sent", count * size, 1.0)


def _compute_time_on(parameters: Mapping[str, Any], begin: int, end: int) -> float:
    """Mean time [ns] that an on-off source of exponential periods is on, of a window.

    The source is on at its start. The probability that it is on at *t* is ``p + (1 - p) *
    exp(-t * (1 / on + 1 / off))``, with ``p = on / (on + off)`` (two-state Markov chain), which is
    integrated here.

    begin, end: Ends of the window after the source's start [ns].
    """
    mean_on, mean_off = parameters["mean_on_ns"], parameters["mean_off_ns"]
    if end <= begin or not mean_off:
        return float(max(0, end - begin))
    share_on = mean_on / (mean_on + mean_off)
    memory = 1 / (1 / mean_on + 1 / mean_off)
    transient = memory * (math.exp(-begin / memory) - math.exp(-end / memory))
    return float(share_on * (end - begin) + (1 - share_on) * transient)
