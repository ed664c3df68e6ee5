"""The `qemu` runner: a distribution's kernel on an emulated machine that counts instructions."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest.cache import read_agent
from trunkline.linux.guest.image import build_base_image, build_order_image, order_modules
from trunkline.linux.guest.process import run_guest
from trunkline.linux.guest.requirements import (
    Requirement,
    check_file,
    check_tools,
    check_trial,
    find_tool,
    get_package_folder,
)
from trunkline.linux.plan.modules import KERNEL_MODULES, QDISC_MODULES

if TYPE_CHECKING:
    from trunkline.linux.guest.process import GuestJob, HostCost

NAME: Final = "qemu"
EMULATOR: Final = "qemu-system-x86_64"
SETUP_COMMAND: Final = "trunkline linux setup --runner qemu"

MODULES_AFTER: Final = ("virtio_pci", "virtio_console")
"""Loaded after the run, for the way back: a device that works alongside the guest would disturb its
virtual time."""


def list_requirements() -> list[Requirement]:
    """List what the runner needs."""
    if platform.machine() != "x86_64":
        return [
            Requirement(
                "processor", False, f"{platform.machine()}; the guest's programs are x86-64"
            )
        ]
    program, kernel = find_emulator(), find_kernel()
    requirements = [
        check_file("emulator", program, SETUP_COMMAND),
        Requirement("kernel", True, kernel.name)
        if kernel
        else Requirement("kernel", False, SETUP_COMMAND),
        *check_tools(SETUP_COMMAND),
    ]
    if kernel:
        missing = [each for each in _list_modules(kernel)[2] if each not in QDISC_MODULES.values()]
        text = f"the kernel lacks {', '.join(missing)}" if missing else "all there"
        requirements.append(Requirement("modules", not missing, text))
        requirements.append(check_trial(get_trial_mark(), SETUP_COMMAND))
    return requirements


def list_missing_modules() -> frozenset[str]:
    """List the modules of disciplines that the kernel does not have."""
    kernel = find_kernel()
    missing = _list_modules(kernel)[2] if kernel else ()
    return frozenset(missing) & frozenset(QDISC_MODULES.values())


def get_trial_mark() -> Path:
    """Return the file that says that the guest has come up on this machine."""
    return get_package_folder(NAME).parent / "tried"


def find_emulator() -> Path | None:
    """Find the emulator: the system's, or the one in the cache."""
    cached = get_package_folder(NAME) / "usr" / "bin" / EMULATOR
    return find_tool(EMULATOR) or (cached if cached.exists() else None)


def find_kernel() -> Path | None:
    """Find the kernel in the cache; the newest if there are several."""
    kernels = sorted(
        (get_package_folder(NAME) / "boot").glob("vmlinuz-*"), key=lambda path: path.stat().st_mtime
    )
    return kernels[-1] if kernels else None


@cache
def _list_modules(kernel: Path) -> tuple[tuple[Path, ...], tuple[Path, ...], tuple[str, ...]]:
    folder = get_package_folder(NAME) / "lib" / "modules" / kernel.name.removeprefix("vmlinuz-")
    before, missing = order_modules(folder, KERNEL_MODULES)
    after, missing_after = order_modules(folder, MODULES_AFTER)
    only_after = tuple(path for path in after if path not in before)
    return tuple(before), only_after, (*missing, *missing_after)


def make_environment() -> dict[str, str]:
    """Make the emulator's environment: its own libraries if it came from packages in the cache."""
    variables = {"PATH": os.defpath}
    root = get_package_folder(NAME)
    if find_emulator() == root / "usr" / "bin" / EMULATOR:
        folders = [root / part for part in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")]
        variables["LD_LIBRARY_PATH"] = ":".join(map(str, folders))
        variables["QEMU_MODULE_DIR"] = str(folders[0] / "qemu")
    return variables


def run_job(job: GuestJob) -> tuple[bytes, bytes, HostCost, dict[str, str]]:
    """Run a guest: its results, its console, its cost, and digests of kernel, image and plan."""
    program, kernel = find_emulator(), find_kernel()
    assert program is not None, "the runner is ready"
    assert kernel is not None, "the runner is ready"
    before, after, _ = _list_modules(kernel)
    base = build_base_image(read_agent() or b"", before, after) + job.control_image
    (job.folder / "initrd").write_bytes(base + build_order_image(job.files))
    data_folder = get_package_folder(NAME) / "usr" / "share"
    command = [str(program)]
    for firmware_folder in (data_folder / "qemu", data_folder / "seabios"):
        if firmware_folder.exists():
            command += ["-L", str(firmware_folder)]
    command += list_machine_options(kernel, job.seed, job.memory_mb)
    job.console.touch()
    cost = run_guest(job, command, make_environment())
    digests = {
        "image": hashlib.sha256(base).hexdigest(),
        "kernel": hashlib.sha256(kernel.read_bytes()).hexdigest(),
    }
    return (job.folder / "archive").read_bytes(), job.console.read_bytes(), cost, digests


def list_machine_options(kernel: Path, seed: int, memory_mb: int) -> list[str]:
    """List the options of the emulator.

    seed: Seed of the random numbers that the guest is given.
    memory_mb: Its memory [MB].
    Returns: There is no network device among them, and no file but those named here.
    """
    return [
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        *("-machine", "pc,hpet=on,graphics=off,usb=off,vmport=off"),
        *("-cpu", "qemu64"),
        *("-smp", "1"),
        *("-m", str(memory_mb)),
        *("-display", "none"),
        *("-accel", "tcg,tb-size=128"),
        # One instruction a nanosecond; an idle guest's clock jumps to its next timer. Recording,
        # though nobody reads it, keeps the emulator's two threads from overtaking each other.
        *("-icount", "shift=0,sleep=off,align=off,rr=record,rrfile=/dev/null"),
        *("-rtc", "base=2026-01-01T00:00:00,clock=vm"),
        *("-seed", str(seed)),
        *("-kernel", str(kernel)),
        *("-initrd", "initrd"),
        *("-serial", "file:console"),
        *("-chardev", "file,id=back,path=archive"),
        *("-device", "virtio-serial-pci"),
        *("-device", "virtserialport,chardev=back,name=back"),
        "-append",
        # Timers go by the HPET. That of the local APIC would be calibrated: for 100 ms the kernel
        # spins on PAUSE, at each of which the emulator leaves its translated code. That takes as
        # long as all the rest of the start. Nor does the kernel try its ciphers, which nobody uses.
        "console=ttyS0 quiet panic=-1 nokaslr mitigations=off random.trust_bootloader=on "
        "no_timer_check ipv6.disable=1 edd=off nolapic_timer "
        "cryptomgr.notests preempt=full",
    ]
