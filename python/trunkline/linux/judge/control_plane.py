"""Routing by daemons compared with the simulator's: final routes, convergence and losses."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from trunkline.linux import engine
from trunkline.linux.guest.scratch_folders import make_scratch_folder
from trunkline.linux.judge import engine_run
from trunkline.linux.judge.comparisons import (
    ComparisonRow,
    compare_final_entries,
    compare_moment,
    make_fixed_row,
)
from trunkline.linux.judge.known_differences import explain_rows, list_daemon_differences
from trunkline.linux.judge.label_comparison import compare_labels
from trunkline.linux.judge.verification import EngineVerdict, ProgressCallback, replace_probes
from trunkline.linux.outcome import label_use, routing_daemons
from trunkline.linux.plan.dry_run import DryRun, perform_dry_run
from trunkline.linux.plan.frr_config import get_backoff, get_ospf_timers
from trunkline.linux.plan.next_links import find_next_links
from trunkline.linux.plan.protocols import get_ldp
from trunkline.network.types import NetworkData
from trunkline.results import Results
from trunkline.results.convergence import list_answered_changes

_ZEBRA_HOLD_NS: Final = 10_000_000
"""zebra holds routes for this time (``ZEBRA_RIB_PROCESS_HOLD_TIME``)."""
_DAEMON_STEP_NS: Final = 1_000_000  # Daemons count in milliseconds: a timer is up to one late.

ChangeAtNode = tuple[str, str]  # Change and node.


def verify_control(
    network_json: str,
    seeds: Sequence[int],
    *,
    daemons: str,
    runner: str | None = None,
    on_progress: ProgressCallback | None = None,
) -> EngineVerdict:
    """Runs a network in the simulator and with daemons in the kernel, and compares their control.

    daemons: "frr"; which.
    Raises UnsupportedError: The network has what kernel or daemons lack.
    """
    network = replace_probes(json.loads(network_json))
    probed_json = json.dumps(network, sort_keys=True, separators=(",", ":"))
    rows: list[ComparisonRow] = []
    notes: dict[str, None] = {}
    reference = ""
    for number, seed in enumerate(seeds):
        on_seed_progress = engine.scale_progress(on_progress, number, len(seeds))
        with make_scratch_folder() as folder:
            folder_path = Path(folder)
            kernel_run = engine.run_in_guest(
                probed_json,
                seed,
                folder_path,
                runner=runner,
                control=daemons,
                on_progress=on_seed_progress,
            )
            kernel_routes = routing_daemons.read_routes(kernel_run.compiled, folder_path)
            label_uses = (
                label_use.read_kernel_labels(kernel_run.compiled, folder_path)
                if get_ldp(network)
                else {}
            )
            label_changes = {
                node: label_use.read_label_changes(kernel_run.compiled, folder_path, node)
                for node in range(len(network["nodes"]))
            }
            kernel_side = engine_run.read_kernel_run(kernel_run, folder_path)
        simulator_side = engine_run.trace_simulator(network, seed)
        dry_run = perform_dry_run(network, seed)
        notes |= dict.fromkeys(kernel_run.compiled.notes)
        reference = kernel_run.results.provenance.version
        seed_rows = [
            *_compare_routes(network, dry_run, kernel_routes),
            *_compare_convergence(network, simulator_side.results, kernel_run.results),
        ]
        if get_ldp(network):
            # zebra holds a route once more when its label comes.
            tolerance = (
                compute_margin_s(network, "failure") + (_ZEBRA_HOLD_NS + _DAEMON_STEP_NS) / 1e9
            )
            seed_rows += compare_labels(network, dry_run, label_uses, label_changes, tolerance)
        seed_rows += _compare_losses(network, simulator_side, kernel_side)
        if len(seeds) > 1:
            seed_rows = [replace(row, subject=f"{row.subject}, seed {seed}") for row in seed_rows]
        rows += seed_rows
    explained_rows = explain_rows(rows, list(list_daemon_differences()))
    return EngineVerdict(
        tuple(explained_rows),
        tuple(notes),
        tuple(seeds),
        False,
        reference,
        ("delays, marks and causes of loss of packets, and counts of ports",),
        scope="routes, labels and losses alone" if get_ldp(network) else "routes and losses alone",
    )


def find_last_routes(network: NetworkData, dry_run: DryRun) -> dict[tuple[int, int], int]:
    """Find the simulator's routes at the end of a run: out-link by node and destination."""
    routes = {
        (node, target): link
        for target, next_links in find_next_links(network).items()
        for node, link in enumerate(next_links)
        if link is not None
    }
    for route in dry_run.routes:
        if route.protection < 0 and route.time_ns < network["run"]["duration_ns"]:
            routes.pop((route.node, route.destination), None)
            if route.link >= 0:
                routes[route.node, route.destination] = route.link
    return routes


