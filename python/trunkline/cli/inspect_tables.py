"""Tables of a compiled network for people: names for indices, units for numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trunkline import _core
from trunkline.scenario.units import format_rate, format_time

if TYPE_CHECKING:
    from trunkline.network.types import Ftn, NetworkData

TableRows = list[list[str]]
# Title, heads, rows.
InspectTable = tuple[str, list[str], TableRows]


def format_settings(value: Mapping[str, Any], skipped_keys: tuple[str, ...] = ()) -> str:
    """Format keys and values in one line; None becomes ``none``."""
    words = []
    for key, item in value.items():
        if key in skipped_keys:
            continue
        if isinstance(item, dict):
            item = f"({format_settings(item)})"
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


def run(network: NetworkData) -> InspectTable:
    """List the settings of the run, such as length and seed."""
    rows = [format_settings({key: value}).split("=", 1) for key, value in network["run"].items()]
    return f"Run of {network['name']}", ["key", "value"], rows


def links(network: NetworkData) -> InspectTable:
    """List the directions of all links with every default."""
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


def ports(network: NetworkData) -> InspectTable:
    """List the classes of each port configuration with queue, drop model and share."""
    heads = ["port", "scheduler", "class", "limit", "in service", "aqm", "share"]
    rows = []
    for port in network["ports"]:
        scheduler = port["scheduler"]
        shares = scheduler["shares"]
        for index, (class_, share) in enumerate(zip(port["classes"], shares, strict=True)):
            queue = class_["queue"]
            limit_units = ((queue["limit_packets"], "packets"), (queue["limit_bytes"], "B"))
            limits = [f"{limit} {unit}" for limit, unit in limit_units if limit is not None]
            aqm = (
                f"{queue['aqm']['kind']} {format_settings(queue['aqm'], skipped_keys=('kind',))}"
            ).rstrip()
            if by_flow := queue.get("flows"):
                aqm += f" flows=({format_settings(by_flow)})"
            rows.append(
                [
                    "" if index else port["name"],
                    "" if index else scheduler["kind"],
                    class_["name"],
                    " and ".join(limits) or "none",
                    "counts" if queue["counts_in_service"] else "does not",
                    aqm,
                    format_settings(share),
                ]
            )
    return "Ports", heads, rows


def flows(network: NetworkData) -> InspectTable:
    """List the flows with every default of their agents."""
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
                format_settings(agent, skipped_keys=("protocol",)),
            ]
        )
    return "Flows", heads, rows


def routes(network: NetworkData) -> InspectTable:
    """List the next hops towards every source and destination of a flow."""
    rows = [
        [str(row["node"]), str(row["destination"]), row["link"] or "no route"]
        for row in list_named_routes(network)
    ]
    among = "all share" if network.get("routing", {}).get("ecmp") else "the one listed first"
    title = f"Routes, shortest paths by metric; among equal next hops {among}"
    return title, ["at", "to", "link"], rows


def list_named_routes(network: NetworkData) -> list[dict[str, str | None]]:
    """List the routes with names in place of indices."""
    nodes, links = network["nodes"], network["links"]
    return [
        {
            "node": nodes[node]["name"],
            "destination": nodes[destination]["name"],
            "link": links[link]["name"] if link >= 0 else None,
        }
        for node, destination, link in _core.routes(json.dumps(network))
    ]


def labels(network: NetworkData) -> InspectTable:
    """List FTN and ILM entries with the operation of their NHLFE (RFC 3031, 3.10 and 3.11)."""
    heads = ["at", "comes with", "operation", "goes to", "ttl", "path"]
    nodes = network["nodes"]
    rows = []
    entries = [
        *((each, f"class of flows {each['fec']}{_format_dscps(each)}") for each in network["ftn"]),
        *((each, f"label {each['label']}") for each in network["ilm"]),
    ]
    for entry, comes_with in entries:
        nhlfe = network["nhlfe"][entry["nhlfe"]]
        link = nhlfe["link"]
        rows.append(
            [
                nodes[entry["node"]]["name"],
                comes_with,
                describe_operation(nhlfe["pop"], nhlfe["push"]),
                "looks again here" if link is None else network["links"][link]["name"],
                nhlfe["ttl"],
                network["paths"][nhlfe["path"]]["name"],
            ]
        )
    return "Label tables", heads, rows


def _format_dscps(entry: Ftn) -> str:
    """Format the DSCPs of an FTN entry; empty if it is for all DSCPs."""
    dscps = entry.get("dscps", [])
    if not dscps:
        return ""
    if len(dscps) > 32:
        return ", other DSCPs"
    from trunkline.results.dscp import name_code_point

    return ", " + " ".join(name_code_point(each) for each in dscps)


def describe_operation(pop: bool, push: list[int]) -> str:
    """Describe the operation on the label stack in the words of RFC 3031, 3.10.

    push: Labels to push, the one nearest to the bottom first.
    """
    if pop and push:
        words = [f"swap {push[0]}", *(f"push {label}" for label in push[1:])]
    else:
        words = ["pop"] if pop else [f"push {label}" for label in push]
    return ", ".join(words) or "forward"


def probes(network: NetworkData) -> InspectTable:
    """List the probes with their measure, place and interval."""
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


def conditioners(network: NetworkData) -> InspectTable:
    """List the profiles of each conditioner: its meter, and the action for each colour."""
    heads = ["conditioner", "profile", "meter", "green", "yellow", "red"]
    rows = []
    for conditioner in network.get("conditioners", []):
        for index, profile in enumerate(conditioner["profiles"]):
            name = "" if index else conditioner["name"]
            meter = format_settings(profile["meter"], skipped_keys=("kind",))
            actions = [
                "drop"
                if action["drop"]
                else "unchanged"
                if action["dscp"] is None
                else f"dscp {action['dscp']}"
                for action in profile["actions"]
            ]
            kind = profile["meter"].get("kind", "meter")
            rows.append([name, profile["name"], f"{kind} {meter}".rstrip(), *actions])
    return "Conditioners", heads, rows


def failures(network: NetworkData) -> InspectTable:
    """List the failures with their links and times."""
    rows = []
    for failure in network.get("recovery", {}).get("failures", []):
        link_names = ", ".join(network["links"][link]["name"] for link in failure["links"])
        outages = failure["outages"]
        outage_text = format_settings(outages, skipped_keys=("kind", "at"))
        for outage in outages["at"] if outages["kind"] == "fixed" else ():
            end = outage["repaired_ns"]
            end_text = "the end" if end is None else format_time(end)
            outage_text += f" {format_time(outage['failed_ns'])} to {end_text}"
        drain = failure.get("drain")
        if drain is not None:
            ways = ["metric"] * drain["by_metric"] + ["paths"] * drain["by_switch"]
            outage_text += f", drained from {format_time(drain['at_ns'])} ({', '.join(ways)})"
        kind = "node" if failure["node"] else "links"
        rows.append([failure["name"], kind, outage_text.strip(), link_names])
    return "Failures", ["failure", "of", "when", "links"], rows


def protections(network: NetworkData) -> InspectTable:
    """List the protections with their path, the node that switches, detection and times."""
    heads = ["protection", "kind", "path", "switches at", "detection", "times"]
    rows = []
    for protection in network.get("recovery", {}).get("protections", []):
        detection = protection["detection"]
        detection_text = (
            f"{detection['kind']} {format_settings(detection, skipped_keys=('kind',))}".rstrip()
        )
        shown_keys = ("name", "kind", "path", "node", "watches", "switches", "bridge", "detection")
        rows.append(
            [
                protection["name"],
                protection["kind"],
                network["paths"][protection["path"]]["name"],
                network["nodes"][protection["node"]]["name"],
                detection_text,
                format_settings(protection, skipped_keys=shown_keys),
            ]
        )
    return "Protections", heads, rows
