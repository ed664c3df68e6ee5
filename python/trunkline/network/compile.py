"""Scenario to network: names become indices, quantities base units; defaults are written out."""

from collections.abc import Mapping
from typing import Any

from trunkline.network import (
    conditioners,
    fecs,
    flows,
    label_tables,
    ldp,
    ospf,
    ports,
    recovery,
    signalling,
)
from trunkline.network.network import Network
from trunkline.scenario import Scenario
from trunkline.scenario.fields import PlainInteger
from trunkline.scenario.garbage_collection import pause_garbage_collection
from trunkline.scenario.model import LinkOptions, Node
from trunkline.scenario.probe import Probe
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.resolved import ResolvedArc

NETWORK_FORMAT = 2
_SEED_RANGE = PlainInteger("a seed", 0, 2**64 - 1)


@pause_garbage_collection()
def compile(scenario: Scenario, *, seed: int | None = None) -> Network:
    """Compile a scenario. The same scenario gives the same bytes on any machine.

    Parameters
    ----------
    scenario : Scenario
        From `trunkline.scenario.load` or built in Python; the latter is checked here.
    seed : int, optional
        Replaces the scenario's seed [0 to 2**64 - 1].

    Raises
    ------
    ScenarioError
        The scenario was built in Python and has faults.
    """
    resolved = scenario.resolve()
    nodes = {name: index for index, name in enumerate(resolved.nodes)}
    links = {name: index for index, name in enumerate(resolved.arc_by_name)}
    compiled_ports = ports.compile_ports(resolved)
    compiled_conditioners = conditioners.compile_conditioners(resolved)
    compiled_labels = label_tables.compile_label_tables(resolved, nodes, links, compiled_ports)
    compiled_recovery = recovery.compile_recovery(resolved, compiled_labels, (nodes, links))
    compiled_flows = flows.compile_flows(resolved, nodes, fecs.number_fecs_of_flows(resolved))
    message_flows, protocols = _compile_protocols(
        resolved, compiled_labels, (nodes, links), len(compiled_flows)
    )
    data: Any = {
        "format": NETWORK_FORMAT,
        "name": scenario.name or "scenario",
        "nodes": [_compile_node(name, node) for name, node in resolved.nodes.items()],
        "links": [
            _compile_link(arc, nodes, compiled_ports.port_of_link[arc.name])
            | compiled_conditioners.make_link_keys(arc.options)
            | _compile_reordering(arc.options)
            | _compile_scripted_losses(resolved, arc.options)
            for arc in resolved.arcs
        ],
        "ports": compiled_ports.ports,
        "flows": compiled_flows + message_flows,
        "paths": [
            {
                "name": name,
                "links": [links[each.arc.name] for each in resolved.routes[name].crossings],
            }
            | ({"account": True} if path.account else {})
            for name, path in resolved.paths.items()
        ],
        "ftn": compiled_labels.ftn,
        "ilm": compiled_labels.ilm,
        "nhlfe": compiled_labels.nhlfe,
        "probes": _compile_probes(resolved, compiled_ports),
        "run": {
            "duration_ns": resolved.run.duration,
            "warmup_ns": resolved.run.warm_up,
            "seed": resolved.run.seed if seed is None else _SEED_RANGE.validate(seed),
            "trace": resolved.run.trace,
            "events_per_instant": resolved.run.events_per_instant,
        },
    }
    if compiled_conditioners.conditioners:
        data["conditioners"] = compiled_conditioners.conditioners
    if compiled_labels.diffserv:
        data["diffserv"] = compiled_labels.diffserv
    if phb_tcs := resolved.map_ce_tcs():
        data["ecn_in_mpls"] = sorted([tc, ce_tc] for ce_tc, tc in phb_tcs.items())
    if compiled_recovery is not None:
        data["recovery"] = compiled_recovery
    if protocols:
        data["signalling"] = protocols
    routing = {
        "ecmp": resolved.routing.ecmp,
        "without_igp": not resolved.routing.igp,
        "static": _compile_static_routes(resolved, nodes, links),
        "segments": compiled_labels.node_segments,
    }
    if any(routing.values()):
        data["routing"] = {key: value for key, value in routing.items() if value}
    return Network(data)


