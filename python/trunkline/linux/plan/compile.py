"""A compiled network as a plan for a guest."""

import json
from dataclasses import dataclass, replace

from trunkline.linux.plan import conditioning, frr, mpls, qdisc, recovery, refusals, timed
from trunkline.linux.plan.addresses import Wiring, node_name
from trunkline.linux.plan.filters import codepoints, filters
from trunkline.linux.plan.flows import Traffic, sysctls, traffic
from trunkline.linux.plan.forwarding import Forwarding
from trunkline.linux.plan.ground import GUEST, Ground
from trunkline.linux.plan.leaf import Leaf
from trunkline.linux.plan.plan import Node, Plan, Sample
from trunkline.linux.plan.protocols import ldp_of
from trunkline.linux.plan.recovery import Course
from trunkline.linux.plan.rehearsal import Rehearsal, rehearse
from trunkline.linux.plan.script import Script, UnsupportedError
from trunkline.network.types import Network
from trunkline.scenario.probe import FLOW_MEASURES

_DEVICE_MTU = 65_535
_ETHERNET_MTU = 1500
_LABEL_BYTES = 4


@dataclass(frozen=True)
class Compiled:
    """A plan, and what is needed to read its results and to explain it.

    Parameters
    ----------
    plan : Plan
        For the guest.
    schedules : dict of str to bytes
        Files of the plan.
    notes : tuple of str
        What the kernel does differently from the simulator.
    network : mapping
        The compiled network.
    script : Script
        The commands with their reasons.
    wiring : Wiring
        Devices of each one-way link.
    leaves : tuple of dict
        Queue of each class, by one-way link.
    traffic : Traffic
        Flows.
    course : Course
        What happens to links and paths.
    rehearsal : Rehearsal
        What that and the schedules were taken from.
    """

    plan: Plan
    schedules: dict[str, bytes]
    notes: tuple[str, ...]
    network: Network
    script: Script
    wiring: Wiring
    leaves: tuple[dict[int, Leaf], ...]
    traffic: Traffic
    course: Course
    rehearsal: Rehearsal


def compile(network_json: str, *, seed: int | None = None, ground: Ground = GUEST) -> Compiled:
    """Makes a plan of a compiled network.

    Parameters
    ----------
    network_json : str
        Canonical JSON of the network.
    seed : int, optional
        Seed [0 to 2**64 - 1]; that of the network if left out.

    Raises
    ------
    UnsupportedError
        The network has what the kernel lacks; every reason is given, with what is nearest.
    """
    data: Network = json.loads(network_json)
    seed = data["run"]["seed"] if seed is None else seed
    script = Script.of(len(data["nodes"]), ground)
    refusals.refuse(script, data)
    if ground.control is not None:
        frr.refuse(script, data)
        if script.reasons:
            raise UnsupportedError(script.reasons)
    elif signalling := data.get("signalling"):
        if not signalling.get("ldp"):
            raise UnsupportedError(script.reasons)
        script.refuse(
            ("routing", "ldp"),
            "routers of the kernel have no LDP of their own; nearest: --control frr",
        )
    rehearsal = rehearse(data, seed)
    whole, followed = data, rehearsal
    if ground.control is not None:
        # Routes, and the messages behind them, are the daemons'.
        data, followed = frr.bare(whole), replace(rehearsal, routes=[])
    sent = traffic(script, data, rehearsal)
    if ground.control is not None:
        for node in range(len(data["nodes"])):
            sent.ends.number(node, 0)
    refusals.too_few_addresses(script, data, sent)
    targets = sorted({node for node, _, _ in sent.ends.keys})
    its = recovery.course(script, data, followed, targets)
    wiring = Wiring.of(data["links"], ground)
    if script.reasons:
        # What queues and meters lack does not depend on the flows: it is reported with the rest.
        _ports(script, data, wiring)
        for conditioner in data.get("conditioners", []):
            conditioning.filters(script, conditioner, [])
        raise UnsupportedError(script.reasons)
    _links(script, its.network, wiring)
    leaves = _ports(script, data, wiring)
    filters(script, its, wiring, leaves, sent)
    if not ground.routers:
        recovery.traps(script, its, wiring)
        _silence(script, data)
    _addresses(script, sent)
    tables = Forwarding(script, its.network, wiring, sent)
    if ground.control is None:
        _routes(script, data, its, tables)
    counts, changes = recovery.changes(its, wiring, tables)
    if script.reasons:
        raise UnsupportedError(script.reasons)
    labels = ground.control is not None and ldp_of(whole) is not None
    plan = Plan(
        seed=seed,
        duration_ns=data["run"]["duration_ns"],
        nodes=tuple(
            Node(
                node_name(index),
                tuple(_settings(its.network, wiring, index, ground, labels)),
                script.lines(index, "ip"),
                script.lines(index, "mpls"),
                script.lines(index, "tc"),
            )
            for index in range(len(data["nodes"]))
        ),
        links=tuple(pair.wire() for pair in wiring.pairs),
        udp=tuple(sent.udp),
        tcp=tuple(sent.tcp),
        transfers=tuple(sent.transfers),
        samples=_samples(data, wiring),
        counts=counts,
        changes=changes,
        # Not at the start, where there is nothing to count: reading takes an emulated machine time.
        snapshots_ns=tuple(sorted({data["run"]["warmup_ns"], data["run"]["duration_ns"]} - {0})),
    )
    files = sent.schedules
    if ground.control is not None:
        frr.told(script, data)
        files = {**files, **frr.settings(whole, wiring, sent.ends)}
        plan = frr.controlled(plan, whole, wiring, rehearsal.moments)
    return Compiled(
        plan,
        files,
        tuple(script.notes),
        data,
        script,
        wiring,
        tuple(leaves),
        sent,
        its,
        rehearsal,
    )


