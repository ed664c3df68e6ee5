"""Packet-hops per processor second, ours compared with ns-2 and ns-3, after a check of equal work.

``./dev bench [--json] [--rounds N] [--seconds S] [--counts [--update]] [--scaling]
[--threads] [--links-alone] [W1 W2 W3]``;
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

import instruction_counts
import links_alone
import ns2
import ns3
import scaling
import threads
import trunkline_engine
from child_usage import measure_command
from workloads import WORKLOADS, Workload

MAX_WORK_DIFFERENCE = 0.02


@dataclass(frozen=True)
class ContenderCommands:
    """An engine with a workload in its own form.

    Parameters
    ----------
    engine : str
        Its name.
    timed_command, idle_command, counting_command : list of str
        Commands: the whole run, a run of (nearly) no simulated time, a run that counts.
    parse : callable
        From the output of ``counting_command`` to what was counted.
    """

    engine: str
    timed_command: list[str]
    idle_command: list[str]
    counting_command: list[str]
    parse: Callable[[str], dict[str, float]]


def prepare_trunkline(
    workload: Workload, seconds: float, engine: str, folder: Path, variant: str = "new-reno"
) -> ContenderCommands:
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
    ContenderCommands
    """
    full, idle = folder / f"{workload.name}.json", folder / f"{workload.name}-idle.json"
    network = trunkline_engine.compile_workload(workload, workload.seconds)
    network = trunkline_engine.set_duration(
        trunkline_engine.set_tcp_variant(network, variant), round(seconds * 1e9)
    )
    full.write_text(network, "utf-8")
    idle.write_text(trunkline_engine.set_duration(network, 1), "utf-8")
    run = [engine, str(full)]
    return ContenderCommands(
        "trunkline",
        run,
        [engine, str(idle)],
        run,
        lambda printed: trunkline_engine.parse_counts(printed, network, workload),
    )


def prepare_ns2(workload: Workload, seconds: float, folder: Path) -> ContenderCommands:
    """ns-2 with a workload, its script written.

    Parameters
    ----------
    workload, seconds, folder
        As in `prepare_trunkline`.

    Returns
    -------
    ContenderCommands
    """
    driver = folder / f"{workload.name}.tcl"
    driver.write_text(ns2.write_driver(workload), "utf-8")
    call = [ns2.NS2_PROGRAM, str(driver)]
    return ContenderCommands(
        "ns-2",
        [*call, repr(seconds), "time"],
        [*call, "0.000000001", "time"],
        [*call, repr(seconds), "count"],
        ns2.parse_counts,
    )


def prepare_ns3(
    workload: Workload, seconds: float, folder: Path, programs: Path
) -> ContenderCommands:
    """ns-3 with a workload, its driver compiled.

    Parameters
    ----------
    workload, seconds, folder
        As in `prepare_trunkline`.
    programs : Path
        Where the compiled driver is kept.

    Returns
    -------
    ContenderCommands
    """
    file = folder / f"{workload.name}.ns3"
    file.write_text(ns3.format_workload(workload), "utf-8")
    call = [str(ns3.build_driver(programs)), str(file)]
    return ContenderCommands(
        "ns-3",
        [*call, repr(seconds), "time"],
        [*call, "0.000000001", "time"],
        [*call, repr(seconds), "count"],
        ns2.parse_counts,
    )


