"""Runs that train a wheel with a compiler's profile, in the engine that the interpreter finds.

``python bench/training.py run`` runs the benchmark's workloads; with ``check`` it compares the
results of two examples with ``tests/pinned-results.csv``. `tools/build/profiled_wheel.py` calls
both.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import trunkline
import trunkline_engine
from instruction_counts import SIMULATED_S
from trunkline.engine import simulate
from trunkline.network import compile
from workloads import WORKLOADS

PINNED_FILE = Path(__file__).resolve().parents[1] / "tests" / "pinned-results.csv"
CHECKED_EXAMPLES = ("hello", "trunks")


def run_workloads() -> None:
    """Run each workload as long as its instructions are counted."""
    for name, make in WORKLOADS.items():
        network = trunkline_engine.compile_workload(make(), SIMULATED_S[name])
        hops = simulate(network, seeds=[1], threads=1)[0].summary["packet_hops"]
        print(f"{name}: {hops} packet-hops")


def find_differing_examples(folder: Path) -> list[str]:
    """Run two examples and compare their results with the pinned ones.

    Parameters
    ----------
    folder : Path
        Has the examples.

    Returns
    -------
    list of str
        Those that differ.
    """
    with PINNED_FILE.open(newline="") as file:
        pinned = {(row["what"], row["threads"]): row["hash"] for row in csv.DictReader(file)}
    differing = []
    for name in CHECKED_EXAMPLES:
        network = compile(trunkline.load(folder / f"{name}.yaml")).to_json()
        found = simulate(network, seeds=[1], threads=1)[0].hash()
        if found != pinned[name, "1"]:
            differing.append(name)
    return differing


def main() -> int:
    """Do what the command line asks for.

    Returns
    -------
    int
        3 if results differ, else 0.
    """
    if sys.argv[1:] == ["run"]:
        run_workloads()
        return 0
    if sys.argv[1:] == ["check"]:
        differing = find_differing_examples(Path(trunkline.__file__).parent / "examples")
        for name in differing:
            print(f"{name}: the results are not the pinned ones")
        return 3 if differing else 0
    print("training.py: run or check", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
