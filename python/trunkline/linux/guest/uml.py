"""The `uml` runner: a kernel as an ordinary process, whose clock jumps when it is idle."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest.cache import agent, cache_folder
from trunkline.linux.guest.image import base_image, order_image
from trunkline.linux.guest.needs import Part, part, tools, trial
from trunkline.linux.guest.process import run_guest
from trunkline.linux.plan.modules import DISCIPLINES

if TYPE_CHECKING:
    from trunkline.linux.guest.process import Cost, Job

NAME: Final = "uml"
SETUP: Final = "trunkline linux setup --runner uml"
START_S: Final = 1_767_225_600
"""What the guest's clock shows when it starts: 2026-01-01 00:00 UTC."""


def kernel_folder() -> Path:
    """Where the kernel lies that was built from this version's configuration and edits."""
    from trunkline.linux.guest.kernel import recipe_digest

    return cache_folder() / "uml" / recipe_digest()


def needs() -> list[Part]:
    """What the runner needs."""
    if platform.machine() != "x86_64":
        return [Part("processor", False, f"{platform.machine()}; only x86-64 can do it: use qemu")]
    kernel = kernel_folder() / "linux"
    parts = [
        part("kernel", kernel, SETUP),
        *tools(SETUP),
    ]
    memory = memory_folder()
    parts.append(
        Part("memory", memory is not None, str(memory or "no folder that programs may be run from"))
    )
    if kernel.exists():
        parts.append(trial(trial_mark(), SETUP))
    return parts


def lacks() -> frozenset[str]:
    """Modules of disciplines that the kernel is not built with."""
    from trunkline.linux.guest.kernel import configuration

    lines = configuration().decode("ascii").split()
    config = {module: f"CONFIG_NET_{module.upper()}=y" for module in DISCIPLINES.values()}
    return frozenset(module for module, line in config.items() if line not in lines)


def trial_mark() -> Path:
    """The file that says that the guest has come up on this machine."""
    return kernel_folder() / "tried"


def memory_folder(needed_mb: int = 256) -> Path | None:
    """A folder for the file that is the guest's memory, which is mapped executable.

    Parameters
    ----------
    needed_mb : int
        Its size [MB].
    """
    for name in ("/dev/shm", tempfile.gettempdir()):  # noqa: S108 - only a place to look at
        try:
            about = os.statvfs(name)
        except OSError:
            continue
        room = about.f_bavail * about.f_frsize >= needed_mb << 20
        if room and not about.f_flag & os.ST_NOEXEC and os.access(name, os.W_OK):
            return Path(name)
    return None


def run(job: Job) -> tuple[bytes, bytes, Cost, dict[str, str]]:
    """Run a guest: its results, its console, its cost, and digests of what was run."""
    base = base_image(agent() or b"") + job.control
    (job.folder / "initrd").write_bytes(base + order_image(job.files))
    (job.folder / "result").mkdir()
    kernel = kernel_folder() / "linux"
    # The kernel stirs its command line into its random numbers: nothing on it may vary.
    command = [
        str(kernel),
        f"mem={job.memory_mb}M",
        "initrd=initrd",
        "umid=guest",
        "uml_dir=.",
        "hostfs=.",
        "con=null",
        "con0=null,fd:1",
        "time-travel=inf-cpu",
        f"time-travel-start={START_S}",
        "panic=-1",
        "quiet",
        # A device with IPv6 sends router solicitations and MLD reports of its own.
        "ipv6.disable_ipv6=1",
    ]
    memory = memory_folder(job.memory_mb)
    environment = {"PATH": os.defpath, "UML_SEED": str(job.seed), "TMPDIR": str(memory)}
    cost = run_guest(job, command, environment, _processor())
    about = json.loads((kernel_folder() / "about.json").read_text())
    digests = {"image": hashlib.sha256(base).hexdigest(), "kernel": about["sha256"]}
    archive = (job.folder / "result" / "archive").read_bytes()
    return archive, job.console.read_bytes(), cost, digests


_started = itertools.count()


def _processor() -> int:
    """One that we may use: a guest switches between its processes all the time, so it stays."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[(os.getpid() + next(_started)) % len(allowed)]
