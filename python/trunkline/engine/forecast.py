"""What runs will take, foreseen: a run is begun, and what it does in a second is carried on.

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

from trunkline.engine.sim import Compiled, Decoder, Job, error_of, stream

if TYPE_CHECKING:
    from trunkline.network.types.flows import Agent

LOOK_S = 1.0
"""How long a run is looked at [s of the clock]."""
SMALL_HOPS = 2e9
"""Packet-hops of runs that are begun without a look: minutes."""
MOST_S = 30 * 86_400.0
"""Time of a core from which runs are taken for a slip of the pen [s]."""
_HELD = re.compile(r"VmHWM:\s+(\d+) kB")
_STOPPED = re.compile(r"stopped at (\S+) s of the run: (\d+) events")


@dataclass(frozen=True, slots=True)
class Forecast:
    """What runs will take.

    Parameters
    ----------
    events : float
        Events of the engine, over all runs.
    core_s : float
        Time of one core on this machine, over all runs [s].
    memory : float
        Maximum memory of the process during one run [B].
    """

    runs: int
    events: float
    core_s: float
    memory: float

    def __str__(self) -> str:
        runs = "" if self.runs == 1 else f"{self.runs} runs: "
        return (
            f"{runs}about {self.events:.2g} events, {_time(self.core_s)} of one core, "
            f"{self.memory / 1e6:.0f} MB"
        )

    def to_json(self) -> dict[str, Any]:
        """As ``--dry-run --json`` prints it; null where nothing moves on and no end is in sight."""
        known = math.isfinite(self.core_s)
        return {
            "schema": 1,
            "runs": self.runs,
            "events": self.events if known else None,
            "core_s": self.core_s if known else None,
            "memory_bytes": self.memory if math.isfinite(self.memory) else None,
        }


def most_hops(network: Compiled | str) -> float:
    """About how many packets senders can offer and all links send in a run.

    A sender that offers more than its link carries costs as much as if none were dropped.

    Parameters
    ----------
    network : Network or str
        A compiled network, or its JSON.
    """
    data: Any = json.loads(network) if isinstance(network, str) else network.data
    sizes = [_size(flow["agent"]) for flow in data["flows"]]
    offered = math.fsum(float(flow["agent"].get("rate_bit_s") or 0) for flow in data["flows"])
    capacity = offered + math.fsum(float(link["rate_bit_s"]) for link in data["links"])
    seconds = float(data["run"]["duration_ns"]) / 1e9
    return capacity * seconds / (8 * min(sizes, default=1500.0))


def forecast(networks: Sequence[str], runs: int, *, seed: int = 1) -> Forecast:
    """Begin a run of each of some networks, and carry on what it does.

    Parameters
    ----------
    networks : sequence of str
        JSON of compiled networks that stand for all that will be run; at least one.
    runs : int
        How many runs there will be, as many of each of them.
    seed : int, default 1
        Of the runs that are begun.

    Raises
    ------
    ValueError, RuntimeError, OSError
        As :func:`trunkline.engine.simulate`.
    """
    each = [_begun(network, seed, LOOK_S / len(networks)) for network in networks]
    return Forecast(
        runs,
        runs * math.fsum(one.events for one in each) / len(each),
        runs * math.fsum(one.core_s for one in each) / len(each),
        max(one.memory for one in each),
    )


def _begun(network_json: str, seed: int, look_s: float) -> Forecast:
    import time

    came: list[tuple[str | None, Any]] = []
    _forget_peak()
    before, at = _peak(), time.perf_counter()
    stream(
        [(network_json, seed)],
        lambda _, failure, outcome: came.append((failure, outcome)),
        threads=1,
        limit_time_s=look_s,
    )
    took, peak = time.perf_counter() - at, _peak()
    failure, outcome = came[0]
    if failure is None:
        summary = Decoder().results(Job(network_json, seed), outcome).summary
        return Forecast(1, float(summary["events"] or 0), took, peak)
    stopped = _STOPPED.match(outcome) if failure == "time" else None
    if stopped is None:
        raise error_of(failure, outcome)
    network = json.loads(network_json)
    share = float(stopped[1]) * 1e9 / float(network["run"]["duration_ns"])
    if share == 0:
        return Forecast(1, math.inf, math.inf, peak)
    # Memory that grows with time is that of what is recorded; queues fill and are full.
    recorded = network["run"]["trace"] or network["probes"]
    memory = before + (peak - before) / share if recorded else peak
    return Forecast(1, int(stopped[2]) / share, took / share, memory)


def _size(agent: Agent) -> float:
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


def _forget_peak() -> None:
    """Let the peak be what is held now, where Linux allows it (proc(5), clear_refs)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    """Maximum memory that this process has held [B]."""
    import sys

    with contextlib.suppress(OSError):
        found = _HELD.search(Path("/proc/self/status").read_text())
        if found is not None:
            return float(found[1]) * 1024
    try:
        import resource
    except ImportError:  # not on every platform
        return math.inf
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(most if sys.platform == "darwin" else most * 1024)


def _time(seconds: float) -> str:
    for name, unit in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.2g} s"
