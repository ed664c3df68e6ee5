"""A workload as a scenario of ours, and what the engine program prints."""

from __future__ import annotations

import json
from typing import Any

from trunkline.network import compile
from trunkline.scenario import load
from workloads import RedSettings, Workload, WorkloadLink, compute_next_hops

DSCP_NUMBERS = {"DF": 0, "CS1": 8, "AF21": 18, "EF": 46}
"""Codepoints of transfers (RFC 2474, 2597, 3246)."""


def format_scenario(workload: Workload, seconds: float) -> str:
    """The workload as a scenario file; JSON is YAML too.

    Its TCP does as ns-2's NewReno: 40 B of headers; one segment in the first round trip (ns-2
    sends a SYN alone, then two segments), limited transmit, one timed segment per window, RTO of
    3 s at first and 0.2 s at least on a clock of 10 ms.

    Parameters
    ----------
    workload : Workload
        What to simulate.
    seconds : float
        Simulated time [s].

    Returns
    -------
    str
    """
    ports: dict[str, Any] = {}
    links = {f"{link.a}-{link.b}": make_link_keys(link, ports) for link in workload.links}
    flows: dict[str, Any] = {
        f"udp{i}": {
            "agent": "udp",
            "from": cbr.source,
            "to": cbr.destination,
            "arrivals": "cbr",
            "rate": f"{cbr.rate_bit_s} bit/s",
            "size": f"{cbr.packet_bytes} B",
            "dscp": cbr.dscp,
        }
        for i, cbr in enumerate(workload.cbr)
    }
    flows |= {
        f"tcp{i}": {
            "agent": "tcp",
            "from": tcp.source,
            "to": tcp.destination,
            "mss": f"{tcp.mss_bytes} B",
            "start": f"{tcp.start_ns} ns",
            "window": f"{tcp.window_packets} packets",
            "dscp": tcp.dscp,
        }
        for i, tcp in enumerate(workload.tcp)
    }
    flows |= {
        f"transfers{i}": {
            "agent": "tcp",
            "from": transfer.source,
            "to": transfer.destination,
            "mss": "1460 B",
            "transfers": {
                "load": f"{transfer.load_bit_s} bit/s",
                "size": f"{transfer.size_bytes} B",
            },
            "dscp": transfer.dscp,
        }
        for i, transfer in enumerate(workload.transfers)
    }
    document: dict[str, Any] = {
        "trunkline": 1,
        "name": workload.name.lower(),
        "defaults": {
            "tcp": {
                "variant": "new-reno",
                "header": "40 B",
                "initial_window": "1 packets",
                "limited_transmit": True,
                "impatient": True,
                "timestamps": False,
                "rto": {"initial": "3 s", "min": "200 ms", "max": "60 s", "tick": "10 ms"},
            }
        },
        "nodes": list(workload.nodes),
        "links": links,
        "ports": ports,
        "flows": flows,
        "run": {"duration": f"{round(seconds * 1e9)} ns"},
    }
    if workload.classes:
        for port in ports.values():
            port |= make_classes(workload, port.pop("queue"))
    if workload.shaped_share:
        cake = {"preset": "cake-diffserv4", "bandwidth": workload.shaped_share}
        ports |= dict.fromkeys(ports, cake)
    if workload.signalled:
        document["signalling"] = {"kind": "rsvp-te"}
    if workload.mesh:
        document |= make_mesh(workload)
        # A label hides the codepoint: what the traffic class stands for (RFC 3270 section 3).
        tc_of = {dscp: 5 - place for place, dscp in enumerate(workload.classes)}
        # For CAKE's tins the first three bits of the codepoint, as without labels.
        tc_of |= {flow.dscp: DSCP_NUMBERS[flow.dscp] >> 3 for flow in workload.transfers}
        document["defaults"]["diffserv"] = {"map": {"DF": 0, **tc_of}}
    if workload.core:
        document["paths"] = {
            "up": {"route": list(workload.core)},
            "down": {"route": list(workload.core[::-1])},
        }
        document["trunks"] = {"all": {"path": "up", "reverse": "down", "flows": list(flows)}}
    return json.dumps(document) + "\n"


def make_classes(workload: Workload, queue: dict[str, Any]) -> dict[str, Any]:
    """Four queues of equal limits that deficit round robin serves, in place of one.

    Parameters
    ----------
    workload : Workload
        Names the codepoints.
    queue : dict
        The one queue.

    Returns
    -------
    dict
    """
    names = [dscp.lower() for dscp in workload.classes]
    rules = [
        {"dscp": dscp, "class": name} for dscp, name in zip(workload.classes, names, strict=True)
    ]
    class_keys = {"quantum": "1500 B", "queue": queue}
    return {
        "scheduler": "drr",
        "classify": rules,
        "classes": dict.fromkeys((*names, "default"), class_keys),
    }


