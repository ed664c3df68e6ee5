"""Tables of a compiled network for people: names for indices, units for numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trunkline import _core
from trunkline.scenario.units import format_rate, format_time

if TYPE_CHECKING:
    from trunkline.network.types import Ftn, Network

Rows = list[list[str]]
# Title, heads, rows.
Table = tuple[str, list[str], Rows]


def settings(value: Mapping[str, Any], skip: tuple[str, ...] = ()) -> str:
    """Keys and values on a line, absent ones as none."""
    words = []
    for key, item in value.items():
        if key in skip:
            continue
        if isinstance(item, dict):
            item = f"({settings(item)})"
        elif key.endswith("_ns") and isinstance(item, int):
            key, item = key.removesuffix("_ns"), format_time(item).replace(" ", "")
        elif key.endswith("_bit_s") and isinstance(item, int):
            key, item = key.removesuffix("_bit_s"), format_rate(item).replace(" ", "")
        elif isinstance(item, bool):
            item = "yes" if item else "no"
        elif item is None:
            item = "none"
        elif isinstance(item, list):
            item = f"{len(item)} items" if len(item) > 8 else str(item).replace(" ", "")
        words.append(f"{key}={item}")
    return " ".join(words)


def run(network: Network) -> Table:
    """Length, seed and the like."""
    rows = [settings({key: value}).split("=", 1) for key, value in network["run"].items()]
    return f"Run of {network['name']}", ["key", "value"], rows


def links(network: Network) -> Table:
    """One-way links with every default."""
    heads = ["link", "rate", "delay", "header", "mtu", "metric", "loss", "port"]
    rows = [
        [
            link["name"],
            format_rate(link["rate_bit_s"]),
            format_time(link["delay_ns"]),
            f"{link['header_bytes']} B",
            f"{link['mtu_bytes']} B",
            str(link["metric"]),
            f"{link['loss']:g}",
            network["ports"][link["port"]]["name"],
        ]
        for link in network["links"]
    ]
    return "Links, one-way", heads, rows


def ports(network: Network) -> Table:
    """Classes of each port configuration with queue, policy and share."""
    heads = ["port", "scheduler", "class", "limit", "in service", "aqm", "share"]
    rows = []
    for port in network["ports"]:
        scheduler = port["scheduler"]
        shares = scheduler["shares"]
        for place, (each, share) in enumerate(zip(port["classes"], shares, strict=True)):
            queue = each["queue"]
            held = ((queue["limit_packets"], "packets"), (queue["limit_bytes"], "B"))
            limits = [f"{most} {unit}" for most, unit in held if most is not None]
            aqm = f"{queue['aqm']['kind']} {settings(queue['aqm'], skip=('kind',))}".rstrip()
            if by_flow := queue.get("flows"):
                aqm += f" flows=({settings(by_flow)})"
            rows.append(
                [
                    "" if place else port["name"],
                    "" if place else scheduler["kind"],
                    each["name"],
                    " and ".join(limits) or "none",
                    "counts" if queue["counts_in_service"] else "does not",
                    aqm,
                    settings(share),
                ]
            )
    return "Ports", heads, rows


def flows(network: Network) -> Table:
    """Flows with every default of their agents."""
    heads = ["flow", "agent", "from", "to", "dscp", "ttl", "start", "stop", "settings"]
    nodes = network["nodes"]
    rows = []
    for flow in network["flows"]:
        agent = flow["agent"]
        stop = flow["stop_ns"]
        rows.append(
            [
                flow["name"],
                agent["protocol"],
                nodes[flow["src"]]["name"],
                nodes[flow["dst"]]["name"],
                str(flow["dscp"]),
                str(flow["ttl"]),
                format_time(flow["start_ns"]),
                "end" if stop is None else format_time(stop),
                settings(agent, skip=("protocol",)),
            ]
        )
    return "Flows", heads, rows


def routes(network: Network) -> Table:
    """Next hops towards every end of a flow."""
    rows = [
        [str(row["node"]), str(row["destination"]), row["link"] or "no route"]
        for row in named_routes(network)
    ]
    among = "all share" if network.get("routing", {}).get("ecmp") else "the one listed first"
    title = f"Routes, shortest paths by metric; among equal next hops {among}"
    return title, ["at", "to", "link"], rows


def named_routes(network: Network) -> list[dict[str, str | None]]:
    """Routes with names instead of indices."""
    nodes, ways = network["nodes"], network["links"]
    return [
        {
            "node": nodes[node]["name"],
            "destination": nodes[destination]["name"],
            "link": ways[link]["name"] if link >= 0 else None,
        }
        for node, destination, link in _core.routes(json.dumps(network))
    ]


def labels(network: Network) -> Table:
    """FTN and ILM with what their NHLFE does (RFC 3031 sections 3.10, 3.11)."""
    heads = ["at", "comes with", "operation", "goes to", "ttl", "path"]
    nodes = network["nodes"]
    rows = []
    entries = [
        *((each, f"class of flows {each['fec']}{_dscps(each)}") for each in network["ftn"]),
        *((each, f"label {each['label']}") for each in network["ilm"]),
    ]
    for entry, comes_with in entries:
        does = network["nhlfe"][entry["nhlfe"]]
        link = does["link"]
        rows.append(
            [
                nodes[entry["node"]]["name"],
                comes_with,
                operation(does["pop"], does["push"]),
                "looks again here" if link is None else network["links"][link]["name"],
                does["ttl"],
                network["paths"][does["path"]]["name"],
            ]
        )
    return "Label tables", heads, rows


def _dscps(entry: Ftn) -> str:
    """Which DSCPs of a class an FTN entry is for; nothing where it is for all."""
    dscps = entry.get("dscps", [])
    if not dscps:
        return ""
    if len(dscps) > 32:
        return ", other DSCPs"
    from trunkline.results.dscp import name

    return ", " + " ".join(name(each) for each in dscps)


def operation(pop: bool, push: list[int]) -> str:
    """What an entry does to the label stack, in the words of RFC 3031 section 3.10.

    Parameters
    ----------
    push : list of int
        Labels put on, the one nearest the bottom first.
    """
    if pop and push:
        words = [f"swap {push[0]}", *(f"push {label}" for label in push[1:])]
    else:
        words = ["pop"] if pop else [f"push {label}" for label in push]
    return ", ".join(words) or "forward"


def probes(network: Network) -> Table:
    """What is recorded in steps of time."""
    rows = []
    for probe in network["probes"]:
        of_class = "all"
        if probe["measure"] not in _core.LINK_MEASURES:
            name = network["flows"][probe["target"]]["name"]
        else:
            link = network["links"][probe["target"]]
            name = link["name"]
            if probe["class"] is not None:
                of_class = network["ports"][link["port"]]["classes"][probe["class"]]["name"]
        rows.append([probe["measure"], name, of_class, format_time(probe["step_ns"])])
    return "Probes", ["measure", "of", "class", "every"], rows


def conditioners(network: Network) -> Table:
    """Profiles of each conditioner: the meter, and what is done with each colour."""
    heads = ["conditioner", "profile", "meter", "green", "yellow", "red"]
    rows = []
    for conditioner in network.get("conditioners", []):
        for place, profile in enumerate(conditioner["profiles"]):
            name = "" if place else conditioner["name"]
            meter = settings(profile["meter"], skip=("kind",))
            actions = [
                "drop" if a["drop"] else "as it is" if a["dscp"] is None else f"dscp {a['dscp']}"
                for a in profile["actions"]
            ]
            kind = profile["meter"].get("kind", "meter")
            rows.append([name, profile["name"], f"{kind} {meter}".rstrip(), *actions])
    return "Conditioners", heads, rows


def failures(network: Network) -> Table:
    """What fails, and when."""
    rows = []
    for failure in network.get("recovery", {}).get("failures", []):
        down = ", ".join(network["links"][link]["name"] for link in failure["links"])
        outages = failure["outages"]
        when = settings(outages, skip=("kind", "at"))
        for each in outages["at"] if outages["kind"] == "fixed" else ():
            end = each["repaired_ns"]
            until = "the end" if end is None else format_time(end)
            when += f" {format_time(each['failed_ns'])} to {until}"
        kind = "node" if failure["node"] else "links"
        rows.append([failure["name"], kind, when.strip(), down])
    return "Failures", ["failure", "of", "when", "links"], rows


def protections(network: Network) -> Table:
    """What takes over from which path, where, and after which times."""
    heads = ["protection", "kind", "path", "switches at", "detection", "times"]
    rows = []
    for each in network.get("recovery", {}).get("protections", []):
        detection = each["detection"]
        how = f"{detection['kind']} {settings(detection, skip=('kind',))}".rstrip()
        shown = ("name", "kind", "path", "node", "watches", "switches", "bridge", "detection")
        rows.append(
            [
                each["name"],
                each["kind"],
                network["paths"][each["path"]]["name"],
                network["nodes"][each["node"]]["name"],
                how,
                settings(each, skip=shown),
            ]
        )
    return "Protections", heads, rows
