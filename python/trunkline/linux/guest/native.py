"""The `native` runner: the kernel that we run on, in real time.

Its namespaces have no names and lie in a network of the agent's own, so nothing of the host's is
seen or touched, and all goes with the process. What it measures depends on what else the machine
does: it is never chosen unasked, and its results say that they are not comparable.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest.cache import get_agent_file, read_agent
from trunkline.linux.guest.process import GuestFailed, run_guest
from trunkline.linux.guest.requirements import (
    Requirement,
    check_tools,
    make_tool_environment,
    run_program,
)
from trunkline.linux.guest.scratch_folders import make_scratch_folder
from trunkline.linux.plan.agent_orders import write_orders
from trunkline.linux.plan.guest_plan import GuestPlan, PlannedNode

if TYPE_CHECKING:
    from trunkline.linux.guest.process import GuestJob, HostCost

NAME: Final = "native"
KERNEL_REQUIREMENT: Final = "kernel"
"""The part that lists gaps of the kernel. It is for scenarios; a plan may need less."""
MISSING_MODULE_ADVICE: Final = (
    "this machine's kernel, or a module of it, lacks that: load the module with modprobe, or take "
    "a kernel that has it all: trunkline linux setup"
)


def list_requirements() -> list[Requirement]:
    """List what the runner needs."""
    requirements = check_tools("install iproute2")
    if read_agent() is None:
        return requirements
    agent_run = run_program([str(get_agent_file()), "namespaces"])
    privilege = "root" if os.geteuid() == 0 else "a user namespace"
    detail = (
        privilege if agent_run.returncode == 0 else agent_run.stdout.partition("fault: ")[2].strip()
    )
    is_available = agent_run.returncode == 0
    requirements.append(
        Requirement("namespaces", is_available, detail or "not available; try as root")
    )
    if is_available and all(requirement.found for requirement in requirements):
        missing = _find_missing_support()
        requirements.append(
            Requirement(
                KERNEL_REQUIREMENT, not missing, missing or "has netem, HTB, filters and labels"
            )
        )
    return requirements


def _find_missing_support() -> str:
    """Find features of scenarios that the kernel refuses; empty if there are none."""
    node = PlannedNode(
        "n0",
        (("net/mpls/platform_labels", "1000"),),
        ("link add w0 type ifb", "link set lo up", "route add 10.9.9.9/32 encap mpls 16 dev lo"),
        ("route add 16 dev lo",),
        (
            "qdisc add dev w0 root handle 1: netem delay 1ms rate 1mbit",
            "qdisc add dev lo root handle 1: htb default 1",
            "qdisc add dev lo clsact",
            "filter add dev lo egress protocol ip prio 1 flower ip_tos 0x28/0xfc "
            "action skbedit priority 1:1 action ok",
        ),
    )
    plan = GuestPlan(seed=1, duration_ns=1, nodes=(node,), links=())
    with make_scratch_folder() as folder:
        (Path(folder) / "orders").write_bytes(write_orders(plan))
        agent_run = run_program(_make_command(), cwd=folder, env=make_tool_environment())
    return agent_run.stdout.partition("fault: ")[2].strip().replace("\n", " ")


def _make_command() -> list[str]:
    return [str(get_agent_file()), "native", "orders", ".", "archive"]


def run_job(job: GuestJob) -> tuple[bytes, bytes, HostCost, dict[str, str]]:
    """Run a plan on this kernel: its results, its output, its cost, and no digests."""
    for name, data in job.files.items():
        (job.folder / name).write_bytes(data)
    try:
        cost = run_guest(job, _make_command(), make_tool_environment())
    except GuestFailed as error:
        if not error.reason.startswith("node "):
            raise
        kind_match = re.search(
            r" handle \S+: (\w+).*qdisc kind is unknown", error.reason, re.DOTALL
        )
        module = f"\nthis kernel has no module sch_{kind_match[1]}" if kind_match else ""
        reason = f"{error.reason}{module}\n{MISSING_MODULE_ADVICE}"
        raise GuestFailed(reason, error.console) from error
    return (job.folder / "archive").read_bytes(), job.console.read_bytes(), cost, {}
