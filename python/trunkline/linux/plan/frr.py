"""Routing by FRR's own daemons: their configurations, written from a scenario's OSPF and LDP.

Each node runs zebra, ospfd and, with LDP, ldpd. Routes to the addresses of nodes, and their labels,
are then theirs, not the plan's. When a link's ends notice a failure is the simulator's
(`detection`): then the device goes down, which zebra hears of from the kernel.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Final

from trunkline.linux.plan import ldpd
from trunkline.linux.plan.addresses import Ends, Side, Wiring, node_name
from trunkline.linux.plan.plan import Change, Daemon, Plan
from trunkline.linux.plan.protocols import ldp_of, ospf_of, rsvp_of
from trunkline.linux.plan.rehearsal import Moment
from trunkline.linux.plan.script import Script
from trunkline.network.types import Network
from trunkline.network.types.signalling import Backoff, Ospf

NAME: Final = "frr"
PROGRAMS: Final = ("zebra", "ospfd", ldpd.NAME)
_PLACE: Final = "/tmp"  # noqa: S108 - of a guest, which is nobody else's
_MS: Final = 1_000_000
_S: Final = 1_000_000_000
_MOST_MS: Final = {"spf": 600_000, "lsa": 5000}
"""Largest values that ospfd takes for its throttles [ms]."""
_SETTLE_NS: Final = 30 * _S
"""From the start of the daemons to time zero, at least."""
_ROUTER_IDS: Final = int(IPv4Address("10.255.0.1"))


def refuse(script: Script, data: Network) -> None:
    """Tells what FRR cannot do."""
    ospf = ospf_of(data)
    if not ospf:
        script.refuse(("routing",), "FRR routes by OSPF here; nearest: routing: {ospf: {}}")
        return
    if rsvp_of(data):
        why = "FRR runs OSPF and LDP here, without RSVP-TE; nearest: signalling: {kind: none}"
        script.refuse(("signalling",), why)
    ldpd.refuse(script, data)
    if data["paths"]:
        name = data["paths"][0]["name"]
        script.refuse(
            ("paths", name),
            "labels over a device that goes down are lost, and FRR does not put them back; "
            "nearest: no paths",
        )
    for flow in data["flows"]:
        if flow["agent"]["protocol"] == "tcp":
            script.refuse(
                ("flows", flow["name"]),
                f"flow {flow['name']}: what TCP takes from its route FRR's routes do not say; "
                "nearest: a UDP flow",
            )
    _timers(script, ospf)
    _both_ways(script, data)


def _timers(script: Script, ospf: Ospf) -> None:
    def refuse(text: str, key: str) -> None:
        script.refuse(("routing", "ospf", key), text)

    for key, time in (("processing", ospf["processing_ns"]), ("compute", ospf["compute_ns"])):
        if time:
            refuse(f"{key}: the daemons take no time in virtual time; nearest: 0 s", key)
    if any(ospf["fib_update_ns"]):
        refuse("fib_update: zebra has a delay of its own; nearest: 0 s", "fib_update")
    if ospf.get("local_delay_ns"):
        refuse("local_delay: FRR's ospfd has none; nearest: 0 s", "local_delay")
    if ospf["hello_ns"] is None:
        refuse("hello: FRR finds its neighbours by hellos; nearest: 10 s", "hello")
    timers = {"hello": ospf["hello_ns"], "dead": ospf["dead_ns"], "resend": ospf["resend_ns"]}
    for key, value in timers.items():
        if value and value % _S:
            refuse(f"{key}: FRR counts whole seconds; nearest: {max(1, value // _S)} s", key)
    if ospf["lsa_interval_ns"] % _MS or ospf["lsa_interval_ns"] // _MS > _MOST_MS["lsa"]:
        refuse("lsa_interval: FRR takes 0 to 5000 ms; nearest: 5 s", "lsa_interval")
    if ospf["lsa_arrival_ns"] % _MS or ospf["lsa_arrival_ns"] // _MS > _MOST_MS["lsa"]:
        refuse("lsa_arrival: FRR takes 0 to 5000 ms; nearest: 1 s", "lsa_arrival")
    spf = ospf["spf"]
    if spf["kind"] != "backoff":
        refuse(f"spf: FRR's ospfd has no {spf['kind']}; nearest: backoff", "spf")
        return
    times = {
        "initial": spf["initial_ns"],
        "second": spf["second_ns"],
        "maximum": spf["maximum_ns"],
    }
    for key, value in times.items():
        if value % _MS or value // _MS > _MOST_MS["spf"]:
            refuse(f"spf: {key} of FRR is 0 to 600000 ms; nearest: whole milliseconds", "spf")


def _both_ways(script: Script, data: Network) -> None:
    """OSPF finds no neighbour on a link that carries packets one way only."""
    ends = [(link["from"], link["to"]) for link in data["links"]]
    for link, (first, second) in zip(data["links"], ends, strict=True):
        if ends.count((first, second)) != ends.count((second, first)):
            script.refuse(
                ("links", link["name"]),
                f"link {link['name']} goes one way only, and OSPF needs both; nearest: a link both "
                "ways",
            )


def timers_of(data: Network) -> Ospf:
    """The timers of OSPF in a compiled network that has it."""
    ospf = ospf_of(data)
    assert ospf is not None
    return ospf


def backoff_of(ospf: Ospf) -> Backoff:
    """The delays of its computations; those of other kinds are refused."""
    assert ospf["spf"]["kind"] == "backoff"
    return ospf["spf"]


def bare(data: Network) -> Network:
    """A network without the flow that the simulator counts its own messages under."""
    kept = [flow for flow in data["flows"] if flow["agent"]["protocol"] != "control"]
    if ldp_of(data) is not None:
        # There are no paths beside: the classes are those of LDP, which is the daemons' too.
        for flow in kept:
            flow |= {"fec": 0, "fec_reverse": 0}
    made: Network = {**data, "flows": kept}
    made.pop("signalling", None)
    return made


def told(script: Script, data: Network) -> None:
    """Notes what FRR does otherwise than the simulator."""
    script.note("routes are those of FRR's daemons; failures are noticed at the simulator's times")
    script.note(
        "FRR's interval between computations of routes grows by `second` each time; it doubles in "
        "the simulator"
    )
    if any(each["failures"] for each in (data.get("recovery"),) if each):
        script.note(
            "a device that goes down takes its routes with it: packets that the simulator loses as "
            "link_down until the new routes are there find no route in the kernel"
        )


def programs(data: Network) -> tuple[str, ...]:
    """The daemons of each node, in the order of their start."""
    return PROGRAMS if ldp_of(data) is not None else PROGRAMS[:2]


def settings(data: Network, wiring: Wiring, ends: Ends) -> dict[str, bytes]:
    """Configurations of the daemons.

    Returns
    -------
    dict of str to bytes
        By name of file: ``NODE.PROGRAM.conf``.
    """
    made = {}
    ldp = ldp_of(data)
    for index in range(len(data["nodes"])):
        name = node_name(index)
        head = [f"hostname {name}", "log timestamp precision 6"]
        for program in programs(data):
            own: Iterable[str] = _ospfd(data, wiring, index) if program == "ospfd" else ()
            if ldp is not None and program == ldpd.NAME:
                own = ldpd.settings(ldp, wiring, index, ends.address(index, 0))
            lines = [*head, f"log file {_log(name, program)}", *own]
            made[f"{name}.{program}.conf"] = ("\n".join(lines) + "\n").encode("ascii")
    return made


def _ospfd(data: Network, wiring: Wiring, node: int) -> Iterator[str]:
    ospf = timers_of(data)
    yield "debug ospf event"
    yield "debug ospf lsa install"
    for link, side in enumerate(wiring.near):
        if side.node != node:
            continue
        yield f"interface {side.device}"
        yield " ip ospf network point-to-point"
        yield " ip ospf mtu-ignore"
        yield f" ip ospf cost {data['links'][link]['metric']}"
        yield f" ip ospf hello-interval {(ospf['hello_ns'] or 0) // _S}"
        yield f" ip ospf dead-interval {ospf['dead_ns'] // _S}"
        yield f" ip ospf retransmit-interval {ospf['resend_ns'] // _S}"
        yield "exit"
    spf = backoff_of(ospf)
    times = (spf["initial_ns"], spf["second_ns"], spf["maximum_ns"])
    throttle = " ".join(str(each // _MS) for each in times)
    interval = ospf["lsa_interval_ns"] // _MS
    yield "router ospf"
    yield f" ospf router-id {router_id(node)}"
    yield f" timers throttle spf {throttle}"
    yield f" timers throttle lsa all {interval}"
    yield f" timers lsa min-arrival {ospf['lsa_arrival_ns'] // _MS}"
    yield " maximum-paths 1"
    yield " network 10.0.0.0/8 area 0"
    yield "exit"


def router_id(node: int) -> str:
    """The number by which routers know a node."""
    return str(IPv4Address(_ROUTER_IDS + node))


def _log(node: str, program: str) -> str:
    return f"{_PLACE}/{node}/{program}.log"


def controlled(plan: Plan, data: Network, wiring: Wiring, moments: Sequence[Moment]) -> Plan:
    """A plan whose routers run the daemons."""
    ospf = timers_of(data)
    changes = [*plan.changes, *_noticed(wiring, moments, plan.duration_ns)]
    # Neighbours are found within a hello or two; after the last change the throttles fall back.
    quiet = 3 * ((ospf["hello_ns"] or 0) + ospf["lsa_interval_ns"])
    quiet += 2 * backoff_of(ospf)["maximum_ns"]
    return replace(
        plan,
        changes=tuple(sorted(changes, key=lambda each: each.at_ns)),
        snapshots_ns=tuple(sorted({0, *plan.snapshots_ns})),
        daemons=tuple(
            _daemon(node.name, program) for node in plan.nodes for program in programs(data)
        ),
        settle_ns=max(_SETTLE_NS, quiet),
    )


def _daemon(node: str, program: str) -> Daemon:
    place = f"{_PLACE}/{node}"
    options = {
        "-u": "root",
        "-g": "root",
        "-f": f"/trunkline/{node}.{program}.conf",
        "-z": f"{place}/zserv",
        "-i": f"{place}/{program}.pid",
        "--vty_socket": place,
        "-P": "0",
    }
    if program == ldpd.NAME:
        # The processes of one ldpd find each other by a socket there.
        options["--ctl_socket"] = place
    said = [word for pair in options.items() for word in pair]
    return Daemon(node, _log(node, program), (program, "-d", *said))


def _noticed(wiring: Wiring, moments: Sequence[Moment], end_ns: int) -> Iterator[Change]:
    """A device goes down, or up again with its neighbour, when its node notices."""
    for moment in moments:
        if moment.event not in ("detected", "repair-detected") or moment.time_ns >= end_ns:
            continue
        # What comes to a node over a link is by the device at the link's far end.
        near, far = wiring.near[moment.link], wiring.far[moment.link]
        own, other = (far, near) if far.node == moment.node else (near, far)
        for line in _lines(own, other, up=moment.event == "repair-detected"):
            yield Change(moment.time_ns, node_name(own.node), "ip", line)


def _lines(own: Side, other: Side, *, up: bool) -> Iterator[str]:
    if not up:
        yield f"link set {own.device} down"
        return
    yield f"link set {own.device} up"
    # The kernel forgets the neighbours of a device that goes down.
    yield f"neigh replace {other.address} lladdr {other.mac} dev {own.device} nud permanent"
