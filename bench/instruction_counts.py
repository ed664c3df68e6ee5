"""Instructions per packet-hop, counted by callgrind, against a stored baseline.

Counts carry no noise of the machine: the difference of two runs of one binary leaves out its
start, and no code of ours is chosen by the kind of processor. A compiler of another version makes
other code, so a baseline holds for the version it names.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import trunkline_engine
from workloads import WORKLOADS

BASELINE_FILE = Path(__file__).with_name("baseline.json")
# The C library picks its copying routines by the processor; the plain ones are everywhere.
PLAIN_ROUTINES = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-ERMS"
MAX_INCREASE = 0.03
"""A change that costs more is refused."""
# Simulated time [s]: long enough that slow start is a small part, short enough for callgrind.
SIMULATED_S = {"W1": 20.0, "W2": 4.0, "W3": 0.15, "W4": 0.1, "W5": 2.0}


def count_instructions(command: list[str]) -> tuple[int, str]:
    """Count what a program executes.

    Parameters
    ----------
    command : list of str
        The program and its arguments.

    Returns
    -------
    (int, str)
        Instructions, and what the program printed.
    """
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    environment = {**os.environ, "GLIBC_TUNABLES": PLAIN_ROUTINES}
    done = subprocess.run(
        [*tool, *command], capture_output=True, text=True, check=True, env=environment
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if found is None:
        msg = f"callgrind says no count: {done.stderr[-300:]!r}"
        raise RuntimeError(msg)
    return int(found[1]), done.stdout


def count_events(command: list[str]) -> tuple[int, int, str]:
    """Count what a program executes and what a cache of a common size would miss.

    Parameters
    ----------
    command : list of str
        The program and its arguments.

    Returns
    -------
    (int, int, str)
        Instructions; misses of the last-level cache, reads, writes and code; what was printed.
    """
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--cache-sim=yes"]
    # Not those of this machine, which callgrind would take.
    tool += ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"]
    environment = {**os.environ, "GLIBC_TUNABLES": PLAIN_ROUTINES}
    done = subprocess.run(
        [*tool, *command], capture_output=True, text=True, check=True, env=environment
    )
    found = re.search(r"Collected : ([\d ]+)", done.stderr)
    if found is None:
        msg = f"callgrind says no count: {done.stderr[-300:]!r}"
        raise RuntimeError(msg)
    # Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
    counts = [int(each) for each in found[1].split()]
    return counts[0], sum(counts[6:9]), done.stdout


def count_per_hop(engine: str, name: str, folder: Path) -> float:
    """Instructions per packet-hop of a workload.

    Parameters
    ----------
    engine : str
        Path of ``trunkline-sim``.
    name : str
        The workload.
    folder : Path
        Where files go.

    Returns
    -------
    float
    """
    workload = WORKLOADS[name]()
    network = trunkline_engine.compile_workload(workload, workload.seconds)
    spent = []
    hops = 0
    for duration_ns in (1, round(SIMULATED_S[name] * 1e9)):
        file = folder / f"{name}.json"
        file.write_text(trunkline_engine.set_duration(network, duration_ns), "utf-8")
        count, printed = count_instructions([engine, str(file)])
        spent.append(count)
        hops = json.loads(printed)["summary"]["packet_hops"][0]
    return (spent[1] - spent[0]) / hops


def get_compiler_version() -> str:
    """The version of the Rust compiler.

    Returns
    -------
    str
    """
    done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def check_counts(engine: str, names: list[str], *, update: bool) -> bool:
    """Count, print, and compare with the baseline or store a new one.

    Parameters
    ----------
    engine : str
        Path of ``trunkline-sim``.
    names : list of str
        Workloads.
    update : bool
        Store what is found.

    Returns
    -------
    bool
        Whether no workload costs more than it may.
    """
    if shutil.which("valgrind") is None:
        print("instructions are not counted: no valgrind here (apt-get install valgrind)")
        return True
    stored: dict[str, Any] = (
        json.loads(BASELINE_FILE.read_text("utf-8")) if BASELINE_FILE.exists() else {}
    )
    baseline_counts: dict[str, float] = stored.get("instructions_per_packet_hop", {})
    version = get_compiler_version()
    if not update and version != stored.get("compiler"):
        print(f"the baseline is of {stored.get('compiler')}, this is {version}: nothing to compare")
        baseline_counts = {}
    is_fine = True
    new_counts: dict[str, float] = {}
    with (
        tempfile.TemporaryDirectory(prefix="trunkline-counts-") as folder,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        # Other programs change no count, so the processors share the workloads.
        counted = pool.map(lambda name: count_per_hop(engine, name, Path(folder)), names)
        for name, count in zip(names, counted, strict=True):
            new_counts[name] = round(count, 1)
            baseline_count = baseline_counts.get(name)
            change = (
                ""
                if baseline_count is None
                else f", baseline {baseline_count} ({new_counts[name] / baseline_count - 1:+.1%})"
            )
            print(f"{name}: {new_counts[name]} instructions per packet-hop{change}", flush=True)
            if (
                not update
                and baseline_count is not None
                and new_counts[name] > baseline_count * (1 + MAX_INCREASE)
            ):
                print(f"{name}: WORSE by more than {MAX_INCREASE:.0%}")
                is_fine = False
    if update:
        stored = {
            "compiler": version,
            "instructions_per_packet_hop": {**baseline_counts, **new_counts},
        }
        BASELINE_FILE.write_text(json.dumps(stored, indent=2) + "\n", "utf-8")
        print(f"stored in {BASELINE_FILE.name}")
    return is_fine
