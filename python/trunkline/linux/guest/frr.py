"""FRR's daemons in the guest: Debian's package in the cache, and what it needs to run."""

from __future__ import annotations

import os
import platform
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest.image import FILE, FOLDER, PROGRAM, Image, add_program
from trunkline.linux.guest.kernel import BuildFailed
from trunkline.linux.guest.needs import Part, ask, part, unpacked
from trunkline.linux.plan.frr import NAME, PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGE: Final = "frr"
UNPACKED: Final = 23_000_000
"""What stays on disk, about [B]."""
NODE_MB: Final = 24
"""Memory that the daemons of a node take [MB]."""
COMPILER: Final = "gcc"
SETUP: Final = "trunkline linux setup --control frr"
_ACCOUNTS: Final = {
    "etc/passwd": b"root:x:0:0::/:/\nfrr:x:0:0::/:/\n",
    "etc/group": b"root:x:0:\nfrr:x:0:\nfrrvty:x:0:\n",
}
"""The user and groups that the daemons look up; all are root."""


def needs() -> list[Part]:
    """What the daemons need: the programs, and the libraries they are linked with."""
    parts = [part(name, _program(name), SETUP) for name in PROGRAMS]
    parts.append(part("poll", _poll(), SETUP))
    if all(each.found for each in parts):
        try:
            control_image()
        except OSError as error:
            parts.append(Part("libraries", False, f"{error}; {SETUP}"))
    return parts


def control_image() -> bytes:
    """An archive with the daemons and their libraries, to follow that of the agent.

    Raises
    ------
    OSError
        A program or a library is missing; the text names it.
    """
    image, environment = Image(), _environment()
    for name in PROGRAMS:
        add_program(image, _program(name), environment)
    image.add("lib/poll.so", PROGRAM, _poll().read_bytes())
    image.add("etc/ld.so.preload", FILE, b"/lib/poll.so\n")
    for folder in ("var/run/frr", "var/tmp/frr", "var/lib/frr", "etc/frr"):
        image.add(folder, FOLDER)
    for name, text in _ACCOUNTS.items():
        image.add(name, FILE, text)
    return image.to_bytes()


def compile_poll() -> None:
    """Compiles how daemons wait in virtual time, which they are started with.

    Raises
    ------
    BuildFailed
        The compiler refuses it; the text says why.
    """
    with as_file(files("trunkline").joinpath("linux/data/frr-poll.c")) as source:
        options = ["-shared", "-fPIC", "-O2", "-s", "-o", str(_poll())]
        done = ask([COMPILER, *options, str(source)])
    if done.returncode:
        msg = f"{COMPILER}: {done.stderr.strip()}"
        raise BuildFailed(msg)


def _poll() -> Path:
    return unpacked(NAME) / "poll.so"


def _program(name: str) -> Path:
    """A daemon in the cache, or the system's where it has one."""
    below = Path("usr") / "lib" / "frr" / name
    own, installed = unpacked(NAME) / below, Path("/") / below
    return installed if installed.exists() and not own.exists() else own


def _environment() -> Mapping[str, str]:
    """Environment in which the daemons find their libraries, and the system's theirs."""
    folder = unpacked(NAME) / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
    return {"PATH": os.defpath, "LD_LIBRARY_PATH": f"{folder}/frr:{folder}"}
