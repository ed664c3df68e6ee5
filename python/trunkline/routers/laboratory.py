"""A laboratory in the guest: FRR's daemons and each router's script, from exported files alone.

The guest makes the veth pairs and sends the traffic of the scenario; addresses, routes, labels,
queues and the wires of links are those of the files that ``export --to containerlab`` wrote.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from trunkline.linux import engine
from trunkline.linux.guest.frr_daemons import CONFIGURATOR, SHELL
from trunkline.linux.guest.scratch_folders import make_scratch_folder
from trunkline.linux.judge.seed_pair import SeedPair
from trunkline.linux.judge.verification import (
    ProgressCallback,
    SeedRunner,
    pair_kernel_run,
    replace_probes,
)
from trunkline.linux.plan.addresses import name_namespace
from trunkline.linux.plan.command_target import CommandTarget
from trunkline.linux.plan.compiled_plan import CompiledPlan, compile_plan
from trunkline.linux.plan.dry_run import perform_dry_run
from trunkline.linux.plan.forwarding import OWN_FLOW_RULE
from trunkline.linux.plan.frr_config import (
    DOWN_NOTE,
    list_device_changes,
    make_daemon,
    name_log_file,
    name_state_folder,
)
from trunkline.linux.plan.guest_plan import Daemon, PlannedNode, TimedCommand
from trunkline.linux.plan.protocols import get_ospf
from trunkline.linux.plan.recovery import format_loss_trap
from trunkline.routers.containerlab import TOPOLOGY_SUFFIX
from trunkline.routers.derivation import derive_routers
from trunkline.routers.frr import (
    CONFIG_FILE,
    DAEMONS_FILE,
    SCRIPT_FILE,
    make_router_target,
    strip_protocols,
)
from trunkline.routers.openconfig import name_interface
from trunkline.routers.router_config import RouterNetwork
from trunkline.scenario import Scenario
from trunkline.scenario.yaml_text import parse_yaml

_ALWAYS_STARTED: Final = ("zebra", "staticd")
_NO_FILE: Final = "/dev/null"
_NS_PER_S: Final = 1_000_000_000
_SETTLE_S: Final = 30
"""Minimum time from the start of the daemons to time zero: neighbours, LDP sessions, labels [s]."""


class LaboratoryFault(ValueError):
    """Files that are not those of a scenario's laboratory."""


def read_laboratory(folder: Path, network: RouterNetwork) -> dict[str, str]:
    """Read the texts of a laboratory's files, by name.

    folder: Output of ``export --to containerlab``, changed or not.
    network: The routers that it has to have.

    Raises LaboratoryFault: A file is missing, or the topology joins other interfaces.
    """
    topologies = sorted(folder.glob(f"*{TOPOLOGY_SUFFIX}"))
    if len(topologies) != 1:
        msg = f"{folder}: {len(topologies)} files *{TOPOLOGY_SUFFIX}; a laboratory has one"
        raise LaboratoryFault(msg)
    names = [
        f"{router.name}/{file}"
        for router in network.routers
        for file in (CONFIG_FILE, DAEMONS_FILE, SCRIPT_FILE)
    ]
    try:
        texts = {name: (folder / name).read_text(encoding="utf-8") for name in names}
        topology, _ = parse_yaml(topologies[0].read_text(encoding="utf-8"), str(topologies[0]))
    except (OSError, UnicodeDecodeError) as error:
        raise LaboratoryFault(f"{folder}: {error}") from None
    joined = _list_joined_ends(topology)
    expected = {
        frozenset((f"{router.name}:{name_interface(near)}", f"{far_name}:{name_interface(far)}"))
        for router in network.routers
        for near in router.interfaces
        for far_name, far in [_find_far_end(network, near.neighbour, str(near.far_address))]
    }
    if joined != expected:
        ends = sorted(" to ".join(sorted(each)) for each in joined ^ expected)
        msg = f"{topologies[0]}: its links are not those of the scenario: {ends[0]}"
        raise LaboratoryFault(msg)
    return texts


def _list_joined_ends(topology: Any) -> set[frozenset[str]]:
    try:
        return {frozenset(map(str, each["endpoints"])) for each in topology["topology"]["links"]}
    except (KeyError, TypeError):
        return set()


def _find_far_end(network: RouterNetwork, node: str, address: str) -> tuple[str, Any]:
    router = next(each for each in network.routers if each.name == node)
    return node, next(each for each in router.interfaces if str(each.address) == address)


