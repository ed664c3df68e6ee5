"""Features of a network that the kernel lacks, apart from queues and flows."""

from trunkline.linux.plan.addresses import MAX_LINKS
from trunkline.linux.plan.command_script import CommandScript
from trunkline.linux.plan.traffic import PlannedTraffic
from trunkline.network.types import NetworkData


def refuse_unsupported(script: CommandScript, network: NetworkData) -> None:
    """Refuse features of routers, links and nodes that the kernel lacks."""
    if network.get("signalling") and script.target.control is None:
        script.refuse(
            ("routing", "ospf"),
            "routers of the kernel have no routing protocol; nearest: --control frr, "
            "or rerouting, whose routes are put in at the simulator's times",
        )
    if network.get("routing", {}).get("ecmp"):
        script.refuse(
            ("routing", "ecmp"),
            "Linux hashes with a seed that is new at each start, so that flows take other paths "
            "each time; nearest: no ecmp",
        )
    if len(network["links"]) > MAX_LINKS:
        script.refuse(
            ("links",),
            f"{len(network['links'])} links; there are addresses for {MAX_LINKS}; "
            "nearest: a part of the network",
        )
    for node in network["nodes"]:
        if node.get("processing"):
            script.refuse(
                ("nodes", node["name"], "processing"),
                f"node {node['name']}: the kernel takes the time it takes to forward a packet; "
                "nearest: the delay of its links",
            )
    for link in network["links"]:
        if link.get("conditioner") is not None:
            script.refuse(
                ("links", link["name"], "conditioner"),
                f"{link['name']}: Linux's police counts Ethernet and labels where packets leave; "
                "nearest: the conditioner as ingress of the link before",
            )


def refuse_too_few_addresses(
    script: CommandScript, network: NetworkData, traffic: PlannedTraffic
) -> None:
    """Refuse a file of addresses with too few for a node."""
    for node, given in traffic.route_addresses.given_addresses.items():
        needed = sum(each[0] == node for each in traffic.route_addresses.keys)
        if needed > len(given):
            name = network["nodes"][node]["name"]
            script.refuse(
                ("nodes", name),
                f"node {name}: {needed} addresses are needed, one for each class of the packets "
                f"that end there; {len(given)} given",
            )
