"""The kernel of the `uml` runner: changes of its source, and its build."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one file of the kernel's source."""

    file: str  # Path in the source.
    # old, new: Text and its replacement.
    old: str
    new: str
    times: int = 1  # How often the text is there.


SOURCE_PATCHES: Final = (
    # Random numbers come from a seed in the environment if there is one (splitmix64), so that a run
    # can be repeated bit for bit.
    Edit(
        "arch/um/os-Linux/util.c",
        "\treturn getrandom(buf, len, flags);\n",
        """\
\tstatic int asked;
\tstatic const char *seed;
\tstatic unsigned long long state;
\tunsigned char *byte = buf;
\tsize_t at;

\tif (!asked) {
\t\tasked = 1;
\t\tseed = getenv("UML_SEED");
\t\tif (seed)
\t\t\tstate = strtoull(seed, NULL, 10);
\t}
\tif (!seed)
\t\treturn getrandom(buf, len, flags);
\tfor (at = 0; at < len; at++) {
\t\tunsigned long long word = state += 0x9e3779b97f4a7c15ULL;

\t\tword = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
\t\tword = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
\t\tbyte[at] = (word ^ (word >> 31)) >> 56;
\t}
\treturn len;
""",
    ),
    # The processes of the guest are traced processes of the host. Without PTRACE_O_EXITKILL they
    # would run on, with their system calls going to the host, if the kernel's process is killed.
    Edit(
        "arch/um/os-Linux/skas/process.c",
        "(void *) PTRACE_O_TRACESYSGOOD)",
        "(void *) (PTRACE_O_TRACESYSGOOD | 0x100000))",
    ),
    Edit(
        "arch/um/os-Linux/skas/process.c",
        "(void *)PTRACE_O_TRACESYSGOOD)",
        "(void *) (PTRACE_O_TRACESYSGOOD | 0x100000))",
    ),
    # Linux 6.1 has room for 2696 bytes of a processor's vector registers. On processors with AMX
    # there are 11008, and setting fewer fails. (The stacks they lie on are larger for it.)
    Edit(
        "arch/x86/um/user-offsets.c",
        "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
        "DEFINE_LONGS(HOST_FP_SIZE, 12288);",
    ),
    # Across a veth pair a packet brings no flow hash of its sender's socket, as on a wire. A router
    # would queue labelled packets by flow with it, although it cannot see flows.
    Edit(
        "net/core/skbuff.c",
        "\tskb->mark = 0;\n\tskb_clear_tstamp(skb);\n",
        "\tskb->mark = 0;\n\tskb_clear_tstamp(skb);\n\tskb_clear_hash(skb);\n",
    ),
    # Room for headers as in Debian's kernel for machines of a cloud, the one of the emulated guest,
    # whose tunnels are modules: a segment takes as much memory, by which TCP's small queues and the
    # buffers of both ends count. (With Wi-Fi there are 96 bytes more, and the power of two by which
    # a sender's buffer grows is the next.)
    Edit(
        "include/linux/netdevice.h",
        "#define MAX_HEADER LL_MAX_HEADER\n",
        "#define MAX_HEADER (LL_MAX_HEADER + 48)\n",
    ),
    # As in Debian's kernels, so that TCP's timers have the same steps in both guests.
    Edit("arch/um/Kconfig", "\tint\n\tdefault 100\n", "\tint\n\tdefault 250\n"),
)


def read_configuration() -> bytes:
    """Read the kernel's configuration, over ``allnoconfig``."""
    return (files("trunkline.linux") / "data" / "uml.config").read_bytes()


def compute_recipe_digest() -> str:
    """Compute the digest of configuration and edits: a kernel built from others is not this one."""
    return hashlib.sha256(read_configuration() + repr(SOURCE_PATCHES).encode()).hexdigest()[:16]


class SourceMismatch(Exception):
    """The kernel's source is not as the edits expect it."""


def apply_patches(source: Path) -> None:
    """Change the source; a second time changes nothing.

    Raises SourceMismatch: A text to change is not there, or not so often.
    """
    for edit in SOURCE_PATCHES:
        path = source / edit.file
        text = path.read_text("utf-8")
        if edit.new in text and edit.old not in text.replace(edit.new, ""):
            continue
        if text.count(edit.old) != edit.times:
            msg = f"{edit.file} of this kernel's source differs from Linux 6.1"
            raise SourceMismatch(msg)
        path.write_text(text.replace(edit.old, edit.new), "utf-8")


EXPECTED_OBJECTS: Final = 760  # Files that the build compiles, about; for its progress.


class BuildFailed(Exception):
    """The kernel does not compile; the text holds the last lines of the compiler."""


def build_kernel(
    source: Path, tools: Path, log: Path, lock: int, on_progress: Callable[[float], None]
) -> bytes:
    """Compile the kernel.

    A build that was interrupted continues where it stopped. Who built it, where and when is not
    written into the kernel.

    source: The source tree, with the edits; it is compiled in ``build_kernel`` next to it.
    tools: Folder of unpacked build tools, for those that the system lacks.
    lock: Descriptor that the compiler keeps open, so that its end can be waited for.
    on_progress: Gets the part that is done, 0 to 1.
    Raises BuildFailed.
    """
    tree = source.parent / "build"
    tree.mkdir(exist_ok=True)
    config_file = tree / "trunkline.config"
    config_file.write_bytes(read_configuration())
    make_command = ["make", "-C", str(source), "ARCH=um", f"O={tree}"]
    environment = {**os.environ, **make_build_environment(tools)}
    with log.open("w+b") as output:
        _run_make(
            [*make_command, "allnoconfig", f"KCONFIG_ALLCONFIG={config_file}"], environment, output
        )
        processors = len(os.sched_getaffinity(0))
        compiler = subprocess.Popen(
            [*make_command, f"-j{processors}", "linux"],
            env=environment,
            pass_fds=[lock],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert compiler.stdout is not None
        count = 0
        try:
            for line in compiler.stdout:
                output.write(line)
                if line.startswith(b"  CC "):
                    count += 1
                    on_progress(min(count / EXPECTED_OBJECTS, 0.99))
        finally:
            compiler.terminate()
            status = compiler.wait()
        output.flush()
        if status:
            raise BuildFailed(_read_last_lines(log))
        _run_make(["strip", "-o", str(tree / "stripped"), str(tree / "linux")], environment, output)
    return (tree / "stripped").read_bytes()


def make_build_environment(tools: Path) -> dict[str, str]:
    """Make the variables with which the build finds tools that were unpacked, not installed."""
    library = f"{tools}/usr/lib/{platform.machine()}-linux-gnu"
    variables = {
        "PATH": f"{os.environ.get('PATH', os.defpath)}:{tools}/usr/bin",
        "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
        "KBUILD_BUILD_USER": "trunkline",
        "KBUILD_BUILD_HOST": "trunkline",
        "LC_ALL": "C",
    }
    if (tools / "usr/bin/bison").exists():
        variables["BISON_PKGDATADIR"] = f"{tools}/usr/share/bison"
    if (tools / "usr/bin/m4").exists():
        variables["M4"] = f"{tools}/usr/bin/m4"
    if Path(library).exists():
        variables["LD_LIBRARY_PATH"] = library
    return variables


def _run_make(command: list[str], environment: dict[str, str], output: IO[bytes]) -> None:
    make_run = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if make_run.returncode:
        output.flush()
        raise BuildFailed(_read_last_lines(Path(output.name)))


def _read_last_lines(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").rstrip().splitlines()[-15:]
    return "\n".join(["the kernel does not compile:", *(f"  | {line}" for line in lines)])