def _settings(
    data: Network, wiring: Wiring, node: int, ground: Ground, labels: bool
) -> list[tuple[str, str]]:
    """Sysctls of a node: a router, with labels if it has any, or gets some.

    Paths of both directions may differ, so that no reverse path filter may be strict. A device's is
    the greater of its own and that of ``all``: 2 (RFC 3704 section 2.4, loose) is above both.
    """
    devices = [
        side.device for pair in wiring.pairs for side in (pair.a, pair.b) if side.node == node
    ]
    said = [("net/ipv4/ip_forward", "1")]
    said += [(f"net/ipv4/conf/{device}/rp_filter", "2") for device in devices if ground.routers]
    if not ground.routers:
        devices_and_all = ("all", "default", *devices)
        said += [(f"net/ipv4/conf/{device}/rp_filter", "0") for device in devices_and_all]
    if labels or any(each["node"] == node for each in data["ilm"]) or _takes_null(data, node):
        said.append(("net/mpls/platform_labels", "1048575"))
        said += [(f"net/mpls/conf/{device}/input", "1") for device in ("lo", *devices)]
        if mpls.pipes_null(data, node):
            said.append(("net/mpls/ip_ttl_propagate", "0"))
    return said if ground.routers else said + sysctls(data, node)


def _silence(script: Script, data: Network) -> None:
    """Drops are silent in a scenario: routers send no ICMP errors among its packets.

    A limit of their rate would let "fragmentation needed" through, so they get no route. Hosts
    keep theirs.
    """
    hosts = {flow[end] for flow in data["flows"] for end in ("src", "dst")}
    for node in range(len(data["nodes"])):
        if node not in hosts:
            line = "rule add pref 1 iif lo ipproto 1 blackhole"
            script.say(node, "ip", line, f"no ICMP errors from {data['nodes'][node]['name']}")


def _takes_null(data: Network, node: int) -> bool:
    """Whether explicit null is sent to a node."""
    return any(
        entry["link"] is not None
        and 0 in entry["push"]
        and data["links"][entry["link"]]["to"] == node
        for entry in data["nhlfe"]
    )


def _links(script: Script, data: Network, wiring: Wiring) -> None:
    sent = {id(side): link for side, link in zip(wiring.near, data["links"], strict=True)}
    stack = _deepest(data)
    for pair in wiring.pairs:
        for side, other in ((pair.a, pair.b), (pair.b, pair.a)):
            link = sent.get(id(side))
            about = f"link {link['name'] if link else 'that nothing is sent on'}"
            mtu = min(_DEVICE_MTU, link["mtu_bytes"]) if link else _DEVICE_MTU
            lines = [
                f"link set {side.device} mtu {mtu} txqueuelen 1000 gso_max_segs 1",
                f"addr add {side.address}/{side.prefix} dev {side.device}",
                f"link set {side.device} up",
                f"neigh replace {other.address} lladdr {other.mac} dev {side.device} nud permanent",
            ]
            if script.ground.routers:
                room = _LABEL_BYTES * stack
                mtu = mtu if mtu < _DEVICE_MTU else _ETHERNET_MTU + room
                lines = [f"link set {side.device} mtu {mtu}", *lines[1:3]]
            for line in lines:
                script.say(side.node, "ip", line, about)


def _deepest(data: Network) -> int:
    """Labels that a packet has at most: those it enters with, and those put on top on its way."""
    nhlfe = data["nhlfe"]
    first: int = max((len(nhlfe[each["nhlfe"]]["push"]) for each in data["ftn"]), default=0)
    entries = [nhlfe[each["nhlfe"]] for each in data["ilm"]]
    deeper: int = max((0, *(len(each["push"]) - each["pop"] for each in entries)))
    return first + deeper


def _ports(script: Script, data: Network, wiring: Wiring) -> list[dict[int, Leaf]]:
    leaves = []
    for index, link in enumerate(data["links"]):
        config = data["ports"][link["port"]]
        leaves.append(qdisc.port(script, wiring.near[index], link, config))
        timed.refuse_labelled(script, data, index, mpls.labelled(data, index))
        qdisc.wire(script, wiring.far[index], link)
    return leaves


def _addresses(script: Script, sent: Traffic) -> None:
    for number, (node, fec, _) in enumerate(sent.ends.keys):
        about = "address of this node" + (f" for forwarding equivalence class {fec}" if fec else "")
        script.say(node, "ip", f"addr add {sent.ends.text(number)}/32 dev lo", about)


def _routes(script: Script, data: Network, its: Course, tables: Forwarding) -> None:
    for (node, program, target), (rest, about) in tables.routes(its.states[0][1]).items():
        script.say(node, program, f"route add {target} {rest}", about)
    for node, rule, about in tables.rules(codepoints(data)):
        script.say(node, "ip", rule, about)


def _samples(data: Network, wiring: Wiring) -> tuple[Sample, ...]:
    steps: dict[tuple[str, str], int] = {}
    for probe in data["probes"]:
        if probe["measure"] in FLOW_MEASURES:
            continue
        side = wiring.near[probe["target"]]
        key = (node_name(side.node), side.device)
        steps[key] = min(steps.get(key, probe["step_ns"]), probe["step_ns"])
    return tuple(Sample(node, device, step) for (node, device), step in steps.items())
