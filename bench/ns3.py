"""A workload for the ns-3 driver (``ns3/driver.cc``), and the driver compiled.

ns-3's NewReno has SACK and proportional rate reduction, and each packet bears 2 B of PPP. Only the
first seconds, mostly slow start, are short enough to simulate. The work is the same within
`MAX_WORK_DIFFERENCE` when our TCP has SACK too. Speeds are per packet-hop.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from workloads import Workload, compute_next_hops

DRIVER_SOURCE = Path(__file__).with_name("ns3") / "driver.cc"
NS3_MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
MAX_WORK_DIFFERENCE = 0.1
TCP_VARIANT = "sack"
# ns-3 needs minutes for what the others do in seconds.
MAX_ROUNDS = 3
MAX_SIMULATED_S = {"W1": 60.0, "W2": 30.0, "W3": 0.1}


def describe_missing() -> str:
    """Say what ns-3 needs and this machine lacks. Returns: Empty when all is there."""
    compiler, config = shutil.which("g++"), shutil.which("pkg-config")
    if compiler is None or config is None:
        return "no g++ or no pkg-config (apt-get install g++ pkg-config)"
    if subprocess.call([config, "--exists", *(f"ns3-{name}" for name in NS3_MODULES)]):
        return "no ns-3 (apt-get install libns3-dev)"
    return ""


def build_driver(folder: Path) -> Path:
    """Compile the driver, unless it is there.

    folder: Where programs are kept.
    Returns: The program.
    """
    # The output of pkg-config for Debian's packages names libraries that they do not need.
    libraries = [f"-lns3-{name}" for name in NS3_MODULES]
    mark = hashlib.sha256(DRIVER_SOURCE.read_bytes()).hexdigest()[:16]
    program = folder / f"ns3-driver-{mark}"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = program.with_suffix(".partial")
        compile_it = ["g++", "-std=c++17", "-O3", "-o", str(partial), str(DRIVER_SOURCE)]
        subprocess.run([*compile_it, *libraries], check=True)
        partial.rename(program)
    return program


def format_workload(workload: Workload) -> str:
    """Format the workload for the driver. workload: The workload to simulate."""
    number = {name: place for place, name in enumerate(workload.nodes)}
    lines = [f"nodes {len(number)}"]
    for link in workload.links:
        for a, b, red in ((link.a, link.b, link.red), (link.b, link.a, None)):
            ends = f"{number[a]} {number[b]}"
            lines.append(f"link {ends} {link.rate_bit_s} {link.delay_ns} {link.limit_packets}")
            if red:
                lines.append(
                    f"red {red.min_th} {red.max_th} {red.max_p} {red.w_q} {red.mean_bytes} "
                    f"{link.red_limit_packets}"
                )
            if workload.bottleneck in {None, (a, b)}:
                lines.append("compare")
    for (node, destination), hop in compute_next_hops(workload).items():
        lines.append(f"route {number[node]} {number[destination]} {number[hop]}")
    for cbr in workload.cbr:
        ends = f"{number[cbr.source]} {number[cbr.destination]}"
        lines.append(f"cbr {ends} {cbr.packet_bytes} {cbr.rate_bit_s}")
    for tcp in workload.tcp:
        ends = f"{number[tcp.source]} {number[tcp.destination]}"
        lines.append(f"tcp {ends} {tcp.mss_bytes} {tcp.start_ns}")
    return "\n".join(lines) + "\n"
