"""FRR on Linux: ``frr.conf``, the daemons to start, and the kernel's own commands for each router.

The daemons route (OSPF, with LDP or segments) and steer into policies; labels of static LSPs,
queues, policers and filters are the kernel's, by the commands of ``export --to linux``.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Final

from trunkline.linux.plan.command_script import Command, CommandScript, UnsupportedError
from trunkline.linux.plan.command_target import CommandTarget
from trunkline.linux.plan.compiled_plan import CompiledPlan, compile_plan
from trunkline.linux.plan.protocols import get_ldp
from trunkline.linux.plan.router_scripts import write_router_scripts
from trunkline.network.types import Ftn, NetworkData, Udp
from trunkline.routers.openconfig import name_interface
from trunkline.routers.port_policies import PLAIN_CLASS
from trunkline.routers.router_config import Router, RouterInterface, RouterNetwork, TargetFiles

NAME: Final = "frr"
CONFIG_FILE: Final = "frr.conf"
DAEMONS_FILE: Final = "daemons"
SCRIPT_FILE: Final = "setup.sh"
MAX_SEGMENT_LABELS: Final = 16  # Labels that Linux puts on a packet (MAX_NEW_LABELS).
_PLAIN_AGENT: Final[Udp] = {
    "protocol": "udp",
    "arrivals": {"cbr": {"jitter": 0.0}},
    "rate_bit_s": 1_000_000,
    "size": {"fixed": {"bytes": 1000}},
    "header_bytes": 28,
}
"""Replacement of each agent: traffic is in no router's file."""
_TRAFFIC_KEYS: Final = ("transfers", "call", "echo")
_FIRST_LABEL: Final = 16  # Behind the reserved ones (RFC 3032 section 2.1).
_LABEL_CHUNK: Final = 64  # Labels that ldpd takes at a time; it has a label for each prefix.
_ADJACENCY_LABELS: Final = (15_000, 15_999)  # The local block of ospfd's segment routing.
_MORE_ADDRESSES: Final = IPv4Network("10.192.0.0/10")
"""Addresses of nodes besides their router ids: one for each class of packets."""


def write_frr(network: RouterNetwork, *, adds_wires: bool = False) -> TargetFiles:
    """Write a folder for each router.

    adds_wires: For a laboratory: the scripts make the wires of links too.
    """
    files = TargetFiles()
    plan = _plan_kernel(files, network, adds_wires)
    scripts = [] if plan is None else list(write_router_scripts(plan).values())
    if plan is not None:
        _note_paths_without_packets(files, network, plan.script)
    for index, router in enumerate(network.routers):
        _note_omissions(files, network, router)
        config = "\n".join(_list_config_lines(network, router)) + "\n"
        files.texts[f"{router.name}/{CONFIG_FILE}"] = config
        files.texts[f"{router.name}/{DAEMONS_FILE}"] = _write_daemons(network)
        files.texts[f"{router.name}/{SCRIPT_FILE}"] = (
            scripts[index] if scripts else _write_plain_script(network, router)
        )
    return files


def _note_paths_without_packets(
    files: TargetFiles, network: RouterNetwork, script: CommandScript
) -> None:
    """Note the paths that no packet of the traffic enters, so that no head has a route to them."""
    purposes = [each.purpose for commands in script.commands for each in commands]
    entered = {words[1] for each in purposes if (words := each.split())[2:3] == ["to"]}
    policies = {each.name for router in network.routers for each in router.policies}
    noted = {each.path for each in (*network.omissions, *files.omissions)}
    for path in network.compiled["paths"]:
        name = path["name"]
        if name in entered | policies or ("paths", name) in noted:
            continue
        head = network.compiled["links"][path["links"][0]]["from"]
        files.omit(
            network.routers[head].name,
            f"path {name}: its head end",
            "no packet of the traffic enters it there; nearest: a trunk with a flow",
            ("paths", name),
            changes_design=False,
        )


def _list_config_lines(network: RouterNetwork, router: Router) -> Iterator[str]:
    """List the lines of ``frr.conf``."""
    yield "frr defaults traditional"
    yield f"hostname {router.name}"
    yield "service integrated-vtysh-config"
    yield "!"
    yield from ("interface lo", f" ip address {router.router_id}/32")
    if network.runs_igp:
        yield " ip ospf area 0"
    yield "exit"
    for each in router.interfaces:
        yield from _list_interface_lines(network, each)
    yield "!"
    if router.policies:
        yield from _list_policy_routes(network, router)
    for route in router.static_routes:
        yield f"ip route {route.prefix} {route.interface.far_address.ip} {route.distance}"
    if network.runs_igp:
        yield from _list_ospf_lines(network, router)
    if network.has_ldp:
        yield from _list_ldp_lines(network, router)
    if router.policies:
        yield from _list_policy_lines(router)


