"""The `native` runner: the kernel that we run on, in real time.

Its namespaces have no names and lie in a network of the agent's own, so nothing of the host's is
seen or touched, and all goes with the process. What it measures depends on what else the machine
does: it is never chosen unasked, and its results say that they are not comparable.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final

from trunkline.linux.cache import agent, agent_file
from trunkline.linux.needs import Part, tool, tool_environment
from trunkline.linux.process import GuestFailed, run_guest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from trunkline.linux.process import Cost

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
    parts = [tool("ip", "install iproute2"), tool("tc", "install iproute2")]
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


def run(
    files: Mapping[str, bytes],
    folder: Path,
    *,
    seed: int,
    memory_mb: int,
    on_progress: Callable[[float], None] | None,
    patience_s: float,
) -> tuple[bytes, bytes, Cost, dict[str, str]]:
    """Run a plan on this kernel.

    Parameters
    ----------
    files : mapping of str to bytes
        Orders and schedules.
    folder : Path
        An empty folder.
    seed, memory_mb : int
        Of no meaning here.
    on_progress : callable or None
        See `run_guest`.
    patience_s : float
        See `run_guest`.

    Returns
    -------
    (bytes, bytes, Cost, dict)
        Results, what it said, cost, and no digests.
    """
    for name, data in files.items():
        (folder / name).write_bytes(data)
    console = folder / "console"
    try:
        cost = run_guest(
            [str(agent_file()), "native", "orders", ".", "archive"],
            folder,
            environment=tool_environment(),
            console=console,
            on_progress=on_progress,
            patience_s=patience_s,
        )
    except GuestFailed as error:
        if not error.why.startswith("node "):
            raise
        why = f"{error.why}\n{LACKING}"
        raise GuestFailed(why, error.console) from error
    return (folder / "archive").read_bytes(), console.read_bytes(), cost, {}
