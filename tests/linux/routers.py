"""Routers as namespaces joined by veth pairs, in a network of this process's own.

Called by tests as ``unshare --net --mount python routers.py FOLDER TOLD``: FOLDER has a script for
each of three routers in a line, TOLD gets what was seen as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

NODES = ("n0", "n1", "n2")
RECEIVE = """
import socket, sys
s = socket.socket(type=socket.SOCK_DGRAM if sys.argv[1] == "udp" else socket.SOCK_STREAM)
s.bind((sys.argv[2], 7000)); s.settimeout(20); got = 0
if sys.argv[1] == "tcp":
    s.listen(); print("ready", flush=True); c, _ = s.accept()
    while block := c.recv(65536): got += len(block)
else:
    print("ready", flush=True)
    while s.recv(2000) != b"end": got += 1
print(got)
"""
SEND = """
import socket, sys, time
s = socket.socket(type=socket.SOCK_DGRAM if sys.argv[1] == "udp" else socket.SOCK_STREAM)
s.bind((sys.argv[2], 0)); s.connect((sys.argv[3], 7000))
if sys.argv[1] == "tcp": s.sendall(bytes(1_000_000)); s.close()
else:
    for _ in range(50): s.send(bytes(1000)); time.sleep(0.002)
    try:
        for _ in range(5): s.send(b"end"); time.sleep(0.05)
    except ConnectionRefusedError: pass  # It has ended.
"""


def sh(command: str) -> str:
    return subprocess.run(["sh", "-ec", command], capture_output=True, text=True, check=True).stdout


def inside(node: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", node, *command]


def script(folder: Path, node: str, *options: str) -> subprocess.CompletedProcess[str]:
    (file,) = folder.glob(f"{node}-*.sh")
    return subprocess.run(
        inside(node, "sh", str(file), *options), capture_output=True, text=True, check=False
    )


def seen() -> dict[str, list[str]]:
    """All that a script could leave behind, but for neighbours, which come and go."""
    looks = ("ip addr", "ip route show table all", "ip rule", "tc qdisc", "sysctl -a -r net.ipv4.*")
    volatile = "valid_lft|icmp_msgs|random|inode|ipfrag_time"
    return {
        node: sh(
            f"for look in {' '.join(repr(each) for each in looks)}; do "
            f"ip netns exec {node} $look 2>/dev/null | grep -vE '{volatile}'; done; ls /run"
        ).splitlines()
        for node in NODES
    }


def carried(protocol: str, source: str, target: str) -> int:
    """What arrives of a million bytes, or of 50 datagrams."""
    python = (sys.executable, "-c")
    receiver = subprocess.Popen(
        inside("n2", *python, RECEIVE, protocol, target), stdout=subprocess.PIPE, text=True
    )
    assert receiver.stdout is not None
    receiver.stdout.readline()
    subprocess.run(inside("n0", *python, SEND, protocol, source, target), check=True, timeout=30)
    return int(receiver.communicate(timeout=30)[0])


def main(folder: Path, source: str, target: str) -> dict[str, object]:
    sh("mount -t tmpfs none /run; mkdir /run/netns")
    for node in NODES:
        sh(f"ip netns add {node}; ip -n {node} link set lo up")
    for a, b, first, second in (("n0", "n1", "l0a", "l0b"), ("n1", "n2", "l1a", "l1b")):
        sh(f"ip link add {first} netns {a} type veth peer name {second} netns {b}")
        # Once up, a device has another queue for good, if it is down again.
        for node, device in ((a, first), (b, second)):
            sh(f"for state in up down; do ip -n {node} link set {device} $state; done")
    # Strict filters for all, as distributions have them; no addresses of IPv6, which come and go.
    for node in NODES:
        sh(f"ip netns exec {node} sysctl -q -w net.ipv4.conf.all.rp_filter=1")
        sh(f"ip netns exec {node} sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 || :")
    told: dict[str, object] = {"before": seen()}
    for time_ in ("first", "second"):
        done = [script(folder, node) for node in NODES]
        told[time_] = [each.stderr for each in done] + [each.returncode for each in done]
        told[f"{time_} udp"] = carried("udp", source, target)
        told[f"{time_} tcp"] = carried("tcp", source, target)
        told[f"{time_} state"] = seen()
    # A run that is killed half-way leaves what the next one undoes.
    slow = subprocess.Popen(inside("n1", "sh", *map(str, folder.glob("n1-*.sh"))))
    time.sleep(0.05)
    os.kill(slow.pid, signal.SIGKILL)
    slow.wait()
    told["teardown"] = [script(folder, node, "--teardown").returncode for node in NODES]
    told["teardown again"] = [script(folder, node, "--teardown").returncode for node in NODES]
    told["after"] = seen()
    # Somebody else's queue on the last device: refused, and still there.
    sh("ip netns exec n1 tc qdisc add dev l1a root handle 7: pfifo limit 9")
    told["foreign before"] = seen()
    refused = script(folder, "n1")
    told["refused"] = [refused.returncode, refused.stderr]
    told["foreign after"] = seen()
    return told


if __name__ == "__main__":
    written = main(Path(sys.argv[1]), sys.argv[3], sys.argv[4])
    Path(sys.argv[2]).write_text(json.dumps(written))