def _list_interface_lines(network: RouterNetwork, interface: RouterInterface) -> Iterator[str]:
    yield f"interface {name_interface(interface)}"
    yield f" description to {interface.neighbour}"
    yield f" ip address {interface.address}"
    if network.runs_igp:
        yield from _list_ospf_interface_lines(network, interface)
    if network.srgb is not None and interface.arc:
        yield from _list_link_parameters(network, interface)
    yield "exit"


def _list_ospf_interface_lines(network: RouterNetwork, interface: RouterInterface) -> Iterator[str]:
    yield " ip ospf area 0"
    yield " ip ospf network point-to-point"
    yield " ip ospf mtu-ignore"
    yield f" ip ospf cost {interface.metric}"
    yield f" ip ospf hello-interval {network.igp.hello_s}"
    yield f" ip ospf dead-interval {network.igp.dead_s}"


def _list_link_parameters(network: RouterNetwork, interface: RouterInterface) -> Iterator[str]:
    """Format a link for the TE database (RFC 3630 section 2.5); without it pathd has no links."""
    colours = sum(1 << network.colours.index(each) for each in interface.colours)
    yield " link-params"
    yield "  enable"
    yield f"  metric {interface.te_metric}"
    yield f"  admin-grp {colours:#x}"
    yield " exit-link-params"


def _list_ospf_lines(network: RouterNetwork, router: Router) -> Iterator[str]:
    initial, second, maximum = network.igp.spf_ms
    yield "router ospf"
    yield f" ospf router-id {router.router_id}"
    yield f" timers throttle spf {initial} {second} {maximum}"
    yield f" timers throttle lsa all {min(network.igp.lsa_interval_ms, 5000)}"
    yield f" timers lsa min-arrival {min(network.igp.lsa_interval_ms, 1000)}"
    if not network.compiled.get("routing", {}).get("ecmp"):
        yield " maximum-paths 1"
    if network.igp.repairs_prefixes:
        yield " fast-reroute ti-lfa"
    if network.srgb is not None:
        yield " capability opaque"
        yield " mpls-te on"
        yield " mpls-te export"
        yield f" mpls-te router-address {router.router_id}"
        yield " router-info area"
        yield " segment-routing on"
        yield f" segment-routing global-block {network.srgb[0]} {network.srgb[1]}"
        yield f" segment-routing node-msd {MAX_SEGMENT_LABELS}"
        yield f" segment-routing prefix {router.router_id}/32 index {router.node_label_index}"
    yield "exit"


def _list_ldp_lines(network: RouterNetwork, router: Router) -> Iterator[str]:
    yield "mpls ldp"
    yield f" router-id {router.router_id}"
    yield " address-family ipv4"
    yield f"  discovery transport-address {router.router_id}"
    ldp = get_ldp(network.compiled)
    if ldp is not None and not ldp["gtsm"]:
        # RFC 6720: with it neighbours whose best route is not their link have no session.
        yield "  ttl-security disable"
    yield "  label local allocate host-routes"
    for each in router.interfaces:
        yield f"  interface {name_interface(each)}"
        yield "  exit"
    yield " exit-address-family"
    yield "exit"


def _list_policy_lines(router: Router) -> Iterator[str]:
    own_address = {each.far_address.ip: each.address.ip for each in router.interfaces}
    yield "segment-routing"
    yield " traffic-eng"
    yield "  mpls-te on"
    yield "  mpls-te import ospfv2"
    for policy in router.policies:
        yield f"  segment-list {policy.name}"
        for index, hop in enumerate(policy.hops, 1):
            if hop.is_adjacency:
                near = own_address.get(hop.address) or _find_near_address(hop.address)
                yield f"   index {index * 10} nai adjacency {near} {hop.address}"
            else:
                yield f"   index {index * 10} mpls label {hop.label}"
        yield "  exit"
    for policy in router.policies:
        yield f"  policy color {policy.colour} endpoint {policy.endpoint}"
        yield f"   name {policy.name}"
        yield (
            f"   candidate-path preference 100 name {policy.name} explicit "
            f"segment-list {policy.name}"
        )
        yield "  exit"
    yield from (" exit", "exit")


