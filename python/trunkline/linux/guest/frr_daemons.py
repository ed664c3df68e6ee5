"""FRR's daemons in the guest: Debian's package in the cache, and its requirements."""

from __future__ import annotations

import os
import platform
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest.image import (
    FILE_MODE,
    FOLDER_MODE,
    PROGRAM_MODE,
    CpioArchive,
    add_program,
)
from trunkline.linux.guest.kernel_build import BuildFailed
from trunkline.linux.guest.requirements import (
    Requirement,
    check_file,
    find_tool,
    get_package_folder,
    run_program,
)
from trunkline.linux.plan.frr_config import NAME, PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FRR_PACKAGE: Final = "frr"
UNPACKED_BYTES: Final = 23_000_000  # Size on disk, about [B].
NODE_MEMORY_MB: Final = 24  # Memory that the daemons of a node take [MB].
COMPILER: Final = "gcc"
SETUP_COMMAND: Final = "trunkline linux setup --control frr"
SHELL: Final = "sh"
CONFIGURATOR: Final = "vtysh"
_SCRIPT_TOOLS: Final = ("sed", "rm", "mv", "sysctl")
"""Programs that the script of a router runs next to ``ip`` and ``tc``."""
_ACCOUNTS: Final = {
    "etc/passwd": b"root:x:0:0::/:/\nfrr:x:0:0::/:/\n",
    "etc/group": b"root:x:0:\nfrr:x:0:\nfrrvty:x:0:\n",
    "etc/frr/vtysh.conf": b"username root nopassword\n",
}
"""The user and groups that the daemons look up; all are root, whom ``vtysh`` asks nothing."""


def list_requirements() -> list[Requirement]:
    """List what the daemons need: the programs, and the libraries they are linked with."""
    requirements = [check_file(name, _find_daemon(name), SETUP_COMMAND) for name in PROGRAMS]
    requirements.append(check_file("poll", _get_poll_library(), SETUP_COMMAND))
    if all(each.found for each in requirements):
        try:
            build_control_image()
        except OSError as error:
            requirements.append(Requirement("libraries", False, f"{error}; {SETUP_COMMAND}"))
    return requirements


def build_control_image(programs: Iterable[str] = PROGRAMS) -> bytes:
    """Build an archive with the daemons and their libraries, to follow that of the agent.

    programs: Daemons, ``vtysh``, or a shell, which brings the tools of routers' scripts.
    Raises OSError: A program or a library is missing; the text names it.
    """
    image, environment = CpioArchive(), _make_environment()
    for name in dict.fromkeys(programs):
        for program in (name, *(_SCRIPT_TOOLS if name == SHELL else ())):
            add_program(image, _find_program(program), environment)
    image.add("lib/poll.so", PROGRAM_MODE, _get_poll_library().read_bytes())
    image.add("etc/ld.so.preload", FILE_MODE, b"/lib/poll.so\n")
    for folder in ("var/run/frr", "var/tmp/frr", "var/lib/frr", "etc/frr"):
        image.add(folder, FOLDER_MODE)
    for name, text in _ACCOUNTS.items():
        image.add(name, FILE_MODE, text)
    return image.to_bytes()


def compile_poll() -> None:
    """Compile the library that makes daemons wait in virtual time.

    Raises BuildFailed: The compiler refuses it; the text says why.
    """
    with as_file(files("trunkline").joinpath("linux/data/frr-poll.c")) as source:
        options = ["-shared", "-fPIC", "-O2", "-s", "-o", str(_get_poll_library())]
        compiler_run = run_program([COMPILER, *options, str(source)])
    if compiler_run.returncode:
        raise BuildFailed(f"{COMPILER}: {compiler_run.stderr.strip()}")


def _get_poll_library() -> Path:
    return get_package_folder(NAME) / "poll.so"


def _find_program(name: str) -> Path:
    """Find a daemon, FRR's ``vtysh``, or a program of the system.

    Raises FileNotFoundError: There is none.
    """
    daemon, configurator = _find_daemon(name), get_package_folder(NAME) / "usr" / "bin" / name
    if daemon.exists():
        return daemon
    if name == CONFIGURATOR and configurator.exists():
        return configurator
    found = find_tool(name)
    if found is None:
        raise FileNotFoundError(f"there is no program {name}")
    return found


def _find_daemon(name: str) -> Path:
    """Find a daemon in the cache, or the system's where it has one."""
    relative_path = Path("usr") / "lib" / "frr" / name
    cached, installed = get_package_folder(NAME) / relative_path, Path("/") / relative_path
    return installed if installed.exists() and not cached.exists() else cached


def _make_environment() -> Mapping[str, str]:
    """Environment in which the daemons find their libraries, and the system's theirs."""
    folder = get_package_folder(NAME) / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
    return {"PATH": os.defpath, "LD_LIBRARY_PATH": f"{folder}/frr:{folder}"}