def _compile_protocols(
    scenario: ResolvedScenario,
    compiled_labels: label_tables.LabelTables,
    indices: tuple[dict[str, int], dict[str, int]],
    flow_count: int,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Compile the protocols between nodes, and the flows that their messages are counted under.

    indices: Those of nodes and of links.
    """
    message_flows = signalling.make_message_flows(scenario)
    rsvp = signalling.compile_signalling(scenario, compiled_labels, indices, flow_count)
    message_flows += ospf.make_message_flows(scenario)
    compiled_ospf = ospf.compile_ospf(scenario, flow_count + len(message_flows) - 1)
    message_flows += ldp.make_message_flows(scenario)
    compiled_ldp = ldp.compile_ldp(
        scenario, flow_count + len(message_flows) - 1, fecs.find_first_ldp_fec(scenario)
    )
    return message_flows, (compiled_ldp or {}) | (compiled_ospf or {}) | (rsvp or {})


def _compile_link(arc: ResolvedArc, nodes: Mapping[str, int], port: int) -> dict[str, Any]:
    return {
        "name": arc.name,
        "from": nodes[arc.source],
        "to": nodes[arc.target],
        "rate_bit_s": arc.options.rate,
        "delay_ns": arc.options.delay,
        "header_bytes": arc.options.header,
        "mtu_bytes": arc.options.mtu,
        "metric": arc.options.metric,
        "loss": arc.options.loss,
        "port": port,
    }


def _compile_static_routes(
    scenario: ResolvedScenario, nodes: Mapping[str, int], links: Mapping[str, int]
) -> list[dict[str, Any]]:
    return [
        {
            "node": nodes[route.node],
            "destination": None if route.target is None else nodes[route.target],
            "link": links[route.arc.name],
            "distance": route.distance,
        }
        for route in scenario.static_routes
    ]


def _compile_node(name: str, node: Node) -> dict[str, Any]:
    if not node.has_delay:
        return {"name": name}
    processing = node.processing
    times = {
        "fixed_ns": processing.fixed,
        "ip_lookup_ns": processing.ip_lookup,
        "label_lookup_ns": processing.label_lookup,
    }
    return {"name": name, "processing": times}


def _compile_reordering(options: LinkOptions) -> dict[str, Any]:
    reorder = options.reorder
    return {"reorder": {"share": reorder.share, "by_ns": reorder.by}} if reorder else {}


def _compile_scripted_losses(scenario: ResolvedScenario, options: LinkOptions) -> dict[str, Any]:
    """Compile the scripted losses of a link, if it has any."""
    index = (
        {name: number for number, (name, _) in enumerate(scenario.flow_names)}
        if options.lose
        else {}
    )
    losses = [
        {"flow": index[loss.flow], "seq": loss.segment, "times": loss.times}
        for loss in options.lose
    ]
    return {"scripted": losses} if losses else {}


def _compile_probes(
    scenario: ResolvedScenario, compiled_ports: ports.CompiledPorts
) -> list[dict[str, Any]]:
    result = []
    for probe in scenario.probes:
        for measure in probe.measure:
            for target, class_ in _list_probe_targets(scenario, probe, compiled_ports):
                for precedence in probe.precedence or (None,):
                    result.append(
                        {
                            "measure": measure,
                            "target": target,
                            "class": class_,
                            "precedence": precedence,
                            "step_ns": probe.every,
                        }
                    )
    return result


def _list_probe_targets(
    scenario: ResolvedScenario, probe: Probe, compiled_ports: ports.CompiledPorts
) -> list[tuple[int, int | None]]:
    if probe.flow is not None:
        flow_names = set(probe.flow)
        return [
            (index, None)
            for index, (name, base) in enumerate(scenario.flow_names)
            if "all" in flow_names or name in flow_names or base in flow_names
        ]
    result: list[tuple[int, int | None]] = []
    names = probe.link or ()
    for index, name in enumerate(scenario.arc_by_name):
        if name not in names and "all" not in names:
            continue
        if probe.class_ is None:
            result.append((index, None))
            continue
        classes = [
            port_class["name"]
            for port_class in compiled_ports.ports[compiled_ports.port_of_link[name]]["classes"]
        ]
        result += [(index, classes.index(each)) for each in probe.class_ if each in classes]
    return result
