"""Filters of all devices: egress of the sending end, ingress of the receiving end."""

from collections.abc import Sequence
from typing import Final

from trunkline.linux.plan import conditioning, egress_filters, label_filters, port_qdiscs
from trunkline.linux.plan.addresses import VethEnd, VethPlan
from trunkline.linux.plan.command_script import CommandScript
from trunkline.linux.plan.forwarding import FTN_MARK
from trunkline.linux.plan.leaf_qdisc import LeafQdisc
from trunkline.linux.plan.recovery import RecoverySchedule
from trunkline.linux.plan.traffic import PlannedTraffic
from trunkline.network.types import NetworkData

_CONTROL_MATCHES: Final = (
    "arp prio 1 u32 match u32 0 0",
    "ip prio 2 u32 match ip protocol 89 0xff",
    "ip prio 2 u32 match ip protocol 17 0xff match ip dport 646 0xffff",
    "ip prio 2 u32 match ip protocol 6 0xff match ip dport 646 0xffff",
    "ip prio 2 u32 match ip protocol 6 0xff match ip sport 646 0xffff",
)
"""Packets between neighbours: ARP, OSPF (RFC 2328 appendix A.1), LDP (RFC 5036 section 3.10)."""


def add_filters(
    script: CommandScript,
    recovery_schedule: RecoverySchedule,
    wiring: VethPlan,
    leaves: Sequence[dict[int, LeafQdisc]],
    traffic: PlannedTraffic,
) -> None:
    """Write the filters of all devices."""
    network = recovery_schedule.network
    dscps = list_dscps(network)
    tcs = label_filters.list_traffic_classes(network, dscps)
    egresses, marking_nodes = _make_egresses(
        script, recovery_schedule, wiring, leaves, traffic, dscps, tcs
    )
    # Devices of real routers have the same names at each of them.
    for side in {
        (each.node, each.device): each for each in wiring.sending_ends + wiring.receiving_ends
    }.values():
        script.add_command(
            side.node, "tc", f"qdisc add dev {side.device} clsact", f"filters of {side.device}"
        )
    if script.target.on_routers:
        for side in wiring.sending_ends:
            _pass_control(script, side)
    _add_ttl_filters(script, network, traffic)
    for egress in egresses:
        egress.write_filters()
    splitting_nodes = {each["node"] for each in network["ftn"] if each.get("dscps")}
    for index, side in enumerate(wiring.receiving_ends):
        filter_lines, chain = _list_conditioner_filters(script, network, index, traffic)
        if side.node in splitting_nodes:
            filter_lines += [
                f"{chain}protocol ip prio 50 flower ip_tos {dscp << 2:#04x}/0xfc "
                f"action skbedit mark {FTN_MARK + dscp:#x} continue"
                for dscp in dscps
            ]
        if side.node in marking_nodes:
            filter_lines += [
                f"{chain}{each}"
                for each in label_filters.list_ingress_marks(script, network, side.node, tcs)
            ]
        _write_ingress(script, network, index, side, filter_lines, chain)


def _make_egresses(
    script: CommandScript,
    recovery_schedule: RecoverySchedule,
    wiring: VethPlan,
    leaves: Sequence[dict[int, LeafQdisc]],
    traffic: PlannedTraffic,
    dscps: list[int],
    tcs: list[int],
) -> tuple[list[egress_filters.EgressFilters], set[int]]:
    """Make the filters of the sending ends.

    Returns: Also the nodes whose filters read a mark that the receiving ends set.
    """
    network = recovery_schedule.network
    marking_nodes: set[int] = set()
    egresses = []
    for index, link in enumerate(network["links"]):
        side = wiring.sending_ends[index]
        config = network["ports"][link["port"]]
        egress = egress_filters.EgressFilters(
            script, side.node, side.device, link, config, leaves[index]
        )
        for _, state in recovery_schedule.states:
            if label_filters.add_egress_filters(
                egress, {**network, "nhlfe": list(state.nhlfe)}, index, dscps, tcs
            ):
                marking_nodes.add(side.node)
        egress.add_ip_filters(traffic.list_rows(config["classifier"]))
        egresses.append(egress)
    return egresses, marking_nodes


def _add_ttl_filters(script: CommandScript, network: NetworkData, traffic: PlannedTraffic) -> None:
    for node in range(len(network["nodes"])):
        own_addresses = [
            traffic.route_addresses.format_address(number)
            for number, (each, _, _) in enumerate(traffic.route_addresses.keys)
            if each == node
        ]
        for line in label_filters.list_ttl_filters(network, node, own_addresses):
            script.add_command(
                node, "tc", line, "a router takes one off the TTL (RFC 3443 section 3)"
            )


def _list_conditioner_filters(
    script: CommandScript, network: NetworkData, link: int, traffic: PlannedTraffic
) -> tuple[list[str], str]:
    """List the filters of the conditioner of what arrives, and the chain of those after it."""
    ingress = network["links"][link].get("ingress")
    if ingress is None:
        return [], ""
    conditioner = network["conditioners"][ingress]
    conditioning.refuse_labels(script, network, link, conditioner)
    rows = traffic.list_rows(conditioner["classifier"])
    filter_lines = conditioning.list_ingress_filters(script, conditioner, rows)
    return list(filter_lines), f"chain {conditioning.FORWARDING_CHAIN} "


def _write_ingress(
    script: CommandScript,
    network: NetworkData,
    index: int,
    side: VethEnd,
    filter_lines: list[str],
    chain: str,
) -> None:
    """Write the filters of a receiving end, and the way of what they let pass to the wire."""
    link = network["links"][index]
    about = f"what arrives over {link['name']}"
    ingress = link.get("ingress")
    if ingress is not None:
        conditioner = network["conditioners"][ingress]
        profiles = ", ".join(each["name"] for each in conditioner["profiles"])
        about += f", by {conditioner['name']}: {profiles}"
    for line in filter_lines:
        line = f"filter add dev {side.device} ingress {line}"
        script.add_command(side.node, "tc", line, about)
    script.add_command(
        side.node,
        "tc",
        f"filter add dev {side.device} ingress {chain}protocol all prio 90 matchall "
        f"action mirred egress redirect dev {side.wire}",
        f"wire of {link['name']}: {link['delay_ns']} ns",
        is_wire=True,
    )


def _pass_control(script: CommandScript, side: VethEnd) -> None:
    """Let messages between routers bypass the queues, as their line cards do.

    In the queue of an overloaded class a router would lose its neighbours.
    """
    for match in _CONTROL_MATCHES:
        root = port_qdiscs.ROOT_HANDLE
        line = f"filter add dev {side.device} parent {root} protocol {match} flowid {root}0"
        script.add_command(side.node, "tc", line, "ARP, OSPF and LDP wait behind no packet")


def list_dscps(network: NetworkData) -> list[int]:
    """DSCPs that packets may have: those of flows, those that conditioners and paths write."""
    dscps = {flow["dscp"] for flow in network["flows"]}
    for conditioner in network.get("conditioners", []):
        for profile in conditioner["profiles"]:
            dscps |= {each["dscp"] for each in profile["actions"] if each["dscp"] is not None}
    for maps in network.get("diffserv", []):
        if maps["tunnel"] == "uniform":
            dscps |= {dscp for dscp in maps["dscp_of_tc"] if dscp is not None}
    return sorted(dscps)
