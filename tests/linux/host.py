"""What runs must leave alone: the host's network."""

import os
import subprocess
from pathlib import Path


def host_network():
    """Devices and queues of the host, and the network namespaces that have names or processes.

    Those of what other test processes have started meanwhile are left out.
    """
    seen = []
    for command in (["ip", "-j", "link"], ["tc", "-j", "qdisc"], ["ip", "netns", "list"]):
        seen.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    parents, spaces = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            number = int(path.name)
            parents[number] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            spaces[number] = os.readlink(path / "ns" / "net")
        except OSError:
            continue
    others = {
        number
        for number, parent in parents.items()
        if parent == os.getppid() and number != os.getpid()
    }
    ours = {spaces[each] for each in spaces if not others & ancestors(each, parents)}
    return [*seen, ours]


def ancestors(number, parents):
    """A process and those it descends from."""
    found = set()
    while number in parents and number not in found:
        found.add(number)
        number = parents[number]
    return found
