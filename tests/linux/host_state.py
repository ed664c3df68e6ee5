"""What runs must leave alone: the host's network."""

import os
import subprocess
from pathlib import Path


def read_host_network():
    """Devices and queues of the host, and the network namespaces that have names or processes.

    Those of what other test processes have started meanwhile are left out.
    """
    command_outputs = []
    for command in (["ip", "-j", "link"], ["tc", "-j", "qdisc"], ["ip", "netns", "list"]):
        command_outputs.append(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout
        )
    parents, namespaces = {}, {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            number = int(path.name)
            parents[number] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            namespaces[number] = os.readlink(path / "ns" / "net")
        except OSError:
            continue
    other_processes = {
        number
        for number, parent in parents.items()
        if parent == os.getppid() and number != os.getpid()
    }
    own_namespaces = {
        namespaces[each]
        for each in namespaces
        if not other_processes & list_ancestors(each, parents)
    }
    return [*command_outputs, own_namespaces]


def list_ancestors(number, parents):
    """A process and those it descends from."""
    found = set()
    while number in parents and number not in found:
        found.add(number)
        number = parents[number]
    return found
