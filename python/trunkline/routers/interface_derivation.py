"""Interfaces of routers and their static routes, derived from the links of a design.

Links have a /30 each from 10.0.0.0/9 unless the target chooses addresses; interfaces count from 1
at each router in the order of the links.
"""

from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Interface, IPv4Network
from typing import Final

from trunkline.linux.plan.addresses import VethEnd, VethPlan
from trunkline.linux.plan.command_target import CommandTarget
from trunkline.routers.design import RouterDesign
from trunkline.routers.port_policies import PortPolicies
from trunkline.routers.router_config import RouterInterface, StaticIpRoute
from trunkline.scenario.routing import IGP_DISTANCE

MAX_INTERFACE_COST: Final = 65_535  # Largest cost of an interface (RFC 2328 appendix C.3).


def derive_interfaces(
    design: RouterDesign, target: CommandTarget, policies: PortPolicies
) -> list[list[RouterInterface]]:
    """Derive the interfaces of each node, and enter those of links in the design.

    target: Chosen addresses and devices.
    policies: Policies of ports and policers, which it makes where an interface needs them.
    """
    wiring = VethPlan.from_links(design.network["links"], target)
    interfaces: list[list[RouterInterface]] = [[] for _ in design.nodes]
    for pair in wiring.pairs:
        for near, far in ((pair.a, pair.b), (pair.b, pair.a)):
            link = wiring.link_by_device.get((near.node, near.device))
            arriving = wiring.link_by_device.get((far.node, far.device))
            ingress = None if arriving is None else design.network["links"][arriving].get("ingress")
            interface = RouterInterface(
                len(interfaces[near.node]) + 1,
                "",
                "",
                _get_address(near),
                _get_address(far),
                design.nodes[far.node],
                policer=policies.name_policer(ingress),
            )
            if link is not None:
                arc = design.resolved.arc_by_name[design.network["links"][link]["name"]]
                device = target.devices.get(arc.name, "")
                interface = _add_link(design, interface, link, device, policies)
                design.interface_of_link[link] = interface
            interfaces[near.node].append(interface)
    return interfaces


def _get_address(end: VethEnd) -> IPv4Interface:
    return IPv4Interface(f"{end.address}/{end.prefix}")


def _add_link(
    design: RouterDesign, interface: RouterInterface, link: int, device: str, policies: PortPolicies
) -> RouterInterface:
    """Add the link that an interface sends on, and note what a router does not have of it."""
    compiled = design.network["links"][link]
    arc = design.resolved.arc_by_name[compiled["name"]]
    te = arc.options.te
    router = arc.source
    if compiled.get("conditioner") is not None:
        design.omit(
            router,
            f"conditioner where {arc.name} sends",
            "policers are written for packets that arrive; nearest: ingress of the link before",
            "links",
            arc.name,
            "conditioner",
        )
    if compiled["metric"] > MAX_INTERFACE_COST:
        design.omit(
            router,
            f"metric {compiled['metric']} of {arc.name}",
            f"a cost of OSPF is 1 to {MAX_INTERFACE_COST}; nearest: {MAX_INTERFACE_COST}",
            "links",
            arc.name,
            "metric",
        )
    if compiled.get("reorder"):
        design.omit(
            router,
            f"link {arc.name}: reorder",
            "it is the wire's, and `import` reads none; nearest: none",
            "links",
            arc.name,
            "reorder",
            changes=False,
        )
    return replace(
        interface,
        device=device,
        arc=arc.name,
        rate=compiled["rate_bit_s"],
        delay=compiled["delay_ns"],
        mtu=compiled["mtu_bytes"],
        header=compiled["header_bytes"],
        metric=min(compiled["metric"], MAX_INTERFACE_COST),
        te_metric=te.metric or compiled["metric"],
        reservable=round(compiled["rate_bit_s"] * te.reservable),
        colours=te.colours,
        risks=te.risks,
        policy=policies.name_policy(link),
        loss=compiled["loss"],
    )


def list_static_routes(design: RouterDesign, node: int) -> Iterator[StaticIpRoute]:
    """List those of a node; without an IGP its neighbours are reached by such routes too."""
    own = [
        route
        for route in design.network.get("routing", {}).get("static", [])
        if route["node"] == node
    ]
    for route in own:
        target = route["destination"]
        prefix = "0.0.0.0/0" if target is None else f"{design.router_ids[target]}/32"
        interface = design.interface_of_link[route["link"]]
        yield StaticIpRoute(IPv4Network(prefix), interface, route["distance"])
    if design.resolved.routing.igp:
        return
    links = design.network["links"]
    for target in dict.fromkeys(each["to"] for each in links if each["from"] == node):
        _, link = min(
            (each["metric"], index)
            for index, each in enumerate(links)
            if (each["from"], each["to"]) == (node, target)
        )
        if any((each["destination"], each["link"]) == (target, link) for each in own):
            continue
        prefix = f"{design.router_ids[target]}/32"
        yield StaticIpRoute(IPv4Network(prefix), design.interface_of_link[link], IGP_DISTANCE)
