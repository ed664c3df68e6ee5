"""How much sooner one run ends on two threads: ``./dev bench --threads``.

Wall time needs idle cores; the output has the load of the machine as well. Processor time, which
other work hardly moves, says what the cut itself costs.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import trunkline_engine
from child_usage import ResourceUsage, measure_command
from ring_networks import make_ring
from workloads import MBIT_BIT_S, MS_NS, WORKLOADS, TransferFlow, Workload, WorkloadLink

TIMED_ROUNDS = 5
THREAD_COUNTS = (1, 2)
# Simulated time of W3 [s]: longer than in the race, so that the start is a small part.
SIMULATED_S = 2.0
# Failures of connections, and from one to the next [ns].
FAILURE_COUNT = 10
FAILURE_STEP_NS = 150_000_000
# Rows and columns of routers, each joined to four others: 1,000 one-way links.
GRID_SIZE = (10, 25)
GRID_DURATION_NS = 4_000_000_000
# Simulated time of a run whose every packet is kept, and printed [ns].
TRACED_DURATION_NS = 100_000_000


def make_networks() -> dict[str, str]:
    """The networks that are run. Returns: Compiled networks by name."""
    workload = WORKLOADS["W3"]()
    backbone = trunkline_engine.compile_workload(workload, workload.seconds)
    labelled = WORKLOADS["W4"]()
    return {
        "W3": trunkline_engine.set_duration(backbone, round(SIMULATED_S * 1e9)),
        "W4": trunkline_engine.compile_workload(labelled, labelled.seconds),
        "W3 with failures": trunkline_engine.set_duration(
            add_failures(backbone), round(SIMULATED_S * 1e9)
        ),
        "W3 with a trace": trunkline_engine.set_duration(
            enable_trace(backbone), TRACED_DURATION_NS
        ),
        "10,000 links": make_ring(5_000, 5_000, 100 * MBIT_BIT_S, 100, 0.5),
        "1,000 links with transfers and RSVP-TE": make_signalled_grid(),
        "1,000 links with transfers, OSPF and failures": make_routed_grid(),
    }


def make_signalled_grid() -> str:
    """A torus whose routers send transfers over paths that RSVP-TE sets up, each with an account.

    Returns: The compiled network.
    """
    rows, columns = GRID_SIZE
    names = [[f"r{row}c{column}" for column in range(columns)] for row in range(rows)]
    links, transfers = [], []
    for row in range(rows):
        for column in range(columns):
            here, right = names[row][column], names[row][(column + 1) % columns]
            below = names[(row + 1) % rows][column]
            for other in (right, below):
                links.append(WorkloadLink(here, other, 100 * MBIT_BIT_S, 2 * MS_NS, 200))
            for step in (2, 3):
                end = names[(row + step) % rows][(column + step) % columns]
                transfers.append(TransferFlow(here, end, 30_000, 6 * MBIT_BIT_S))
    grid = Workload(
        name="grid",
        about="",
        seconds=1.0,
        nodes=tuple(name for line in names for name in line),
        links=tuple(links),
        tcp=(),
        mesh=True,
        transfers=tuple(transfers),
        signalled=True,
    )
    document = json.loads(trunkline_engine.compile_workload(grid, grid.seconds))
    document["signalling"]["rsvp"]["processing_ns"] = MS_NS
    for path in document["paths"]:
        path["account"] = True
    return trunkline_engine.set_duration(json.dumps(document), GRID_DURATION_NS)


def make_routed_grid() -> str:
    """The same torus with OSPF, where connections fail and come back.

    Returns: The compiled network.
    """
    document = json.loads(make_signalled_grid())
    document["signalling"] |= {
        "rsvp": None,
        "ospf": {
            "flow": document["signalling"]["rsvp"]["flow"],
            "processing_ns": MS_NS,
            "resend_ns": 5_000 * MS_NS,
            "lsa_interval_ns": 5_000 * MS_NS,
            "lsa_arrival_ns": 1_000 * MS_NS,
            "hello_ns": 1_000 * MS_NS,
            "dead_ns": 4_000 * MS_NS,
            "spf": {
                "kind": "backoff",
                "initial_ns": 50 * MS_NS,
                "second_ns": 200 * MS_NS,
                "maximum_ns": 5_000 * MS_NS,
            },
            "compute_ns": MS_NS,
            "fib_update_ns": [10 * MS_NS] * len(document["nodes"]),
            "multipath": False,
        },
    }
    for path in document["paths"]:
        path["account"] = False
    document["recovery"] = {"failures": list_failures(document), "protections": []}
    return json.dumps(document)


def add_failures(network: str) -> str:
    """Let one connection after the other fail and come back, with link-state routing around it.

    network: A compiled network.
    """
    document = json.loads(network)
    rerouting = {
        "detection": {"kind": "bfd", "interval_ns": 10_000_000, "multiplier": 3},
        "processing_ns": 1_000_000,
        "spf_delay_ns": 50_000_000,
    }
    failures = list_failures(document)
    document["recovery"] = {"failures": failures, "protections": [], "rerouting": rerouting}
    return json.dumps(document)


def list_failures(document: dict[str, Any]) -> list[dict[str, Any]]:
    """One connection after the other fails and comes back. document: A compiled network."""
    place = {(link["from"], link["to"]): index for index, link in enumerate(document["links"])}
    forward = [ends for ends in place if ends[0] < ends[1]]
    return [
        {
            "name": f"cut{number}",
            "links": [place[ends], place[ends[::-1]]],
            "node": False,
            "outages": {
                "kind": "fixed",
                "at": [
                    {
                        "failed_ns": (number + 1) * FAILURE_STEP_NS,
                        "repaired_ns": (number + 3) * FAILURE_STEP_NS,
                    }
                ],
            },
        }
        for number, ends in enumerate(forward[:: len(forward) // FAILURE_COUNT][:FAILURE_COUNT])
    ]


def enable_trace(network: str) -> str:
    """Keep every event of every packet. network: A compiled network."""
    document = json.loads(network)
    document["run"]["trace"] = True
    return json.dumps(document)


def report(engine: str, *, as_json: bool) -> bool:
    """Measure in rotation and print.

    engine: Path of ``trunkline-sim``.
    as_json: One JSON object in place of text.
    Returns: Whether the number of threads changed nothing.
    """
    measurements: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="trunkline-threads-") as folder:
        for name, network in make_networks().items():
            file = Path(folder) / "network.json"
            file.write_text(network, "utf-8")
            runs: list[list[ResourceUsage]] = [[] for _ in THREAD_COUNTS]
            for _ in range(TIMED_ROUNDS):
                for index, threads in enumerate(THREAD_COUNTS):
                    runs[index].append(measure_command([engine, str(file), "1", str(threads)]))
            pairs = list(zip(*runs, strict=True))
            measurements[name] = {
                "speed_up": round(
                    median(
                        one_thread.wall_s / two_threads.wall_s for one_thread, two_threads in pairs
                    ),
                    3,
                ),
                "cpu_ratio": round(
                    median(
                        two_threads.cpu_s / one_thread.cpu_s for one_thread, two_threads in pairs
                    ),
                    3,
                ),
                "same_results": len({run.printed for pair in pairs for run in pair}) == 1,
                "load": round(os.getloadavg()[0], 1),
            }
    if as_json:
        print(json.dumps(measurements))
    else:
        for name, line in measurements.items():
            print(f"{name}: {line}")
    return all(line["same_results"] for line in measurements.values())