def _find_near_address(far: object) -> str:
    """Find the other host of a /30 of a link."""
    network = IPv4Interface(f"{far}/30").network
    return str(next(each for each in network.hosts() if str(each) != str(far)))


def _write_daemons(network: RouterNetwork) -> str:
    """The file that says which daemons start; zebra and staticd always do."""
    starts = {
        "ospfd": network.runs_igp,
        "ldpd": network.has_ldp,
        "pathd": network.srgb is not None,
    }
    lines = [f"{name}={'yes' if start else 'no'}" for name, start in starts.items()]
    return "\n".join([*lines, "vtysh_enable=yes", "zebra_options=-A 127.0.0.1 -s 90000000"]) + "\n"


def _note_label_collisions(files: TargetFiles, network: RouterNetwork, router: Router) -> None:
    """Static labels in the blocks from which daemons take theirs."""
    links = sum(len(each.interfaces) for each in network.routers)
    chunks = -(-(len(network.routers) + links) // _LABEL_CHUNK) + 1
    last_of_ldp = _FIRST_LABEL + chunks * _LABEL_CHUNK - 1
    blocks = []
    if network.has_ldp:
        blocks.append(("ldpd", _FIRST_LABEL, last_of_ldp, last_of_ldp + 1))
    if network.srgb is not None:
        blocks.append(("ospfd", *_ADJACENCY_LABELS, _ADJACENCY_LABELS[0] - 1))
    for entry in router.labels:
        for daemon, first, last, nearest in blocks:
            if entry.in_label is not None and first <= entry.in_label <= last:
                files.omit(
                    router.name,
                    f"path {entry.path}: label {entry.in_label}",
                    f"{daemon} takes labels from {first} to {last}; nearest: {nearest}",
                    ("paths", entry.path, "labels"),
                )


def _note_omissions(files: TargetFiles, network: RouterNetwork, router: Router) -> None:
    _note_label_collisions(files, network, router)
    for tunnel in router.tunnels:
        if tunnel.protection:
            files.omit(
                router.name,
                f"protection {tunnel.protection}",
                "FRR has no RSVP-TE, and the kernel no local repair; nearest: ti-lfa for paths "
                "with segments",
                ("protections", tunnel.protection),
            )
            files.omit(
                router.name,
                f"path {tunnel.name}",
                "a backup alone: no packet enters it",
                ("paths", tunnel.name),
                changes_design=False,
            )
        elif tunnel.bandwidth:
            files.omit(
                router.name,
                f"path {tunnel.name}: bandwidth {tunnel.bandwidth} bit/s",
                "a static LSP reserves nothing",
                ("paths", tunnel.name),
                changes_design=False,
            )
    for each in router.interfaces:
        if not each.arc:
            files.omit(
                router.name,
                f"link from {each.neighbour} one way",
                "OSPF needs both directions; nearest: a link both ways",
                ("links",),
            )
        elif each.reservable != each.rate:
            files.omit(
                router.name,
                f"link {each.arc}: reservable {each.reservable} bit/s",
                "nothing reserves bandwidth without RSVP-TE",
                ("links", each.arc, "te"),
                changes_design=False,
            )
    for name in router.list_port_policies():
        port = network.port_policies[name]
        if sum(bool(each.tcs) for each in port.classes) > 1:
            files.omit(
                router.name,
                f"port {port.port}: classes by TC",
                "filters know the labels of paths with their maps, and no others",
                ("ports", port.port, "classify", "tc"),
                changes_design=False,
            )
    for policy in router.policies:
        if any(each.path == policy.name and each.dscps for each in router.steering):
            files.omit(
                router.name,
                f"path {policy.name}: traffic by DSCP",
                "FRR steers into a policy by destination; nearest: a trunk without dscp",
                ("paths", policy.name),
            )


def make_router_target(network: RouterNetwork, *, adds_wires: bool) -> CommandTarget:
    """Devices and addresses of the routers.

    adds_wires: As of `write_frr`.
    """
    ends = [end for each in network.routers for end in each.interfaces if end.arc]
    return CommandTarget(
        on_routers=True,
        adds_wires=adds_wires,
        daemon_labels=_count_daemon_labels(network),
        class_addresses=_map_addresses(network),
        devices={end.arc: name_interface(end) for end in ends},
        links={end.arc: end.address for end in ends},
    )


def _count_daemon_labels(network: RouterNetwork) -> int:
    """Count the labels that FRR puts on a packet at most: those of a policy, or that of LDP."""
    policies = [each for router in network.routers for each in router.policies]
    return max((len(each.hops) for each in policies), default=0) + network.has_ldp


def _plan_kernel(
    files: TargetFiles, network: RouterNetwork, adds_wires: bool
) -> CompiledPlan | None:
    """The kernel's commands that routes of FRR leave to be done; None if it cannot do all."""
    target = make_router_target(network, adds_wires=adds_wires)
    start = strip_protocols(network)
    # Of traffic a router's files know who sends where, and the codepoints.
    plain_flows = [
        {key: value for key, value in each.items() if key not in _TRAFFIC_KEYS}
        | {"agent": _PLAIN_AGENT}
        for each in start["flows"]
    ]
    start |= {"probes": [], "flows": plain_flows}  # type: ignore[typeddict-item]
    start |= {"run": {**start["run"], "duration_ns": 1, "warmup_ns": 0}}
    try:
        compiled = compile_plan(json.dumps(start), target=target)
    except UnsupportedError as error:
        for reason in error.reasons:
            files.omit(_find_router(network, reason.path), "queues", reason.text, reason.path)
        for section, name in dict.fromkeys(
            each.path[:2] for each in error.reasons if len(each.path) > 1
        ):
            if section in ("ports", "conditioners"):
                files.omit(
                    _find_router(network, (section, name)),
                    f"{section.removesuffix('s')} {name}",
                    "none of it is written; a FIFO, or no policer, is its replacement",
                    (section, name),
                    changes_design=False,
                )
        try:
            rest = _strip_queues(start, [each.path for each in error.reasons])
            compiled = compile_plan(json.dumps(rest), target=target)
        except UnsupportedError:
            return None
    for note in compiled.notes:
        place = _find_place(note)
        files.omit(
            _find_router(network, place),
            note.partition(": ")[0],
            f"the kernel differs: {note.partition(': ')[2] or note}",
            place,
            changes_design=False,
        )
    script = CommandScript(
        [
            list(_list_kernel_commands(commands, network.routers[index]))
            for index, commands in enumerate(compiled.script.commands)
        ],
        target=target,
    )
    return replace(compiled, script=script)


def _map_addresses(network: RouterNetwork) -> dict[tuple[str, int], str]:
    """Map the address of a node for each class of packets that ends there.

    The first class has the router id, if no policy carries it: a route into a policy leads to
    another prefix than the policy's own end point.
    """
    compiled = network.compiled
    ends = dict.fromkeys(
        end
        for flow in compiled["flows"]
        for end in (
            (flow["dst"], flow["fec"]),
            (flow["src"], flow["fec_reverse"]),
            (flow["src"], 0),
        )
    )
    steered = {each["fec"] for each in _list_policy_entries(network)}
    first = int(_MORE_ADDRESSES.network_address)
    addresses: dict[tuple[str, int], str] = {}
    named: set[int] = set()
    for number, (node, fec) in enumerate(sorted(ends, key=lambda end: end[1])):
        router = network.routers[node]
        is_first = node not in named and fec not in steered
        named |= {node} if is_first else set()
        address = router.router_id if is_first else IPv4Address(first + number)
        addresses[router.name, fec] = str(address)
    return addresses


def _list_policy_entries(network: RouterNetwork) -> list[Ftn]:
    """List the entries that put packets into policies of segment routing."""
    policies = {each.name for router in network.routers for each in router.policies}
    names = [each["name"] for each in network.compiled["paths"]]
    nhlfe = network.compiled["nhlfe"]
    return [
        each
        for each in network.compiled["ftn"]
        if names
        and 0 <= nhlfe[each["nhlfe"]]["path"] < len(names)
        and names[nhlfe[each["nhlfe"]]["path"]] in policies
    ]


def _list_policy_routes(network: RouterNetwork, router: Router) -> Iterator[str]:
    """List routes into policies, by the destination of their traffic."""
    names = [each["name"] for each in network.compiled["paths"]]
    addresses = _map_addresses(network)
    for entry in _list_policy_entries(network):
        if network.routers[entry["node"]] is not router or entry.get("dscps"):
            continue
        path = names[network.compiled["nhlfe"][entry["nhlfe"]]["path"]]
        policy = next(each for each in router.policies if each.name == path)
        for (_, fec), address in addresses.items():
            if fec == entry["fec"]:
                yield f"ip route {address}/32 {policy.endpoint} color {policy.colour}"


def _find_router(network: RouterNetwork, path: tuple[str | int, ...]) -> str:
    names = {each.name for each in network.routers}
    return next((str(each) for each in path if each in names), network.routers[0].name)


def _find_place(note: str) -> tuple[str, ...]:
    """Find the place of a note of the kernel's plan: ``queue of PORT.CLASS:``, ``port PORT:``."""
    part = note.partition(": ")[0]
    if part.startswith("queue of "):
        port, _, queue = part.removeprefix("queue of ").rpartition(".")
        return ("ports", port, "classes", queue, "queue")
    if part.startswith("port "):
        return ("ports", part.removeprefix("port "))
    return ("run",)


def _strip_queues(network: NetworkData, refused: list[tuple[str, ...]]) -> NetworkData:
    """A network whose refused ports are FIFOs, and whose refused conditioners are gone."""
    names = {(path[0], path[1]) for path in refused if len(path) > 1}
    plain = copy.copy(network)
    plain["ports"] = [
        {
            "name": port["name"],
            "classifier": {
                "rows": [[[0, 0] for _ in row] for row in port["classifier"]["rows"]],
                "flow_rows": port["classifier"]["flow_rows"],
            },
            "classes": [PLAIN_CLASS],
            "scheduler": {"kind": "fifo", "shares": [{}]},
            "ecn_in_mpls": False,
        }
        if ("ports", port["name"]) in names
        else port
        for port in network["ports"]
    ]
    conditioners = network.get("conditioners", [])
    plain["links"] = [copy.copy(link) for link in network["links"]]
    for link in plain["links"]:
        ingress = link.get("ingress")
        if ingress is not None and ("conditioners", conditioners[ingress]["name"]) in names:
            del link["ingress"]
    return plain


def strip_protocols(network: RouterNetwork) -> NetworkData:
    """A compiled network without what daemons do: routes, and labels of policies."""
    stripped = copy.copy(network.compiled)
    for key in ("signalling", "recovery", "routing"):
        stripped.pop(key, None)  # type: ignore[misc]
    policies = {each.name for router in network.routers for each in router.policies}
    names = [each["name"] for each in stripped["paths"]]

    def is_static(entry: int) -> bool:
        index = stripped["nhlfe"][entry]["path"]
        return not (index in range(len(names)) and names[index] in policies)

    stripped["ftn"] = [each for each in stripped["ftn"] if is_static(each["nhlfe"])]
    stripped["ilm"] = [each for each in stripped["ilm"] if is_static(each["nhlfe"])]
    stripped["flows"] = [
        each for each in stripped["flows"] if each["agent"]["protocol"] != "control"
    ]
    return stripped


def _list_kernel_commands(commands: Sequence[Command], router: Router) -> Iterator[Command]:
    """List the commands that FRR leaves to be done, each with its purpose."""
    purpose = ""
    for each in commands:
        purpose = each.purpose or purpose
        own = replace(each, purpose=purpose)
        # One hop with penultimate hop popping has no label, but a way of its own.
        if _is_kernel_command(own, router) or purpose.startswith("path "):
            yield own if own.purpose.startswith("path ") else each


def _is_kernel_command(command: Command, router: Router) -> bool:
    """Whether a command is not FRR's to do: labels, queues, and addresses besides the router id."""
    if command.program != "ip" or command.is_wire:
        return True
    words = command.line.split()
    if words[:2] == ["addr", "add"]:
        return words[-1] == "lo" and words[2] != f"{router.router_id}/32"
    if words[:2] == ["link", "set"]:
        return "mtu" in words
    return "encap" in words or "table" in words


def _write_plain_script(network: RouterNetwork, router: Router) -> str:
    """Write the kernel settings of a router that has no queues and no labels."""
    lines = ["#!/bin/sh", f"# {router.name}: a router of {network.name}", "set -eu"]
    lines.append("sysctl -q -w net.ipv4.ip_forward=1")
    if network.has_ldp or network.srgb or router.labels:
        lines.append("sysctl -q -w net.mpls.platform_labels=1048575")
        lines += [
            f"sysctl -q -w net.mpls.conf.{name}.input=1"
            for name in ("lo", *(name_interface(each) for each in router.interfaces))
        ]
    return "\n".join(lines) + "\n"
