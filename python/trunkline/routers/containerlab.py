"""containerlab: a laboratory of FRR nodes, with the files of the target ``frr`` bound into them.

A link's rate is the kernel's (the root of its port); its delay is a netem behind the device that
receives, where no filter of the design is.
"""

from typing import Final

from trunkline.routers.frr import (
    CONFIG_FILE,
    DAEMONS_FILE,
    SCRIPT_FILE,
    write_frr,
)
from trunkline.routers.openconfig import name_interface
from trunkline.routers.router_config import Router, RouterInterface, RouterNetwork, TargetFiles
from trunkline.scenario import yaml_text
from trunkline.scenario.units import format_rate, format_time

NAME: Final = "containerlab"
IMAGE: Final = "quay.io/frrouting/frr:10.2.1"
"""Image of the nodes."""
_WAIT_SECONDS: Final = 2
_NS_PER_US: Final = 1000


def write_containerlab(network: RouterNetwork) -> TargetFiles:
    """Write the topology, and a folder for each router."""
    files = write_frr(network)
    for router in network.routers:
        name = f"{router.name}/{SCRIPT_FILE}"
        files.texts[name] += "".join(_list_wire_lines(files, router, files.texts[name]))
    topology = {
        "name": network.name,
        "topology": {
            "kinds": {"linux": {"image": IMAGE}},
            "nodes": {each.name: _make_node(each) for each in network.routers},
            "links": list(_list_links(network)),
        },
    }
    head = f"# containerlab deploy -t {network.name}.clab.yml\n"
    files.texts[f"{network.name}.clab.yml"] = head + yaml_text.block(topology)
    return files


def _make_node(router: Router) -> dict[str, object]:
    folder = router.name
    return {
        "kind": "linux",
        "binds": [
            f"{folder}/{CONFIG_FILE}:/etc/frr/frr.conf",
            f"{folder}/{DAEMONS_FILE}:/etc/frr/daemons",
            f"{folder}/{SCRIPT_FILE}:/setup.sh",
        ],
        "exec": [f"sh -c 'sleep {_WAIT_SECONDS}; sh /setup.sh'"],
    }


def _list_links(network: RouterNetwork) -> list[dict[str, object]]:
    """Each link once, with the scenario's keys of both directions, which `import` reads."""
    ends = {
        (router.name, each.address.ip): each
        for router in network.routers
        for each in router.interfaces
    }
    links: list[dict[str, object]] = []
    for (node, _), near in sorted(ends.items(), key=lambda item: item[0][1]):
        far = ends[near.neighbour, near.far_address.ip]
        if far.address.ip < near.address.ip:
            continue
        endpoints = [f"{node}:{name_interface(near)}", f"{near.neighbour}:{name_interface(far)}"]
        variables: dict[str, object] = {
            "there": _describe_direction(near),
            "back": _describe_direction(far),
        }
        for key, names in (("colours", near.colours), ("risks", near.risks)):
            if names:
                variables[key] = list(names)
        links.append({"endpoints": endpoints, "vars": variables})
    return links


def _describe_direction(interface: RouterInterface) -> dict[str, object]:
    keys: dict[str, object] = {
        "rate": format_rate(interface.rate),
        "delay": format_time(interface.delay),
        "metric": interface.metric,
    }
    return keys | ({"loss": interface.loss} if interface.loss else {})


def _list_wire_lines(files: TargetFiles, router: Router, script: str) -> list[str]:
    """Commands that delay what arrives, where the design has no filter of its own."""
    lines = []
    for each in router.interfaces:
        if not each.delay:
            continue
        device = name_interface(each)
        if f"tc qdisc add dev {device} clsact" in script and _has_ingress_filter(script, each):
            files.omit(
                router.name,
                f"delay of {each.arc}",
                "filters of the design are where the delay would be; containerlab tools netem set",
                ("links", each.arc, "delay"),
                changes_design=False,
            )
            continue
        wire = f"wire{each.number}"
        clsact = (
            ""
            if f"tc qdisc add dev {device} clsact" in script
            else f"tc qdisc add dev {device} clsact\n"
        )
        lines.append(
            f"# delay of {each.neighbour}->{router.name}\n"
            f"ip link add {wire} type ifb && ip link set {wire} up\n{clsact}"
            f"tc filter add dev {device} ingress matchall "
            f"action mirred egress redirect dev {wire}\n"
            f"tc qdisc add dev {wire} root netem limit 100000 delay {each.delay / _NS_PER_US:g}us\n"
        )
    return lines


def _has_ingress_filter(script: str, interface: RouterInterface) -> bool:
    return f"filter add dev {name_interface(interface)} ingress" in script
