"""Differences between two compiled networks, in the words of a scenario."""

from __future__ import annotations

import json
from typing import Any

from trunkline.network import compile
from trunkline.network.types import NetworkData
from trunkline.routers import RouterExport
from trunkline.routers.router_config import NO_MTU
from trunkline.scenario import Scenario

Place = tuple[str | int, ...]
_DSCP_COUNT = 64
_SHARE_KEYS = {
    "rate_bit_s": "rate",
    "ceil_bit_s": "ceil",
    "burst_bytes": "burst",
    "cburst_bytes": "cburst",
    "quantum_bytes": "quantum",
}
_LINK_KEYS = {
    "rate_bit_s": "rate",
    "delay_ns": "delay",
    "header_bytes": "header",
    "mtu_bytes": "mtu",
}
_ROUNDED: dict[str, Place] = {
    "reservable bandwidth": ("te",),
    **dict.fromkeys(("min_th", "max_th", "max_p", "w_q"), ("queue", "aqm")),
}
"""Keys behind the element of a rounded quantity."""
_RECORDED_KEYS = ("account",)
"""Keys of links that record a run."""
_WIRE = "rates, delays, losses and headers of links"
_WIRE_KEYS = {"rate", "delay", "loss", "header"}
"""Name of the wire in omissions, and its keys of links."""


def list_differences(design: Scenario, again: Scenario) -> set[Place]:
    """List the places of a design that differ in another.

    Traffic, events and what a run records are no part of it: no router's file has them.
    """
    (first, ports), (second, ports_again) = (
        _describe(json.loads(compile(each).to_json())) for each in (design, again)
    )
    differences = _compare(first, second)
    for arc, (name, port) in ports.items():
        name_again, port_again = ports_again.get(arc, ("", {}))
        differences |= {("ports", name, *place) for place in _compare(port, port_again)}
        if name != name_again:
            differences.add(("ports", name, "name"))
    return differences


def _compare(first: dict[Place, Any], second: dict[Place, Any]) -> set[Place]:
    return {place for place in {*first, *second} if first.get(place) != second.get(place)}


def list_silent_losses(export: RouterExport, differences: set[Place]) -> set[Place]:
    """List the differences that neither table of an export has."""
    listed_places: list[Place] = []
    for each in export.omissions:
        if each.element == _WIRE:
            continue
        listed_places.append(each.path)
        if each.changes_design and each.path[2:] == ("scheduler",):
            shares = [place for place in differences if _is_share_of(place, each.path[1])]
            listed_places += shares
    for rounded in export.rounded:
        listed_places.append((*_find_place(rounded.element), *_ROUNDED.get(rounded.quantity, ())))
    return {
        place
        for place in differences
        if not any(place[: len(each)] == each for each in listed_places)
        and not (place[0] == "links" and place[2] in _WIRE_KEYS and _has_wire(export))
    }


def _is_share_of(place: Place, port: str | int) -> bool:
    """Whether a place is what a scheduler owes a class of a port."""
    return place[:3] == ("ports", port, "classes") and "queue" not in place


def _has_wire(export: RouterExport) -> bool:
    return any(each.element == _WIRE for each in export.omissions)


def _find_place(element: str) -> Place:
    """Find the place that a rounded element names: ``port core class voice``."""
    words = element.split()
    sections = {
        "port": "ports",
        "class": "classes",
        "path": "paths",
        "link": "links",
        "conditioner": "conditioners",
        "profile": "profiles",
    }
    return tuple(sections.get(word, word) for word in words)


