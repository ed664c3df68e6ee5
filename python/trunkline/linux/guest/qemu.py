"""The `qemu` runner: a distribution's kernel on an emulated machine that counts instructions."""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest.cache import agent
from trunkline.linux.guest.image import base_image, module_order, order_image
from trunkline.linux.guest.needs import Part, find_tool, part, tools, trial, unpacked
from trunkline.linux.guest.process import run_guest
from trunkline.linux.plan.modules import DISCIPLINES, KERNEL_MODULES

if TYPE_CHECKING:
    from trunkline.linux.guest.process import Cost, Job

NAME: Final = "qemu"
PROGRAM: Final = "qemu-system-x86_64"
SETUP: Final = "trunkline linux setup --runner qemu"

MODULES_AFTER: Final = ("virtio_pci", "virtio_console")
"""Loaded after the run, for the way back: a device that works beside the guest would disturb its
virtual time."""


def needs() -> list[Part]:
    """What the runner needs."""
    if platform.machine() != "x86_64":
        return [Part("processor", False, f"{platform.machine()}; the guest's programs are x86-64")]
    program, kernel = find_program(), find_kernel()
    parts = [
        part("emulator", program, SETUP),
        Part("kernel", True, kernel.name) if kernel else Part("kernel", False, SETUP),
        *tools(SETUP),
    ]
    if kernel:
        missing = [each for each in _modules(kernel)[2] if each not in DISCIPLINES.values()]
        text = f"the kernel lacks {', '.join(missing)}" if missing else "all there"
        parts.append(Part("modules", not missing, text))
        parts.append(trial(trial_mark(), SETUP))
    return parts


def lacks() -> frozenset[str]:
    """Modules of disciplines that the kernel does not have."""
    kernel = find_kernel()
    found = _modules(kernel)[2] if kernel else ()
    return frozenset(found) & frozenset(DISCIPLINES.values())


def trial_mark() -> Path:
    """The file that says that the guest has come up on this machine."""
    return unpacked(NAME).parent / "tried"


def find_program() -> Path | None:
    """The emulator: the system's, or the one in the cache."""
    own = unpacked(NAME) / "usr" / "bin" / PROGRAM
    return find_tool(PROGRAM) or (own if own.exists() else None)


def find_kernel() -> Path | None:
    """The kernel in the cache; the newest if there are several."""
    found = sorted(
        (unpacked(NAME) / "boot").glob("vmlinuz-*"), key=lambda path: path.stat().st_mtime
    )
    return found[-1] if found else None


@cache
def _modules(kernel: Path) -> tuple[tuple[Path, ...], tuple[Path, ...], tuple[str, ...]]:
    folder = unpacked(NAME) / "lib" / "modules" / kernel.name.removeprefix("vmlinuz-")
    before, missing = module_order(folder, KERNEL_MODULES)
    after, missing_after = module_order(folder, MODULES_AFTER)
    rest = tuple(path for path in after if path not in before)
    return tuple(before), rest, (*missing, *missing_after)


def environment() -> dict[str, str]:
    """The emulator's environment: its own libraries if it came from packages in the cache."""
    found = {"PATH": os.defpath}
    root = unpacked(NAME)
    if find_program() == root / "usr" / "bin" / PROGRAM:
        folders = [root / part for part in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu")]
        found["LD_LIBRARY_PATH"] = ":".join(map(str, folders))
        found["QEMU_MODULE_DIR"] = str(folders[0] / "qemu")
    return found


def run(job: Job) -> tuple[bytes, bytes, Cost, dict[str, str]]:
    """Run a guest: its results, its console, its cost, and digests of what was run."""
    program, kernel = find_program(), find_kernel()
    assert program is not None, "the runner is ready"
    assert kernel is not None, "the runner is ready"
    before, after, _ = _modules(kernel)
    base = base_image(agent() or b"", before, after) + job.control
    (job.folder / "initrd").write_bytes(base + order_image(job.files))
    share = unpacked(NAME) / "usr" / "share"
    command = [str(program)]
    for place in (share / "qemu", share / "seabios"):
        if place.exists():
            command += ["-L", str(place)]
    command += machine(kernel, job.seed, job.memory_mb)
    job.console.touch()
    cost = run_guest(job, command, environment())
    digests = {
        "image": hashlib.sha256(base).hexdigest(),
        "kernel": hashlib.sha256(kernel.read_bytes()).hexdigest(),
    }
    return (job.folder / "archive").read_bytes(), job.console.read_bytes(), cost, digests


def machine(kernel: Path, seed: int, memory_mb: int) -> list[str]:
    """The options of the emulator.

    Parameters
    ----------
    seed : int
        Of the random numbers that the guest is given.
    memory_mb : int
        Its memory [MB].

    Returns
    -------
    list of str
        There is no network device among them, and no file but those named here.
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
        "cryptomgr.notests",
    ]