def _compare_routes(
    network: NetworkData, dry_run: DryRun, kernel_routes: routing_daemons.RouteHistory
) -> list[ComparisonRow]:
    """A row a node: how many destinations it has a route to, and how many routes are others."""
    ours = find_last_routes(network, dry_run)
    rows = []
    for node, node_config in enumerate(network["nodes"]):
        simulator_routes, other_routes = (
            {target: link for (at, target), link in side.items() if at == node}
            for side in (ours, kernel_routes.last)
        )
        rows.append(
            compare_final_entries(
                str(node_config["name"]), "routes at the end", simulator_routes, other_routes
            )
        )
    return rows


def _find_convergence_times(results: Results) -> dict[ChangeAtNode, float]:
    """Find when each router had its routes for good after each change [s]."""
    return {
        (f"{change.kind} at {change.at_ns / 1e9:g} s", step.name): (step.ended_ns - change.at_ns)
        / 1e9
        for change in list_answered_changes(results)
        for step in change.steps
        if step.ended_ns is not None
    }


def _compare_convergence(
    network: NetworkData, ours: Results, theirs: Results
) -> list[ComparisonRow]:
    """A row a change and router: from the change to its new routes."""
    first, second = _find_convergence_times(ours), _find_convergence_times(theirs)
    rows = []
    for change, name in dict.fromkeys([*first, *second]):
        times = first.get((change, name)), second.get((change, name))
        measures = ("new routes after", "changes of routes")
        rows.append(
            compare_moment(f"{name}, {change}", measures, times, compute_margin_s(network, change))
        )
    return rows


def compute_margin_s(network: NetworkData, change: str) -> float:
    """Compute how much the daemons' convergence may differ [s].

    change: ``failure ...`` or ``repair ...``.
    Returns: zebra's hold and the daemons' milliseconds. After a repair neighbours find each other
        by hellos (RFC 2328 section 10.5), which the simulator's do at once, and describe their
        databases.
    """
    ospf = get_ospf_timers(network)
    margin_ns = _ZEBRA_HOLD_NS + len(network["nodes"]) * _DAEMON_STEP_NS
    if change.startswith("repair"):
        margin_ns += (
            (ospf["hello_ns"] or 0) + ospf["lsa_interval_ns"] + get_backoff(ospf)["second_ns"]
        )
    return margin_ns / 1e9


def _compare_losses(
    network: NetworkData, ours: engine_run.EngineRun, theirs: engine_run.EngineRun
) -> list[ComparisonRow]:
    """A row a flow: packets lost; as many more as it sends while convergence may differ.

    A repair loses none: the routes until then stay.
    """
    failures = {
        each for each, _ in _find_convergence_times(ours.results) if each.startswith("failure")
    }
    margins = [compute_margin_s(network, each) for each in failures]
    rows = []
    for name, flow_datagrams in ours.flows.items():
        both_flows = (flow_datagrams, theirs.flows[name])
        lost = [float(len(each.sent_ns) - len(each.number)) for each in both_flows]
        seconds = network["run"]["duration_ns"] / 1e9
        tolerance = 1.0 + sum(margins) * len(flow_datagrams.sent_ns) / seconds
        difference, measure = lost[1] - lost[0], "packets lost or inside"
        rows.append(
            make_fixed_row(name, measure, "packets", lost[0], lost[1], difference, tolerance)
        )
    return rows
