"""OpenConfig: a file of RFC 7951 JSON for each router.

Interfaces, MPLS (RSVP-TE tunnels, static LSPs, segment lists, LDP), OSPF and QoS, in the paths that
both the models of 2017 and the newest have.
"""

import json
from typing import Final

from trunkline.routers.openconfig.interfaces import (
    LOOPBACK,
    list_interfaces,
    make_ospf,
    make_static_routes,
    name_interface,
)
from trunkline.routers.openconfig.json_entries import Json, make_entry
from trunkline.routers.openconfig.mpls import add_segment_routing, make_mpls
from trunkline.routers.openconfig.queueing import make_qos
from trunkline.routers.router_config import Router, RouterNetwork, TargetFiles

NAME: Final = "openconfig"
_INSTANCE: Final = "default"


def write_openconfig(network: RouterNetwork) -> TargetFiles:
    """Write a JSON file for each router."""
    files = TargetFiles()
    for router in network.routers:
        files.omit(
            router.name,
            "rates, delays, losses and headers of links",
            "they are the wire's",
            ("links",),
            changes_design=False,
        )
        for each in router.interfaces:
            if not network.runs_igp and each.arc and each.metric != 1:
                files.omit(
                    router.name,
                    f"link {each.arc}: metric {each.metric}",
                    "it is a cost of OSPF, which is off; nearest: none",
                    ("links", each.arc, "metric"),
                    changes_design=False,
                )
        document = {
            "openconfig-interfaces:interfaces": {"interface": list_interfaces(router)},
            "openconfig-network-instance:network-instances": {
                "network-instance": [_make_instance(files, network, router)]
            },
        }
        qos = make_qos(files, network, router)
        if qos:
            document["openconfig-qos:qos"] = qos
        files.texts[f"{router.name}.json"] = json.dumps(document, indent=1) + "\n"
    return files


def _make_instance(files: TargetFiles, network: RouterNetwork, router: Router) -> Json:
    instance = make_entry(
        "name", _INSTANCE, type="openconfig-network-instance-types:DEFAULT_INSTANCE"
    )
    instance["config"]["router-id"] = str(router.router_id)
    names = [LOOPBACK, *(name_interface(each) for each in router.interfaces)]
    instance["interfaces"] = {
        "interface": [make_entry("id", name, interface=name, subinterface=0) for name in names]
    }
    protocols = [make_ospf(network, router)] if network.runs_igp else []
    protocols += [make_static_routes(router)] if router.static_routes else []
    instance["protocols"] = {"protocol": protocols}
    instance["mpls"] = make_mpls(files, network, router)
    if network.srgb:
        add_segment_routing(files, network, router, instance)
    return instance
