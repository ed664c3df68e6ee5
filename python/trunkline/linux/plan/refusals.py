"""What a network has that the kernel lacks, whatever its queues and flows are."""

from trunkline.linux.plan.addresses import MOST_LINKS
from trunkline.linux.plan.flows import Traffic
from trunkline.linux.plan.script import Script
from trunkline.network.types import Network


def refuse(script: Script, data: Network) -> None:
    """Refuses what routers, links and nodes of the kernel cannot do."""
    if data.get("signalling") and script.ground.control is None:
        script.refuse(
            ("routing", "ospf"),
            "routers of the kernel have no routing protocol of their own; nearest: --control frr, "
            "or rerouting, whose routes are put in at the simulator's times",
        )
    if data.get("routing", {}).get("ecmp"):
        script.refuse(
            ("routing", "ecmp"),
            "Linux hashes with a seed that is new at each start, so that flows take other paths "
            "each time; nearest: no ecmp",
        )
    if len(data["links"]) > MOST_LINKS:
        script.refuse(
            ("links",),
            f"{len(data['links'])} links; there are addresses for {MOST_LINKS}; "
            "nearest: a part of the network",
        )
    for node in data["nodes"]:
        if node.get("processing"):
            script.refuse(
                ("nodes", node["name"], "processing"),
                f"node {node['name']}: the kernel takes the time it takes to forward a packet; "
                "nearest: the delay of its links",
            )
    for link in data["links"]:
        if link.get("conditioner") is not None:
            script.refuse(
                ("links", link["name"], "conditioner"),
                f"{link['name']}: Linux's police counts Ethernet and labels where packets leave; "
                "nearest: the conditioner as ingress of the link before",
            )


def too_few_addresses(script: Script, data: Network, sent: Traffic) -> None:
    """Refuses a file of addresses with too few for a node."""
    for node, own in sent.ends.chosen.items():
        needed = sum(each[0] == node for each in sent.ends.keys)
        if needed > len(own):
            name = data["nodes"][node]["name"]
            script.refuse(
                ("nodes", name),
                f"node {name}: {needed} addresses are needed, one for each class of the packets "
                f"that end there; {len(own)} given",
            )
