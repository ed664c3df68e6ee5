"""Queues and disciplines of the simulator beside the same ones of a Linux kernel, run by run.

``python tests/evidence/kernel_queues.py`` prints the table of the documentation from the recorded
runs of the kernel and from the simulator of today; ``--record uml/codel/ip/1/8`` runs the kernel
again, here with the seeds 1 to 8, and prints lines for the record. ``--verify
uml/overload/codel/ip/1`` does what `trunkline verify` does, here with one seed of `overload.yaml`,
and prints a line of its record.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import fmean

from trunkline.engine.packet_engine import simulate
from trunkline.linux import engine
from trunkline.linux.judge.verification import verify_kernel
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import load
from trunkline.stats import paired_difference

FOLDER = Path(__file__).parent / "linux"
RECORD_FILE = FOLDER / "kernel-queues.csv"
VERDICTS_FILE = FOLDER / "kernel-verdicts.csv"
CODEL_AQM = "{kind: codel, arithmetic: linux, mtu: 1518 B}"
PIE_AQM = "{kind: pie, arithmetic: linux, tupdate: 16 ms, mtu: 1518 B}"
VOICE_RULE = "classify: [{dscp: EF, class: voice}]"
PORTS = {
    "codel": f"{{queue: {{limit: 1000 packets, aqm: {CODEL_AQM}}}}}",
    "pie": f"{{queue: {{limit: 1000 packets, aqm: {PIE_AQM}}}}}",
    "fq-codel": f"{{queue: {{flows: fq-codel, aqm: {CODEL_AQM}}}}}",
    "fq-pie": f"{{queue: {{flows: fq-pie, aqm: {PIE_AQM}}}}}",
    "sfq": "{queue: {flows: sfq}}",
    "fq": "{queue: {flows: fq}}",
    "cake": "{scheduler: cake, bandwidth: 9.5 Mbit/s}",
    "tbf": "{scheduler: tbf, classes: {default: {rate: 8 Mbit/s, burst: 15 kB, "
    "queue: {limit: 60 packets}}}}",
    "hfsc": f"{{scheduler: hfsc, {VOICE_RULE}, classes: {{voice: {{real_time: {{m1: 2 "
    f"Mbit/s, d: 2 ms, "
    "m2: 600 kbit/s}}, default: {link_share: 9 Mbit/s, queue: {limit: 60 packets}}}}",
}
"""Port of the line; `mtu` and `tupdate` are the kernel's."""
LINE_PORT_TEXT = "line: {queue: {limit: 1000 packets}}"
LABELLED_PATH_TEXT = (
    "paths: {p: {route: [S, A, B, D], diffserv: {kind: e-lsp, map: {DF: 0, EF: 5}}}}\n"
    "trunks: {all: {path: p, flows: all}}\nflows:"
)
MEASURES = {
    "goodput_bit_s": lambda run: sum(
        rate
        for rate, protocol in zip(run.flows["goodput_bit_s"], run.flows["protocol"], strict=True)
        if protocol == "tcp"
    ),
    "packets_dropped": lambda run: float(sum(run.ports["packets_dropped"])),
    "voice_delay_s": lambda run: float(run.flows.where(flow="voice")["delay_mean_s"]),
}
"""Column of the record to how a run gives it."""


def make_scenario_text(
    kind: str, *, label: bool = False, seconds: int = 30, file: str = "queues"
) -> str:
    """A scenario with a port of ``PORTS``, on IP or with a path over the line."""
    scenario_text = (
        (FOLDER / f"{file}.yaml").read_text().replace(LINE_PORT_TEXT, f"line: {PORTS[kind]}")
    )
    scenario_text = (
        scenario_text.replace("\nflows:", f"\n{LABELLED_PATH_TEXT}") if label else scenario_text
    )
    return scenario_text.replace("duration: 30 s", f"duration: {seconds} s")


def compile_network(kind: str, *, label: bool = False) -> str:
    """The same, compiled."""
    return compile(load(make_scenario_text(kind, label=label))).to_json()


def run_kernel(written: str, runner: str, seed: int) -> Results:
    """One run of the kernel."""
    with tempfile.TemporaryDirectory() as folder:
        return engine.run_in_guest(written, seed, Path(folder), runner=runner).results


