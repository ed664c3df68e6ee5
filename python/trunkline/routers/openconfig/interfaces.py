"""Interfaces with their addresses, and the costs that OSPF has for them."""

from typing import Final

from trunkline.routers.openconfig.json_entries import Json, make_entry, refer_to_interface
from trunkline.routers.router_config import Router, RouterInterface, RouterNetwork

LOOPBACK: Final = "lo0"
_MAX_MTU: Final = 65_535


def name_interface(interface: RouterInterface) -> str:
    """Return the chosen name, or ``eth`` and the interface's number."""
    return interface.device or f"eth{interface.number}"


def list_interfaces(router: Router) -> list[Json]:
    """List the loopback with the router id, and the ends of links."""
    interfaces = []
    loopback = [(LOOPBACK, f"{router.router_id}", 32, "", "softwareLoopback", 0)]
    ends = [
        (
            name_interface(each),
            str(each.address.ip),
            each.address.network.prefixlen,
            f"to {each.neighbour}: {each.arc}" if each.arc else f"to {each.neighbour}",
            "ethernetCsmacd",
            each.mtu,
        )
        for each in router.interfaces
    ]
    for name, address, prefix, description, kind, mtu in loopback + ends:
        entry = make_entry("name", name, type=f"iana-if-type:{kind}", enabled=True)
        if description:
            entry["config"]["description"] = description
        if 0 < mtu < _MAX_MTU:
            entry["config"]["mtu"] = mtu
        unit = make_entry("index", 0)
        unit["openconfig-if-ip:ipv4"] = {
            "addresses": {"address": [make_entry("ip", address, **{"prefix-length": prefix})]}
        }
        entry["subinterfaces"] = {"subinterface": [unit]}
        interfaces.append(entry)
    return interfaces


def make_ospf(network: RouterNetwork, router: Router) -> Json:
    """Make OSPF in one area with the costs of the interfaces."""
    interfaces = [
        {
            "id": LOOPBACK,
            "config": {"id": LOOPBACK, "passive": True},
            "interface-ref": refer_to_interface(LOOPBACK),
        }
    ]
    for each in router.interfaces:
        name = name_interface(each)
        interfaces.append(
            {
                "id": name,
                "config": {
                    "id": name,
                    "network-type": "openconfig-ospf-types:POINT_TO_POINT_NETWORK",
                    "metric": each.metric,
                },
                "interface-ref": refer_to_interface(name),
                "timers": {
                    "config": {
                        "hello-interval": network.igp.hello_s,
                        "dead-interval": network.igp.dead_s,
                    }
                },
            }
        )
    kind = "openconfig-policy-types:OSPF"
    initial, _, maximum = network.igp.spf_ms
    spf = {"initial-delay": initial, "maximum-delay": maximum}
    return {
        "identifier": kind,
        "name": "1",
        "config": {"identifier": kind, "name": "1", "enabled": True},
        "ospfv2": {
            "global": {
                "config": {"router-id": str(router.router_id)},
                "timers": {"spf": {"config": spf}},
                "mpls": {
                    "config": {"traffic-engineering-extensions": network.is_signalled},
                },
            },
            "areas": {
                "area": [
                    {
                        "identifier": 0,
                        "config": {"identifier": 0},
                        "interfaces": {"interface": interfaces},
                    }
                ]
            },
        },
    }


def make_static_routes(router: Router) -> Json:
    """Make static routes; the metric of a next hop is the preference of its route."""
    routes = []
    for prefix in dict.fromkeys(str(each.prefix) for each in router.static_routes):
        hops = [
            make_entry(
                "index",
                str(index),
                **{"next-hop": str(each.interface.far_address.ip), "metric": each.distance},
            )
            for index, each in enumerate(router.static_routes, 1)
            if str(each.prefix) == prefix
        ]
        routes.append(make_entry("prefix", prefix) | {"next-hops": {"next-hop": hops}})
    kind = "openconfig-policy-types:STATIC"
    return {
        "identifier": kind,
        "name": "static",
        "config": {"identifier": kind, "name": "static", "enabled": True},
        "static-routes": {"static": routes},
    }
