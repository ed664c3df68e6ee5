"""Preparation of a runner: the downloads, their size, and the steps.

Everything is in the user's cache and needs no root. An interrupted setup continues where it
stopped: packages, source tree, kernel and the mark of a trial run are each complete or absent.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest import frr_daemons, kernel_build, qemu, uml
from trunkline.linux.guest.cache import get_cache_folder, measure_folder, write_atomically
from trunkline.linux.guest.packages import (
    AptRepository,
    Package,
    PackageUnavailable,
    unpack_archives,
)
from trunkline.linux.guest.process import GuestFailed
from trunkline.linux.guest.readiness import Readiness, RunnerNotReady, examine_runner
from trunkline.linux.guest.requirements import find_tool, get_package_folder, run_program
from trunkline.linux.guest.runner import execute_plan
from trunkline.linux.guest.scratch_folders import make_scratch_folder
from trunkline.linux.plan.frr_config import NAME as FRR, PROGRAMS
from trunkline.linux.plan.guest_plan import GuestPlan, PlannedNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QEMU_PACKAGE: Final = "qemu-system-x86"
QEMU_KERNEL: Final = "linux-image-cloud-amd64"
UML_SOURCE: Final = "linux-source-6.1"
COMPILER_PACKAGES: Final = {
    "gcc": "gcc libc6-dev",
    "make": "make",
    "strip": "binutils",
    "tar": "tar",
}
BUILD_TOOL_PACKAGES: Final = {
    "flex": "flex",
    "bison": "bison",
    "m4": "m4",
    "bc": "bc",
    "xz": "xz-utils",
}
BUILD_SPACE_BYTES: Final = 1_900_000_000
"""Space that the kernel's source and its build take while they are there [B]."""
TRIAL_MAX_SILENCE_S: Final = 180
"""An emulated machine is silent until its kernel is up: some seconds on an idle host."""
UNPACKED_BYTES: Final = {"qemu": 190_000_000, "uml": 6_100_000}  # Size on disk, about [B].


class SetupFailed(Exception):
    """A runner cannot be prepared here."""


@dataclass(slots=True)
class SetupPlan:
    """Steps that make a runner ready."""

    runner: str
    packages: list[Package]
    # Those of them that are ``ip`` and ``tc``, or build tools.
    tool_packages: list[Package] = field(default_factory=list)
    space_needed: int = 0  # Space it takes while it is done [B].
    space_kept: int = 0  # Space that it takes afterwards [B].
    duration_text: str = ""  # How long it takes, about, on an idle machine of two processors.

    @property
    def download_bytes(self) -> int:
        """Bytes to download [B]."""
        return sum(package.size for package in self.packages)


def plan_setup(runner: str) -> SetupPlan:
    """Plan the steps; only ask the package manager.

    runner: one of "qemu", "uml", "frr"; which; ``frr`` are daemons that run in one.
    Raises SetupFailed: This machine cannot do it: the text gives reason and remedy.
    """
    state = examine_runner(runner)
    not_preparable = [
        requirement
        for requirement in state.requirements
        if not requirement.found and requirement.name not in _PREPARED_REQUIREMENTS
    ]
    if not_preparable:
        raise SetupFailed(str(RunnerNotReady([Readiness(runner, tuple(not_preparable))])))
    try:
        apt = AptRepository()
        try:
            return _plan_packages(runner, apt)
        except PackageUnavailable:
            # No lists, as in a container, or old ones.
            apt.refresh_lists()
            return _plan_packages(runner, apt)
    except PackageUnavailable as error:
        raise SetupFailed(str(error)) from error


_PREPARED_REQUIREMENTS: Final = {
    "emulator",
    "kernel",
    "ip",
    "tc",
    "modules",
    "trial",
    *PROGRAMS,
    "poll",
    "libraries",
}


