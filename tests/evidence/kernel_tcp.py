"""TCP of the simulator beside TCP of a Linux kernel, run by run.

``python tests/evidence/kernel_tcp.py`` prints the table of the documentation.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from statistics import fmean

from trunkline.api import run_many
from trunkline.results import Results
from trunkline.scenario import load
from trunkline.stats import mean_interval, paired_difference

FOLDER = Path(__file__).parent / "linux"
SCENARIO_NAMES = ("tcp1", "tcp1-sack", "red8", "gred8", "tcp24")


def read_rows(name: str) -> list[dict[str, str]]:
    """Lines of a file of the folder of evidence."""
    with (FOLDER / name).open(newline="") as file:
        return list(csv.DictReader(file))


def read_kernel_values(name: str, column: str) -> list[float]:
    """What the kernel gave in each run of a scenario."""
    return [float(row[column]) for row in read_rows("kernel-tcp.csv") if row["scenario"] == name]


@cache
def run_simulator(name: str) -> tuple[Results, ...]:
    """Runs with the seeds of the file; one flow alone has a path 0.2 ms longer each time."""
    seeds = [int(row["seed"]) for row in read_rows("kernel-tcp.csv") if row["scenario"] == name]
    found = []
    for seed in seeds:
        delay_override = {"links.right-receiver.delay": f"{20_000 + (seed - 1) * 200} us"}
        overrides = delay_override if name.startswith("tcp1") else {}
        found += run_many(load(FOLDER / f"{name}.yaml", overrides=overrides), seeds=[seed])
    return tuple(found)


def list_goodputs(run: Results) -> list[float]:
    """Goodput of each flow [bit/s]."""
    pairs = zip(run.flows["flow"], run.flows["goodput_bit_s"], strict=True)
    return [value for flow, value in pairs if flow != "all"]


def compute_fairness(run: Results) -> float:
    """Jain's index over the goodput of flows."""
    values = list_goodputs(run)
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


MEASURES = {
    "goodput_bit_s": lambda run: sum(list_goodputs(run)),
    "packets_dropped": lambda run: float(sum(run.ports["packets_dropped"])),
    "retransmissions": lambda run: float(
        sum(
            again
            for flow, again in zip(run.flows["flow"], run.flows["retransmissions"], strict=True)
            if flow != "all"
        )
    ),
    "fairness": compute_fairness,
}
"""Column of ``kernel-tcp.csv`` to how a run of the simulator gives it."""


def _format_interval(values: list[float], scale: float, digits: int) -> str:
    interval = mean_interval(values)
    return f"{interval.mean / scale:.{digits}f} ± {interval.half_width / scale:.{digits}f}"


def main() -> None:
    """Print the table."""
    heads = ["set-up", "measure", "kernel", "simulator", "difference"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    digits = {"goodput_bit_s": (1e6, 3), "fairness": (1.0, 3)}
    for name in SCENARIO_NAMES:
        for column, measure in MEASURES.items():
            kernel_values, simulator_values = (
                read_kernel_values(name, column),
                [measure(run) for run in run_simulator(name)],
            )
            difference, mean = (
                paired_difference(simulator_values, kernel_values),
                fmean(kernel_values),
            )
            cells = [
                _format_interval(values, *digits.get(column, (1.0, 1)))
                for values in (kernel_values, simulator_values)
            ]
            share = (
                f"{100 * difference.mean / mean:+.1f} ± {100 * difference.half_width / mean:.1f} %"
            )
            print(f"| {name} | {column} | {' | '.join(cells)} | {share} |")


if __name__ == "__main__":
    main()
