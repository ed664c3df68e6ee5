"""Requirements of runners: parts, programs, and the folder of packages."""

import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trunkline.linux.guest.cache import get_cache_folder


def run_program(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program of the host and return its output; ``options`` is of `subprocess.run`."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


GUEST_TOOLS: Final = ("ip", "tc")  # Programs that every guest runs.


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something a runner needs."""

    name: str
    found: bool  # Whether it is there.
    detail: str  # Its place or version; the remedy if it is missing.


def check_file(name: str, path: Path | None, remedy: str) -> Requirement:
    """A file that a runner needs, and the remedy if it is missing."""
    is_found = path is not None and path.exists()
    return Requirement(name, is_found, str(path) if is_found else remedy)


def check_tools(remedy: str) -> list[Requirement]:
    """The programs that every guest runs: ``ip`` and ``tc``; `remedy` as in `check_file`."""
    return [check_file(name, find_tool(name), remedy) for name in GUEST_TOOLS]


def find_tool(name: str) -> Path | None:
    """Find a program on the path, where administrators' programs lie, or in the cache."""
    found = shutil.which(name, path=os.pathsep.join(list_program_folders()))
    return Path(found) if found else None


def list_program_folders() -> list[str]:
    """List the folders of programs; the cache comes last."""
    cache_folders = [
        str(get_package_folder("tools") / part) for part in ("usr/bin", "bin", "usr/sbin", "sbin")
    ]
    return [os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", *cache_folders]


def make_tool_environment() -> dict[str, str]:
    """Environment in which programs of the cache find their libraries, and the system's theirs."""
    root, kind = get_package_folder("tools"), f"{platform.machine()}-linux-gnu"
    variables = {"PATH": os.pathsep.join(list_program_folders())}
    if root.exists():
        variables["LD_LIBRARY_PATH"] = f"{root}/usr/lib/{kind}:{root}/lib/{kind}"
    return variables


def get_package_folder(runner: str) -> Path:
    """Return the folder into which packages are unpacked.

    runner: The runner's name, or ``tools`` for the shared part.
    Returns: Below the cache; it need not exist.
    """
    return get_cache_folder() / runner / "root"


def check_trial(mark: Path, remedy: str) -> Requirement:
    """Whether the runner's guest has come up on this machine before."""
    return Requirement("trial", mark.exists(), "the guest came up" if mark.exists() else remedy)
