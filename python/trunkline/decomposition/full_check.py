"""The error of a decomposition: a full run, as long as the time given allows, next to it."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from trunkline.decomposition.path_delays import PathDelays
from trunkline.engine.packet_engine import Job, simulate_jobs
from trunkline.results import dscp

if TYPE_CHECKING:
    from trunkline.fluid.tables import FluidState

Floats = NDArray[np.float64]

HOPS_PER_SECOND: Final = 1.5e6
"""Packet-hops that a second of the check is worth, on any machine: so its length is the same."""
MIN_PACKETS: Final = 1000
"""Packets of a flow that the check compares: ten are beyond its 99th percentile."""
NEEDED_PACKETS: Final = 1.2 * MIN_PACKETS  # So many that chance seldom leaves too few.
TIME_RESOLUTION_S: Final = 1e-9  # Mean waits below are the rounding of transmission times.
WARM_UP_DELAYS: Final = 2.0  # Longest delays without queues before the check counts.
MIN_MEASURED_SHARE: Final = 0.5  # Part of the check that is measured, at least.
BUCKET_ERROR: Final = 1 / 128
"""A percentile of the full run is the end of a bucket: on average so much too long."""

_COMPARED_COLUMNS: Final = (
    "packets_sent",
    "packets_delivered",
    "delay_mean_s",
    "delay_p99_s",
    "loss_ratio",
)


@dataclass(frozen=True, slots=True)
class ClassError:
    """Errors of the flows of a class against a full run, over the delay from end to end."""

    dscp: str  # The class.
    flows: int  # Flows of enough packets to compare.
    # mean_error, p99_error: Mean of the absolute relative errors of the mean and of the 99th
    # percentile [1].
    mean_error: float
    p99_error: float
    max_p99_error: float  # The greatest of the latter [1].
    # Absolute relative error of the 99th percentile of all packets of the class [1].
    aggregate_p99_error: float
    # Difference of the mean waits of all flows together, over that of the full run [1].
    queueing_error: float
    # loss, loss_error: Loss ratio of the full run, and difference of the decomposition from it [1].
    loss: float
    loss_error: float


@dataclass(frozen=True, slots=True)
class FullCheck:
    """Comparison of a decomposition with a full run."""

    # Simulated and measured time of the full run [s]; 0 if it was too short to compare.
    seconds: float
    packets: int  # Packets that it delivered.
    # In order of their first flow; without those whose flows have too few packets.
    classes: tuple[ClassError, ...]
    uncompared: tuple[str, ...]  # DSCPs of the latter.
    # About how much time of one core would compare these as well [s]; 0 if there are none.
    needed_s: float = 0.0

    def find_error(self, name: str) -> ClassError | None:
        """Find the errors of a class by its DSCP; None if it was not compared."""
        return next((each for each in self.classes if each.dscp == name), None)

    def to_json(self) -> dict[str, Any]:
        """Build the object that ``--json`` prints."""
        return asdict(self)


def _count_hops_per_second(state: FluidState) -> float:
    """Packet-hops in a simulated second."""
    size = state.hop_loads.packet_bytes[state.hop_loads.paths.stream]
    return max(float((state.rates.hop_rate / (8 * size)).sum()), 1e-9)


def _find_warm_up(network: Mapping[str, Any], state: FluidState) -> int:
    """Time before the check counts [ns]."""
    longest = float(state.hop_loads.fixed.max(initial=0.0))
    start = max(
        (flow["start_ns"] + flow["start_jitter_ns"] for flow in network["flows"]), default=0
    )
    return math.ceil(start + WARM_UP_DELAYS * longest * 1e9)


def estimate_needed_time(
    network: Mapping[str, Any], state: FluidState, classes: Collection[str]
) -> float:
    """Time of one core [s] for a check that compares the fastest flow of each of some classes."""
    count = len(network["flows"])
    rate = state.rates.sent[:count] / (8 * state.sources.size[:count])
    fastest: dict[str, float] = {}
    for flow, packets in zip(network["flows"], rate.tolist(), strict=True):
        name = dscp.name_code_point(flow["dscp"])
        fastest[name] = max(fastest.get(name, 0.0), packets)
    if not classes or not all(fastest[name] for name in classes):
        return 0.0
    measured = max(NEEDED_PACKETS / fastest[name] for name in classes)
    warm_up = _find_warm_up(network, state) / 1e9
    # Half of the check at least is measured.
    seconds = warm_up + max(measured, warm_up)
    return seconds * _count_hops_per_second(state) / HOPS_PER_SECOND


def plan_check(network: Mapping[str, Any], state: FluidState, budget_s: float) -> dict[str, Any]:
    """The network with a run that costs about so much time of one core [s]."""
    seconds = budget_s * HOPS_PER_SECOND / _count_hops_per_second(state)
    run = network["run"]
    warm_up = _find_warm_up(network, state)
    duration = min(math.ceil(seconds * 1e9), max(run["duration_ns"], 2 * warm_up))
    times = {"duration_ns": max(duration, warm_up + 1), "warmup_ns": warm_up}
    return {**network, "probes": [], "run": {**run, **times, "trace": False}}


def check_delays(
    network: Mapping[str, Any],
    state: FluidState,
    delays: PathDelays,
    budget_s: float,
    *,
    seed: int,
    threads: int | None = None,
) -> FullCheck:
    """Run the network in full for a part of its time, and compare.

    budget_s: About how much time of one core the run may take [s].
    """
    planned = plan_check(network, state, budget_s)
    names = [dscp.name_code_point(flow["dscp"]) for flow in network["flows"]]
    times = planned["run"]
    measured_ns = times["duration_ns"] - times["warmup_ns"]
    if measured_ns < MIN_MEASURED_SHARE * times["duration_ns"]:
        every = tuple(dict.fromkeys(names))
        return FullCheck(0.0, 0, (), every, estimate_needed_time(network, state, every))
    network_json = json.dumps(planned, sort_keys=True, separators=(",", ":"))
    (results,) = simulate_jobs([Job(network_json, seed)], threads=threads)
    flows, aggregates = results.flows, results.aggregates
    aggregate_p99 = dict(zip(aggregates["dscp"], aggregates["delay_p99_s"], strict=True))
    columns = {
        name: np.array([np.nan if v is None else float(v) for v in flows[name]])
        for name in _COMPARED_COLUMNS
    }
    fixed = state.hop_loads.fixed[: len(names)]
    classes, uncompared = [], []
    for number, name in enumerate(dict.fromkeys(names)):
        in_class = np.array([each == name for each in names])
        compared = in_class & (columns["packets_delivered"] >= MIN_PACKETS)
        if not compared.any():
            uncompared.append(name)
            continue
        mean = _compute_errors(delays.mean, columns["delay_mean_s"], compared)
        p99_full = columns["delay_p99_s"] / (1 + BUCKET_ERROR)
        p99 = _compute_errors(delays.quantiles["p99"], p99_full, compared)
        of_class = float(delays.aggregate_quantiles["p99"][number])
        weight = columns["packets_delivered"][compared]
        waited = float((columns["delay_mean_s"] - fixed)[compared] @ weight)
        composed = float((delays.mean - fixed)[compared] @ weight)
        sent = columns["packets_sent"][in_class]
        loss = float(np.nan_to_num(columns["loss_ratio"][in_class]) @ sent / max(sent.sum(), 1))
        composed_loss = float(delays.loss[in_class] @ sent / max(sent.sum(), 1))
        classes.append(
            ClassError(
                name,
                int(compared.sum()),
                float(mean.mean()),
                float(p99.mean()),
                float(p99.max()),
                abs(of_class * (1 + BUCKET_ERROR) / float(aggregate_p99[name] or np.nan) - 1),
                composed / waited - 1 if waited >= TIME_RESOLUTION_S * weight.sum() else 0.0,
                loss,
                composed_loss - loss,
            )
        )
    packets = int(np.nansum(columns["packets_delivered"]))
    needed_s = estimate_needed_time(network, state, uncompared)
    return FullCheck(measured_ns / 1e9, packets, tuple(classes), tuple(uncompared), needed_s)


def _compute_errors(value: Floats, reference: Floats, chosen: NDArray[np.bool_]) -> Floats:
    error: Floats = np.abs(value[chosen] / reference[chosen] - 1)
    return error
