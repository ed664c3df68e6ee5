"""Routers as namespaces joined by veth pairs, in a network of this process's own.

Called by tests as ``unshare --net --mount python router_namespaces.py FOLDER TOLD``: FOLDER has a
script for each of three routers in a line, TOLD gets what was seen as JSON.
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
RECEIVE_PROGRAM = """
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
SEND_PROGRAM = """
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


def run_shell(command: str) -> str:
    return subprocess.run(["sh", "-ec", command], capture_output=True, text=True, check=True).stdout


def wrap_in_namespace(node: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", node, *command]


def run_router_script(folder: Path, node: str, *options: str) -> subprocess.CompletedProcess[str]:
    (file,) = folder.glob(f"{node}-*.sh")
    return subprocess.run(
        wrap_in_namespace(node, "sh", str(file), *options),
        capture_output=True,
        text=True,
        check=False,
    )


def read_router_state() -> dict[str, list[str]]:
    """All that a script could leave behind, but for neighbours, which come and go."""
    look_commands = (
        "ip addr",
        "ip route show table all",
        "ip rule",
        "tc qdisc",
        "sysctl -a -r net.ipv4.*",
    )
    volatile = "valid_lft|icmp_msgs|random|inode|ipfrag_time"
    return {
        node: run_shell(
            f"for look in {' '.join(repr(each) for each in look_commands)}; do "
            f"ip netns exec {node} $look 2>/dev/null | grep -vE '{volatile}'; done; ls /run"
        ).splitlines()
        for node in NODES
    }


def count_received(protocol: str, source: str, target: str) -> int:
    """What arrives of a million bytes, or of 50 datagrams."""
    python = (sys.executable, "-c")
    receiver = subprocess.Popen(
        wrap_in_namespace("n2", *python, RECEIVE_PROGRAM, protocol, target),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert receiver.stdout is not None
    receiver.stdout.readline()
    subprocess.run(
        wrap_in_namespace("n0", *python, SEND_PROGRAM, protocol, source, target),
        check=True,
        timeout=30,
    )
    return int(receiver.communicate(timeout=30)[0])


def run_routers(folder: Path, source: str, target: str) -> dict[str, object]:
    run_shell("mount -t tmpfs none /run; mkdir /run/netns")
    for node in NODES:
        run_shell(f"ip netns add {node}; ip -n {node} link set lo up")
    for a, b, first, second in (("n0", "n1", "l0a", "l0b"), ("n1", "n2", "l1a", "l1b")):
        run_shell(f"ip link add {first} netns {a} type veth peer name {second} netns {b}")
        # Once up, a device has another queue for good, if it is down again.
        for node, device in ((a, first), (b, second)):
            run_shell(f"for state in up down; do ip -n {node} link set {device} $state; done")
    # Strict filters for all, as distributions have them; no addresses of IPv6, which come and go.
    for node in NODES:
        run_shell(f"ip netns exec {node} sysctl -q -w net.ipv4.conf.all.rp_filter=1")
        run_shell(f"ip netns exec {node} sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 || :")
    observations: dict[str, object] = {"before": read_router_state()}
    for attempt in ("first", "second"):
        completed = [run_router_script(folder, node) for node in NODES]
        observations[attempt] = [completed_script.stderr for completed_script in completed] + [
            completed_script.returncode for completed_script in completed
        ]
        observations[f"{attempt} udp"] = count_received("udp", source, target)
        observations[f"{attempt} tcp"] = count_received("tcp", source, target)
        observations[f"{attempt} state"] = read_router_state()
    # A run that is killed half-way leaves what the next one undoes.
    slow = subprocess.Popen(wrap_in_namespace("n1", "sh", *map(str, folder.glob("n1-*.sh"))))
    time.sleep(0.05)
    os.kill(slow.pid, signal.SIGKILL)
    slow.wait()
    observations["teardown"] = [
        run_router_script(folder, node, "--teardown").returncode for node in NODES
    ]
    observations["teardown again"] = [
        run_router_script(folder, node, "--teardown").returncode for node in NODES
    ]
    observations["after"] = read_router_state()
    # Somebody else's queue on the last device: refused, and still there.
    run_shell("ip netns exec n1 tc qdisc add dev l1a root handle 7: pfifo limit 9")
    observations["foreign before"] = read_router_state()
    refused = run_router_script(folder, "n1")
    observations["refused"] = [refused.returncode, refused.stderr]
    observations["foreign after"] = read_router_state()
    return observations


if __name__ == "__main__":
    written = run_routers(Path(sys.argv[1]), sys.argv[3], sys.argv[4])
    Path(sys.argv[2]).write_text(json.dumps(written))
