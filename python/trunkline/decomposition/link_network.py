"""A network of one link: its port, the links that packets come over, and the flows across it."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from trunkline.decomposition.link_traffic import NO_LINK, LinkTraffic
from trunkline.fluid.flow_sources import read_size_moments
from trunkline.fluid.focus import find_marking

WARM_UP_SHARE: Final = 0.1
"""Part of a link's run before its waits count."""
ON_OFF_CYCLES: Final = 200
"""Cycles of the slowest on-off flow that a run has at least."""
MAX_LENGTHENING: Final = 20
"""Times as many packets as asked for that such a flow may cost."""
SOURCE_DELAY_NS: Final = 1000
"""Propagation of the link itself, which counts for nothing."""


def build_link_network(
    network: Mapping[str, Any], traffic: LinkTraffic, packets: int
) -> dict[str, Any]:
    """Build the network in which the link of some traffic is alone.

    Parameters
    ----------
    network : mapping
        The compiled network that the link is of.
    packets : int
        Packets that should reach the link in the run.

    Returns
    -------
    dict
        A compiled network. Its first link is that link; its run counts waits.
    """
    link = network["links"][traffic.link]
    tree = _build_tree(traffic)
    # Node 0 is at the near end, node 1 at the far end.
    nodes = [{"name": name} for name in ("near", "far", *(f"before {i}" for i in tree.links))]
    ports, codes = _build_ports(network, traffic, tree)
    links = [{**_keep_plain(link), "from": 0, "to": 1, "port": 0, "delay_ns": SOURCE_DELAY_NS}]
    for index, (number, towards) in enumerate(zip(tree.links, tree.towards, strict=True), 1):
        link_before = network["links"][number]
        ends = {"from": index + 1, "to": towards, "port": index}
        # A delay keeps the times at which packets from several links meet.
        delay = {"delay_ns": link_before["delay_ns"]}
        links.append({**_keep_plain(link_before), **ends, **delay, "name": f"before {index}"})
    flows = [
        _build_flow(network, traffic, index, source, dscp)
        for index, (source, dscp) in enumerate(zip(tree.sources, codes, strict=True))
    ]
    duration = _choose_duration(flows, packets)
    run = {
        **network["run"],
        "duration_ns": duration,
        "warmup_ns": int(duration * WARM_UP_SHARE),
        "trace": False,
        "waits": True,
    }
    return {
        "format": network["format"],
        "name": link["name"],
        "nodes": nodes,
        "links": links,
        "ports": ports,
        "flows": flows,
        "paths": [],
        "ftn": [],
        "ilm": [],
        "nhlfe": [],
        "probes": [],
        "run": run,
    }


def _keep_plain(link: Mapping[str, Any]) -> dict[str, Any]:
    """A link without the functions that act on packets besides its port."""
    keys = ("name", "header_bytes", "mtu_bytes", "rate_bit_s", "metric")
    return {key: link[key] for key in keys} | {"loss": 0.0}


@dataclass(frozen=True, slots=True)
class _LinkTree:
    """The links before a link, each as often as there are ways from it: M of them.

    Parameters
    ----------
    links : list of int
        Number of each in the network.
    towards : list of int
        Node that each leads to; each begins at a node of its own, 2 + its place.
    sources : list of int
        Node at which each flow enters.
    places : list of list of int
        For each flow, the places in `links` of those that it crosses, the last one first.
    """

    links: list[int]
    towards: list[int]
    sources: list[int]
    places: list[list[int]]


def _build_tree(traffic: LinkTraffic) -> _LinkTree:
    place_of: dict[tuple[int, ...], int] = {}
    tree = _LinkTree([], [], [], [])
    for before in traffic.links_before.tolist():
        way: tuple[int, ...] = ()
        node, places = 0, []
        for number in before:
            if number == NO_LINK:
                break
            way += (number,)
            if way not in place_of:
                place_of[way] = len(tree.links)
                tree.links.append(number)
                tree.towards.append(node)
            places.append(place_of[way])
            node = place_of[way] + 2
        tree.sources.append(node)
        tree.places.append(places)
    return tree