def _plan_packages(runner: str, apt: AptRepository) -> SetupPlan:
    if runner == FRR:
        if find_tool(frr_daemons.COMPILER) is None:
            msg = "the wait of FRR's daemons is compiled here: install gcc libc6-dev"
            raise PackageUnavailable(msg)
        packages = apt.find_missing([frr_daemons.FRR_PACKAGE])
        space_needed = frr_daemons.UNPACKED_BYTES + sum(package.size for package in packages)
        return SetupPlan(
            runner, packages, [], space_needed, frr_daemons.UNPACKED_BYTES, "some seconds"
        )
    has_tools = all(find_tool(name) for name in ("ip", "tc"))
    tools = [] if has_tools else apt.find_missing(["iproute2"])
    if runner == "qemu":
        emulator = [] if find_tool(qemu.EMULATOR) else apt.find_missing([QEMU_PACKAGE])
        image = apt.find_dependency(QEMU_KERNEL, r"linux-image-\d.*")
        if image is None:
            raise PackageUnavailable(f"the package lists hold no {QEMU_KERNEL}")
        packages = [*tools, *emulator, *apt.find_packages([(image, None)])]
        size = sum(package.size for package in packages)
        space_kept = UNPACKED_BYTES["qemu"]
        return SetupPlan(runner, packages, tools, space_kept + size, space_kept, "half a minute")
    missing = [text for name, text in COMPILER_PACKAGES.items() if find_tool(name) is None]
    if missing:
        msg = f"the kernel is compiled here, and these are missing: install {' '.join(missing)}"
        raise SetupFailed(msg)
    missing_tools = [
        package for name, package in BUILD_TOOL_PACKAGES.items() if find_tool(name) is None
    ]
    if missing_tools:
        # The folder is replaced as a whole, so its present content is copied.
        tool_names = (
            missing_tools if all(map(shutil.which, ("ip", "tc"))) else [*missing_tools, "iproute2"]
        )
        tools = apt.find_missing(tool_names)
    packages = [*tools, *apt.find_packages([(UML_SOURCE, None)])]
    space_needed = BUILD_SPACE_BYTES + sum(package.size for package in packages)
    return SetupPlan(runner, packages, tools, space_needed, UNPACKED_BYTES["uml"], "4 to 6 minutes")


def perform_setup(
    setup: SetupPlan, on_step: Callable[[str], None], on_progress: Callable[[float], None]
) -> Readiness:
    """Prepare a runner.

    on_step: Called with each step.
    on_progress: Gets the part of a long step that is done, 0 to 1.
    Raises SetupFailed.
    """
    folder = get_cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with _lock_cache(folder, on_step) as lock:
        _remove_partial(folder)
        # The finished parts of an interrupted setup stay.
        free_bytes = (
            shutil.disk_usage(folder).free
            + measure_folder(_get_work_folder())
            + measure_folder(folder / "packages")
        )
        if free_bytes < setup.space_needed:
            raise SetupFailed(
                f"{folder} has {free_bytes / 1e6:.0f} MB free; this takes "
                f"{setup.space_needed / 1e6:.0f} MB"
            )
        try:
            setup, archives = _fetch_packages(setup, folder / "packages", on_step)
            on_step("unpacking")
            if setup.tool_packages:
                unpack_archives(archives[: len(setup.tool_packages)], get_package_folder("tools"))
            runner_archives = archives[len(setup.tool_packages) :]
            if setup.runner != "uml":
                unpack_archives(runner_archives, get_package_folder(setup.runner))
                package_info = {"packages": [package.file_name for package in setup.packages]}
                write_atomically(
                    get_package_folder(setup.runner) / "about.json",
                    json.dumps(package_info).encode(),
                )
                if setup.runner == FRR:
                    frr_daemons.compile_poll()
            else:
                _build_uml(setup, runner_archives, lock, on_step, on_progress)
            for archive in archives:
                archive.unlink(missing_ok=True)
        except (PackageUnavailable, kernel_build.SourceMismatch, kernel_build.BuildFailed) as error:
            raise SetupFailed(str(error)) from error
        if setup.runner != FRR:
            try_guest(setup.runner, on_step)
        if setup.runner == "uml":
            on_step("removing source and build")
            shutil.rmtree(_get_work_folder())
    return examine_runner(setup.runner)


def _fetch_packages(
    setup: SetupPlan, folder: Path, on_step: Callable[[str], None]
) -> tuple[SetupPlan, list[Path]]:
    """Download the packages; if they are not there any more, those of today's lists."""
    apt = AptRepository()
    on_step(f"fetching {', '.join(package.name for package in setup.packages)}")
    try:
        return setup, apt.fetch_packages(setup.packages, folder)
    except PackageUnavailable as error:
        on_step(str(error))
        on_step("trying again with today's package lists")
        apt.refresh_lists()
        setup = _plan_packages(setup.runner, apt)
        return setup, apt.fetch_packages(setup.packages, folder)


