"""Packet-hops per processor second, ours beside ns-2, after a check that the work is the same.

``./dev bench [--json] [--rounds N] [--seconds S] [W1 W2 W3]``; what is measured and why:
docs/decisions/0005-benchmark.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import ns2
import ours
from workloads import WORKLOADS, Workload

HOPS_TOLERANCE = 0.02
USE_TOLERANCE = 0.02


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


def cpu_seconds(command: list[str]) -> float:
    """Processor time of a child process, user and system, as the kernel reports it.

    Parameters
    ----------
    command : list of str
        The program and its arguments; its output is thrown away.

    Returns
    -------
    float
        Seconds.
    """
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command)
    return usage.ru_utime + usage.ru_stime


def contenders(workload: Workload, seconds: float, engine: str, folder: Path) -> list[Contender]:
    """The engines on this machine, their files written.

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

    Returns
    -------
    list of Contender
        Ours first.
    """
    full, idle = folder / f"{workload.name}.json", folder / f"{workload.name}-idle.json"
    network = ours.compiled(workload, seconds)
    full.write_text(network, "utf-8")
    idle.write_text(ours.idle(network), "utf-8")
    run = [engine, str(full)]
    found = [
        Contender(
            "trunkline",
            run,
            [engine, str(idle)],
            run,
            lambda printed: ours.parse(printed, network, workload),
        )
    ]
    if ns2.found():
        driver = folder / f"{workload.name}.tcl"
        driver.write_text(ns2.script(workload), "utf-8")
        call = [ns2.PROGRAM, str(driver)]
        found.append(
            Contender(
                "ns-2",
                [*call, repr(seconds), "time"],
                [*call, "0.000000001", "time"],
                [*call, repr(seconds), "count"],
                ns2.parse,
            )
        )
    return found


def compare(
    workload: Workload, seconds: float, rounds: int, engine: str
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
    engine : str
        Path of ``trunkline-sim``.

    Returns
    -------
    list of dict
        One an engine.
    """
    with tempfile.TemporaryDirectory(prefix="trunkline-bench-") as name:
        found = contenders(workload, seconds, engine, Path(name))
        counts = []
        for contender in found:
            done = subprocess.run(contender.counting, capture_output=True, text=True, check=True)
            counts.append(contender.parse(done.stdout))
        spent: list[list[float]] = [[] for _ in found]
        idle: list[list[float]] = [[] for _ in found]
        for _ in range(rounds):
            for place, contender in enumerate(found):
                spent[place].append(cpu_seconds(contender.timed))
                idle[place].append(cpu_seconds(contender.idle))
    uses = [8 * c["bottleneck_bytes"] / seconds / workload.bottleneck_bit_s for c in counts]
    rows: list[dict[str, object]] = []
    for place, contender in enumerate(found):
        hops = counts[place]["packet_hops"]
        same = all(
            abs(hops / other["packet_hops"] - 1) <= HOPS_TOLERANCE
            and abs(uses[place] - use) <= USE_TOLERANCE
            for other, use in zip(counts, uses, strict=True)
        )
        set_up = median(idle[place])
        # The clock of the kernel has ticks; a run shorter than one has no rate.
        cpu = max(median(spent[place]) - set_up, 1e-6)
        rows.append(
            {
                "workload": workload.name,
                "engine": contender.engine,
                "packet_hops": int(hops),
                "cpu_s": round(cpu, 6),
                "hops_per_cpu_s": round(hops / cpu),
                "same_work": same if len(found) > 1 else None,
                "set_up_cpu_s": round(set_up, 6),
                "simulated_s": seconds,
                "rounds": rounds,
                "bottleneck_use": round(uses[place], 4),
                "drops": int(counts[place]["drops"]),
                "bottleneck_drops": int(counts[place]["bottleneck_drops"]),
                "tcp_goodput_bit_s": round(8 * counts[place]["tcp_bytes"] / seconds),
                "udp_throughput_bit_s": round(8 * counts[place]["udp_bytes"] / seconds),
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
    print(f"{workload.name}: {workload.about}; {rows[0]['simulated_s']} s simulated")
    print(
        f"  {'':10}{'packet-hops':>12}{'use':>7}{'drops':>9}{'cpu':>9}{'Mhops/s':>9}{'set-up':>9}"
    )
    for row in rows:
        speed = float(str(row["hops_per_cpu_s"])) / 1e6
        shown = f"{speed:9.2f}" if row["same_work"] is not False else f"{'-':>9}"
        print(
            f"  {row['engine']:<10}{row['packet_hops']:>12}{row['bottleneck_use']:>7.3f}"
            f"{row['drops']:>9}{row['cpu_s']:>7.3f} s{shown}{row['set_up_cpu_s']:>7.3f} s"
        )
    if len(rows) == 1:
        print("  ns-2 is not on this machine, so nothing to compare with (apt-get install ns2)")
    elif rows[0]["same_work"]:
        speeds = [float(str(row["hops_per_cpu_s"])) for row in rows]
        print(f"  same work; trunkline is {speeds[0] / speeds[1]:.2f} times as fast as ns-2")
    else:
        print("  NOT the same work, so no speeds are compared")


def main() -> int:
    """Run the workloads asked for.

    Returns
    -------
    int
        3 if any was not the same work, else 0.
    """
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="W1|W2|W3", help="default: all")
    parser.add_argument("--engine", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each (default 5)")
    parser.add_argument("--seconds", type=float, help="simulated time (default: the workload's)")
    options = parser.parse_args()
    unknown = set(options.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    if options.rounds < 1 or (options.seconds is not None and not 0 < options.seconds <= 1e6):
        parser.error("--rounds is 1 or more, --seconds above 0 and at most 1e6")
    same = True
    for name in options.workloads or WORKLOADS:
        workload = WORKLOADS[name]()
        rows = compare(
            workload, options.seconds or workload.seconds, options.rounds, options.engine
        )
        same = same and rows[0]["same_work"] is not False
        if options.json:
            for row in rows:
                print(json.dumps(row), flush=True)
        else:
            show(workload, rows)
            sys.stdout.flush()
    return 0 if same else 3


if __name__ == "__main__":
    sys.exit(main())