def _describe(
    network: NetworkData,
) -> tuple[dict[Place, Any], dict[str, tuple[str, dict[Place, Any]]]]:
    """Describe a compiled network by places of a scenario; ports apart, by direction."""
    ports: dict[str, tuple[str, dict[Place, Any]]] = {}
    label_rows = {each["row"] for each in network["nhlfe"] if each["row"] is not None}
    found: dict[Place, Any] = {("nodes",): [each["name"] for each in network["nodes"]]}
    arcs = [each["name"] for each in network["links"]]
    paths = [each["name"] for each in network["paths"]]
    for link in network["links"]:
        keys: dict[str, Any] = dict(link)
        name = keys.pop("name")
        # No packet is larger: so large an MTU is none.
        keys["mtu_bytes"] = min(keys["mtu_bytes"], NO_MTU)
        port = network["ports"][keys.pop("port")]
        ports[name] = port["name"], _describe_port(port, label_rows)
        for key in _RECORDED_KEYS:
            keys.pop(key, None)
        for key in ("ingress", "conditioner"):
            if key in keys:
                keys[key] = network.get("conditioners", [])[keys[key]]["name"]
        found |= {("links", name, _LINK_KEYS.get(key, key)): keys[key] for key in keys}
    for conditioner in network.get("conditioners", []):
        found |= _describe_conditioner(conditioner)
    for path in network["paths"]:
        found["paths", path["name"], "route"] = [arcs[each] for each in path["links"]]
    for entry in network["ilm"]:
        nhlfe = network["nhlfe"][entry["nhlfe"]]
        if not 0 <= nhlfe["path"] < len(paths):
            continue
        path_name = paths[nhlfe["path"]]
        node = network["nodes"][entry["node"]]["name"]
        link_name = None if nhlfe["link"] is None else arcs[nhlfe["link"]]
        place = ("paths", path_name, "labels", node)
        found[place] = [*found.get(place, []), (entry["label"], tuple(nhlfe["push"]), link_name)]
        found["paths", path_name, "ttl"] = nhlfe["ttl"]
    for entry in network["nhlfe"]:
        if 0 <= entry["path"] < len(paths):
            maps = [*(entry.get("push_diffserv") or ()), entry.get("pop_diffserv")]
            contents = [network["diffserv"][each] for each in maps if each is not None]
            if contents:
                found["paths", paths[entry["path"]], "diffserv"] = contents[0]
    recovery = network.get("recovery") or {}
    for protection in recovery.get("protections", []):
        # One for each path has the path behind its name.
        place = ("protections", protection["name"].partition("[")[0])
        keys = dict(protection) | {"path": paths[protection["path"]]}
        keys["watches"] = [arcs[each] for each in keys["watches"]]
        for key in ("name", "switches", "bridge", "node"):
            keys.pop(key)
        for key, value in keys.items():
            written = {
                "detection": "detection",
                "hold_off_ns": "hold_off",
                "wait_to_restore_ns": "wait_to_restore",
                "switch_ns": "switch",
                "processing_ns": "processing",
                "compute_ns": "compute",
                "watches": "link",
            }.get(key, key)
            found[(*place, written, keys["path"])] = value
    for key in ("signalling", "routing"):
        for name, value in (network.get(key) or {}).items():  # type: ignore[attr-defined]
            found[key, name] = value
    return found, ports


def _describe_port(port: Any, label_rows: set[int]) -> dict[Place, Any]:
    names = [each["name"] for each in port["classes"]]
    found: dict[Place, Any] = {
        ("classes",): names,
        ("scheduler",): port["scheduler"]["kind"],
        ("ecn_in_mpls",): port["ecn_in_mpls"],
    }
    rows = port["classifier"]["rows"] or [[[0, 0]] * (_DSCP_COUNT + 8)]
    used = {0, *port["classifier"]["flow_rows"], *label_rows}
    for number, row in enumerate(rows):
        if number not in used:
            continue
        for column, (class_index, precedence) in enumerate(row):
            is_dscp = column < _DSCP_COUNT
            key = ("dscp", column) if is_dscp else ("tc", column - _DSCP_COUNT)
            # Rows beside the first are those of labels, by the maps of paths, or of flows.
            place: Place = ("classify", *key) if number == 0 else ("classify", "rows", number, *key)
            found[place] = names[class_index]
            if precedence:
                found[("classify", "precedence", *key)] = precedence
    for each, share in zip(port["classes"], port["scheduler"]["shares"], strict=True):
        own: Place = ("classes", each["name"])
        for key, value in share.items():
            if key == "parent" and value is not None:
                value = names[value]
            if key == "ceil_bit_s":
                value = value or share["rate_bit_s"]  # Absent: its rate.
            found[(*own, _SHARE_KEYS.get(key, key))] = value
        queue = dict(each["queue"])
        limits = (queue.pop("limit_packets"), queue.pop("limit_bytes"))
        found[(*own, "queue", "limit")] = limits
        aqm = dict(queue.pop("aqm"))
        for key, value in aqm.items():
            found[(*own, "queue", "aqm", key)] = value
        for key, value in queue.items():
            found[(*own, "queue", key)] = value
    return found


def _describe_conditioner(conditioner: Any) -> dict[Place, Any]:
    place = ("conditioners", conditioner["name"])
    names = ["", *(each["name"] for each in conditioner["profiles"])]
    found: dict[Place, Any] = {}
    for row in conditioner["classifier"]["rows"]:
        for column, (profile, _) in enumerate(row[:_DSCP_COUNT]):
            found[(*place, "rules", column)] = names[profile]
    for each in conditioner["profiles"]:
        own = (*place, "profiles", each["name"])
        found |= {(*own, "meter", key): value for key, value in each["meter"].items()}
        for colour, action in zip(("green", "yellow", "red"), each["actions"], strict=True):
            found[(*own, colour)] = action
    return found
