"""Preparing a runner: what has to be fetched, how large it is, and doing it.

Everything lies in the user's cache and needs no root. A setup that was interrupted goes on where it
stopped: packages, source tree, kernel and the mark of a trial run each are there whole or not at
all.
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

from trunkline.linux.guest import frr, kernel, qemu, uml
from trunkline.linux.guest.cache import cache_folder, size_of, write_whole
from trunkline.linux.guest.needs import ask, find_tool, unpacked
from trunkline.linux.guest.packages import Apt, NoPackages, Package, unpack
from trunkline.linux.guest.process import GuestFailed
from trunkline.linux.guest.readiness import Readiness, Unready, examine
from trunkline.linux.guest.runner import execute
from trunkline.linux.guest.scratch import scratch
from trunkline.linux.plan.frr import NAME as FRR, PROGRAMS
from trunkline.linux.plan.plan import Node, Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QEMU_PACKAGE: Final = "qemu-system-x86"
QEMU_KERNEL: Final = "linux-image-cloud-amd64"
UML_SOURCE: Final = "linux-source-6.1"
COMPILER: Final = {"gcc": "gcc libc6-dev", "make": "make", "strip": "binutils", "tar": "tar"}
BUILD_TOOLS: Final = {"flex": "flex", "bison": "bison", "m4": "m4", "bc": "bc", "xz": "xz-utils"}
BUILD_ROOM: Final = 1_900_000_000
"""Space that the kernel's source and its build take while they are there [B]."""
TRIAL_PATIENCE_S: Final = 180
"""An emulated machine says nothing until its kernel is up: some seconds on an idle host."""
UNPACKED: Final = {"qemu": 190_000_000, "uml": 6_100_000}
"""What stays on disk, about [B]."""


class SetupFailed(Exception):
    """A runner cannot be prepared here."""


@dataclass(slots=True)
class Setup:
    """What a runner still takes.

    Parameters
    ----------
    tools : list of Package
        Those of them that are ``ip`` and ``tc``, or build tools.
    room : int
        Space it takes while it is done [B].
    stays : int
        Space that it takes afterwards [B].
    minutes : str
        How long it takes, about, on an idle machine of two processors.
    """

    runner: str
    packages: list[Package]
    tools: list[Package] = field(default_factory=list)
    room: int = 0
    stays: int = 0
    minutes: str = ""

    @property
    def download(self) -> int:
        """What is fetched [B]."""
        return sum(package.size for package in self.packages)


def plan_setup(runner: str) -> Setup:
    """Find out what is to be done, and do nothing but ask the package manager.

    Parameters
    ----------
    runner : {"qemu", "uml", "frr"}
        Which; ``frr`` are daemons that run in one.

    Raises
    ------
    SetupFailed
        This machine cannot do it: the text says why and what helps.
    """
    state = examine(runner)
    blocked = [p for p in state.parts if not p.found and p.name not in _PREPARED]
    if blocked:
        raise SetupFailed(str(Unready([Readiness(runner, tuple(blocked))])))
    try:
        apt = Apt()
        try:
            return _plan(runner, apt)
        except NoPackages:
            # No lists, as in a container, or old ones.
            apt.refresh()
            return _plan(runner, apt)
    except NoPackages as error:
        raise SetupFailed(str(error)) from error


