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

from trunkline.linux.guest.cache import get_cache_folder, read_agent
from trunkline.linux.guest.image import build_base_image, build_order_image
from trunkline.linux.guest.process import run_guest
from trunkline.linux.guest.requirements import Requirement, check_file, check_tools, check_trial
from trunkline.linux.plan.modules import QDISC_MODULES

if TYPE_CHECKING:
    from trunkline.linux.guest.process import GuestJob, HostCost

NAME: Final = "uml"
SETUP_COMMAND: Final = "trunkline linux setup --runner uml"
CLOCK_START_S: Final = 1_767_225_600
"""Time of the guest's clock when it starts: 2026-01-01 00:00 UTC."""


def get_kernel_folder() -> Path:
    """Return the folder of the kernel with this version's configuration and edits."""
    from trunkline.linux.guest.kernel_build import compute_recipe_digest

    return get_cache_folder() / "uml" / compute_recipe_digest()


def list_requirements() -> list[Requirement]:
    """List what the runner needs."""
    if platform.machine() != "x86_64":
        return [
            Requirement(
                "processor", False, f"{platform.machine()}; only x86-64 can do it: use qemu"
            )
        ]
    kernel = get_kernel_folder() / "linux"
    requirements = [
        check_file("kernel", kernel, SETUP_COMMAND),
        *check_tools(SETUP_COMMAND),
    ]
    memory = find_memory_folder()
    requirements.append(
        Requirement(
            "memory", memory is not None, str(memory or "no folder that programs may be run from")
        )
    )
    if kernel.exists():
        requirements.append(check_trial(get_trial_mark(), SETUP_COMMAND))
    return requirements


def list_missing_modules() -> frozenset[str]:
    """List the modules of disciplines that the kernel is not built with."""
    from trunkline.linux.guest.kernel_build import read_configuration

    lines = read_configuration().decode("ascii").split()
    config = {module: f"CONFIG_NET_{module.upper()}=y" for module in QDISC_MODULES.values()}
    return frozenset(module for module, line in config.items() if line not in lines)


def get_trial_mark() -> Path:
    """Return the file that says that the guest has come up on this machine."""
    return get_kernel_folder() / "tried"


def find_memory_folder(needed_mb: int = 256) -> Path | None:
    """Find a folder for the file that is the guest's memory, which is mapped executable.

    needed_mb: Its size [MB].
    """
    for name in ("/dev/shm", tempfile.gettempdir()):  # noqa: S108 - only a place to look at
        try:
            file_system = os.statvfs(name)
        except OSError:
            continue
        has_room = file_system.f_bavail * file_system.f_frsize >= needed_mb << 20
        if has_room and not file_system.f_flag & os.ST_NOEXEC and os.access(name, os.W_OK):
            return Path(name)
    return None


def run_job(job: GuestJob) -> tuple[bytes, bytes, HostCost, dict[str, str]]:
    """Run a guest: its results, its console, its cost, and digests of kernel, image and plan."""
    base = build_base_image(read_agent() or b"") + job.control_image
    (job.folder / "initrd").write_bytes(base + build_order_image(job.files))
    (job.folder / "result").mkdir()
    kernel = get_kernel_folder() / "linux"
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
        f"time-travel-start={CLOCK_START_S}",
        "panic=-1",
        "quiet",
        # A device with IPv6 sends router solicitations and MLD reports of its own.
        "ipv6.disable_ipv6=1",
    ]
    memory = find_memory_folder(job.memory_mb)
    environment = {"PATH": os.defpath, "UML_SEED": str(job.seed), "TMPDIR": str(memory)}
    cost = run_guest(job, command, environment, _choose_processor())
    build_info = json.loads((get_kernel_folder() / "about.json").read_text())
    digests = {"image": hashlib.sha256(base).hexdigest(), "kernel": build_info["sha256"]}
    archive = (job.folder / "result" / "archive").read_bytes()
    return archive, job.console.read_bytes(), cost, digests


_start_count = itertools.count()


def _choose_processor() -> int:
    """Choose a usable processor: a guest stays on it, because its processes switch all the time."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[(os.getpid() + next(_start_count)) % len(allowed)]
