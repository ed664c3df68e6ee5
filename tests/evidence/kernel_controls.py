"""Congestion controls of the simulator beside those of a Linux kernel, queue by queue.

``python tests/evidence/kernel_controls.py`` prints the table of the documentation;
``python tests/evidence/kernel_controls.py record N`` runs N seeds in the kernel, for minutes.
"""

from __future__ import annotations

import csv
import sys
from functools import cache
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from trunkline.api import run_many
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import Scenario, load
from trunkline.stats import paired_difference

FOLDER = Path(__file__).parent / "linux"
RECORD_FILE = FOLDER / "kernel-controls.csv"
CONTROLS = ("cubic", "bbr", "dctcp")
QUEUES = ("fifo", "red", "fq-codel")
COLUMNS = ("control", "queue", "seed", "goodput_bit_s", "packets_dropped")


def load_scenario(control: str, queue: str, seed: int) -> Scenario:
    """One flow of a control through a queue; the path is 0.2 ms longer for each seed."""
    parameters = {
        "control": control,
        "paced": str(control == "bbr").lower(),
        "marked": str(control == "dctcp").lower(),
        "queue": queue,
        "far": f"{20_000 + (seed - 1) * 200} us",
    }
    overrides = {f"parameters.{key}": value for key, value in parameters.items()}
    return load(FOLDER / "controls.yaml", overrides=overrides)


def measure(results: Results) -> tuple[float, float]:
    """Goodput [bit/s], packets dropped."""
    goodput = results.flows.where(flow="tcp")["goodput_bit_s"]
    return float(goodput), float(sum(results.ports["packets_dropped"]))


@cache
def read_kernel_record() -> dict[tuple[str, str], dict[int, tuple[float, float]]]:
    """What the kernel gave, by control and queue, then by seed."""
    found: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
    with RECORD_FILE.open(newline="") as file:
        for row in csv.DictReader(file):
            goodput_and_drops = float(row["goodput_bit_s"]), float(row["packets_dropped"])
            found.setdefault((row["control"], row["queue"]), {})[int(row["seed"])] = (
                goodput_and_drops
            )
    return found


@cache
def run_simulator(control: str, queue: str, seeds: tuple[int, ...]) -> list[tuple[float, float]]:
    """What the simulator of today gives for these seeds."""
    return [
        measure(run_many(load_scenario(control, queue, seed), seeds=[seed])[0]) for seed in seeds
    ]


def record_kernel_runs(seeds: int) -> None:
    """Runs in the kernel, seed by seed, those that the file has left out."""
    from trunkline.linux import engine

    recorded_runs = read_kernel_record() if RECORD_FILE.exists() else {}
    with RECORD_FILE.open("a", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        if not recorded_runs:
            lines.writerow(COLUMNS)
        for seed in range(1, seeds + 1):
            for control in CONTROLS:
                for queue in QUEUES:
                    if seed in recorded_runs.get((control, queue), {}):
                        continue
                    network = compile(load_scenario(control, queue, seed)).to_json()
                    with TemporaryDirectory() as folder:
                        results = engine.run_in_guest(
                            network, seed, Path(folder), runner="uml"
                        ).results
                    goodput, dropped = measure(results)
                    lines.writerow([control, queue, seed, round(goodput), round(dropped)])
                    file.flush()


def main() -> None:
    """Print the table."""
    heads = ["control", "queue", "goodput, Mbit/s: kernel", "simulator", "", "drops: kernel"]
    print("| " + " | ".join([*heads, "simulator", ""]) + " |\n|" + "---|" * 8)
    for (control, queue), runs in read_kernel_record().items():
        simulator_runs = run_simulator(control, queue, tuple(runs))
        cells = [control, queue]
        for index, (scale, digits) in enumerate(((1e6, 3), (1.0, 1))):
            kernel_values, simulator_values = (
                [goodput_and_drops[index] for goodput_and_drops in runs.values()],
                [goodput_and_drops[index] for goodput_and_drops in simulator_runs],
            )
            difference, mean = (
                paired_difference(simulator_values, kernel_values),
                fmean(kernel_values),
            )
            cells += [
                f"{fmean(values) / scale:.{digits}f}"
                for values in (kernel_values, simulator_values)
            ]
            percent_scale = 100 / mean if mean else 0.0
            cells.append(
                f"{percent_scale * difference.mean:+.2f} ± "
                f"{percent_scale * difference.half_width:.2f} %"
            )
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record_kernel_runs(int(sys.argv[2]))
    else:
        main()
