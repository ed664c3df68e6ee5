"""Filters of all devices: egress of the sending end, ingress of the receiving end."""

from collections.abc import Sequence

from trunkline.linux.plan import classify, conditioning, mpls
from trunkline.linux.plan.addresses import Wiring
from trunkline.linux.plan.flows import Traffic
from trunkline.linux.plan.forwarding import FTN_MARK
from trunkline.linux.plan.leaf import Leaf
from trunkline.linux.plan.recovery import Course
from trunkline.linux.plan.script import Script
from trunkline.network.types import Network


def filters(
    script: Script,
    its: Course,
    wiring: Wiring,
    leaves: Sequence[dict[int, Leaf]],
    sent: Traffic,
) -> None:
    """Says the filters of all devices."""
    data = its.network
    dscps = codepoints(data)
    tcs = mpls.traffic_classes(data, dscps)
    marking: set[int] = set()
    egresses = []
    for index, link in enumerate(data["links"]):
        side = wiring.near[index]
        config = data["ports"][link["port"]]
        egress = classify.Egress(script, side.node, side.device, link, config, leaves[index])
        for _, state in its.states:
            if mpls.leaving(egress, {**data, "nhlfe": list(state.nhlfe)}, index, dscps, tcs):
                marking.add(side.node)
        egress.packets(sent.rows(config["classifier"]))
        egresses.append(egress)
    split = {each["node"] for each in data["ftn"] if each.get("dscps")}
    for side in {pair_side.device: pair_side for pair_side in wiring.near + wiring.far}.values():
        script.say(
            side.node, "tc", f"qdisc add dev {side.device} clsact", f"filters of {side.device}"
        )
    for node in range(len(data["nodes"])):
        own = [
            sent.ends.text(number)
            for number, (each, _, _) in enumerate(sent.ends.keys)
            if each == node
        ]
        for line in mpls.once_less(data, node, own):
            script.say(node, "tc", line, "a router takes one off the TTL (RFC 3443 section 3)")
    for egress in egresses:
        egress.finish()
    for index, link in enumerate(data["links"]):
        side = wiring.far[index]
        said: list[str] = []
        chain = ""
        ingress = link.get("ingress")
        if ingress is not None:
            conditioner = data["conditioners"][ingress]
            conditioning.refuse_labels(script, data, index, conditioner)
            said += conditioning.filters(script, conditioner, sent.rows(conditioner["classifier"]))
            chain = f"chain {conditioning.AFTER} "
        if side.node in split:
            said += [
                f"{chain}protocol ip prio 50 flower ip_tos {dscp << 2:#04x}/0xfc "
                f"action skbedit mark {FTN_MARK + dscp:#x} continue"
                for dscp in dscps
            ]
        if side.node in marking:
            said += [f"{chain}{each}" for each in mpls.arriving(script, data, side.node, tcs)]
        for line in said:
            script.say(
                side.node,
                "tc",
                f"filter add dev {side.device} ingress {line}",
                f"what arrives over {link['name']}",
            )
        script.say(
            side.node,
            "tc",
            f"filter add dev {side.device} ingress {chain}protocol all prio 90 matchall "
            f"action mirred egress redirect dev {side.wire}",
            f"wire of {link['name']}: {link['delay_ns']} ns",
            wire=True,
        )


def codepoints(data: Network) -> list[int]:
    """DSCPs that packets may have: those of flows, those that conditioners and paths write."""
    found = {flow["dscp"] for flow in data["flows"]}
    for conditioner in data.get("conditioners", []):
        for profile in conditioner["profiles"]:
            found |= {each["dscp"] for each in profile["actions"] if each["dscp"] is not None}
    for maps in data.get("diffserv", []):
        if maps["tunnel"] == "uniform":
            found |= {dscp for dscp in maps["dscp_of_tc"] if dscp is not None}
    return sorted(found)
