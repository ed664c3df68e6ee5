"""How much sooner one run ends on two threads: ``./dev bench --threads``.

Wall time needs idle cores; the load of the machine is printed beside it. Processor time, which
other work hardly moves, says what the cut itself costs.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import ours
from ring import ring
from workloads import MBIT, WORKLOADS

ROUNDS = 5
THREADS = (1, 2)
# Simulated time of W3 [s]: longer than in the race, so that the start is a small part.
SECONDS = 2.0


def networks() -> dict[str, str]:
    """The networks that are run.

    Returns
    -------
    dict of str to str
        Compiled networks by name.
    """
    workload = WORKLOADS["W3"]()
    backbone = ours.compiled(workload, workload.seconds)
    return {
        "W3": ours.lasting(backbone, round(SECONDS * 1e9)),
        "10,000 links": ring(5_000, 5_000, 100 * MBIT, 100, 0.5),
    }


def spend(engine: str, file: Path, threads: int) -> tuple[float, float, bytes]:
    """Run a network on some threads.

    Parameters
    ----------
    engine : str
        Path of ``trunkline-sim``.
    file : Path
        A compiled network.
    threads : int
        Threads.

    Returns
    -------
    (float, float, bytes)
        Time of the clock [s], processor time [s], what it printed.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    at = time.perf_counter()
    done = subprocess.run([engine, str(file), "1", str(threads)], capture_output=True, check=True)
    wall = time.perf_counter() - at
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, used, done.stdout


def report(engine: str, *, as_json: bool) -> bool:
    """Measure in rotation and print.

    Parameters
    ----------
    engine : str
        Path of ``trunkline-sim``.
    as_json : bool
        One JSON object in place of text.

    Returns
    -------
    bool
        Whether the number of threads changed nothing.
    """
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory(prefix="trunkline-threads-") as folder:
        for name, network in networks().items():
            file = Path(folder) / "network.json"
            file.write_text(network, "utf-8")
            runs: list[list[tuple[float, float, bytes]]] = [[] for _ in THREADS]
            for _ in range(ROUNDS):
                for place, threads in enumerate(THREADS):
                    runs[place].append(spend(engine, file, threads))
            one, two = runs
            found[name] = {
                "speed_up": round(median(a[0] / b[0] for a, b in zip(one, two, strict=True)), 3),
                "cpu_ratio": round(median(b[1] / a[1] for a, b in zip(one, two, strict=True)), 3),
                "same_results": len({run[2] for run in one + two}) == 1,
                "load": round(os.getloadavg()[0], 1),
            }
    if as_json:
        print(json.dumps(found))
    else:
        for name, line in found.items():
            print(f"{name}: {line}")
    return all(line["same_results"] for line in found.values())
