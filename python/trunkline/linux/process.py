"""A guest as a process: started, watched and, whatever happens, ended."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trunkline.linux.cache import agent_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

PATIENCE_S: Final = 300.0
"""A guest that says nothing for so long is taken for hung. It speaks 20 times in a run."""

LAST_LINES: Final = 15
"""So many of the console's last lines a failure is reported with."""

_PROGRESS = re.compile(rb"trunkline: (\d+) %")
_FAULT = re.compile(r"trunkline: fault: (.*)")


class GuestFailed(Exception):
    """A guest died, hung or refused its orders.

    Parameters
    ----------
    why : str
        What happened.
    console : str
        What it wrote.
    """

    def __init__(self, why: str, console: str = "") -> None:
        self.why = why
        self.console = console
        last = [printable(line) for line in console.rstrip().splitlines()[-LAST_LINES:]]
        text = "\n".join([why, *(f"  | {line}" for line in last)])
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took of the host.

    Parameters
    ----------
    cpu_s, wall_s : float
        Seconds of processors and of the clock.
    """

    cpu_s: float
    wall_s: float


def printable(line: str) -> str:
    """A line with its control characters shown.

    Parameters
    ----------
    line : str
        Any text.

    Returns
    -------
    str
    """
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)


def run_guest(
    command: list[str],
    folder: Path,
    *,
    environment: Mapping[str, str],
    console: Path,
    processor: int | None = None,
    on_progress: Callable[[float], None] | None = None,
    patience_s: float = PATIENCE_S,
) -> Cost:
    """Start a guest and wait for its end.

    The guest has a session of its own, which is killed whole if it hangs or if we are interrupted;
    if this process is killed, the kernel kills the guest.

    Parameters
    ----------
    command : list of str
        Program and arguments.
    folder : Path
        Where it is started.
    environment : mapping
        Its whole environment.
    console : Path
        What its output is written to, or what it writes its console to.
    processor : int, optional
        The processor it stays on.
    on_progress : callable, optional
        Gets the part of the run that is done, 0 to 1.
    patience_s : float
        How long it may say nothing.

    Returns
    -------
    Cost

    Raises
    ------
    GuestFailed
    """
    launch = [str(agent_file()), "launch", "-" if processor is None else str(processor), *command]
    started = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with console.open("ab") as output:
        process = subprocess.Popen(
            launch,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _watch(process, console, on_progress, patience_s)
        finally:
            _kill(process)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    text = console.read_text("utf-8", "replace")
    fault = _FAULT.search(text)
    if fault:
        raise GuestFailed(printable(fault.group(1)), text)
    if "trunkline: handing back" not in text:
        how = f"ended with status {process.returncode}"
        if process.returncode < 0:
            how = f"was killed by {signal.Signals(-process.returncode).name}"
        raise GuestFailed(f"the guest {how} before it was done", text)
    return Cost(cpu_s=cpu, wall_s=time.monotonic() - started)


def _watch(
    process: subprocess.Popen[bytes],
    console: Path,
    on_progress: Callable[[float], None] | None,
    patience_s: float,
) -> None:
    size, last = -1, time.monotonic()
    while True:
        try:
            process.wait(timeout=0.02 if size < 0 else 0.1)
            return
        except subprocess.TimeoutExpired:
            pass
        now = time.monotonic()
        if console.stat().st_size != size:
            size, last = console.stat().st_size, now
            parts = _PROGRESS.findall(console.read_bytes())
            if on_progress is not None and parts:
                on_progress(int(parts[-1]) / 100)
        elif now - last > patience_s:
            text = console.read_text("utf-8", "replace")
            raise GuestFailed(f"the guest has said nothing for {patience_s:g} s: ended", text)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the guest's session; its first process is waited for."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
