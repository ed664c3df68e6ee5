"""Scenario to network: names become indices, quantities base units, defaults are written out."""

from typing import Any

from trunkline.network import conditioners, flows, mpls, ports, recovery
from trunkline.network.network import Network
from trunkline.scenario import check_recovery
from trunkline.scenario.check import check
from trunkline.scenario.diagnostic import Problems, ScenarioError
from trunkline.scenario.fields import Whole
from trunkline.scenario.model import Scenario
from trunkline.scenario.probe import Probe
from trunkline.scenario.topology import arcs_of, topology

__all__ = ["compile"]

FORMAT = 1
_SEED = Whole("a seed", 0, 2**64 - 1)


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
    problems = Problems()
    if not scenario.checked:
        check(scenario, problems)
    if problems.errors:
        raise ScenarioError(each.diagnostic for each in problems.found)
    found = topology(scenario, problems)
    scenario = check_recovery.written_out(scenario, found)
    arcs = list(arcs_of(scenario, found))
    nodes = {name: index for index, name in enumerate(scenario.nodes)}
    links = {arc.name: index for index, (arc, _) in enumerate(arcs)}
    flow_list = flows.listed(scenario)
    routes = mpls.routes(scenario, found)
    built = ports.compile(scenario, arcs, flow_list, routes)
    conditioned = conditioners.compile(scenario, arcs, flow_list)
    tables = mpls.compile(scenario, routes, nodes, links, built)
    saved = recovery.compile(scenario, found, routes, tables, (nodes, links), built)
    fecs = mpls.fecs(scenario)
    data: dict[str, Any] = {
        "format": FORMAT,
        "name": scenario.name or "scenario",
        "nodes": [{"name": name} for name in nodes],
        "links": [
            {
                "name": arc.name,
                "from": nodes[arc.source],
                "to": nodes[arc.target],
                "rate_bit_s": options.rate,
                "delay_ns": options.delay,
                "header_bytes": options.header,
                "mtu_bytes": options.mtu,
                "metric": options.metric,
                "loss": options.loss,
                "port": built.of_link[arc.name],
            }
            | conditioned.of_link(options)
            for arc, options in arcs
        ],
        "ports": built.ports,
        "flows": flows.compile(scenario, flow_list, nodes, fecs),
        "paths": [
            {"name": name, "links": [links[arc] for arc, _ in routes[name].arcs]}
            | ({"account": True} if path.account else {})
            for name, path in scenario.paths.items()
        ],
        "ftn": tables.ftn,
        "ilm": tables.ilm,
        "nhlfe": tables.nhlfe,
        "probes": _probes(scenario, [arc.name for arc, _ in arcs], flow_list, built),
        "run": {
            "duration_ns": scenario.run.duration,
            "warmup_ns": scenario.run.warm_up,
            "seed": scenario.run.seed if seed is None else _SEED.validate(seed),
            "trace": scenario.run.trace,
            "events_per_instant": scenario.run.events_per_instant,
        },
    }
    if conditioned.conditioners:
        data["conditioners"] = conditioned.conditioners
    if tables.diffserv:
        data["diffserv"] = tables.diffserv
    if saved is not None:
        data["recovery"] = saved
    return Network(data)


def _probes(
    scenario: Scenario,
    links: list[str],
    flow_list: list[tuple[str, str]],
    built: ports.Ports,
) -> list[dict[str, Any]]:
    result = []
    for probe in scenario.probes:
        for measure in probe.measure:
            for target, class_ in _targets(probe, links, flow_list, built):
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


def _targets(
    probe: Probe, links: list[str], flow_list: list[tuple[str, str]], built: ports.Ports
) -> list[tuple[int, int | None]]:
    if probe.flow is not None:
        wanted = set(probe.flow)
        return [
            (index, None)
            for index, (name, base) in enumerate(flow_list)
            if "all" in wanted or name in wanted or base in wanted
        ]
    result: list[tuple[int, int | None]] = []
    names = probe.link or ()
    for index, name in enumerate(links):
        if name not in names and "all" not in names:
            continue
        if probe.class_ is None:
            result.append((index, None))
            continue
        classes = [its["name"] for its in built.ports[built.of_link[name]]["classes"]]
        result += [(index, classes.index(each)) for each in probe.class_ if each in classes]
    return result