def compile_laboratory(
    network: RouterNetwork, texts: Mapping[str, str], *, seed: int
) -> CompiledPlan:
    """A plan whose routers are made by files.

    network: Whose traffic is sent.
    texts: As of `read_laboratory`.

    Raises UnsupportedError: The kernel lacks features of the network.
    """
    target = replace(make_router_target(network, adds_wires=True), sends_flows=True)
    stripped = strip_protocols(network)
    failures = network.compiled.get("recovery", {}).get("failures", [])
    if failures:
        # The reaction of routers is in their files.
        stripped["recovery"] = {"failures": failures}
    compiled = compile_plan(json.dumps(stripped), seed=seed, target=target)
    names = {
        planned.name: router.name
        for planned, router in zip(compiled.plan.nodes, network.routers, strict=True)
    }
    daemons: list[Daemon] = []
    files = dict(compiled.schedules)
    for planned, router_name in names.items():
        daemons += _list_programs(planned, texts[f"{router_name}/{DAEMONS_FILE}"])
        for file in (CONFIG_FILE, SCRIPT_FILE):
            files[f"{planned}.{file}"] = texts[f"{router_name}/{file}"].encode()
    igp = network.igp
    settle_s = _SETTLE_S + 3 * igp.hello_s + (3 * igp.lsa_interval_ms + 2 * igp.spf_ms[-1]) // 1000
    plan = replace(
        compiled.plan,
        # Hosts behind the routers would send the flows; here the routers do.
        nodes=tuple(
            PlannedNode(each.name, ip=tuple(filter(_is_own_flow_rule, each.ip)))
            for each in compiled.plan.nodes
        ),
        daemons=tuple(daemons),
        changes=_list_changes(network, compiled, seed),
        snapshots_ns=tuple(sorted({0, *compiled.plan.snapshots_ns})),
        settle_ns=settle_s * _NS_PER_S,
    )
    notes = (*compiled.notes, *(_list_failure_notes(network) if failures else ()))
    return replace(compiled, plan=plan, schedules=files, notes=notes)


def _list_changes(
    network: RouterNetwork, compiled: CompiledPlan, seed: int
) -> tuple[TimedCommand, ...]:
    """List what failures do: a link loses its packets, and its devices go down when noticed."""
    traps = [
        TimedCommand(0, name_namespace(node), "tc", line)
        for link, cause in compiled.recovery_schedule.list_loss_causes()
        for node, line in [format_loss_trap(compiled.wiring, link, cause)]
    ]
    if not traps:
        return compiled.plan.changes
    devices: list[TimedCommand] = []
    if get_ospf(network.compiled):
        timeline = perform_dry_run(network.compiled, seed).timeline_events
        end = compiled.plan.duration_ns
        # Neighbours are found by ARP, as on real routers.
        devices = [
            each
            for each in list_device_changes(compiled.wiring, timeline, end)
            if each.line.startswith("link set ")
        ]
    changes = [*compiled.plan.changes, *devices]
    return (*traps, *sorted(changes, key=lambda each: each.at_ns))


def _list_failure_notes(network: RouterNetwork) -> Iterator[str]:
    if get_ospf(network.compiled):
        yield DOWN_NOTE
    else:
        yield "routers notice a failure by the hellos of OSPF alone: routing has no ospf here"


def _is_own_flow_rule(line: str) -> bool:
    return line.startswith(OWN_FLOW_RULE)


def _list_programs(node: str, daemons_text: str) -> list[Daemon]:
    """List the programs that the image of FRR starts: daemons, configuration, router's script."""
    lines = (line.partition("=") for line in daemons_text.splitlines())
    wanted = [name for name, _, start in lines if start == "yes" and name.endswith("d")]
    programs = []
    for name in (*_ALWAYS_STARTED, *wanted):
        daemon = make_daemon(node, name, _NO_FILE)
        log = ("--log", f"file:{name_log_file(node, name)}")
        programs.append(replace(daemon, command=(*daemon.command, *log)))
    socket = name_state_folder(node)
    configure = (CONFIGURATOR, "--vty_socket", socket, "-f", f"/trunkline/{node}.{CONFIG_FILE}")
    return [
        *programs,
        Daemon(node, None, configure),
        Daemon(node, None, (SHELL, f"/trunkline/{node}.{SCRIPT_FILE}")),
    ]


def make_laboratory_runner(scenario: Scenario, folder: Path) -> SeedRunner:
    """Make a function that runs a scenario in the simulator and in the laboratory of a folder.

    Raises LaboratoryFault: The files are not those of the scenario's laboratory.
    """
    routers = derive_routers(scenario, CommandTarget(on_routers=True))
    texts = read_laboratory(folder, routers)

    def run_seed(
        network_json: str, seed: int, on_progress: ProgressCallback | None
    ) -> tuple[SeedPair, str, tuple[str, ...]]:
        network = replace_probes(json.loads(network_json))
        compiled = compile_laboratory(replace(routers, compiled=network), texts, seed=seed)
        with make_scratch_folder() as scratch:
            kernel_run = engine.run_compiled_plan(
                compiled, network_json, Path(scratch), on_progress=on_progress
            )
            return pair_kernel_run(network, seed, kernel_run, "laboratory")

    return run_seed
