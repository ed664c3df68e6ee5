"""TCP senders of the simulator beside those of a Linux kernel, where nothing is drawn.

``python tests/evidence/kernel_senders.py`` prints the table of the documentation;
``python tests/evidence/kernel_senders.py record`` runs those in the kernel that the file lacks.
"""

from __future__ import annotations

import csv
import math
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from trunkline.api import run_many
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import Scenario, load

FOLDER = Path(__file__).parent / "linux"
RECORD_FILE = FOLDER / "kernel-senders.csv"
DEFAULT_MEMORY = "4096 131072 6291456"
SMALLER_MEMORY = "4096 131072 1957600"
PROBE = "probes: [{flow: tcp, measure: ssthresh, every: 1 ms}]\n"

Case = tuple[str, str, str, str]
"""What is measured, rate, one-way delay or size, and port or memory."""

OWN_LINK: list[Case] = [
    ("own link", rate, "5 ms", port)
    for rate in ("2 Mbit/s", "10 Mbit/s", "50 Mbit/s", "100 Mbit/s")
    for port in ("fifo", "priority", "drr", "fq-codel")
]
HYSTART: list[Case] = [
    ("hystart", rate, far, memory)
    for rate in ("10 Mbit/s", "20 Mbit/s")
    for far in ("5 ms", "10 ms", "20 ms", "40 ms")
    for memory in (DEFAULT_MEMORY, SMALLER_MEMORY)
]
TRANSFERS: list[Case] = [
    ("transfer", far, size, DEFAULT_MEMORY)
    for far in ("5 ms", "20 ms", "45 ms")
    for size in ("30 kB", "100 kB", "250 kB")
]
DCTCP: list[Case] = [
    ("dctcp", rate, threshold, DEFAULT_MEMORY)
    for rate in ("10 Mbit/s", "50 Mbit/s")
    for threshold in ("1 ms", "2 ms", "5 ms")
]
CASES = [*OWN_LINK, *HYSTART, *TRANSFERS, *DCTCP]


def load_case(case: Case) -> Scenario:
    """The scenario of a case."""
    kind, first, second, last = case
    if kind == "own link":
        parameters = {"rate": first, "far": second, "port": last}
        overrides = {f"parameters.{key}": value for key, value in parameters.items()}
        return load(FOLDER / "own-link.yaml", overrides=overrides)
    text = (FOLDER / "controls.yaml").read_text()
    overrides = {"flows.tcp.receive_buffer": last, "ports.fifo.queue.limit": "1000 packets"}
    if kind == "hystart":
        text += PROBE
        overrides |= {"links.left-right.rate": first, "parameters.far": second}
        overrides["run.duration"] = "1 s"
    elif kind == "transfer":
        overrides |= {"parameters.far": first, "flows.tcp.size": second, "run.duration": "3 s"}
    else:
        aqm = f"{{kind: codel, arithmetic: linux, mtu: 1514 B, ce_threshold: {second}}}"
        text = text.replace("limit: 50 packets", f"limit: 50 packets, aqm: {aqm}")
        text = text.replace("duration: 30 s", "duration: 10 s, warm_up: 2 s")
        text += "probes: [{link: left->right, measure: queue-packets, every: 1 ms}]\n"
        overrides |= {"links.left-right.rate": first, "parameters.control": "dctcp"}
        overrides["parameters.marked"] = "true"
    return load(text, overrides=overrides)


def measure(case: Case, results: Results) -> tuple[float, float]:
    """Two values of a run.

    Own link: mean delay of the call [s], goodput of the data [bit/s]. HyStart: its window
    [segments], when it was set [s]. Transfer: when it ended [s], segments sent again. DCTCP: mean
    queue [packets], goodput [bit/s].
    """
    kind = case[0]
    if kind == "own link":
        call, data = (results.flows.where(flow=flow) for flow in ("call", "data"))
        return float(call["delay_mean_s"]), float(data["goodput_bit_s"])
    if kind == "hystart":
        steps = zip(results.series["time_s"], results.series["value"], strict=True)
        known = ((at, value) for at, value in steps if value is not None and math.isfinite(value))
        at, value = next(known, (0.0, 0.0))
        return float(value), float(at)
    flow = results.flows.where(flow="tcp")
    if kind == "transfer":
        return float(flow["finished_s"]), float(flow["retransmissions"])
    waiting = [value for value in results.series["value"] if value is not None]
    return sum(waiting) / len(waiting), float(flow["goodput_bit_s"])


@cache
def read_kernel_record() -> dict[Case, tuple[float, float]]:
    """What the kernel gave."""
    if not RECORD_FILE.exists():
        return {}
    with RECORD_FILE.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return {(row[0], row[1], row[2], row[3]): (float(row[4]), float(row[5])) for row in rows}


@cache
def run_simulator(case: Case) -> tuple[float, float]:
    """What the simulator of today gives."""
    return measure(case, run_many(load_case(case), seeds=[1])[0])


def record_kernel_runs() -> None:
    """Runs in the kernel the cases that the file has left out."""
    from trunkline.linux import engine

    recorded = read_kernel_record()
    with RECORD_FILE.open("a", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        if not recorded:
            lines.writerow(("kind", "first", "second", "last", "value", "other"))
        for case in CASES:
            if case not in recorded:
                network = compile(load_case(case)).to_json()
                with TemporaryDirectory() as folder:
                    run = engine.run_in_guest(network, 1, Path(folder), runner="uml")
                lines.writerow([*case, *(f"{value:.9g}" for value in measure(case, run.results))])
                file.flush()


def main() -> None:
    """Print the table."""
    print("| case | | | kernel | | simulator | |\n|" + "---|" * 7)
    for case, theirs in read_kernel_record().items():
        cells = [*case[:3], *(f"{value:.6g}" for value in (*theirs, *run_simulator(case)))]
        print("| " + " | ".join(cells) + f" | {case[3]}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record_kernel_runs()
    else:
        main()
