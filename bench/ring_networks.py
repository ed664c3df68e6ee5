"""Compiled networks of any size: a ring of routers with flows of five hops or so.

The pieces (a link, a port, a flow) are those of a small scenario that the language compiled; a
ring repeats them. Compiling 100,000 flows in Python would take longer than to simulate them.
"""

from __future__ import annotations

import json
from typing import Any

import trunkline_engine
from workloads import MBIT_BIT_S, MS_NS, TcpFlow, Workload, WorkloadLink

DESTINATION_STEP = 5
"""Flows end at every fifth router, so that the routing table stays small."""
WINDOW_PACKETS = 8
"""Window of each flow [packets]."""


def make_template() -> dict[str, Any]:
    """A network of two nodes and a flow."""
    pair = Workload(
        name="ring",
        about="",
        seconds=1.0,
        nodes=("n0", "n1"),
        links=(WorkloadLink("n0", "n1", MBIT_BIT_S, MS_NS, 100),),
        tcp=(TcpFlow("n0", "n1", 1000, 0),),
    )
    network: dict[str, Any] = json.loads(trunkline_engine.compile_workload(pair, pair.seconds))
    return network


def make_ring(nodes: int, flows: int, rate_bit_s: int, limit_packets: int, seconds: float) -> str:
    """A ring with two one-way links a router.

    nodes: Routers, three or more.
    flows: TCP flows, each to the router four to eight ahead, the starts spread over 10 ms.
    rate_bit_s: Capacity of each link [bit/s].
    limit_packets: Limit of each queue [packets].
    seconds: Simulated time [s].
    Returns: The compiled network.
    """
    network = make_template()
    link, flow = network["links"][0], network["flows"][0]
    port = network["ports"][link["port"]]
    port["classes"][0]["queue"]["limit_packets"] = limit_packets
    network["ports"] = [port]
    network["nodes"] = [{"name": f"n{i}"} for i in range(nodes)]
    network["links"] = [
        {**link, "name": f"l{a}-{b}", "from": a, "to": b, "rate_bit_s": rate_bit_s, "port": 0}
        for i in range(nodes)
        for a, b in ((i, (i + 1) % nodes), ((i + 1) % nodes, i))
    ]
    agent = {**flow["agent"], "window_packets": WINDOW_PACKETS}
    network["flows"] = [
        {
            **flow,
            "name": f"f{i}",
            "src": i % nodes,
            "dst": choose_destination(i % nodes, nodes),
            # Starts without a common beat: events would else meet at the same nanosecond.
            "start_ns": 7_919_177 * i % (10 * MS_NS),
            "agent": agent,
        }
        for i in range(flows)
    ]
    return trunkline_engine.set_duration(json.dumps(network), round(seconds * 1e9))


def choose_destination(node: int, nodes: int) -> int:
    """Where the flows of a router end. node, nodes: The router; how many there are."""
    to = (node + 8) // DESTINATION_STEP * DESTINATION_STEP % nodes
    return to if to != node else (node + 2) % nodes


def add_probes(network: str, step_ns: int) -> str:
    """The network with a series of the queue of each link and of the goodput of each flow.

    network: A compiled network.
    step_ns: Step of each series [ns].
    """
    network_data = json.loads(network)
    kinds = (("queue-packets", "links"), ("goodput", "flows"))
    network_data["probes"] = [
        {"measure": measure, "target": index, "class": None, "step_ns": step_ns}
        for measure, items in kinds
        for index in range(len(network_data[items]))
    ]
    return json.dumps(network_data)