def read_recorded_rows(runner: str, kind: str, under: str) -> list[dict[str, str]]:
    """The recorded runs of the kernel."""
    with RECORD_FILE.open(newline="") as file:
        wanted = (runner, kind, under)
        return [r for r in csv.DictReader(file) if (r["runner"], r["queue"], r["under"]) == wanted]


@cache
def run_simulator(kind: str, under: str, seeds: int) -> tuple[Results, ...]:
    """Runs of the simulator of today."""
    return tuple(
        simulate(compile_network(kind, label=under == "label"), seeds=list(range(1, seeds + 1)))
    )


def record_kernel_runs(runner: str, kind: str, under: str, first: str, last: str) -> None:
    """Run the kernel with the seeds `first` to `last`, and print the lines of the record."""
    written = compile_network(kind, label=under == "label")
    for seed in range(int(first), int(last) + 1):
        run = run_kernel(written, runner, seed)
        measured = [f"{measure(run):.6g}" for measure in MEASURES.values()]
        print(",".join([runner, kind, under, str(seed), *measured]), flush=True)


def judge_with_verify(
    runner: str, file: str, kind: str, under: str, seeds: str
) -> dict[str, object]:
    """What `trunkline verify` says, with so many seeds: its outcome, and comparisons by outcome."""
    scenario_text = make_scenario_text(kind, label=under == "label", file=file)
    network_json = compile(load(scenario_text)).to_json()
    verdict = verify_kernel(network_json, range(1, int(seeds) + 1), runner=runner)
    count = Counter(row.outcome for row in verdict.rows)
    return {
        "runner": runner,
        "scenario": file,
        "queue": kind,
        "under": under,
        "seeds": seeds,
        "outcome": verdict.outcome,
        "one_by_one": str(verdict.is_exact).lower(),
        **{name: count[name] for name in ("agrees", "undecided", "differs")},
    }


def read_verdicts() -> list[dict[str, str]]:
    """What `trunkline verify` said, as recorded."""
    with VERDICTS_FILE.open(newline="") as file:
        return list(csv.DictReader(file))


def format_verdict_row(row: dict[str, str]) -> str:
    """A row of the table of verdicts."""
    total = sum(int(row[name]) for name in ("agrees", "undecided", "differs"))
    how = "packets" if row["one_by_one"] == "true" else "means"
    cells = [row["scenario"], row["queue"], row["under"], row["runner"], row["seeds"], how]
    cells += [row["outcome"], f"{row['agrees']} of {total}"]
    return f"| {' | '.join(cells)} |"


def list_recorded() -> list[tuple[str, str, str]]:
    """Runner, queue and what it is under of what is recorded."""
    with RECORD_FILE.open(newline="") as file:
        found = [(row["runner"], row["queue"], row["under"]) for row in csv.DictReader(file)]
    return list(dict.fromkeys(found))


def format_difference_row(runner: str, kind: str, under: str) -> str:
    """A row of the table: the kernel less the simulator, with 95 % intervals; drops of both."""
    kernel_rows = read_recorded_rows(runner, kind, under)
    cells = []
    for name, measure in MEASURES.items():
        kernel_values = [float(row[name]) for row in kernel_rows]
        simulator_values = [measure(run) for run in run_simulator(kind, under, len(kernel_rows))]
        difference = paired_difference(kernel_values, simulator_values)
        share = 100 / (fmean(simulator_values) or 1.0)
        cells.append(f"{share * difference.mean:+.1f} ± {share * difference.half_width:.1f} %")
        if name == "packets_dropped":
            cells[-1] += f" of {fmean(simulator_values):.0f}"
    return f"| {kind} | {under} | {runner} | {len(kernel_rows)} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table, or record."""
    if sys.argv[1:2] == ["--record"]:
        for each in sys.argv[2:]:
            record_kernel_runs(*each.split("/"))
        return
    if sys.argv[1:2] == ["--verify"]:
        for each in sys.argv[2:]:
            print(",".join(map(str, judge_with_verify(*each.split("/")).values())), flush=True)
        return
    heads = ["queue", "under", "runner", "seeds", "goodput", "drops", "delay of voice"]
    print_table(heads, (format_difference_row(*recorded_case) for recorded_case in list_recorded()))
    heads = ["scenario", "queue", "under", "runner", "seeds", "compared", "outcome", "agree"]
    print_table(heads, map(format_verdict_row, read_verdicts()))


def print_table(heads: list[str], rows: Iterable[str]) -> None:
    """Print a table of Markdown."""
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
