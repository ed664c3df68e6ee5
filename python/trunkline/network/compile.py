"""Scenario to network: names become indices, quantities base units, defaults are written out."""

from typing import Any

from trunkline.network import conditioners, fec, flows, ldp, mpls, ospf, ports, recovery, signalling
from trunkline.network.network import Network
from trunkline.scenario import Scenario
from trunkline.scenario.collection import no_collection
from trunkline.scenario.fields import Whole
from trunkline.scenario.model import LinkOptions, Node
from trunkline.scenario.probe import Probe
from trunkline.scenario.resolved import Resolved

FORMAT = 2
_SEED = Whole("a seed", 0, 2**64 - 1)


@no_collection()
def compile(scenario: Scenario, *, seed: int | None = None) -> Network:
    """Compiles a scenario.

    Parameters
    ----------
    scenario : Scenario
        From `trunkline.scenario.load` or built in Python; the latter is checked here.
    seed : int, optional
        Replaces the scenario's seed [0 to 2**64 - 1].

    Returns
    -------
    Network
        The same scenario gives the same bytes on any machine.

    Raises
    ------
    ScenarioError
        The scenario was built in Python and has faults.
    """
    its = scenario.resolved()
    nodes = {name: index for index, name in enumerate(its.nodes)}
    links = {name: index for index, name in enumerate(its.arc)}
    built = ports.compile(its)
    conditioned = conditioners.compile(its)
    tables = mpls.compile(its, nodes, links, built)
    saved = recovery.compile(its, tables, (nodes, links))
    listed = flows.compile(its, nodes, fec.of_flows(its))
    messages = signalling.flow(its)
    signalled = signalling.compile(its, tables, (nodes, links), len(listed))
    messages += ospf.flow(its)
    routed = ospf.compile(its, len(listed) + len(messages) - 1)
    messages += ldp.flow(its)
    labelled = ldp.compile(its, len(listed) + len(messages) - 1, fec.first_of_ldp(its))
    data: Any = {
        "format": FORMAT,
        "name": scenario.name or "scenario",
        "nodes": [_node(name, node) for name, node in its.nodes.items()],
        "links": [
            {
                "name": arc.name,
                "from": nodes[arc.source],
                "to": nodes[arc.target],
                "rate_bit_s": arc.options.rate,
                "delay_ns": arc.options.delay,
                "header_bytes": arc.options.header,
                "mtu_bytes": arc.options.mtu,
                "metric": arc.options.metric,
                "loss": arc.options.loss,
                "port": built.of_link[arc.name],
            }
            | conditioned.of_link(arc.options)
            | _scripted(its, arc.options)
            for arc in its.arcs
        ],
        "ports": built.ports,
        "flows": listed + messages,
        "paths": [
            {"name": name, "links": [links[each.arc.name] for each in its.routes[name].crossings]}
            | ({"account": True} if path.account else {})
            for name, path in its.paths.items()
        ],
        "ftn": tables.ftn,
        "ilm": tables.ilm,
        "nhlfe": tables.nhlfe,
        "probes": _probes(its, built),
        "run": {
            "duration_ns": its.run.duration,
            "warmup_ns": its.run.warm_up,
            "seed": its.run.seed if seed is None else _SEED.validate(seed),
            "trace": its.run.trace,
            "events_per_instant": its.run.events_per_instant,
        },
    }
    if conditioned.conditioners:
        data["conditioners"] = conditioned.conditioners
    if tables.diffserv:
        data["diffserv"] = tables.diffserv
    if told := its.phb_of_tc():
        data["ecn_in_mpls"] = sorted([tc, said] for said, tc in told.items())
    if saved is not None:
        data["recovery"] = saved
    protocols = [each for each in (labelled, routed, signalled) if each is not None]
    if protocols:
        data["signalling"] = {key: value for each in protocols for key, value in each.items()}
    routing = {"ecmp": its.routing.ecmp, "segments": tables.followers}
    if any(routing.values()):
        data["routing"] = {key: value for key, value in routing.items() if value}
    return Network(data)


def _node(name: str, node: Node) -> dict[str, Any]:
    if not node.takes_time:
        return {"name": name}
    its = node.processing
    times = {
        "fixed_ns": its.fixed,
        "ip_lookup_ns": its.ip_lookup,
        "label_lookup_ns": its.label_lookup,
    }
    return {"name": name, "processing": times}


def _scripted(scenario: Resolved, options: LinkOptions) -> dict[str, Any]:
    """What a link loses by script, if anything."""
    index = {name: at for at, (name, _) in enumerate(scenario.names)} if options.lose else {}
    lost = [
        {"flow": index[its.flow], "seq": its.segment, "times": its.times} for its in options.lose
    ]
    return {"scripted": lost} if lost else {}


def _probes(scenario: Resolved, built: ports.Ports) -> list[dict[str, Any]]:
    result = []
    for probe in scenario.probes:
        for measure in probe.measure:
            for target, class_ in _targets(scenario, probe, built):
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


def _targets(scenario: Resolved, probe: Probe, built: ports.Ports) -> list[tuple[int, int | None]]:
    if probe.flow is not None:
        wanted = set(probe.flow)
        return [
            (index, None)
            for index, (name, base) in enumerate(scenario.names)
            if "all" in wanted or name in wanted or base in wanted
        ]
    result: list[tuple[int, int | None]] = []
    names = probe.link or ()
    for index, name in enumerate(scenario.arc):
        if name not in names and "all" not in names:
            continue
        if probe.class_ is None:
            result.append((index, None))
            continue
        classes = [its["name"] for its in built.ports[built.of_link[name]]["classes"]]
        result += [(index, classes.index(each)) for each in probe.class_ if each in classes]
    return result
