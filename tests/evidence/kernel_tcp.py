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
NAMES = ("tcp1", "tcp1-sack", "red8", "gred8", "tcp24")


def rows(name: str) -> list[dict[str, str]]:
    """Lines of a file of the folder of evidence."""
    with (FOLDER / name).open(newline="") as file:
        return list(csv.DictReader(file))


def kernel(name: str, column: str) -> list[float]:
    """What the kernel gave in each run of a scenario."""
    return [float(row[column]) for row in rows("kernel-tcp.csv") if row["scenario"] == name]


@cache
def simulated(name: str) -> tuple[Results, ...]:
    """Runs with the seeds of the file; one flow alone has a path 0.2 ms longer each time."""
    seeds = [int(row["seed"]) for row in rows("kernel-tcp.csv") if row["scenario"] == name]
    found = []
    for seed in seeds:
        longer = {"links.right-receiver.delay": f"{20_000 + (seed - 1) * 200} us"}
        alone = longer if name.startswith("tcp1") else {}
        found += run_many(load(FOLDER / f"{name}.yaml", overrides=alone), seeds=[seed])
    return tuple(found)


def goodputs(run: Results) -> list[float]:
    """Goodput of each flow [bit/s]."""
    pairs = zip(run.flows["flow"], run.flows["goodput_bit_s"], strict=True)
    return [value for flow, value in pairs if flow != "all"]


def fairness(run: Results) -> float:
    """Jain's index over the goodput of flows."""
    values = goodputs(run)
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


MEASURES = {
    "goodput_bit_s": lambda run: sum(goodputs(run)),
    "packets_dropped": lambda run: float(sum(run.ports["packets_dropped"])),
    "retransmissions": lambda run: float(
        sum(
            again
            for flow, again in zip(run.flows["flow"], run.flows["retransmissions"], strict=True)
            if flow != "all"
        )
    ),
    "fairness": fairness,
}
"""Column of ``kernel-tcp.csv`` to how a run of the simulator gives it."""


def _said(values: list[float], scale: float, digits: int) -> str:
    its = mean_interval(values)
    return f"{its.mean / scale:.{digits}f} ± {its.half_width / scale:.{digits}f}"


def main() -> None:
    """Print the table."""
    heads = ["set-up", "measure", "kernel", "simulator", "difference"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    digits = {"goodput_bit_s": (1e6, 3), "fairness": (1.0, 3)}
    for name in NAMES:
        for column, of in MEASURES.items():
            theirs, ours = kernel(name, column), [of(run) for run in simulated(name)]
            apart, mean = paired_difference(ours, theirs), fmean(theirs)
            cells = [_said(values, *digits.get(column, (1.0, 1))) for values in (theirs, ours)]
            share = f"{100 * apart.mean / mean:+.1f} ± {100 * apart.half_width / mean:.1f} %"
            print(f"| {name} | {column} | {' | '.join(cells)} | {share} |")


if __name__ == "__main__":
    main()
