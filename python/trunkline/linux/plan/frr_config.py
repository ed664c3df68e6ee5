"""Routing by FRR's own daemons: their configurations, written from a scenario's OSPF and LDP.

Each node runs zebra, ospfd and, with LDP, ldpd. Routes to the addresses of nodes, and their labels,
are then theirs, not the plan's. When a link's ends notice a failure is the simulator's
(`detection`): then the device goes down, which zebra hears of from the kernel.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Final

from trunkline.linux.plan import ldpd_config
from trunkline.linux.plan.addresses import RouteAddresses, VethEnd, VethPlan, name_namespace
from trunkline.linux.plan.command_script import CommandScript
from trunkline.linux.plan.dry_run import TimelineEvent
from trunkline.linux.plan.guest_plan import Daemon, GuestPlan, TimedCommand
from trunkline.linux.plan.protocols import get_ldp, get_ospf, get_rsvp
from trunkline.network.types import BackoffSpfDelay, NetworkData, Ospf

NAME: Final = "frr"
PROGRAMS: Final = ("zebra", "ospfd", ldpd_config.NAME)
_GUEST_FOLDER: Final = "/tmp"  # noqa: S108 - of a guest, which is nobody else's
_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000
_MAX_THROTTLE_MS: Final = {"spf": 600_000, "lsa": 5000}
"""Largest values that ospfd takes for its throttles [ms]."""
_SETTLE_NS: Final = 30 * _NS_PER_S  # From the start of the daemons to time zero, at least.
_ROUTER_IDS: Final = int(IPv4Address("10.255.0.1"))

DOWN_NOTE: Final = (
    "a device that goes down takes its routes with it: packets that the simulator loses as "
    "link_down until the new routes are there find no route in the kernel"
)


def refuse_unsupported(script: CommandScript, network: NetworkData) -> None:
    """Report features that FRR lacks."""
    ospf = get_ospf(network)
    if not ospf:
        script.refuse(("routing",), "FRR routes by OSPF here; nearest: routing: {ospf: {}}")
        return
    if get_rsvp(network):
        why = "FRR runs OSPF and LDP here, without RSVP-TE; nearest: signalling: {kind: none}"
        script.refuse(("signalling",), why)
    ldpd_config.refuse_unsupported(script, network)
    if network["paths"]:
        name = network["paths"][0]["name"]
        script.refuse(
            ("paths", name),
            "labels over a device that goes down are lost, and FRR does not put them back; "
            "nearest: no paths",
        )
    for flow in network["flows"]:
        if flow["agent"]["protocol"] == "tcp":
            script.refuse(
                ("flows", flow["name"]),
                f"flow {flow['name']}: what TCP takes from its route FRR's routes do not say; "
                "nearest: a UDP flow",
            )
    for failure in network.get("recovery", {}).get("failures", ()):
        drain = failure.get("drain")
        if drain is not None and drain["by_metric"]:
            script.refuse(
                ("maintenance", failure["name"]),
                "the daemons keep their metrics: nothing drains the link; nearest: drain: none",
            )
    _check_timers(script, ospf)
    _check_both_directions(script, network)


def _check_timers(script: CommandScript, ospf: Ospf) -> None:
    def refuse(text: str, key: str) -> None:
        script.refuse(("routing", "ospf", key), text)

    for key, time in (("processing", ospf["processing_ns"]), ("compute", ospf["compute_ns"])):
        if time:
            refuse(f"{key}: the daemons take no time in virtual time; nearest: 0 s", key)
    if any(ospf["fib_update_ns"]):
        refuse("fib_update: zebra has its own delay; nearest: 0 s", "fib_update")
    if ospf.get("local_delay_ns"):
        refuse("local_delay: FRR's ospfd has none; nearest: 0 s", "local_delay")
    if ospf["hello_ns"] is None:
        refuse("hello: FRR finds its neighbours by hellos; nearest: 10 s", "hello")
    timers = {"hello": ospf["hello_ns"], "dead": ospf["dead_ns"], "resend": ospf["resend_ns"]}
    for key, value in timers.items():
        if value and value % _NS_PER_S:
            refuse(f"{key}: FRR counts whole seconds; nearest: {max(1, value // _NS_PER_S)} s", key)
    if (
        ospf["lsa_interval_ns"] % _NS_PER_MS
        or ospf["lsa_interval_ns"] // _NS_PER_MS > _MAX_THROTTLE_MS["lsa"]
    ):
        refuse("lsa_interval: FRR takes 0 to 5000 ms; nearest: 5 s", "lsa_interval")
    if (
        ospf["lsa_arrival_ns"] % _NS_PER_MS
        or ospf["lsa_arrival_ns"] // _NS_PER_MS > _MAX_THROTTLE_MS["lsa"]
    ):
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
        if value % _NS_PER_MS or value // _NS_PER_MS > _MAX_THROTTLE_MS["spf"]:
            refuse(f"spf: {key} of FRR is 0 to 600000 ms; nearest: whole milliseconds", "spf")


def _check_both_directions(script: CommandScript, network: NetworkData) -> None:
    """OSPF finds no neighbour on a link that carries packets one way only."""
    ends = [(link["from"], link["to"]) for link in network["links"]]
    for link, (first, second) in zip(network["links"], ends, strict=True):
        if ends.count((first, second)) != ends.count((second, first)):
            script.refuse(
                ("links", link["name"]),
                f"link {link['name']} goes one way only, and OSPF needs both; nearest: a link both "
                "ways",
            )


def get_ospf_timers(network: NetworkData) -> Ospf:
    """Return the timers of OSPF in a compiled network that has it."""
    ospf = get_ospf(network)
    assert ospf is not None
    return ospf


def get_backoff(ospf: Ospf) -> BackoffSpfDelay:
    """Return the delays of its computations; those of other kinds are refused."""
    assert ospf["spf"]["kind"] == "backoff"
    return ospf["spf"]


def strip_control(network: NetworkData) -> NetworkData:
    """A network without the flow that the simulator counts its own messages under."""
    data_flows = [flow for flow in network["flows"] if flow["agent"]["protocol"] != "control"]
    if get_ldp(network) is not None:
        # There are no other paths: the classes are those of LDP, which the daemons run too.
        for flow in data_flows:
            flow |= {"fec": 0, "fec_reverse": 0}
    stripped: NetworkData = {**network, "flows": data_flows}
    stripped.pop("signalling", None)
    return stripped


def add_notes(script: CommandScript, network: NetworkData) -> None:
    """Add notes on differences between FRR and the simulator."""
    script.add_note(
        "routes are those of FRR's daemons; failures are noticed at the simulator's times"
    )
    script.add_note(
        "FRR's interval between computations of routes grows by `second` each time; it doubles in "
        "the simulator"
    )
    if any(each["failures"] for each in (network.get("recovery"),) if each):
        script.add_note(DOWN_NOTE)


def list_programs(network: NetworkData) -> tuple[str, ...]:
    """List the daemons of each node, in the order of their start."""
    return PROGRAMS if get_ldp(network) is not None else PROGRAMS[:2]


def write_configs(
    network: NetworkData, wiring: VethPlan, route_addresses: RouteAddresses
) -> dict[str, bytes]:
    """Configurations of the daemons. Returns: By name of file: ``NODE.PROGRAM.conf``."""
    configs = {}
    ldp = get_ldp(network)
    for index in range(len(network["nodes"])):
        name = name_namespace(index)
        head = [f"hostname {name}", "log timestamp precision 6"]
        for program in list_programs(network):
            program_lines: Iterable[str] = (
                _write_ospfd_config(network, wiring, index) if program == "ospfd" else ()
            )
            if ldp is not None and program == ldpd_config.NAME:
                program_lines = ldpd_config.format_config(
                    ldp, wiring, index, route_addresses.get_address(index, 0)
                )
            lines = [*head, f"log file {name_log_file(name, program)}", *program_lines]
            configs[f"{name}.{program}.conf"] = ("\n".join(lines) + "\n").encode("ascii")
    return configs


def _write_ospfd_config(network: NetworkData, wiring: VethPlan, node: int) -> Iterator[str]:
    ospf = get_ospf_timers(network)
    yield "debug ospf event"
    yield "debug ospf lsa install"
    for link, side in enumerate(wiring.sending_ends):
        if side.node != node:
            continue
        yield f"interface {side.device}"
        yield " ip ospf network point-to-point"
        yield " ip ospf mtu-ignore"
        yield f" ip ospf cost {network['links'][link]['metric']}"
        yield f" ip ospf hello-interval {(ospf['hello_ns'] or 0) // _NS_PER_S}"
        yield f" ip ospf dead-interval {ospf['dead_ns'] // _NS_PER_S}"
        yield f" ip ospf retransmit-interval {ospf['resend_ns'] // _NS_PER_S}"
        yield "exit"
    spf = get_backoff(ospf)
    times = (spf["initial_ns"], spf["second_ns"], spf["maximum_ns"])
    throttle = " ".join(str(each // _NS_PER_MS) for each in times)
    interval = ospf["lsa_interval_ns"] // _NS_PER_MS
    yield "router ospf"
    yield f" ospf router-id {format_router_id(node)}"
    yield f" timers throttle spf {throttle}"
    yield f" timers throttle lsa all {interval}"
    yield f" timers lsa min-arrival {ospf['lsa_arrival_ns'] // _NS_PER_MS}"
    yield " maximum-paths 1"
    yield " network 10.0.0.0/8 area 0"
    yield "exit"


def format_router_id(node: int) -> str:
    """Format the number by which routers know a node."""
    return str(IPv4Address(_ROUTER_IDS + node))


def name_log_file(node: str, program: str) -> str:
    """Name the file of a guest that a daemon of a node writes."""
    return f"{name_state_folder(node)}/{program}.log"


def add_daemons(
    plan: GuestPlan, network: NetworkData, wiring: VethPlan, timeline: Sequence[TimelineEvent]
) -> GuestPlan:
    """A plan whose routers run the daemons."""
    ospf = get_ospf_timers(network)
    changes = [*plan.changes, *list_device_changes(wiring, timeline, plan.duration_ns)]
    # Neighbours are found within a hello or two; after the last change the throttles fall back.
    settle_ns = 3 * ((ospf["hello_ns"] or 0) + ospf["lsa_interval_ns"])
    settle_ns += 2 * get_backoff(ospf)["maximum_ns"]
    return replace(
        plan,
        changes=tuple(sorted(changes, key=lambda each: each.at_ns)),
        snapshots_ns=tuple(sorted({0, *plan.snapshots_ns})),
        daemons=tuple(
            make_daemon(node.name, program, f"/trunkline/{node.name}.{program}.conf")
            for node in plan.nodes
            for program in list_programs(network)
        ),
        settle_ns=max(_SETTLE_NS, settle_ns),
    )


def name_state_folder(node: str) -> str:
    """Name the folder of a guest in which the daemons of a node meet."""
    return f"{_GUEST_FOLDER}/{node}"


def make_daemon(node: str, program: str, config: str) -> Daemon:
    """Make the command by which a guest starts a daemon.

    config: File of its configuration, in the guest.
    """
    folder = name_state_folder(node)
    options = {
        "-u": "root",
        "-g": "root",
        "-f": config,
        "-z": f"{folder}/zserv",
        "-i": f"{folder}/{program}.pid",
        "--vty_socket": folder,
        "-P": "0",
    }
    if program == ldpd_config.NAME:
        # The processes of one ldpd find each other by a socket there.
        options["--ctl_socket"] = folder
    arguments = [word for pair in options.items() for word in pair]
    return Daemon(node, name_log_file(node, program), (program, "-d", *arguments))


def list_device_changes(
    wiring: VethPlan, timeline: Sequence[TimelineEvent], end_ns: int
) -> Iterator[TimedCommand]:
    """List the changes of devices: down, or up with its neighbour, when its node notices."""
    for event in timeline:
        if event.event not in ("detected", "repair-detected") or event.time_ns >= end_ns:
            continue
        # Packets come to a node over a link by the device at the link's far end.
        sending_end, receiving_end = (
            wiring.sending_ends[event.link],
            wiring.receiving_ends[event.link],
        )
        own_end, neighbour_end = (
            (receiving_end, sending_end)
            if receiving_end.node == event.node
            else (sending_end, receiving_end)
        )
        for line in _format_device_change(
            own_end, neighbour_end, up=event.event == "repair-detected"
        ):
            yield TimedCommand(event.time_ns, name_namespace(own_end.node), "ip", line)


def _format_device_change(own_end: VethEnd, neighbour_end: VethEnd, *, up: bool) -> Iterator[str]:
    if not up:
        yield f"link set {own_end.device} down"
        return
    yield f"link set {own_end.device} up"
    # The kernel forgets the neighbours of a device that goes down.
    yield (
        f"neigh replace {neighbour_end.address} lladdr {neighbour_end.mac} dev "
        f"{own_end.device} nud permanent"
    )
