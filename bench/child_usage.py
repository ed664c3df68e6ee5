"""Time and memory of a program, as the kernel counts them for a child process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

# A child counts the memory of the process it was split from: that one has to be small.
_SPAWN = """
import os, sys, time
at = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
took = time.perf_counter() - at
print(took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True)
class ResourceUsage:
    """Resources that a program used."""

    wall_s: float  # Time of the clock [s].
    cpu_s: float  # Processor time, user and system [s].
    peak_bytes: int  # Maximum memory resident [B].
    printed: str  # Its output.


def measure_command(command: list[str]) -> ResourceUsage:
    """Run a program to its end.

    command: Path of the program and its arguments.
    Raises subprocess.CalledProcessError: It ended with an error.
    """
    done = subprocess.run(
        [sys.executable, "-ISc", _SPAWN, *command], capture_output=True, text=True, check=True
    )
    wall, used, peak_kib = done.stderr.split()[-3:]
    return ResourceUsage(float(wall), float(used), int(peak_kib) * 1024, done.stdout)
