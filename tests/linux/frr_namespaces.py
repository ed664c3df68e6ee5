"""FRR's daemons in namespaces, from the files of ``export --to containerlab`` and nothing else.

Called by tests as ``unshare ... python frr_namespaces.py FOLDER SEEN ORDERS``: FOLDER has the
topology and a folder for each node, SEEN gets what was seen as JSON. ORDERS is JSON:
``settle_s``, ``flows``: source and destination node, destination address, DSCP and rate; and
``show``: commands of ``vtysh`` whose texts are wanted of every node.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

SEND = """
import socket, sys, time
source, target, port, dscp, rate, seconds = sys.argv[1:]
s = socket.socket(type=socket.SOCK_DGRAM); s.setsockopt(0, 1, int(dscp) << 2); s.bind((source, 0))
gap, start, sent = 8 * 1000 / float(rate), time.monotonic(), 0
while (now := time.monotonic()) < start + float(seconds):
    while sent * gap <= now - start:
        s.sendto(bytes(972), (target, int(port))); sent += 1
    time.sleep(0.001)
print(sent)
"""
RECEIVE = """
import socket, sys
s = socket.socket(type=socket.SOCK_DGRAM); s.setsockopt(1, 8, 4 << 20)
s.bind((sys.argv[1], int(sys.argv[2]))); s.settimeout(3); got = 0
print("ready", flush=True)
try:
    while s.recv(2000): got += 1
except TimeoutError: pass
print(got)
"""


def run_shell(command: str, *, check: bool = True) -> str:
    done = subprocess.run(["sh", "-ec", command], capture_output=True, text=True, check=False)
    if check and done.returncode:
        msg = f"{command}: {done.stderr}{done.stdout}"
        raise RuntimeError(msg)
    return done.stdout


def wire_nodes(topology: dict[str, Any]) -> None:
    run_shell("mount -t tmpfs none /run; mkdir /run/netns")
    for node in topology["nodes"]:
        run_shell(f"ip netns add {node}; ip -n {node} link set lo up")
    for link in topology["links"]:
        (a, first), (b, second) = (end.split(":") for end in link["endpoints"])
        run_shell(f"ip link add {first} netns {a} type veth peer name {second} netns {b}")


def start_router(folder: Path, node: str) -> str:
    """What the image of FRR does: the daemons, then the integrated configuration by vtysh."""
    state = f"/run/frr-{node}"
    run_shell(f"mkdir {state}; chown frr:frr {state}; chmod 755 {state}")
    wanted = dict(
        line.split("=", 1) for line in (folder / node / "daemons").read_text().splitlines()
    )
    daemons = ["zebra", "staticd"]
    daemons += [name for name, start in wanted.items() if start == "yes" and name.endswith("d")]
    for daemon in daemons:
        options = f"-d -f /dev/null -z {state}/zserv -i {state}/{daemon}.pid --vty_socket {state}"
        run_shell(f"ip netns exec {node} /usr/lib/frr/{daemon} {options} -P 0")
    file = folder / node / "frr.conf"
    run_shell(f"ip netns exec {node} vtysh --vty_socket {state} -f {file}")
    done = subprocess.run(
        ["ip", "netns", "exec", node, "sh", str(folder / node / "setup.sh")],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        # This kernel lacks a queue of the design, and the script undid itself; it still forwards.
        run_shell(f"ip netns exec {node} sysctl -q -w net.ipv4.ip_forward=1")
    return done.stderr


def wait_for_routes(nodes: list[str], addresses: dict[str, str], seconds: float) -> float:
    """Until every node has a route of OSPF to every other and none changes; how long that took.

    A router of the tests computes again a second after the last change at most.
    """
    start, before, since = time.monotonic(), {}, time.monotonic()
    while time.monotonic() < start + seconds:
        time.sleep(0.5)
        routes = {
            node: run_shell(f"ip -n {node} route show proto ospf", check=False) for node in nodes
        }
        if routes != before:
            before, since = routes, time.monotonic()
        is_full = all(
            f"{addresses[other]} " in routes[node]
            for node in nodes
            for other in nodes
            if node != other
        )
        if is_full and time.monotonic() > since + 3 and not all(map(has_all_neighbours, nodes)):
            since = time.monotonic()
        if is_full and time.monotonic() > since + 3:
            return since - start
    return -1.0


def has_all_neighbours(node: str) -> bool:
    """Whether each interface has a full adjacency, and no update waits to be acknowledged.

    RFC 2328 sections 10.1 and 13.6: what came too soon is sent again after 5 s.
    """
    seen = run_shell(f"vtysh --vty_socket /run/frr-{node} -c 'show ip ospf neighbor'")
    adjacencies = [line.split() for line in seen.splitlines() if "Full/" in line]
    ends = run_shell(f"ip -n {node} -br link show type veth").splitlines()
    return len(adjacencies) == len(ends) and all(words[-3] == "0" for words in adjacencies)


def count_flows(flows: list[dict[str, Any]], addresses: dict[str, str]) -> list[list[int]]:
    """Packets sent and received by each flow, all at once."""
    receivers, senders = [], []
    for number, flow in enumerate(flows):
        receiver = subprocess.Popen(
            [
                *("ip", "netns", "exec", flow["to"], sys.executable, "-c", RECEIVE),
                *(addresses[flow["to"]], str(7000 + number)),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert receiver.stdout is not None
        receiver.stdout.readline()
        receivers.append(receiver)
    for number, flow in enumerate(flows):
        words = [addresses[flow["from"]], addresses[flow["to"]], 7000 + number, flow["dscp"]]
        words += [flow["rate"], flow["seconds"]]
        senders.append(
            subprocess.Popen(
                ["ip", "netns", "exec", flow["from"], sys.executable, "-c", SEND, *map(str, words)],
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    sent = [int(each.communicate(timeout=120)[0]) for each in senders]
    received = [int(each.communicate(timeout=120)[0]) for each in receivers]
    return [list(pair) for pair in zip(sent, received, strict=True)]


def main(folder: Path, orders: dict[str, Any]) -> dict[str, Any]:
    (file,) = folder.glob("*.clab.yml")
    topology = yaml.safe_load(file.read_text())["topology"]
    nodes = list(topology["nodes"])
    wire_nodes(topology)
    seen: dict[str, Any] = {"setup": {node: start_router(folder, node) for node in nodes}}
    addresses = {
        node: next(
            line.split()[-1].split("/")[0]
            for line in (folder / node / "frr.conf").read_text().splitlines()
            if line.startswith(" ip address ") and line.endswith("/32")
        )
        for node in nodes
    }
    seen["addresses"] = addresses
    seen["settled_s"] = wait_for_routes(nodes, addresses, orders["settle_s"])
    seen["routes"] = {
        node: run_shell(f"ip -n {node} -j route show proto ospf", check=False) for node in nodes
    }
    seen["neighbours"] = {
        node: run_shell(f"vtysh --vty_socket /run/frr-{node} -c 'show ip ospf neighbor'")
        for node in nodes
    }
    seen["running"] = {
        node: run_shell(f"vtysh --vty_socket /run/frr-{node} -c 'show running-config'")
        for node in nodes
    }
    seen["shown"] = {
        node: {
            command: run_shell(f"vtysh --vty_socket /run/frr-{node} -c '{command}'")
            for command in orders.get("show", ())
        }
        for node in nodes
    }
    seen["flows"] = count_flows(orders["flows"], addresses)
    seen["qdiscs"] = {node: run_shell(f"ip netns exec {node} tc -s qdisc") for node in nodes}
    return seen


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(main(Path(sys.argv[1]), json.loads(sys.argv[3]))))
