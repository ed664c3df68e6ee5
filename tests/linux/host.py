"""What runs must leave alone: the host's network."""

import os
import subprocess
from pathlib import Path

from trunkline.linux.guest.scratch import PREFIX


def host_network():
    """Devices and queues of the host, and the network namespaces that have names or processes.

    Those of guests that somebody else runs meanwhile are left out.
    """
    seen = []
    for command in (["ip", "-j", "link"], ["tc", "-j", "qdisc"], ["ip", "netns", "list"]):
        seen.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    spaces = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if not belongs_to_another(Path(os.readlink(path / "cwd")).name):
                spaces.add(os.readlink(path / "ns" / "net"))
        except OSError:
            continue
    return [*seen, spaces]


def belongs_to_another(folder):
    """Whether a folder is the private one of a run of another process that is there."""
    if not folder.startswith(PREFIX):
        return False
    number = folder.removeprefix(PREFIX).partition("-")[0]
    return number != str(os.getpid()) and Path("/proc", number).exists()
