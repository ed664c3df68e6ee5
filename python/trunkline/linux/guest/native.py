"""The `native` runner: the kernel that we run on, in real time.

Its namespaces have no names and lie in a network of the agent's own, so nothing of the host's is
seen or touched, and all goes with the process. What it measures depends on what else the machine
does: it is never chosen unasked, and its results say that they are not comparable.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest.cache import agent, agent_file
from trunkline.linux.guest.needs import Part, tool_environment, tools
from trunkline.linux.guest.process import GuestFailed, run_guest

if TYPE_CHECKING:
    from trunkline.linux.guest.process import Cost, Job

NAME: Final = "native"
LACKING: Final = (
    "this machine's kernel, or a module of it, lacks that: load the module with modprobe, or take "
    "a kernel that has it all: trunkline linux setup"
)


def needs() -> list[Part]:
    """What the runner needs.

    Returns
    -------
    list of Part
    """
    parts = tools("install iproute2")
    if agent() is None:
        return parts
    tried = subprocess.run(
        [str(agent_file()), "namespaces"], capture_output=True, text=True, check=False
    )
    who = "root" if os.geteuid() == 0 else "a user namespace"
    detail = who if tried.returncode == 0 else tried.stdout.partition("fault: ")[2].strip()
    return [
        *parts,
        Part("namespaces", tried.returncode == 0, detail or "not to be had; try as root"),
    ]


def run(job: Job) -> tuple[bytes, bytes, Cost, dict[str, str]]:
    """Run a plan on this kernel.

    Parameters
    ----------
    job : Job
        What to do.

    Returns
    -------
    (bytes, bytes, Cost, dict)
        Results, what it said, cost, and no digests.
    """
    for name, data in job.files.items():
        (job.folder / name).write_bytes(data)
    command = [str(agent_file()), "native", "orders", ".", "archive"]
    try:
        cost = run_guest(job, command, tool_environment())
    except GuestFailed as error:
        if not error.why.startswith("node "):
            raise
        why = f"{error.why}\n{LACKING}"
        raise GuestFailed(why, error.console) from error
    return (job.folder / "archive").read_bytes(), job.console.read_bytes(), cost, {}
