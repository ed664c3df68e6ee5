"""How the cost of a packet-hop and the memory grow: ``./dev bench --scaling``.

Each figure is the least processor time of a few runs, less that of a run of no simulated time:
what else the machine does only adds. Instructions and misses of the last-level cache, as callgrind
models one of 8 MiB, stand beside it: they do not move with the load.
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

import counts
import ours
from child import spend
from ring import probed, ring
from workloads import MBIT, WORKLOADS

ROUNDS = 3
PICTURE = Path(__file__).parent.parent / "docs" / "reference" / "performance.svg"
HOPS = 2_000_000
"""About how many packet-hops a point of a curve simulates."""
LINKS = (10, 100, 1_000, 10_000)
FLOWS = (10, 100, 1_000, 10_000, 100_000)
RING = 50
"""Routers of the ring whose flows grow in number."""
COUNTED = 300_000
"""About how many packet-hops are counted by callgrind."""
STEP_NS = 10_000_000
"""Step of recorded series [ns]."""


@dataclass(frozen=True)
class Cost:
    """What a run took.

    Parameters
    ----------
    hops : int
        Packet-hops.
    cpu_s : float
        Processor time without the start [s].
    start_cpu_s : float
        Processor time of the start: reading the network, routes [s].
    peak_bytes : int
        Maximum memory resident [B].
    start_bytes : int
        Maximum memory of a run of no simulated time [B].
    packets : int
        Maximum number of packets at once.
    """

    hops: int
    cpu_s: float
    start_cpu_s: float
    peak_bytes: int
    start_bytes: int
    packets: int

    @property
    def ns_per_hop(self) -> float:
        """Processor time of a packet-hop [ns]."""
        return self.cpu_s / self.hops * 1e9


def cost(engine: str, network: str) -> Cost:
    """Measure a network.

    Parameters
    ----------
    engine : str
        Path of ``trunkline-sim``.
    network : str
        A compiled network.

    Returns
    -------
    Cost
    """
    with tempfile.TemporaryDirectory(prefix="trunkline-scaling-") as folder:
        full, idle = Path(folder) / "full.json", Path(folder) / "idle.json"
        full.write_text(network, "utf-8")
        idle.write_text(ours.lasting(network, 1), "utf-8")
        started = [spend([engine, str(idle)]) for _ in range(ROUNDS)]
        ended = [spend([engine, str(full)]) for _ in range(ROUNDS)]
    start, whole = (min(run.cpu_s for run in runs) for runs in (started, ended))
    summary = json.loads(ended[0].printed)["summary"]
    return Cost(
        hops=summary["packet_hops"][0],
        cpu_s=max(whole - start, 1e-9),
        start_cpu_s=start,
        peak_bytes=max(run.peak_bytes for run in ended),
        start_bytes=max(run.peak_bytes for run in started),
        packets=summary["packets_peak"][0],
    )


def counted(engine: str, network: str) -> dict[str, float]:
    """Instructions and misses of the last-level cache, which no other program moves.

    Parameters
    ----------
    engine : str
        Path of ``trunkline-sim``.
    network : str
        A compiled network; its run is cut to about `COUNTED` packet-hops.

    Returns
    -------
    dict
        Both per packet-hop; empty without valgrind.
    """
    if shutil.which("valgrind") is None:
        return {}
    about = json.loads(network)
    ends = 7_000 * len(about["flows"]) / 1e9
    # Flows start within 10 ms.
    short = min(max(round(COUNTED / ends), 30_000_000), about["run"]["duration_ns"])
    found = []
    with tempfile.TemporaryDirectory(prefix="trunkline-scaling-") as folder:
        for duration_ns in (1, short):
            file = Path(folder) / "network.json"
            file.write_text(ours.lasting(network, duration_ns), "utf-8")
            found.append(counts.events([engine, str(file)]))
    hops = json.loads(found[1][2])["summary"]["packet_hops"][0]
    return {
        "instructions_per_hop": round((found[1][0] - found[0][0]) / hops, 1),
        "misses_per_hop": round((found[1][1] - found[0][1]) / hops, 2),
    }


def by_links(links: int) -> str:
    """A ring with a flow a router; its work per link does not depend on its size.

    Parameters
    ----------
    links : int
        One-way links.

    Returns
    -------
    str
    """
    nodes = links // 2
    # A window of 8 packets in some 13 ms over some 6 links: about 7,000 hops a flow and second.
    seconds = max(HOPS / (7_000 * nodes), 0.2)
    return ring(nodes, nodes, 100 * MBIT, 100, seconds)


def by_flows(flows: int) -> str:
    """A ring of 100 links whose capacity grows with its flows.

    Parameters
    ----------
    flows : int
        TCP flows.

    Returns
    -------
    str
    """
    seconds = max(HOPS / (7_000 * flows), 0.05)
    return ring(RING, flows, max(flows * MBIT, 10 * MBIT), 50 + flows // 10, seconds)


def two_threads(network: str) -> dict[str, float]:
    """Two replications one after the other and on two threads.

    Parameters
    ----------
    network : str
        A compiled network.

    Returns
    -------
    dict
        Ratios: how much sooner two threads end, and the processor time they take, over one's.
    """
    from trunkline.engine import simulate

    wall: list[list[float]] = [[], []]
    used: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for place, threads in enumerate((1, 2)):
            before, at = time.process_time(), time.perf_counter()
            simulate(network, seeds=[1, 2], threads=threads)
            wall[place].append(time.perf_counter() - at)
            used[place].append(time.process_time() - before)
    return {
        "speed_up": round(min(wall[0]) / min(wall[1]), 3),
        "cpu_ratio": round(min(used[1]) / min(used[0]), 3),
        "load": round(os.getloadavg()[0], 1),
    }


def report(engine: str, *, as_json: bool) -> None:
    """Measure everything, print it and redraw the picture.

    Parameters
    ----------
    engine : str
        Path of ``trunkline-sim``.
    as_json : bool
        One JSON object in place of text.
    """
    found: dict[str, Any] = {}
    curves: dict[str, list[tuple[int, float]]] = {}
    for kind, sizes, make in (("links", LINKS, by_links), ("flows", FLOWS, by_flows)):
        costs = [cost(engine, make(size)) for size in sizes]
        curves[kind] = [(n, c.ns_per_hop) for n, c in zip(sizes, costs, strict=True)]
        found[kind] = [
            {
                kind: size,
                "packet_hops": c.hops,
                "ns_per_hop": round(c.ns_per_hop, 1),
                "start_cpu_s": round(c.start_cpu_s, 3),
                "peak_mb": round(c.peak_bytes / 1e6, 1),
                **counted(engine, make(size)),
            }
            for size, c in zip(sizes, costs, strict=True)
        ]
        if kind == "flows":
            more = FLOWS[-1] - FLOWS[-2]
            found["bytes_per_flow"] = round((costs[-1].start_bytes - costs[-2].start_bytes) / more)
    workload = WORKLOADS["W3"]()
    backbone = ours.compiled(workload, workload.seconds)
    plain, recorded = cost(engine, backbone), cost(engine, probed(backbone, STEP_NS))
    found["w3"] = {
        "ns_per_hop": round(plain.ns_per_hop, 1),
        "peak_mb": round(plain.peak_bytes / 1e6, 1),
        "packets_peak": plain.packets,
        "bytes_per_packet_in_flight": round((plain.peak_bytes - plain.start_bytes) / plain.packets),
        "series_overhead": round(recorded.cpu_s / plain.cpu_s - 1, 3),
    }
    found["two_threads"] = two_threads(backbone)
    draw(curves)
    if as_json:
        print(json.dumps(found))
        return
    for key, value in found.items():
        for line in value if isinstance(value, list) else [value]:
            print(f"{key}: {line}")
    print(f"drawn: {PICTURE.relative_to(PICTURE.parents[2])}")


def draw(curves: dict[str, list[tuple[int, float]]]) -> None:
    """Draw the cost of a packet-hop over links and over flows.

    Parameters
    ----------
    curves : dict of str to list of (int, float)
        Size and cost [ns].
    """
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
    figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)
