"""The guest's first file system: a cpio archive, written byte by byte.

The same parts give the same bytes: times are zero, owners root, numbers count up.
Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import lzma
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest.requirements import (
    GUEST_TOOLS,
    find_tool,
    make_tool_environment,
    run_program,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE_MODE: Final = 0o100644
PROGRAM_MODE: Final = 0o100755
FOLDER_MODE: Final = 0o040755
DEVICE_MODE: Final = 0o020600


class CpioArchive:
    """A cpio archive of the kind ``newc``."""

    def __init__(self) -> None:
        self._entries: list[bytes] = []
        self._names: set[str] = set()

    def add(
        self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)
    ) -> None:
        """Add a file, and the folders it lies in. name: Path without a leading slash."""
        if name in self._names:
            return
        folder = name.rpartition("/")[0]
        if folder:
            self.add(folder, FOLDER_MODE)
        self._names.add(name)
        self._entries.append(_format_entry(len(self._names), name, mode, data, device))

    def to_bytes(self) -> bytes:
        """The archive, ended and filled up to 512 bytes, so that another may follow it."""
        archive = b"".join([*self._entries, _format_entry(0, "TRAILER!!!", 0, b"", (0, 0))])
        return archive + bytes(-len(archive) % 512)


def _format_entry(number: int, name: str, mode: int, data: bytes, device: tuple[int, int]) -> bytes:
    encoded_name = name.encode("ascii") + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded_name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded_name
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def build_base_image(
    agent: bytes, modules: Iterable[Path] = (), modules_after: Iterable[Path] = ()
) -> bytes:
    """Build the part that every run of a runner shares: agent, ``ip``, ``tc`` and their libraries.

    modules, modules_after: Modules of the kernel to load before the run, and after it, in this
        order.
    """
    image, environment = CpioArchive(), make_tool_environment()
    for folder in ("dev", "proc", "sys", "tmp", "result", "run", "trunkline"):
        image.add(folder, FOLDER_MODE)
    image.add("dev/console", DEVICE_MODE, device=(5, 1))
    image.add("dev/null", DEVICE_MODE | 0o66, device=(1, 3))
    image.add("init", PROGRAM_MODE, agent)
    for program in filter(None, map(find_tool, GUEST_TOOLS)):
        add_program(image, program, environment)
    for folder, files in (("modules", modules), ("modules-after", modules_after)):
        for number, file in enumerate(files):
            image.add(f"{folder}/{number:03}-{get_module_name(file)}", FILE_MODE, read_module(file))
    return image.to_bytes()


def add_program(image: CpioArchive, program: Path, environment: Mapping[str, str]) -> None:
    """Put a program with its libraries into an archive.

    Raises OSError: One of them is missing; the text names it.
    """
    image.add(f"bin/{program.name}", PROGRAM_MODE, program.read_bytes())
    for library in list_libraries(program, environment):
        image.add(_choose_path(library), PROGRAM_MODE, library.read_bytes())


def build_order_image(files: Mapping[str, bytes]) -> bytes:
    """Build the part that differs between runs: the agent's orders and schedules.

    Returns: An archive that may follow that of `build_base_image`.
    """
    image = CpioArchive()
    for name, data in files.items():
        image.add(f"trunkline/{name}", FILE_MODE, data)
    return image.to_bytes()


def _choose_path(library: Path) -> str:
    # The loader's own path is written into every program; the rest is found in /lib.
    loader = library.name.startswith("ld-linux")
    return str(library).lstrip("/") if loader else f"lib/{library.name}"


def list_libraries(program: Path, environment: Mapping[str, str] | None = None) -> list[Path]:
    """List the libraries a program is linked with, its loader included.

    Returns: Empty for a program that needs none.
    Raises OSError: A library is missing; the text names it.
    """
    ldd_run = run_program(["ldd", str(program)], env=environment)
    if "not found" in ldd_run.stdout:
        missing = re.findall(r"(\S+) => not found", ldd_run.stdout)
        raise OSError(f"{program} lacks {', '.join(missing)}")
    return [Path(path) for path in re.findall(r"(?:=> |^\s*)(/\S+) \(", ldd_run.stdout, re.M)]


def get_module_name(file: Path) -> str:
    """Return the name of a module, with underscores."""
    return file.name.partition(".ko")[0].replace("-", "_")


def read_module(file: Path) -> bytes:
    """Read a module as the kernel takes it."""
    data = file.read_bytes()
    return lzma.decompress(data) if file.suffix == ".xz" else data


def order_modules(folder: Path, wanted_modules: Iterable[str]) -> tuple[list[Path], list[str]]:
    """Order the modules of a kernel, with all they need, for loading.

    What a module needs is written in itself (``depends=`` of its modinfo), so no table made by
    ``depmod`` is needed, which packages do not carry.

    folder: ``lib/modules/VERSION`` of the kernel.
    Returns: The files, and the wanted names of which there is neither file nor built-in part.
    """
    files = {
        get_module_name(path): path
        for path in folder.rglob("*.ko*")
        if path.suffix in {".ko", ".xz"}
    }
    builtin_list = folder / "modules.builtin"
    lines = builtin_list.read_text().split() if builtin_list.exists() else []
    built_in = {get_module_name(Path(line)) for line in lines}
    order: dict[str, Path] = {}
    missing: list[str] = []

    def add_module(name: str) -> None:
        if name in order or name in built_in:
            return
        if name not in files:
            missing.append(name)
            return
        depends_match = re.search(rb"(?:^|\0)depends=([^\0]*)\0", read_module(files[name]))
        for dependency in (
            depends_match.group(1).decode("ascii").split(",") if depends_match else ()
        ):
            if dependency:
                add_module(dependency.replace("-", "_"))
        order[name] = files[name]

    for name in wanted_modules:
        add_module(name)
    return list(order.values()), missing
