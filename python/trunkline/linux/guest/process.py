"""A guest as a process: started, watched, and ended in every case."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from trunkline.linux.guest.cache import get_agent_file
from trunkline.results.terminal_tables import escape_unprintable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

MAX_SILENCE_S: Final = 300.0
"""A guest that is silent for this time is taken for hung. It writes 20 times in a run."""

LAST_LINES: Final = 15  # So many of the console's last lines a failure is reported with.

_PROGRESS_PATTERN = re.compile(rb"trunkline: (\d+) %")
_TROUBLE_PATTERN = re.compile(r"Kernel panic|Oops|Out of memory|BUG:|segfault")
_FAULT_PATTERN = re.compile(r"trunkline: fault: (.*)")


class GuestFailed(Exception):
    """A guest died, hung or refused its orders."""

    def __init__(self, reason: str, console: str = "") -> None:
        self.reason = reason
        self.console = console
        text = "\n".join(
            [reason, *(f"  | {escape_unprintable(line)}" for line in select_console_lines(console))]
        )
        super().__init__(text)


def select_console_lines(console: str) -> list[str]:
    """The lines of a console that say most about an end: the first trouble, and the last lines.

    Returns: A panic is followed by a long list of calls, so the line before it would be lost.
    """
    lines = console.rstrip().splitlines()
    last = max(0, len(lines) - LAST_LINES)
    trouble = next((i for i, line in enumerate(lines) if _TROUBLE_PATTERN.search(line)), last)
    if trouble >= last:
        return lines[last:]
    return [*lines[max(0, trouble - 1) : trouble + 2], "...", *lines[last:]]


@dataclass(frozen=True, slots=True)
class HostCost:
    """Time and memory that a run used on the host."""

    # cpu_s, wall_s: Seconds of processors and of the clock.
    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class GuestJob:
    """Input of a runner."""

    files: Mapping[str, bytes]  # Orders, schedules and configurations.
    folder: Path  # An empty folder; the guest sees its name nowhere.
    seed: int  # Seed of the guest's random numbers; of no meaning on the host's kernel.
    memory_mb: int  # Its memory [MB]; of no meaning on the host's kernel.
    on_progress: Callable[[float], None] | None  # Gets the part of the run that is done, 0 to 1.
    max_silence_s: float  # How long it may say nothing.
    control_image: bytes = b""  # Archive of daemons; empty without.

    @property
    def console(self) -> Path:
        """File of the guest's console."""
        return self.folder / "console"


def run_guest(
    job: GuestJob, command: list[str], environment: Mapping[str, str], processor: int | None = None
) -> HostCost:
    """Start a guest and wait for its end.

    The guest has a session of its own, which is killed whole if it hangs or if we are interrupted;
    if this process is killed, the kernel kills the guest.

    job: Its work; its output is written to the job's console.
    Raises GuestFailed.
    """
    launch = [
        str(get_agent_file()),
        "launch",
        "-" if processor is None else str(processor),
        *command,
    ]
    started_s = time.monotonic()
    with job.console.open("ab") as output:
        process = subprocess.Popen(
            launch,
            cwd=job.folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            cpu = _wait_for_end(process, job)
        finally:
            _kill_session(process)
    text = job.console.read_text("utf-8", "replace")
    fault = _FAULT_PATTERN.search(text)
    if fault:
        raise GuestFailed(escape_unprintable(fault.group(1)), text)
    if "trunkline: handing back" not in text:
        ending = f"ended with status {process.returncode}"
        if process.returncode < 0:
            ending = f"was killed by {signal.Signals(-process.returncode).name}"
        raise GuestFailed(f"the guest {ending} before it was done", text)
    return HostCost(cpu_s=cpu, wall_s=time.monotonic() - started_s)


def _wait_for_end(process: subprocess.Popen[bytes], job: GuestJob) -> float:
    """Wait for the guest's end; the seconds of processors that it and its processes took."""
    console = job.console
    size, last = -1, time.monotonic()
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        time.sleep(0.01 if size < 0 else 0.05)
        now = time.monotonic()
        if console.stat().st_size != size:
            size, last = console.stat().st_size, now
            percentages = _PROGRESS_PATTERN.findall(console.read_bytes())
            if job.on_progress is not None and percentages:
                job.on_progress(int(percentages[-1]) / 100)
        elif now - last > job.max_silence_s:
            text = console.read_text("utf-8", "replace")
            raise GuestFailed(
                f"the guest has sent nothing for {job.max_silence_s:g} s: ended", text
            )


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    """End the rest of the guest's session; its first process is waited for."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.returncode is None:
        process.wait()
