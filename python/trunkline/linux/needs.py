"""What runners are made of: parts that are there or not, programs, and the folder of packages."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from trunkline.linux.cache import cache_folder


@dataclass(frozen=True, slots=True)
class Part:
    """Something a runner needs.

    Parameters
    ----------
    name : str
        What.
    found : bool
        Whether it is there.
    detail : str
        Where or which; what to do about it if it is not there.
    """

    name: str
    found: bool
    detail: str


def tool(name: str, *, package: str) -> Part:
    """A program of the system, or one that was unpacked into the cache.

    Parameters
    ----------
    name : str
        The program.
    package : str
        Debian's package of it.

    Returns
    -------
    Part
    """
    path = find_tool(name)
    if path is not None:
        return Part(name, True, str(path))
    return Part(name, False, f"install {package}")


def find_tool(name: str) -> Path | None:
    """A program on the path or where administrators' programs lie.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    Path or None
    """
    path = os.environ.get("PATH", os.defpath)
    found = shutil.which(name, path=f"{path}:/usr/sbin:/sbin")
    return Path(found) if found else None


def unpacked(runner: str) -> Path:
    """The folder into which a runner's packages are unpacked.

    Parameters
    ----------
    runner : str
        Its name.

    Returns
    -------
    Path
        Below the cache; it need not exist.
    """
    return cache_folder() / runner / "root"


def trial(mark: Path, remedy: str) -> Part:
    """Whether the runner's guest has come up on this machine before.

    Parameters
    ----------
    mark : Path
        The file that says so.
    remedy : str
        What to do if it has not.

    Returns
    -------
    Part
    """
    return Part("trial", mark.exists(), "the guest came up" if mark.exists() else remedy)