def _build_ports(
    network: Mapping[str, Any], traffic: LinkTraffic, tree: _LinkTree
) -> tuple[list[dict[str, Any]], list[int]]:
    """Build the port of the link and those before it, and the DSCP of each flow."""
    port = network["ports"][network["links"][traffic.link]["port"]]
    # Flows of one class and code point have one marking.
    mark = functools.cache(functools.partial(find_marking, port))
    markings = [
        mark(class_, network["flows"][flow]["dscp"])
        for flow, class_ in zip(traffic.flow.tolist(), traffic.class_.tolist(), strict=True)
    ]
    port_numbers = [network["links"][number]["port"] for number in tree.links]
    choose_row = functools.cache(
        lambda number, class_, dscp: _choose_row(network["ports"][number], class_, dscp)
    )
    rows = [[0] * len(markings) for _ in tree.links]
    classes = traffic.classes_before.tolist()
    for flow, places in enumerate(tree.places):
        for back, place in enumerate(places):
            rows[place][flow] = choose_row(
                port_numbers[place], classes[flow][back], markings[flow][1]
            )
    ports = [_classify(port, [row for row, _ in markings])]
    ports += [
        _classify(network["ports"][number], chosen)
        for number, chosen in zip(port_numbers, rows, strict=True)
    ]
    return ports, [code for _, code in markings]


def _classify(port: Mapping[str, Any], rows: list[int]) -> dict[str, Any]:
    classifier = port["classifier"]
    flow_rows = [each for row in rows for each in (row, 0)] if classifier["rows"] else []
    return {**port, "classifier": {**classifier, "flow_rows": flow_rows}}


def _choose_row(port: Mapping[str, Any], class_: int, dscp: int) -> int:
    """Choose a row that puts the DSCP into the class; else 0, which may be another class."""
    cells = port["classifier"]["rows"]
    if not cells:
        return 0
    found = np.flatnonzero(np.array(cells, dtype=np.int64)[:, dscp, 0] == class_)
    return int(found[0]) if len(found) else 0


def _build_flow(
    network: Mapping[str, Any],
    traffic: LinkTraffic,
    index: int,
    source: int,
    dscp: int,
) -> dict[str, Any]:
    flow = network["flows"][int(traffic.flow[index])]
    agent = dict(flow["agent"])
    share = float(traffic.share[index])
    agent["rate_bit_s"] = max(1, round(agent["rate_bit_s"] * share))
    if "gaps" in agent["arrivals"]:
        agent["arrivals"] = {"gaps": _stretch_gaps(agent["arrivals"]["gaps"], share)}
    if labels := int(traffic.label_bytes[index]):
        agent["size"] = _lengthen_sizes(agent["size"], labels)
        mean = read_size_moments(flow["agent"]["size"])[0]
        # The rate counts the labels now.
        agent["rate_bit_s"] = max(1, round(agent["rate_bit_s"] * (mean + labels) / mean))
    return {
        "name": str(index),
        "src": source,
        "dst": 1,
        "start_ns": flow["start_ns"] + int(traffic.offset_ns[index]),
        "stop_ns": None,
        "start_jitter_ns": flow["start_jitter_ns"],
        "dscp": dscp,
        "ttl": 64,
        "fec": 0,
        "fec_reverse": 0,
        "agent": agent,
    }


def _stretch_gaps(law: Mapping[str, Any], share: float) -> dict[str, Any]:
    """Gaps between fewer packets: all times over the share that is left."""
    ((kind, parameters),) = law.items()
    return {kind: {name: round(value / share) for name, value in parameters.items()}}


def _lengthen_sizes(law: Mapping[str, Any], labels: int) -> dict[str, Any]:
    ((kind, parameters),) = law.items()
    name = {"exponential": "mean_bytes", "gumbel": "header_bytes"}.get(kind, "bytes")
    value = parameters[name]
    longer = [each + labels for each in value] if kind == "choice" else value + labels
    return {kind: {**parameters, name: longer}}


def _choose_duration(flows: list[dict[str, Any]], packets: int) -> int:
    """Length of the run [ns]: so many packets, and enough cycles of flows that pause."""
    rate = math.fsum(
        flow["agent"]["rate_bit_s"] / (8 * read_size_moments(flow["agent"]["size"])[0])
        for flow in flows
    )
    seconds = packets / max(rate, 1e-9) / (1 - WARM_UP_SHARE)
    cycles = [
        (pauses["mean_on_ns"] + pauses["mean_off_ns"]) / 1e9
        for flow in flows
        if isinstance(flow["agent"]["arrivals"], dict)
        and (pauses := flow["agent"]["arrivals"].get("on-off"))
    ]
    slowest = ON_OFF_CYCLES * max(cycles, default=0.0)
    start = max((flow["start_ns"] + flow["start_jitter_ns"] for flow in flows), default=0)
    seconds = max(seconds, min(slowest, MAX_LENGTHENING * seconds))
    # Packets before the start of the last flow do not count.
    return max(1, math.ceil(seconds * 1e9), math.ceil(start / WARM_UP_SHARE))
