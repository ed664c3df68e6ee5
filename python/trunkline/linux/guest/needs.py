"""What runners are made of: parts that are there or not, programs, and the folder of packages."""

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trunkline.linux.guest.cache import cache_folder


def ask(command: Sequence[str], **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a program of the host and keep what it says; ``more`` is of `subprocess.run`."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


TOOLS: Final = ("ip", "tc")
"""Programs that every guest runs."""


@dataclass(frozen=True, slots=True)
class Part:
    """Something a runner needs.

    Parameters
    ----------
    found : bool
        Whether it is there.
    detail : str
        Where or which; what to do about it if it is not there.
    """

    name: str
    found: bool
    detail: str


def part(name: str, path: Path | None, remedy: str) -> Part:
    """A file that a runner needs, and what to do if it is not there."""
    found = path is not None and path.exists()
    return Part(name, found, str(path) if found else remedy)


def tools(remedy: str) -> list[Part]:
    """The programs that every guest runs: ``ip`` and ``tc``; `remedy` as in `part`."""
    return [part(name, find_tool(name), remedy) for name in TOOLS]


def find_tool(name: str) -> Path | None:
    """A program on the path, where administrators' programs lie, or in the cache."""
    found = shutil.which(name, path=os.pathsep.join(program_folders()))
    return Path(found) if found else None


def program_folders() -> list[str]:
    """Where programs are looked for; the cache comes last."""
    own = [str(unpacked("tools") / part) for part in ("usr/bin", "bin", "usr/sbin", "sbin")]
    return [os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", *own]


def tool_environment() -> dict[str, str]:
    """Environment in which programs of the cache find their libraries, and the system's theirs."""
    root, kind = unpacked("tools"), f"{platform.machine()}-linux-gnu"
    found = {"PATH": os.pathsep.join(program_folders())}
    if root.exists():
        found["LD_LIBRARY_PATH"] = f"{root}/usr/lib/{kind}:{root}/lib/{kind}"
    return found


def unpacked(runner: str) -> Path:
    """The folder into which packages are unpacked.

    Parameters
    ----------
    runner : str
        The runner's name, or ``tools`` for what the runners share.

    Returns
    -------
    Path
        Below the cache; it need not exist.
    """
    return cache_folder() / runner / "root"


def trial(mark: Path, remedy: str) -> Part:
    """Whether the runner's guest has come up on this machine before."""
    return Part("trial", mark.exists(), "the guest came up" if mark.exists() else remedy)
