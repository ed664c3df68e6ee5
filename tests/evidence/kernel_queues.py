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

from trunkline.engine.sim import simulate
from trunkline.linux import engine
from trunkline.linux.judge.verify import verify
from trunkline.network import compile
from trunkline.results import Results
from trunkline.scenario import load
from trunkline.stats import paired_difference

FOLDER = Path(__file__).parent / "linux"
RECORD = FOLDER / "kernel-queues.csv"
VERDICTS = FOLDER / "kernel-verdicts.csv"
CODEL = "{kind: codel, arithmetic: linux, mtu: 1518 B}"
PIE = "{kind: pie, arithmetic: linux, tupdate: 16 ms, mtu: 1518 B}"
VOICE = "classify: [{dscp: EF, class: voice}]"
PORTS = {
    "codel": f"{{queue: {{limit: 1000 packets, aqm: {CODEL}}}}}",
    "pie": f"{{queue: {{limit: 1000 packets, aqm: {PIE}}}}}",
    "fq-codel": f"{{queue: {{flows: fq-codel, aqm: {CODEL}}}}}",
    "fq-pie": f"{{queue: {{flows: fq-pie, aqm: {PIE}}}}}",
    "sfq": "{queue: {flows: sfq}}",
    "fq": "{queue: {flows: fq}}",
    "cake": "{scheduler: cake, bandwidth: 9.5 Mbit/s}",
    "tbf": "{scheduler: tbf, classes: {default: {rate: 8 Mbit/s, burst: 15 kB, "
    "queue: {limit: 60 packets}}}}",
    "hfsc": f"{{scheduler: hfsc, {VOICE}, classes: {{voice: {{real_time: {{m1: 2 Mbit/s, d: 2 ms, "
    "m2: 600 kbit/s}}, default: {link_share: 9 Mbit/s, queue: {limit: 60 packets}}}}",
}
"""Port of the line; `mtu` and `tupdate` are the kernel's."""
LINE = "line: {queue: {limit: 1000 packets}}"
PATH = (
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


def text(kind: str, *, label: bool = False, seconds: int = 30, file: str = "queues") -> str:
    """A scenario with a port of ``PORTS``, on IP or with a path over the line."""
    made = (FOLDER / f"{file}.yaml").read_text().replace(LINE, f"line: {PORTS[kind]}")
    made = made.replace("\nflows:", f"\n{PATH}") if label else made
    return made.replace("duration: 30 s", f"duration: {seconds} s")


def network(kind: str, *, label: bool = False) -> str:
    """The same, compiled."""
    return compile(load(text(kind, label=label))).to_json()


def of_kernel(written: str, runner: str, seed: int) -> Results:
    """One run of the kernel."""
    with tempfile.TemporaryDirectory() as folder:
        return engine.run(written, seed, Path(folder), runner=runner).results


def rows(runner: str, kind: str, under: str) -> list[dict[str, str]]:
    """The recorded runs of the kernel."""
    with RECORD.open(newline="") as file:
        its = (runner, kind, under)
        return [r for r in csv.DictReader(file) if (r["runner"], r["queue"], r["under"]) == its]


@cache
def simulated(kind: str, under: str, seeds: int) -> tuple[Results, ...]:
    """Runs of the simulator of today."""
    return tuple(simulate(network(kind, label=under == "label"), seeds=list(range(1, seeds + 1))))


def record(runner: str, kind: str, under: str, first: str, last: str) -> None:
    """Run the kernel with the seeds `first` to `last`, and print the lines of the record."""
    written = network(kind, label=under == "label")
    for seed in range(int(first), int(last) + 1):
        run = of_kernel(written, runner, seed)
        found = [f"{of(run):.6g}" for of in MEASURES.values()]
        print(",".join([runner, kind, under, str(seed), *found]), flush=True)


def judged(runner: str, file: str, kind: str, under: str, seeds: str) -> dict[str, object]:
    """What `trunkline verify` says, with so many seeds: its outcome, and comparisons by outcome."""
    written = text(kind, label=under == "label", file=file)
    its = compile(load(written)).to_json()
    verdict = verify(its, range(1, int(seeds) + 1), runner=runner)
    count = Counter(row.outcome for row in verdict.rows)
    return {
        "runner": runner,
        "scenario": file,
        "queue": kind,
        "under": under,
        "seeds": seeds,
        "outcome": verdict.outcome,
        "one_by_one": str(verdict.exact).lower(),
        **{name: count[name] for name in ("agrees", "undecided", "differs")},
    }


def verdicts() -> list[dict[str, str]]:
    """What `trunkline verify` said, as recorded."""
    with VERDICTS.open(newline="") as file:
        return list(csv.DictReader(file))


def verdict_line(row: dict[str, str]) -> str:
    """A row of the table of verdicts."""
    total = sum(int(row[name]) for name in ("agrees", "undecided", "differs"))
    how = "packets" if row["one_by_one"] == "true" else "means"
    cells = [row["scenario"], row["queue"], row["under"], row["runner"], row["seeds"], how]
    cells += [row["outcome"], f"{row['agrees']} of {total}"]
    return f"| {' | '.join(cells)} |"


def recorded() -> list[tuple[str, str, str]]:
    """Runner, queue and what it is under of what is recorded."""
    with RECORD.open(newline="") as file:
        found = [(row["runner"], row["queue"], row["under"]) for row in csv.DictReader(file)]
    return list(dict.fromkeys(found))


def line(runner: str, kind: str, under: str) -> str:
    """A row of the table: the kernel less the simulator, with 95 % intervals; drops of both."""
    its = rows(runner, kind, under)
    cells = []
    for name, of in MEASURES.items():
        theirs = [float(row[name]) for row in its]
        ours = [of(run) for run in simulated(kind, under, len(its))]
        apart = paired_difference(theirs, ours)
        share = 100 / (fmean(ours) or 1.0)
        cells.append(f"{share * apart.mean:+.1f} ± {share * apart.half_width:.1f} %")
        if name == "packets_dropped":
            cells[-1] += f" of {fmean(ours):.0f}"
    return f"| {kind} | {under} | {runner} | {len(its)} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table, or record."""
    if sys.argv[1:2] == ["--record"]:
        for each in sys.argv[2:]:
            record(*each.split("/"))
        return
    if sys.argv[1:2] == ["--verify"]:
        for each in sys.argv[2:]:
            print(",".join(map(str, judged(*each.split("/")).values())), flush=True)
        return
    heads = ["queue", "under", "runner", "seeds", "goodput", "drops", "delay of voice"]
    table(heads, (line(*its) for its in recorded()))
    heads = ["scenario", "queue", "under", "runner", "seeds", "compared", "outcome", "agree"]
    table(heads, map(verdict_line, verdicts()))


def table(heads: list[str], rows: Iterable[str]) -> None:
    """Print a table of Markdown."""
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for its in rows:
        print(its)


if __name__ == "__main__":
    main()