_PREPARED: Final = {
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


def _plan(runner: str, apt: Apt) -> Setup:
    if runner == FRR:
        if find_tool(frr.COMPILER) is None:
            msg = "the wait of FRR's daemons is compiled here: install gcc libc6-dev"
            raise NoPackages(msg)
        packages = apt.missing([frr.PACKAGE])
        room = frr.UNPACKED + sum(package.size for package in packages)
        return Setup(runner, packages, [], room, frr.UNPACKED, "some seconds")
    shared = all(find_tool(name) for name in ("ip", "tc"))
    tools = [] if shared else apt.missing(["iproute2"])
    if runner == "qemu":
        emulator = [] if find_tool(qemu.PROGRAM) else apt.missing([QEMU_PACKAGE])
        image = apt.depends(QEMU_KERNEL, r"linux-image-\d.*")
        if image is None:
            msg = f"the package lists hold no {QEMU_KERNEL}"
            raise NoPackages(msg)
        packages = [*tools, *emulator, *apt.packages([(image, None)])]
        size = sum(package.size for package in packages)
        stays = UNPACKED["qemu"]
        return Setup(runner, packages, tools, stays + size, stays, "half a minute")
    lacking = [text for name, text in COMPILER.items() if find_tool(name) is None]
    if lacking:
        msg = f"the kernel is compiled here, and these are missing: install {' '.join(lacking)}"
        raise SetupFailed(msg)
    wanted = [package for name, package in BUILD_TOOLS.items() if find_tool(name) is None]
    if wanted:
        # The folder is replaced as a whole, so what lies in it already comes along.
        both = wanted if all(map(shutil.which, ("ip", "tc"))) else [*wanted, "iproute2"]
        tools = apt.missing(both)
    packages = [*tools, *apt.packages([(UML_SOURCE, None)])]
    room = BUILD_ROOM + sum(package.size for package in packages)
    return Setup(runner, packages, tools, room, UNPACKED["uml"], "4 to 6 minutes")


def perform(
    setup: Setup, say: Callable[[str], None], on_progress: Callable[[float], None]
) -> Readiness:
    """Prepare a runner.

    Parameters
    ----------
    say : callable
        Called with each step.
    on_progress : callable
        Gets the part of a long step that is done, 0 to 1.

    Raises
    ------
    SetupFailed
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder, say) as lock:
        _sweep(folder)
        # What an interrupted setup has made already is kept.
        free = shutil.disk_usage(folder).free + size_of(_work()) + size_of(folder / "packages")
        if free < setup.room:
            msg = f"{folder} has {free / 1e6:.0f} MB free; this takes {setup.room / 1e6:.0f} MB"
            raise SetupFailed(msg)
        try:
            setup, archives = _fetch(setup, folder / "packages", say)
            say("unpacking")
            if setup.tools:
                unpack(archives[: len(setup.tools)], unpacked("tools"))
            rest = archives[len(setup.tools) :]
            if setup.runner != "uml":
                unpack(rest, unpacked(setup.runner))
                about = {"packages": [package.file for package in setup.packages]}
                write_whole(unpacked(setup.runner) / "about.json", json.dumps(about).encode())
                if setup.runner == FRR:
                    frr.compile_poll()
            else:
                _build_uml(setup, rest, lock, say, on_progress)
            for archive in archives:
                archive.unlink(missing_ok=True)
        except (NoPackages, kernel.SourceDiffers, kernel.BuildFailed) as error:
            raise SetupFailed(str(error)) from error
        if setup.runner != FRR:
            try_out(setup.runner, say)
        if setup.runner == "uml":
            say("removing source and build")
            shutil.rmtree(_work())
    return examine(setup.runner)


def _fetch(setup: Setup, folder: Path, say: Callable[[str], None]) -> tuple[Setup, list[Path]]:
    """Download the packages; if they are not there any more, those of today's lists."""
    apt = Apt()
    say(f"fetching {', '.join(package.name for package in setup.packages)}")
    try:
        return setup, apt.fetch(setup.packages, folder)
    except NoPackages as error:
        say(str(error))
        say("trying again with today's package lists")
        apt.refresh()
        setup = _plan(setup.runner, apt)
        return setup, apt.fetch(setup.packages, folder)


def _build_uml(
    setup: Setup,
    archives: list[Path],
    lock: int,
    say: Callable[[str], None],
    on_progress: Callable[[float], None],
) -> None:
    work = _work()
    tools, source = unpacked("tools"), work / "source"
    if not (source / "edited").exists():
        unpack(archives, work / "package")
        say("unpacking the kernel's source, 1.4 GB")
        _unpack_source(work, source, tools, lock)
        kernel.apply_edits(source)
        (source / "edited").touch()
    say("compiling the kernel")
    program = kernel.build(source, tools, work / "log", lock, on_progress)
    on_progress(1.0)
    about = {
        "source": setup.packages[-1].file,
        "sha256": hashlib.sha256(program).hexdigest(),
    }
    write_whole(uml.kernel_folder() / "about.json", json.dumps(about).encode())
    write_whole(uml.kernel_folder() / "linux", program, program=True)


def _work() -> Path:
    """Where the kernel is made."""
    return cache_folder() / "uml" / "work"


def _unpack_source(work: Path, source: Path, tools: Path, lock: int) -> None:
    (archive,) = (work / "package" / "usr" / "src").glob("linux-source-*.tar.xz")
    private = Path(tempfile.mkdtemp(dir=work, prefix=".source-"))
    try:
        done = ask(
            ["tar", "-xJf", str(archive), "-C", str(private), "--strip-components=1"],
            env={**os.environ, **kernel.build_environment(tools)},
            pass_fds=[lock],
        )
        if done.returncode:
            msg = f"unpacking {archive.name}: {done.stderr.strip()}"
            raise SetupFailed(msg)
        shutil.rmtree(source, ignore_errors=True)
        private.rename(source)
    finally:
        shutil.rmtree(private, ignore_errors=True)


def try_out(runner: str, say: Callable[[str], None]) -> None:
    """Start a guest with a single node; from then on the runner counts as ready.

    Parameters
    ----------
    runner : {"qemu", "uml"}
        Which.

    Raises
    ------
    SetupFailed
        The guest does not come up here.
    """
    say("starting a guest to try it")
    mark = trial_mark(runner)
    mark.touch()
    started = time.monotonic()
    try:
        with scratch() as folder:
            plan = Plan(seed=1, duration_ns=1_000_000, nodes=(Node("n0"),), links=())
            record = execute(plan, {}, Path(folder), runner, patience_s=TRIAL_PATIENCE_S)
    except BaseException as error:
        mark.unlink(missing_ok=True)
        if isinstance(error, GuestFailed):
            msg = f"the guest of {runner} does not come up on this machine: {error}"
            raise SetupFailed(msg) from error
        raise
    say(f"tried: Linux {record.kernel} was up and down in {time.monotonic() - started:.1f} s")


def trial_mark(runner: str) -> Path:
    """The file that says that a runner's guest has come up on this machine.

    Parameters
    ----------
    runner : {"qemu", "uml"}
        Which.
    """
    return {"qemu": qemu.trial_mark, "uml": uml.trial_mark}[runner]()


def clean(runner: str | None = None) -> int:
    """Remove what was prepared.

    Parameters
    ----------
    runner : str, optional
        Whose; everybody's when left out.

    Returns
    -------
    int
        What it took on disk [B].

    Raises
    ------
    SetupFailed
        Something of it cannot be removed.
    """
    folder = cache_folder() if runner is None else cache_folder() / runner
    size = size_of(folder)
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        freed = (size - size_of(folder)) / 1e6
        msg = f"{error.filename}: {error.strerror}; {freed:.0f} MB freed"
        raise SetupFailed(msg) from error
    return size


@contextmanager
def _alone(folder: Path, say: Callable[[str], None]) -> Iterator[int]:
    """Wait until no other setup works in the cache.

    Gives the descriptor of the lock: a long program that we start gets it too, and so keeps the
    next setup waiting if it outlives us.
    """
    import fcntl  # not on every platform, and guests run on Linux alone

    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another setup, or for what is left of one")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


def _sweep(folder: Path) -> None:
    """Remove what a setup that was killed has left half done; its names begin with a dot."""
    for pattern in ("packages/.*", "tools/.*", "qemu/.*", "uml/*/.*"):
        for path in folder.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