def make_mesh(workload: Workload) -> dict[str, Any]:
    """A labelled path for each flow and one for its acknowledgements.

    Parameters
    ----------
    workload : Workload
        Its flows each have a pair of nodes of their own.

    Returns
    -------
    dict
        Keys ``paths`` and ``trunks``.
    """
    next_hop_by_pair = compute_next_hops(workload)

    def route(a: str, b: str) -> list[str]:
        found = [a]
        while found[-1] != b:
            found.append(next_hop_by_pair[found[-1], b])
        return found

    ends = {f"udp{i}": (flow.source, flow.destination) for i, flow in enumerate(workload.cbr)}
    ends |= {f"tcp{i}": (flow.source, flow.destination) for i, flow in enumerate(workload.tcp)}
    ends |= {
        f"transfers{i}": (flow.source, flow.destination)
        for i, flow in enumerate(workload.transfers)
    }
    pairs = set(ends.values()) | {pair[::-1] for pair in ends.values()}

    def path(a: str, b: str) -> dict[str, Any]:
        if workload.signalled:
            return {"from": a, "to": b, "route": "auto"}
        return {"route": route(a, b)}

    return {
        "paths": {f"{a}-{b}": path(a, b) for a, b in sorted(pairs)},
        "trunks": {
            name: {"path": f"{a}-{b}", "reverse": f"{b}-{a}", "flows": [name]}
            for name, (a, b) in ends.items()
        },
    }


def make_link_keys(link: WorkloadLink, ports: dict[str, Any]) -> dict[str, Any]:
    """A link of the scenario; the ports it needs are added.

    Parameters
    ----------
    link : WorkloadLink
        The link.
    ports : dict
        Port configurations by name.

    Returns
    -------
    dict
    """
    name = f"tail-{link.limit_packets}"
    ports.setdefault(name, {"queue": {"limit": f"{link.limit_packets} packets"}})
    keys: dict[str, Any] = {
        "rate": f"{link.rate_bit_s} bit/s",
        "delay": f"{link.delay_ns} ns",
        "mtu": "2000 B",
        "port": name,
    }
    if link.red:
        limit = f"{link.red_limit_packets} packets"
        ports["red"] = {"queue": {"limit": limit, "aqm": make_red_keys(link.red)}}
        keys["forward"] = {"port": "red"}
    return keys


def compile_workload(workload: Workload, seconds: float) -> str:
    """The compiled network.

    Parameters
    ----------
    workload : Workload
        What to simulate.
    seconds : float
        Simulated time [s].

    Returns
    -------
    str
        Canonical JSON.
    """
    return compile(load(format_scenario(workload, seconds))).to_json()


def set_duration(network: str, duration_ns: int) -> str:
    """The network with a run of another length.

    Parameters
    ----------
    network : str
        The compiled network.
    duration_ns : int
        Simulated time [ns]; 1 ends the run when it begins.

    Returns
    -------
    str
    """
    network_data = json.loads(network)
    network_data["run"] |= {"duration_ns": duration_ns, "warmup_ns": 0}
    return json.dumps(network_data)


def set_tcp_variant(network: str, variant: str) -> str:
    """The network with another kind of TCP.

    Parameters
    ----------
    network : str
        The compiled network.
    variant : str
        The kind, as in a scenario.

    Returns
    -------
    str
    """
    network_data = json.loads(network)
    for flow in network_data["flows"]:
        if flow["agent"]["protocol"] == "tcp":
            flow["agent"]["variant"] = variant
    return json.dumps(network_data)


def make_red_keys(red: RedSettings) -> dict[str, Any]:
    """RED as the scenario language has it, its early drops spread as ns-2 spreads them.

    Parameters
    ----------
    red : RedSettings
        Its parameters.

    Returns
    -------
    dict
    """
    return {
        "kind": "red",
        "min_th": f"{red.min_th} packets",
        "max_th": f"{red.max_th} packets",
        "max_p": red.max_p,
        "w_q": red.w_q,
        "mean_packet": f"{red.mean_bytes} B",
        "spacing": "ns2",
    }


def parse_counts(printed: str, network: str, workload: Workload) -> dict[str, float]:
    """Parse the counts of the engine, by the names of the ns-2 driver.

    Parameters
    ----------
    printed : str
        Output of ``trunkline-sim``.
    network : str
        The compiled network.
    workload : Workload
        What was simulated.

    Returns
    -------
    dict of str to float
    """
    tables = json.loads(printed)
    network_data = json.loads(network)
    names = [node["name"] for node in network_data["nodes"]]
    ends = [(names[link["from"]], names[link["to"]]) for link in network_data["links"]]
    ports, flows = tables["ports"], tables["flows"]
    is_tcp = [flow["agent"]["protocol"] == "tcp" for flow in network_data["flows"]]
    goodput = zip(flows["flow"], flows["goodput_bytes"], strict=True)
    delivered = zip(flows["flow"], flows["bytes_delivered"], strict=True)
    bottleneck = workload.bottleneck
    bottleneck_rows = [
        row
        for row, link in enumerate(ports["link"])
        if bottleneck is None or ends[link] == bottleneck
    ]
    return {
        "tcp_bytes": sum(count for flow, count in goodput if is_tcp[flow]),
        "udp_bytes": sum(count for flow, count in delivered if not is_tcp[flow]),
        "packet_hops": tables["summary"]["packet_hops"][0],
        "drops": sum(ports["packets_dropped"]),
        "bottleneck_bytes": sum(ports["bytes_sent"][row] for row in bottleneck_rows),
        "bottleneck_drops": sum(ports["packets_dropped"][row] for row in bottleneck_rows),
    }
