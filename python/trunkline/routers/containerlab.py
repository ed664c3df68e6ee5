"""containerlab: a laboratory of FRR nodes, with the files of the target ``frr`` bound into them.

A link's rate is the kernel's (the root of its port), and again that of its wire: a netem behind the
device that receives, with the link's delay.
"""

from typing import Final

from trunkline.routers.frr import (
    CONFIG_FILE,
    DAEMONS_FILE,
    SCRIPT_FILE,
    write_frr,
)
from trunkline.routers.openconfig import name_interface
from trunkline.routers.router_config import (
    NO_MTU,
    Router,
    RouterInterface,
    RouterNetwork,
    TargetFiles,
)
from trunkline.scenario import yaml_text
from trunkline.scenario.units import format_rate, format_time

NAME: Final = "containerlab"
TOPOLOGY_SUFFIX: Final = ".clab.yml"
IMAGE: Final = "quay.io/frrouting/frr:10.2.1"  # Image of the nodes.
_WAIT_SECONDS: Final = 2


def write_containerlab(network: RouterNetwork) -> TargetFiles:
    """Write the topology, and a folder for each router."""
    files = write_frr(network, adds_wires=True)
    topology = {
        "name": network.name,
        "topology": {
            "kinds": {"linux": {"image": IMAGE}},
            "nodes": {each.name: _make_node(each) for each in network.routers},
            "links": list(_list_links(network)),
        },
    }
    head = f"# containerlab deploy -t {network.name}.clab.yml\n"
    files.texts[f"{network.name}{TOPOLOGY_SUFFIX}"] = head + yaml_text.block(topology)
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
    """List each link once, with the scenario's keys of both directions, which `import` reads."""
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
            "there": _describe_direction(network, near, far),
            "back": _describe_direction(network, far, near),
        }
        name = near.arc.rpartition(":")[0] or far.arc.rpartition(":")[0]
        if name:
            variables["name"] = name
        for key, names in (("colours", near.colours), ("risks", near.risks)):
            if names:
                variables[key] = list(names)
        links.append({"endpoints": endpoints, "vars": variables})
    return links


def _describe_direction(
    network: RouterNetwork, sender: RouterInterface, receiver: RouterInterface
) -> dict[str, object]:
    """Describe a direction; its queues and policers are in the scripts, their names here."""
    policy = network.port_policies.get(sender.policy)
    optional = {
        "loss": sender.loss,
        "port": policy.port if policy is not None else "",
        "ingress": receiver.policer,
        "mtu": f"{sender.mtu} B" if sender.mtu < NO_MTU else "",
        "header": f"{sender.header} B" if sender.header else "",
    }
    return {
        "rate": format_rate(sender.rate),
        "delay": format_time(sender.delay),
        "metric": sender.metric,
        **{key: value for key, value in optional.items() if value},
    }