def _build_uml(
    setup: SetupPlan,
    archives: list[Path],
    lock: int,
    on_step: Callable[[str], None],
    on_progress: Callable[[float], None],
) -> None:
    work = _get_work_folder()
    tools, source = get_package_folder("tools"), work / "source"
    if not (source / "edited").exists():
        unpack_archives(archives, work / "package")
        on_step("unpacking the kernel's source, 1.4 GB")
        _unpack_source(work, source, tools, lock)
        kernel_build.apply_patches(source)
        (source / "edited").touch()
    on_step("compiling the kernel")
    program = kernel_build.build_kernel(source, tools, work / "log", lock, on_progress)
    on_progress(1.0)
    build_info = {
        "source": setup.packages[-1].file_name,
        "sha256": hashlib.sha256(program).hexdigest(),
    }
    write_atomically(uml.get_kernel_folder() / "about.json", json.dumps(build_info).encode())
    write_atomically(uml.get_kernel_folder() / "linux", program, is_program=True)


def _get_work_folder() -> Path:
    """Return the folder in which the kernel is made."""
    return get_cache_folder() / "uml" / "work"


def _unpack_source(work: Path, source: Path, tools: Path, lock: int) -> None:
    (archive,) = (work / "package" / "usr" / "src").glob("linux-source-*.tar.xz")
    partial_folder = Path(tempfile.mkdtemp(dir=work, prefix=".source-"))
    try:
        tar_run = run_program(
            ["tar", "-xJf", str(archive), "-C", str(partial_folder), "--strip-components=1"],
            env={**os.environ, **kernel_build.make_build_environment(tools)},
            pass_fds=[lock],
        )
        if tar_run.returncode:
            raise SetupFailed(f"unpacking {archive.name}: {tar_run.stderr.strip()}")
        shutil.rmtree(source, ignore_errors=True)
        partial_folder.rename(source)
    finally:
        shutil.rmtree(partial_folder, ignore_errors=True)


def try_guest(runner: str, on_step: Callable[[str], None]) -> None:
    """Start a guest with a single node; from then on the runner counts as ready.

    runner: one of "qemu", "uml"; which.
    Raises SetupFailed: The guest does not come up here.
    """
    on_step("starting a guest to try it")
    trial_file = get_trial_mark(runner)
    trial_file.touch()
    started = time.monotonic()
    try:
        with make_scratch_folder() as folder:
            plan = GuestPlan(seed=1, duration_ns=1_000_000, nodes=(PlannedNode("n0"),), links=())
            record = execute_plan(plan, {}, Path(folder), runner, max_silence_s=TRIAL_MAX_SILENCE_S)
    except BaseException as error:
        trial_file.unlink(missing_ok=True)
        if isinstance(error, GuestFailed):
            msg = f"the guest of {runner} does not come up on this machine: {error}"
            raise SetupFailed(msg) from error
        raise
    on_step(f"tried: Linux {record.kernel} was up and down in {time.monotonic() - started:.1f} s")


def get_trial_mark(runner: str) -> Path:
    """Return the file that says that a runner's guest has come up on this machine.

    runner: one of "qemu", "uml"; which.
    """
    return {"qemu": qemu.get_trial_mark, "uml": uml.get_trial_mark}[runner]()


def remove_prepared(runner: str | None = None) -> int:
    """Remove the prepared files.

    runner: Whose; everybody's when left out.
    Returns: Its size on disk [B].
    Raises SetupFailed: Something of it cannot be removed.
    """
    folder = get_cache_folder() if runner is None else get_cache_folder() / runner
    size = measure_folder(folder)
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        freed_mb = (size - measure_folder(folder)) / 1e6
        raise SetupFailed(f"{error.filename}: {error.strerror}; {freed_mb:.0f} MB freed") from error
    return size


@contextmanager
def _lock_cache(folder: Path, on_step: Callable[[str], None]) -> Iterator[int]:
    """Wait until no other setup works in the cache.

    Gives the descriptor of the lock: a long program that we start gets it too, and so keeps the
    next setup waiting if it outlives us.
    """
    import fcntl  # not on every platform, and guests run on Linux alone

    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_step("waiting for another setup, or for what is left of one")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _remove_partial(folder: Path) -> None:
    """Remove incomplete files of a killed setup; its names begin with a dot."""
    for pattern in ("packages/.*", "tools/.*", "qemu/.*", "uml/*/.*"):
        for path in folder.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
