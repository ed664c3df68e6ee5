"""Packet-hops per processor second, ours beside ns-2 and ns-3, after a check of equal work.

``./dev bench [--json] [--rounds N] [--seconds S] [--counts [--update]] [--scaling]
[--threads] [W1 W2 W3]``;
what is measured and why: docs/decisions/0005-benchmark.md, docs/reference/performance.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import counts
import ns2
import ns3
import ours
import scaling
import threads
from child import spend
from workloads import WORKLOADS, Workload

TOLERANCE = 0.02


@dataclass(frozen=True)
class Contender:
    """An engine with a workload in its own form.

    Parameters
    ----------
    engine : str
        Its name.
    timed, idle, counting : list of str
        Commands: the whole run, a run of (nearly) no simulated time, a run that counts.
    parse : callable
        From the output of ``counting`` to what was counted.
    """

    engine: str
    timed: list[str]
    idle: list[str]
    counting: list[str]
    parse: Callable[[str], dict[str, float]]


def our_contender(
    workload: Workload, seconds: float, engine: str, folder: Path, variant: str = "new-reno"
) -> Contender:
    """Our engine with a workload, its files written.

    Parameters
    ----------
    workload : Workload
        What to simulate.
    seconds : float
        Simulated time [s].
    engine : str
        Path of ``trunkline-sim``.
    folder : Path
        Where files go.
    variant : str, default "new-reno"
        Kind of TCP.

    Returns
    -------
    Contender
    """
    full, idle = folder / f"{workload.name}.json", folder / f"{workload.name}-idle.json"
    network = ours.compiled(workload, workload.seconds)
    network = ours.lasting(ours.speaking(network, variant), round(seconds * 1e9))
    full.write_text(network, "utf-8")
    idle.write_text(ours.lasting(network, 1), "utf-8")
    run = [engine, str(full)]
    return Contender(
        "trunkline",
        run,
        [engine, str(idle)],
        run,
        lambda printed: ours.parse(printed, network, workload),
    )


def ns2_contender(workload: Workload, seconds: float, folder: Path) -> Contender:
    """ns-2 with a workload, its script written.

    Parameters
    ----------
    workload, seconds, folder
        As in `our_contender`.

    Returns
    -------
    Contender
    """
    driver = folder / f"{workload.name}.tcl"
    driver.write_text(ns2.script(workload), "utf-8")
    call = [ns2.PROGRAM, str(driver)]
    return Contender(
        "ns-2",
        [*call, repr(seconds), "time"],
        [*call, "0.000000001", "time"],
        [*call, repr(seconds), "count"],
        ns2.parse,
    )


def ns3_contender(workload: Workload, seconds: float, folder: Path, programs: Path) -> Contender:
    """ns-3 with a workload, its driver compiled.

    Parameters
    ----------
    workload, seconds, folder
        As in `our_contender`.
    programs : Path
        Where the compiled driver is kept.

    Returns
    -------
    Contender
    """
    file = folder / f"{workload.name}.ns3"
    file.write_text(ns3.statements(workload), "utf-8")
    call = [str(ns3.build(programs)), str(file)]
    return Contender(
        "ns-3",
        [*call, repr(seconds), "time"],
        [*call, "0.000000001", "time"],
        [*call, repr(seconds), "count"],
        ns2.parse,
    )


def compare(
    workload: Workload, seconds: float, rounds: int, found: list[Contender], tolerance: float
) -> list[dict[str, object]]:
    """Check that the engines do the same work, then time them in rotation.

    Parameters
    ----------
    workload : Workload
        What to simulate.
    seconds : float
        Simulated time [s].
    rounds : int
        Timed runs of each engine.
    found : list of Contender
        Ours first.
    tolerance : float
        How far packet-hops and the use of the bottleneck may lie apart.

    Returns
    -------
    list of dict
        One an engine.
    """
    counted = []
    for contender in found:
        done = subprocess.run(contender.counting, capture_output=True, text=True, check=True)
        counted.append(contender.parse(done.stdout))
    spent: list[list[float]] = [[] for _ in found]
    idle: list[list[float]] = [[] for _ in found]
    for _ in range(rounds):
        for place, contender in enumerate(found):
            spent[place].append(spend(contender.timed).cpu_s)
            idle[place].append(spend(contender.idle).cpu_s)
    # The clock of the kernel has ticks; a run shorter than one has no rate.
    runs = [
        [max(whole - median(before), 1e-6) for whole in times]
        for times, before in zip(spent, idle, strict=True)
    ]
    uses = [8 * c["bottleneck_bytes"] / seconds / workload.bottleneck_bit_s for c in counted]
    rows: list[dict[str, object]] = []
    for place, contender in enumerate(found):
        hops = counted[place]["packet_hops"]
        same = all(
            abs(hops / other["packet_hops"] - 1) <= tolerance
            and abs(uses[place] - use) <= tolerance
            for other, use in zip(counted, uses, strict=True)
        )
        set_up = median(idle[place])
        cpu = median(runs[place])
        # Of paired runs: what else the machine did then slowed both.
        ratio = median(
            theirs / hops * counted[0]["packet_hops"] / mine
            for mine, theirs in zip(runs[0], runs[place], strict=True)
        )
        rows.append(
            {
                "workload": workload.name,
                "engine": contender.engine,
                "packet_hops": int(hops),
                "cpu_s": round(cpu, 6),
                "hops_per_cpu_s": round(hops / cpu),
                "same_work": same if len(found) > 1 else None,
                "trunkline_ratio": round(ratio, 3) if same else None,
                "set_up_cpu_s": round(set_up, 6),
                "simulated_s": seconds,
                "rounds": rounds,
                "bottleneck_use": round(uses[place], 4),
                "drops": int(counted[place]["drops"]),
                "bottleneck_drops": int(counted[place]["bottleneck_drops"]),
                "tcp_goodput_bit_s": round(8 * counted[place]["tcp_bytes"] / seconds),
                "udp_throughput_bit_s": round(8 * counted[place]["udp_bytes"] / seconds),
            }
        )
    return rows


def show(workload: Workload, rows: list[dict[str, object]]) -> None:
    """Print the engines of a workload below each other.

    Parameters
    ----------
    workload : Workload
        What was simulated.
    rows : list of dict
        What `compare` found.
    """
    print(f"{workload.name}: {workload.about}")
    print(
        f"  {'':10}{'simulated':>10}{'packet-hops':>12}{'use':>7}{'drops':>9}{'cpu':>9}"
        f"{'Mhops/s':>9}{'set-up':>9}{'trunkline is':>17}"
    )
    for row in rows:
        speed = float(str(row["hops_per_cpu_s"])) / 1e6
        ratio = row["trunkline_ratio"]
        faster = "" if row["engine"] == "trunkline" else f"{ratio} times as fast"
        if row["same_work"] is False:
            faster = "NOT the same work"
        print(
            f"  {row['engine']:<10}{row['simulated_s']:>8} s{row['packet_hops']:>12}"
            f"{row['bottleneck_use']:>7.3f}{row['drops']:>9}{row['cpu_s']:>7.3f} s"
            f"{speed:9.2f}{row['set_up_cpu_s']:>7.3f} s  {faster}"
        )
    sys.stdout.flush()


def race(options: argparse.Namespace) -> bool:
    """Compare on each workload with each engine that is on this machine.

    Parameters
    ----------
    options : argparse.Namespace
        The command line.

    Returns
    -------
    bool
        Whether all work was the same.
    """
    absent = ns3.missing()
    notes = [f"not compared with ns-3: {absent}"] if absent else []
    if not ns2.found():
        notes.append("not compared with ns-2: it is not here (apt-get install ns2)")
    notes.append("not compared with htsim: no package registry has it")
    same = True
    for name in options.workloads or WORKLOADS:
        workload = WORKLOADS[name]()
        with tempfile.TemporaryDirectory(prefix="trunkline-bench-") as scratch:
            folder = Path(scratch)
            seconds = options.seconds or workload.seconds
            found = [our_contender(workload, seconds, options.engine, folder)]
            if ns2.found():
                found.append(ns2_contender(workload, seconds, folder))
            rows = compare(workload, seconds, options.rounds, found, TOLERANCE)
            if not absent and name in ns3.SECONDS:
                seconds = min(seconds, ns3.SECONDS[name])
                programs = Path(options.engine).parent
                found = [
                    our_contender(workload, seconds, options.engine, folder, ns3.VARIANT),
                    ns3_contender(workload, seconds, folder, programs),
                ]
                rounds = min(options.rounds, ns3.ROUNDS)
                rows += compare(workload, seconds, rounds, found, ns3.TOLERANCE)
        same = same and all(row["same_work"] is not False for row in rows)
        if options.json:
            for row in rows:
                print(json.dumps(row), flush=True)
        else:
            show(workload, rows)
    if not options.json:
        print("\n".join(notes))
    return same


def main() -> int:
    """Run the workloads asked for.

    Returns
    -------
    int
        3 if any was not the same work, or costs more instructions than it did; else 0.
    """
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="W1|W2|W3|W4", help="default: all")
    parser.add_argument("--engine", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each (default 5)")
    parser.add_argument("--seconds", type=float, help="simulated time (default: the workload's)")
    parser.add_argument(
        "--counts", action="store_true", help="instructions per packet-hop, against the baseline"
    )
    parser.add_argument("--update", action="store_true", help="with --counts: a new baseline")
    parser.add_argument(
        "--scaling", action="store_true", help="how cost and memory grow; redraws the picture"
    )
    parser.add_argument(
        "--threads", action="store_true", help="how much sooner one run ends on two threads"
    )
    options = parser.parse_args()
    unknown = set(options.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    if options.rounds < 1 or (options.seconds is not None and not 0 < options.seconds <= 1e6):
        parser.error("--rounds is 1 or more, --seconds above 0 and at most 1e6")
    if options.counts:
        names = options.workloads or list(WORKLOADS)
        return 0 if counts.check(options.engine, names, update=options.update) else 3
    if options.scaling:
        scaling.report(options.engine, as_json=options.json)
        return 0
    if options.threads:
        return 0 if threads.report(options.engine, as_json=options.json) else 3
    return 0 if race(options) else 3


if __name__ == "__main__":
    sys.exit(main())
