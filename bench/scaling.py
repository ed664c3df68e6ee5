"""How the cost of a packet-hop and the memory grow: ``./dev bench --scaling``.

Each figure is the least processor time of a few runs, less that of a run of no simulated time:
what else the machine does only adds. Instructions and misses of the last-level cache, as callgrind
models one of 8 MiB, stay next to it: they do not move with the load.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import instruction_counts
import trunkline_engine
from child_usage import measure_command
from ring_networks import add_probes, make_ring
from workloads import MBIT_BIT_S, WORKLOADS

TIMED_ROUNDS = 3
PICTURE_FILE = Path(__file__).parent.parent / "docs" / "reference" / "performance.svg"
SIMULATED_HOPS = 2_000_000
"""About how many packet-hops a point of a curve simulates."""
LINK_COUNTS = (10, 100, 1_000, 10_000)
FLOW_COUNTS = (10, 100, 1_000, 10_000, 100_000)
RING_ROUTERS = 50
"""Routers of the ring whose flows grow in number."""
COUNTED_HOPS = 300_000
"""About how many packet-hops are counted by callgrind."""
PROBE_STEP_NS = 10_000_000
"""Step of recorded series [ns]."""


@dataclass(frozen=True)
class RunCost:
    """Time and memory of a run."""

    hops: int  # Packet-hops.
    cpu_s: float  # Processor time without the start [s].
    start_cpu_s: float  # Processor time of the start: reading the network, routes [s].
    peak_bytes: int  # Maximum memory resident [B].
    start_bytes: int  # Maximum memory of a run of no simulated time [B].
    packets: int  # Maximum number of packets at once.

    @property
    def ns_per_hop(self) -> float:
        """Processor time of a packet-hop [ns]."""
        return self.cpu_s / self.hops * 1e9


def measure_cost(engine: str, network: str) -> RunCost:
    """Measure a network.

    engine: Path of ``trunkline-sim``.
    network: A compiled network.
    """
    with tempfile.TemporaryDirectory(prefix="trunkline-scaling-") as folder:
        full, idle = Path(folder) / "full.json", Path(folder) / "idle.json"
        full.write_text(network, "utf-8")
        idle.write_text(trunkline_engine.set_duration(network, 1), "utf-8")
        started = [measure_command([engine, str(idle)]) for _ in range(TIMED_ROUNDS)]
        ended = [measure_command([engine, str(full)]) for _ in range(TIMED_ROUNDS)]
    start_cpu_s, run_cpu_s = (min(run.cpu_s for run in runs) for runs in (started, ended))
    summary = json.loads(ended[0].printed)["summary"]
    return RunCost(
        hops=summary["packet_hops"][0],
        cpu_s=max(run_cpu_s - start_cpu_s, 1e-9),
        start_cpu_s=start_cpu_s,
        peak_bytes=max(run.peak_bytes for run in ended),
        start_bytes=max(run.peak_bytes for run in started),
        packets=summary["packets_peak"][0],
    )


def count_instructions_and_misses(engine: str, network: str) -> dict[str, float]:
    """Instructions and misses of the last-level cache, which no other program moves.

    engine: Path of ``trunkline-sim``.
    network: A compiled network; its run is cut to about `COUNTED_HOPS` packet-hops.
    Returns: Both per packet-hop; empty without valgrind.
    """
    if shutil.which("valgrind") is None:
        return {}
    network_data = json.loads(network)
    arrivals_per_ns = 7_000 * len(network_data["flows"]) / 1e9
    # Flows start within 10 ms.
    short = min(
        max(round(COUNTED_HOPS / arrivals_per_ns), 30_000_000), network_data["run"]["duration_ns"]
    )
    counts_by_duration = []
    with tempfile.TemporaryDirectory(prefix="trunkline-scaling-") as folder:
        for duration_ns in (1, short):
            file = Path(folder) / "network.json"
            file.write_text(trunkline_engine.set_duration(network, duration_ns), "utf-8")
            counts_by_duration.append(instruction_counts.count_events([engine, str(file)]))
    hops = json.loads(counts_by_duration[1][2])["summary"]["packet_hops"][0]
    return {
        "instructions_per_hop": round(
            (counts_by_duration[1][0] - counts_by_duration[0][0]) / hops, 1
        ),
        "misses_per_hop": round((counts_by_duration[1][1] - counts_by_duration[0][1]) / hops, 2),
    }


def make_ring_of_links(links: int) -> str:
    """A ring with a flow a router; its work per link does not depend on its size.

    links: One-way links.
    """
    nodes = links // 2
    # A window of 8 packets in some 13 ms over some 6 links: about 7,000 hops a flow and second.
    seconds = max(SIMULATED_HOPS / (7_000 * nodes), 0.2)
    return make_ring(nodes, nodes, 100 * MBIT_BIT_S, 100, seconds)


def make_ring_of_flows(flows: int) -> str:
    """A ring of 100 links whose capacity grows with its flows. flows: TCP flows."""
    seconds = max(SIMULATED_HOPS / (7_000 * flows), 0.05)
    return make_ring(
        RING_ROUTERS, flows, max(flows * MBIT_BIT_S, 10 * MBIT_BIT_S), 50 + flows // 10, seconds
    )


def measure_two_threads(network: str) -> dict[str, float]:
    """Two replications one after the other and on two threads.

    network: A compiled network.
    Returns: Ratios: how much sooner two threads end, and the processor time they take, over one's.
    """
    from trunkline.engine import simulate

    wall: list[list[float]] = [[], []]
    used: list[list[float]] = [[], []]
    for _ in range(TIMED_ROUNDS):
        for index, threads in enumerate((1, 2)):
            cpu_before, started_at = time.process_time(), time.perf_counter()
            simulate(network, seeds=[1, 2], threads=threads)
            wall[index].append(time.perf_counter() - started_at)
            used[index].append(time.process_time() - cpu_before)
    return {
        "speed_up": round(min(wall[0]) / min(wall[1]), 3),
        "cpu_ratio": round(min(used[1]) / min(used[0]), 3),
        "load": round(os.getloadavg()[0], 1),
    }


def report(engine: str, *, as_json: bool) -> None:
    """Measure everything, print it and redraw the picture.

    engine: Path of ``trunkline-sim``.
    as_json: One JSON object in place of text.
    """
    measurements: dict[str, Any] = {}
    curves: dict[str, list[tuple[int, float]]] = {}
    for kind, sizes, make in (
        ("links", LINK_COUNTS, make_ring_of_links),
        ("flows", FLOW_COUNTS, make_ring_of_flows),
    ):
        costs = [measure_cost(engine, make(size)) for size in sizes]
        curves[kind] = [
            (size_, run_cost.ns_per_hop) for size_, run_cost in zip(sizes, costs, strict=True)
        ]
        measurements[kind] = [
            {
                kind: size,
                "packet_hops": run_cost.hops,
                "ns_per_hop": round(run_cost.ns_per_hop, 1),
                "start_cpu_s": round(run_cost.start_cpu_s, 3),
                "peak_mb": round(run_cost.peak_bytes / 1e6, 1),
                **count_instructions_and_misses(engine, make(size)),
            }
            for size, run_cost in zip(sizes, costs, strict=True)
        ]
        if kind == "flows":
            added_flows = FLOW_COUNTS[-1] - FLOW_COUNTS[-2]
            measurements["bytes_per_flow"] = round(
                (costs[-1].start_bytes - costs[-2].start_bytes) / added_flows
            )
    workload = WORKLOADS["W3"]()
    backbone = trunkline_engine.compile_workload(workload, workload.seconds)
    plain, recorded = (
        measure_cost(engine, backbone),
        measure_cost(engine, add_probes(backbone, PROBE_STEP_NS)),
    )
    measurements["w3"] = {
        "ns_per_hop": round(plain.ns_per_hop, 1),
        "peak_mb": round(plain.peak_bytes / 1e6, 1),
        "packets_peak": plain.packets,
        "bytes_per_packet_in_flight": round((plain.peak_bytes - plain.start_bytes) / plain.packets),
        "series_overhead": round(recorded.cpu_s / plain.cpu_s - 1, 3),
    }
    measurements["two_threads"] = measure_two_threads(backbone)
    draw_curves(curves)
    if as_json:
        print(json.dumps(measurements))
        return
    for key, value in measurements.items():
        for line in value if isinstance(value, list) else [value]:
            print(f"{key}: {line}")
    print(f"drawn: {PICTURE_FILE.relative_to(PICTURE_FILE.parents[2])}")


def draw_curves(curves: dict[str, list[tuple[int, float]]]) -> None:
    """Draw the cost of a packet-hop over links and over flows. curves: Size and cost [ns]."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "trunkline"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
    titles = {"links": "one-way links", "flows": "TCP flows"}
    for axis, (kind, points) in zip(axes, curves.items(), strict=True):
        sizes, costs = zip(*points, strict=True)
        axis.semilogx(sizes, costs, "o-")
        axis.set_xlabel(titles[kind])
        axis.set_ylim(bottom=0)
        axis.grid(visible=True, alpha=0.3)
    axes[0].set_ylabel("processor time per packet-hop [ns]")
    figure.savefig(PICTURE_FILE, metadata={"Date": None})
    plt.close(figure)
