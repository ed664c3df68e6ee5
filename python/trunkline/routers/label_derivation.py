"""Labels set by hand, segment-routing policies, and the packets that take each path."""

from typing import Final

from trunkline.network import segment_labels
from trunkline.routers.design import RouterDesign
from trunkline.routers.router_config import PolicyHop, SegmentPolicy, StaticLabelEntry, Steering

_ALL_DSCPS: Final = 64


def list_labels(design: RouterDesign) -> dict[int, list[StaticLabelEntry]]:
    """List the label entries by node that are set by hand."""
    entries: dict[int, list[StaticLabelEntry]] = {}
    names = [each["name"] for each in design.network["paths"]]
    srgb = design.resolved.written.te.srgb
    seen: set[tuple[int, int]] = set()
    pairs: list[tuple[int, int | None, int]] = [
        (each["node"], None, each["nhlfe"]) for each in design.network["ftn"]
    ]
    pairs += [(each["node"], each["label"], each["nhlfe"]) for each in design.network["ilm"]]
    for node, label, index in pairs:
        entry = design.network["nhlfe"][index]
        if not 0 <= entry["path"] < len(names):
            continue
        path = names[entry["path"]]
        if path in design.resolved.policies or (label is None and (node, index) in seen):
            continue
        seen.add((node, index))
        if (
            label is not None
            and design.resolved.policies
            and (srgb <= label < srgb + len(design.nodes))
        ):
            design.omit(
                design.nodes[node],
                f"path {path}: label {label}",
                f"it lies in the block of node labels, {srgb} to "
                f"{srgb + len(design.nodes) - 1}; nearest: {srgb + len(design.nodes)}",
                "paths",
                path,
                "labels",
            )
        link = entry["link"]
        entries.setdefault(node, []).append(
            StaticLabelEntry(
                path,
                label,
                tuple(entry["push"]),
                None if link is None else design.interface_of_link[link],
            )
        )
    return entries


def list_segment_policies(design: RouterDesign) -> dict[str, list[SegmentPolicy]]:
    """List the segment-routing policies by head end, each with its colour."""
    policies: dict[str, list[SegmentPolicy]] = {}
    resolved = design.resolved
    for colour, (name, segments) in enumerate(resolved.policies.items(), start=1):
        hops = []
        for segment in segments:
            if segment.arc is None:
                label = segment_labels.get_node_label(resolved, segment.node)
                address = design.router_ids[design.nodes.index(segment.node)]
            else:
                label = segment_labels.get_adjacency_label(resolved, segment.arc)
                address = design.get_interface(segment.arc).far_address.ip
            hops.append(PolicyHop(label, address, segment.arc is not None))
        endpoint = design.router_ids[design.nodes.index(segments[-1].node)]
        head = resolved.routes[name].nodes[0]
        policies.setdefault(head, []).append(SegmentPolicy(name, endpoint, colour, tuple(hops)))
    return policies


def list_steering(design: RouterDesign) -> dict[int, list[Steering]]:
    """List the packets for each path at its head: routers match destination and DSCP."""
    names = [each["name"] for each in design.network["paths"]]
    targets: dict[int, dict[int, None]] = {}
    for flow in design.network["flows"]:
        targets.setdefault(flow["fec"], {})[flow["dst"]] = None
        targets.setdefault(flow["fec_reverse"], {})[flow["src"]] = None
    steering: dict[int, list[Steering]] = {}
    taken: dict[tuple[int, int, int], str] = {}
    conflicts: dict[tuple[int, str], str] = {}
    for entry in design.network["ftn"]:
        index = design.network["nhlfe"][entry["nhlfe"]]["path"]
        if not 0 <= index < len(names):
            continue
        dscps = tuple(entry.get("dscps") or range(_ALL_DSCPS))
        for target in targets.get(entry["fec"], ()):
            if target == entry["node"]:
                continue
            other = {taken.get((entry["node"], target, dscp)) for dscp in dscps} - {None}
            if other - {names[index]}:
                conflicts[entry["node"], names[index]] = str(min(other - {names[index]}))  # type: ignore[type-var]
                continue
            if other:
                continue
            for dscp in dscps:
                taken[entry["node"], target, dscp] = names[index]
            steering.setdefault(entry["node"], []).append(
                Steering(
                    names[index],
                    design.nodes[target],
                    design.router_ids[target],
                    () if len(dscps) == _ALL_DSCPS else dscps,
                )
            )
    for (node, path), rival in conflicts.items():
        design.omit_in_hardware(
            path,
            "its flows by name",
            f"routers choose a path by destination and DSCP, and path {rival} has the same; "
            "nearest: one DSCP for each path",
            router=design.nodes[node],
        )
    return steering


def map_imposition(design: RouterDesign) -> dict[str, dict[int, int]]:
    """Map DSCPs to the TCs that each head end writes, where these are not the first three bits."""
    maps: dict[str, dict[int, int]] = {}
    for name, path in design.resolved.paths.items():
        if path.diffserv is None or name not in design.resolved.routes:
            continue
        head = design.resolved.routes[name].nodes[0]
        if path.diffserv.kind == "l-lsp":
            design.omit_in_hardware(
                name,
                "l-lsp",
                "routers read the class of a labelled packet from its TC; nearest: e-lsp with "
                "a map",
                "diffserv",
            )
            continue
        tcs = dict(enumerate(path.diffserv.list_tcs_by_dscp()))
        if maps.setdefault(head, tcs) != tcs:
            design.omit_in_hardware(
                name,
                "a map of its own",
                "a router writes one TC for a DSCP; nearest: one map for all paths",
                "diffserv",
            )
    standard = {dscp: dscp >> 3 for dscp in range(_ALL_DSCPS)}
    return {head: tcs for head, tcs in maps.items() if tcs != standard}
