"""How much sooner one run ends on two threads: ``./dev bench --threads``.

Wall time needs idle cores; the load of the machine is printed beside it. Processor time, which
other work hardly moves, says what the cut itself costs.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import ours
from child import Spent, spend
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
            runs: list[list[Spent]] = [[] for _ in THREADS]
            for _ in range(ROUNDS):
                for place, threads in enumerate(THREADS):
                    runs[place].append(spend([engine, str(file), "1", str(threads)]))
            pairs = list(zip(*runs, strict=True))
            found[name] = {
                "speed_up": round(median(a.wall_s / b.wall_s for a, b in pairs), 3),
                "cpu_ratio": round(median(b.cpu_s / a.cpu_s for a, b in pairs), 3),
                "same_results": len({run.printed for pair in pairs for run in pair}) == 1,
                "load": round(os.getloadavg()[0], 1),
            }
    if as_json:
        print(json.dumps(found))
    else:
        for name, line in found.items():
            print(f"{name}: {line}")
    return all(line["same_results"] for line in found.values())
