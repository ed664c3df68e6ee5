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

from trunkline.linux.guest.cache import agent, agent_file
from trunkline.linux.guest.needs import Part, ask, tool_environment, tools
from trunkline.linux.guest.process import GuestFailed, run_guest
from trunkline.linux.guest.scratch import scratch
from trunkline.linux.plan.orders import write_orders
from trunkline.linux.plan.plan import Node, Plan

if TYPE_CHECKING:
    from trunkline.linux.guest.process import Cost, Job

NAME: Final = "native"
KERNEL: Final = "kernel"
"""The part that says what the kernel lacks. It is for scenarios; a plan may need less."""
LACKING: Final = (
    "this machine's kernel, or a module of it, lacks that: load the module with modprobe, or take "
    "a kernel that has it all: trunkline linux setup"
)


def needs() -> list[Part]:
    """What the runner needs."""
    parts = tools("install iproute2")
    if agent() is None:
        return parts
    tried = ask([str(agent_file()), "namespaces"])
    who = "root" if os.geteuid() == 0 else "a user namespace"
    detail = who if tried.returncode == 0 else tried.stdout.partition("fault: ")[2].strip()
    able = tried.returncode == 0
    parts.append(Part("namespaces", able, detail or "not available; try as root"))
    if able and all(part.found for part in parts):
        lacking = _lacking()
        parts.append(Part(KERNEL, not lacking, lacking or "has netem, HTB, filters and labels"))
    return parts


def _lacking() -> str:
    """What the kernel refuses of the things that scenarios are made of; empty if nothing."""
    node = Node(
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
    plan = Plan(seed=1, duration_ns=1, nodes=(node,), links=())
    with scratch() as folder:
        (Path(folder) / "orders").write_bytes(write_orders(plan))
        tried = ask(_command(), cwd=folder, env=tool_environment())
    return tried.stdout.partition("fault: ")[2].strip().replace("\n", " ")


def _command() -> list[str]:
    return [str(agent_file()), "native", "orders", ".", "archive"]


def run(job: Job) -> tuple[bytes, bytes, Cost, dict[str, str]]:
    """Run a plan on this kernel: its results, what it said, its cost, and no digests."""
    for name, data in job.files.items():
        (job.folder / name).write_bytes(data)
    try:
        cost = run_guest(job, _command(), tool_environment())
    except GuestFailed as error:
        if not error.why.startswith("node "):
            raise
        kind = re.search(r" handle \S+: (\w+).*qdisc kind is unknown", error.why, re.DOTALL)
        module = f"\nthis kernel has no module sch_{kind[1]}" if kind else ""
        why = f"{error.why}{module}\n{LACKING}"
        raise GuestFailed(why, error.console) from error
    return (job.folder / "archive").read_bytes(), job.console.read_bytes(), cost, {}
