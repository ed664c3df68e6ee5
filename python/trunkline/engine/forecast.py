"""A forecast of the cost of runs: a run begins, and its progress in a second is extrapolated.

That sees what no sum over flows does (how far TCP gets, what is dropped, how fast this machine is),
but not what begins later. Whether it is worth that second follows from the network: as many packets
as fit on its links.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.engine.packet_engine import (
    CompiledNetwork,
    Job,
    ResultsDecoder,
    make_exception,
    stream_runs,
)

if TYPE_CHECKING:
    from trunkline.network.types import Agent

OBSERVATION_S = 1.0  # How long a run is looked at [s of the clock].
MAX_UNOBSERVED_HOPS = 2e9  # Packet-hops of runs that are begun without a look: minutes.
MAX_PLAUSIBLE_CORE_S = 30 * 86_400.0
"""Time of a core from which runs are taken for a slip of the pen [s]."""
_PEAK_MEMORY_LINE = re.compile(r"VmHWM:\s+(\d+) kB")
_STOPPED_MESSAGE = re.compile(r"stopped at (\S+) s of the run: (\d+) events")


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected time, memory and events of runs."""

    runs: int
    events: float  # Events of the engine, over all runs.
    core_s: float  # Time of one core on this machine, over all runs [s].
    memory: float  # Maximum memory of the process during one run [B].

    def __str__(self) -> str:
        runs = "" if self.runs == 1 else f"{self.runs} runs: "
        return (
            f"{runs}about {self.events:.2g} events, {_format_duration(self.core_s)} of one core, "
            f"{self.memory / 1e6:.0f} MB"
        )

    def to_json(self) -> dict[str, Any]:
        """Build the object that ``--dry-run --json`` prints; null where no end is in sight."""
        is_finite = math.isfinite(self.core_s)
        return {
            "schema": 1,
            "runs": self.runs,
            "events": self.events if is_finite else None,
            "core_s": self.core_s if is_finite else None,
            "memory_bytes": self.memory if math.isfinite(self.memory) else None,
        }


def estimate_packet_hops(network: CompiledNetwork | str) -> float:
    """About how many packets senders can offer and all links send in a run.

    A sender that offers more than its link carries costs as much as if none were dropped.

    network: A compiled network, or its JSON.
    """
    data: Any = json.loads(network) if isinstance(network, str) else network.data
    sizes = [_estimate_packet_bytes(flow["agent"]) for flow in data["flows"]]
    offered = math.fsum(float(flow["agent"].get("rate_bit_s") or 0) for flow in data["flows"])
    capacity = offered + math.fsum(float(link["rate_bit_s"]) for link in data["links"])
    seconds = float(data["run"]["duration_ns"]) / 1e9
    return capacity * seconds / (8 * min(sizes, default=1500.0))


def forecast_runs(networks: Sequence[str], runs: int, *, seed: int = 1) -> Forecast:
    """Begin a run of each of some networks, and extrapolate its progress.

    networks: JSON of compiled networks that stand for all that will be run; at least one.
    runs: How many runs there will be, as many of each of them.
    seed: Seed of the runs that are begun.
    Raises ValueError, RuntimeError, OSError: As :func:`trunkline.engine.simulate`.
    """
    samples = [_observe_run(network, seed, OBSERVATION_S / len(networks)) for network in networks]
    return Forecast(
        runs,
        runs * math.fsum(sample.events for sample in samples) / len(samples),
        runs * math.fsum(sample.core_s for sample in samples) / len(samples),
        max(sample.memory for sample in samples),
    )


def _observe_run(network_json: str, seed: int, limit_s: float) -> Forecast:
    import time

    ended: list[tuple[str | None, Any]] = []
    _reset_peak_memory()
    memory_before, started_s = _read_peak_memory(), time.perf_counter()
    stream_runs(
        [(network_json, seed)],
        lambda _, failure, outcome: ended.append((failure, outcome)),
        threads=1,
        limit_time_s=limit_s,
    )
    elapsed_s, peak_memory = time.perf_counter() - started_s, _read_peak_memory()
    failure, outcome = ended[0]
    if failure is None:
        summary = ResultsDecoder().decode_results(Job(network_json, seed), outcome).summary
        return Forecast(1, float(summary["events"] or 0), elapsed_s, peak_memory)
    stop_match = _STOPPED_MESSAGE.match(outcome) if failure == "time" else None
    if stop_match is None:
        raise make_exception(failure, outcome)
    network = json.loads(network_json)
    simulated_share = float(stop_match[1]) * 1e9 / float(network["run"]["duration_ns"])
    if simulated_share == 0:
        return Forecast(1, math.inf, math.inf, peak_memory)
    # Memory grows with time for recorded values only; queues have a maximum.
    is_recording = network["run"]["trace"] or network["probes"]
    memory = (
        memory_before + (peak_memory - memory_before) / simulated_share
        if is_recording
        else peak_memory
    )
    return Forecast(1, int(stop_match[2]) / simulated_share, elapsed_s / simulated_share, memory)


def _estimate_packet_bytes(agent: Agent) -> float:
    """Mean IP packet of a sender [B]."""
    if agent["protocol"] == "tcp":
        return float(agent["mss_bytes"] + agent["header_bytes"])
    if agent["protocol"] == "control":
        return 150.0
    size: Any = agent["size"]
    if "fixed" in size:
        return float(size["fixed"]["bytes"] or 40)
    if "exponential" in size:
        return float(size["exponential"]["mean_bytes"])
    if "gumbel" in size:
        return float(size["gumbel"]["location_bytes"] + size["gumbel"]["header_bytes"])
    return float(min(size["choice"]["bytes"]))


def _reset_peak_memory() -> None:
    """Reset the peak to the present memory, where Linux allows it (proc(5), clear_refs)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _read_peak_memory() -> float:
    """Maximum memory that this process has held [B]."""
    import sys

    with contextlib.suppress(OSError):
        match = _PEAK_MEMORY_LINE.search(Path("/proc/self/status").read_text())
        if match is not None:
            return float(match[1]) * 1024
    try:
        import resource
    except ImportError:  # not on every platform
        return math.inf
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else peak * 1024)


def _format_duration(seconds: float) -> str:
    for name, unit in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.2g} s"
