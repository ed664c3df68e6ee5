"""Policies of segment routing."""

from collections.abc import Iterator
from xml.etree import ElementTree

from trunkline.routers.iosxr.xml_elements import XmlWriter, add_element, add_path
from trunkline.routers.router_config import Router, RouterNetwork, SegmentPolicy


def list_segment_routing(network: RouterNetwork, router: Router) -> Iterator[str]:
    """List the block of node labels, and the policies."""
    assert network.srgb is not None
    yield "segment-routing"
    yield f" global-block {network.srgb[0]} {network.srgb[1]}"
    if router.policies:
        yield " traffic-eng"
        for policy in router.policies:
            yield f"  segment-list {policy.name}"
            for index, hop in enumerate(policy.hops, 1):
                yield (
                    f"   index {index * 10} address ipv4 {hop.address}"
                    if hop.is_adjacency
                    else f"   index {index * 10} mpls label {hop.label}"
                )
            yield "  !"
        for policy in router.policies:
            yield f"  policy {policy.name}"
            yield f"   color {policy.colour} end-point ipv4 {policy.endpoint}"
            prefixes = _list_policy_prefixes(router, policy)
            if prefixes:
                yield "   autoroute"
                for prefix in prefixes:
                    yield f"    include ipv4 {prefix}/32"
                yield "   !"
            yield from ("   candidate-paths", "    preference 100")
            yield f"     explicit segment-list {policy.name}"
            yield from ("     !", "    !", "   !", "  !")
        yield " !"
    yield "!"


def _list_policy_prefixes(router: Router, policy: SegmentPolicy) -> list[str]:
    return [
        str(each.address) for each in router.steering if each.path == policy.name and not each.dscps
    ]


def add_segment_routing(writer: XmlWriter, network: RouterNetwork, router: Router) -> None:
    """The same as `list_segment_routing`."""
    assert network.srgb is not None
    sr = writer.add_module("segment-routing-ms-cfg", "sr")
    block = add_element(sr, "global-block")
    add_element(block, "lower-bound", network.srgb[0])
    add_element(block, "upper-bound", network.srgb[1])
    add_element(sr, "enable")
    if not router.policies:
        return
    te = add_element(sr, "traffic-engineering", module="infra-xtc-agent-cfg")
    lists = add_element(te, "segments")
    for policy in router.policies:
        entry = add_element(lists, "segment")
        add_element(entry, "path-name", policy.name)
        add_element(entry, "enable")
        hops = add_element(entry, "segments")
        for index, hop in enumerate(policy.hops, 1):
            segment = add_element(hops, "segment")
            add_element(segment, "segment-index", index * 10)
            if hop.is_adjacency:
                add_element(segment, "segment-type", "ipv4-address")
                add_element(segment, "address", hop.address)
            else:
                add_element(segment, "segment-type", "mpls-label")
                add_element(segment, "mpls-label", hop.label)
    policies = add_element(te, "policies")
    for policy in router.policies:
        _add_policy(policies, router, policy)
    add_element(te, "enable")


def _add_policy(parent: ElementTree.Element, router: Router, policy: SegmentPolicy) -> None:
    entry = add_element(parent, "policy")
    add_element(entry, "policy-name", policy.name)
    add_element(entry, "enable")
    colour = add_element(entry, "policy-color-endpoint")
    add_element(colour, "color", policy.colour)
    add_element(colour, "end-point-type", "end-point-type-ipv4")
    add_element(colour, "end-point-address", policy.endpoint)
    prefixes = _list_policy_prefixes(router, policy)
    if prefixes:
        route = add_element(entry, "auto-route")
        included = add_element(route, "include-prefixes")
        for prefix in prefixes:
            item = add_element(included, "include-prefix")
            add_element(item, "af-type", "af-type-ipv4")
            add_element(item, "prefix-address", prefix)
            add_element(item, "prefix-length", 32)
    preference = add_path(entry, "candidate-paths", "preferences", "preference")
    add_element(preference, "path-index", 100)
    add_element(preference, "enable")
    info = add_path(preference, "path-infos", "path-info")
    add_element(info, "type", "explicit")
    add_element(info, "hop-type", "mpls")
    add_element(info, "segment-list-name", policy.name)
    add_element(info, "enable")