def compare_engines(
    workload: Workload,
    seconds: float,
    rounds: int,
    contenders: list[ContenderCommands],
    tolerance: float,
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
    contenders : list of ContenderCommands
        Ours first.
    tolerance : float
        How far packet-hops and the use of the bottleneck may lie apart.

    Returns
    -------
    list of dict
        One an engine.
    """
    counted = []
    for contender in contenders:
        done = subprocess.run(
            contender.counting_command, capture_output=True, text=True, check=True
        )
        counted.append(contender.parse(done.stdout))
    spent: list[list[float]] = [[] for _ in contenders]
    idle: list[list[float]] = [[] for _ in contenders]
    for _ in range(rounds):
        for place, contender in enumerate(contenders):
            spent[place].append(measure_command(contender.timed_command).cpu_s)
            idle[place].append(measure_command(contender.idle_command).cpu_s)
    # The clock of the kernel has ticks; a run shorter than one has no rate.
    runs = [
        [max(cpu_s - median(idle_times), 1e-6) for cpu_s in times]
        for times, idle_times in zip(spent, idle, strict=True)
    ]
    bottleneck_uses = [
        8 * counts_["bottleneck_bytes"] / seconds / workload.bottleneck_bit_s for counts_ in counted
    ]
    rows: list[dict[str, object]] = []
    for place, contender in enumerate(contenders):
        hops = counted[place]["packet_hops"]
        same = all(
            abs(hops / other["packet_hops"] - 1) <= tolerance
            and abs(bottleneck_uses[place] - use) <= tolerance
            for other, use in zip(counted, bottleneck_uses, strict=True)
        )
        set_up = median(idle[place])
        cpu = median(runs[place])
        # Of paired runs: what else the machine did then slowed both.
        ratio = median(
            their_time / hops * counted[0]["packet_hops"] / our_time
            for our_time, their_time in zip(runs[0], runs[place], strict=True)
        )
        rows.append(
            {
                "workload": workload.name,
                "engine": contender.engine,
                "packet_hops": int(hops),
                "cpu_s": round(cpu, 6),
                "hops_per_cpu_s": round(hops / cpu),
                "same_work": same if len(contenders) > 1 else None,
                "trunkline_ratio": round(ratio, 3) if same else None,
                "set_up_cpu_s": round(set_up, 6),
                "simulated_s": seconds,
                "rounds": rounds,
                "bottleneck_use": round(bottleneck_uses[place], 4),
                "drops": int(counted[place]["drops"]),
                "bottleneck_drops": int(counted[place]["bottleneck_drops"]),
                "tcp_goodput_bit_s": round(8 * counted[place]["tcp_bytes"] / seconds),
                "udp_throughput_bit_s": round(8 * counted[place]["udp_bytes"] / seconds),
            }
        )
    return rows


def print_rows(workload: Workload, rows: list[dict[str, object]]) -> None:
    """Print the engines of a workload below each other.

    Parameters
    ----------
    workload : Workload
        What was simulated.
    rows : list of dict
        What `compare_engines` found.
    """
    print(f"{workload.name}: {workload.about}")
    print(
        f"  {'':10}{'simulated':>10}{'packet-hops':>12}{'use':>7}{'drops':>9}{'cpu':>9}"
        f"{'Mhops/s':>9}{'set-up':>9}{'trunkline is':>17}"
    )
    for row in rows:
        speed = float(str(row["hops_per_cpu_s"])) / 1e6
        ratio = row["trunkline_ratio"]
        ratio_text = "" if row["engine"] == "trunkline" else f"{ratio} times as fast"
        if row["same_work"] is False:
            ratio_text = "NOT the same work"
        print(
            f"  {row['engine']:<10}{row['simulated_s']:>8} s{row['packet_hops']:>12}"
            f"{row['bottleneck_use']:>7.3f}{row['drops']:>9}{row['cpu_s']:>7.3f} s"
            f"{speed:9.2f}{row['set_up_cpu_s']:>7.3f} s  {ratio_text}"
        )
    sys.stdout.flush()


def run_comparisons(options: argparse.Namespace) -> bool:
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
    ns3_missing = ns3.describe_missing()
    notes = [f"not compared with ns-3: {ns3_missing}"] if ns3_missing else []
    if not ns2.is_installed():
        notes.append("not compared with ns-2: it is not here (apt-get install ns2)")
    notes.append("not compared with htsim: no package registry has it")
    all_same_work = True
    for name in options.workloads or WORKLOADS:
        workload = WORKLOADS[name]()
        with tempfile.TemporaryDirectory(prefix="trunkline-bench-") as scratch:
            folder = Path(scratch)
            seconds = options.seconds or workload.seconds
            contenders = [prepare_trunkline(workload, seconds, options.engine, folder)]
            if ns2.is_installed() and workload.has_peers:
                contenders.append(prepare_ns2(workload, seconds, folder))
            rows = compare_engines(
                workload, seconds, options.rounds, contenders, MAX_WORK_DIFFERENCE
            )
            if not ns3_missing and name in ns3.MAX_SIMULATED_S:
                seconds = min(seconds, ns3.MAX_SIMULATED_S[name])
                programs = Path(options.engine).parent
                contenders = [
                    prepare_trunkline(workload, seconds, options.engine, folder, ns3.TCP_VARIANT),
                    prepare_ns3(workload, seconds, folder, programs),
                ]
                rounds = min(options.rounds, ns3.MAX_ROUNDS)
                rows += compare_engines(
                    workload, seconds, rounds, contenders, ns3.MAX_WORK_DIFFERENCE
                )
        all_same_work = all_same_work and all(row["same_work"] is not False for row in rows)
        if options.json:
            for row in rows:
                print(json.dumps(row), flush=True)
        else:
            print_rows(workload, rows)
    if not options.json:
        print("\n".join(notes))
    return all_same_work


def main() -> int:
    """Run the workloads asked for.

    Returns
    -------
    int
        3 if any did not do the same work, or costs more instructions than it did; 4 without what a
        workload is made of; else 0.
    """
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="W1|W2|W3|W4|W5", help="default: all")
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
    parser.add_argument(
        "--links-alone", action="store_true", help="error of links simulated alone, ten networks"
    )
    options = parser.parse_args()
    unknown = set(options.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    if options.rounds < 1 or (options.seconds is not None and not 0 < options.seconds <= 1e6):
        parser.error("--rounds is 1 or more, --seconds above 0 and at most 1e6")
    if options.counts:
        names = options.workloads or list(WORKLOADS)
        return (
            0
            if instruction_counts.check_counts(options.engine, names, update=options.update)
            else 3
        )
    if options.scaling:
        scaling.report(options.engine, as_json=options.json)
        return 0
    if options.links_alone:
        links_alone.main()
        return 0
    if options.threads:
        return 0 if threads.report(options.engine, as_json=options.json) else 3
    return 0 if run_comparisons(options) else 3


if __name__ == "__main__":
    sys.exit(main())
