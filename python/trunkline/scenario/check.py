"""Checks that need more than one key: names that must exist, values that must agree."""

import unicodedata
from typing import Any

from trunkline.scenario import (
    check_classes,
    check_conditioners,
    check_diffserv,
    check_flows,
    check_paths,
    check_ports,
    check_recovery,
    check_slas,
    check_trunks,
)
from trunkline.scenario.diagnostic import Problems, nearest
from trunkline.scenario.model import Scenario
from trunkline.scenario.probe import FLOW_MEASURES, LINK_MEASURES, Probe
from trunkline.scenario.topology import Topology, arcs_of, listed, topology
from trunkline.scenario.units import format_time

__all__ = ["check", "duplicates", "named"]


def named(scenario: Scenario, stem: str) -> Scenario:
    """The scenario with a name made of the file's, where that is a name."""
    kept = "".join(each if each.isalnum() or each in "_.+-" else "-" for each in stem[:64])
    return scenario.model_copy(update={"name": kept.strip("-.+") or "scenario"})


def duplicates(document: Any, problems: Problems) -> None:
    """Reports nodes that are listed twice; mappings cannot hold one key twice."""
    nodes = document.get("nodes") if isinstance(document, dict) else None
    if not isinstance(nodes, list):
        return
    first: dict[str, int] = {}
    for index, node in enumerate(nodes):
        name = unicodedata.normalize("NFKC", str(node))
        if name in first:
            problems.add(
                "duplicate-name",
                ("nodes", index),
                f"node {node} is listed twice",
                related=((("nodes", first[name]), "first here"),),
            )
        first.setdefault(name, index)


def check(scenario: Scenario, problems: Problems) -> None:
    """Checks a whole scenario.

    Parameters
    ----------
    scenario : Scenario
        A scenario whose every key is of the right kind and in range.
    problems : Problems
        Gets all faults and doubts.
    """
    if not scenario.nodes:
        problems.add("empty", ("nodes",), "a network needs at least one node", at_key=True)
    if not check_flows.fits_memory(scenario, problems):
        return
    found = topology(scenario, problems)
    _links(scenario, found, problems)
    check_ports.check(scenario, problems)
    check_classes.check(scenario, found, problems)
    check_conditioners.check(scenario, problems)
    sound = check_paths.check(scenario, found, problems)
    check_diffserv.check(scenario, found, sound, problems)
    check_trunks.check(scenario, found, sound, problems)
    check_flows.check(scenario, found, problems)
    check_recovery.check(scenario, found, sound, problems)
    _probes(scenario, found, problems)
    check_slas.check(scenario, problems)
    _run(scenario, problems)


def _links(scenario: Scenario, found: Topology, problems: Problems) -> None:
    for arc, options in arcs_of(scenario, found):
        if options.rate is None and not arc.backward:
            problems.add(
                "missing-key",
                ("links", arc.link, "rate"),
                "rate is missing",
                hint="add `rate: 10 Mbit/s`, or `defaults: {link: {rate: 10 Mbit/s}}`",
                at_key=True,
            )
    names: dict[str, str] = {}
    for arc in found.arcs:
        if names.setdefault(arc.name, arc.link) != arc.link and not arc.backward:
            problems.add(
                "duplicate-name",
                ("links", arc.link),
                f"{arc.name} is also a direction of link {names[arc.name]}",
                hint="give one of them a name that is not A-B, with `between`",
                at_key=True,
            )
    for name, link in scenario.links.items():
        if link.port is not None:
            _port(scenario, link.port, ("links", name, "port"), problems)
        for key, one_way in (("forward", link.forward), ("backward", link.backward)):
            if one_way is not None and one_way.port is not None:
                _port(scenario, one_way.port, ("links", name, key, "port"), problems)
    default = scenario.defaults.link
    if default is not None and default.port is not None:
        _port(scenario, default.port, ("defaults", "link", "port"), problems)


def _port(scenario: Scenario, port: str, path: tuple[str | int, ...], problems: Problems) -> None:
    if port not in scenario.ports:
        problems.add(
            "reference",
            path,
            f"there is no port configuration {port}",
            allowed=listed(scenario.ports),
            hint=nearest(port, scenario.ports),
        )


def _probes(scenario: Scenario, found: Topology, problems: Problems) -> None:
    arcs = {arc.name for arc in found.arcs}
    ports = {arc.name: options.port for arc, options in arcs_of(scenario, found)}
    for index, probe in enumerate(scenario.probes):
        path = ("probes", index)
        _measures(probe, path, problems)
        for at, name in enumerate(probe.flow or ()):
            if name != "all" and not check_flows.exists(scenario, name):
                check_flows.unknown(scenario, name, (*path, "flow", at), problems)
        for at, name in enumerate(probe.link or ()):
            if name != "all" and name not in arcs:
                problems.add(
                    "reference",
                    (*path, "link", at),
                    f"there is no direction of a link {name}",
                    allowed=listed(sorted(arcs)),
                    hint=nearest(name, arcs),
                )
            elif probe.class_ is not None and name != "all":
                _classes(scenario, probe, ports[name], path, problems)


def _measures(probe: Probe, path: tuple[str | int, ...], problems: Problems) -> None:
    if (probe.flow is None) == (probe.link is None):
        problems.add(
            "relation", path, "a probe looks at `flow` or at `link`: one of them", at_key=True
        )
        return
    kind, fits = ("flow", FLOW_MEASURES) if probe.link is None else ("link", LINK_MEASURES)
    for at, measure in enumerate(probe.measure):
        if measure not in fits:
            problems.add(
                "relation",
                (*path, "measure", at),
                f"{measure} is no measure of a {kind}",
                allowed=", ".join(fits),
            )
    if probe.class_ is not None and kind == "flow":
        problems.add("relation", (*path, "class"), "a flow has no classes", at_key=True)
    queues = all(measure.startswith("queue") for measure in probe.measure)
    whole = set(probe.measure) & {"utilisation", "drops"}
    if probe.class_ is not None and kind == "link" and whole:
        _of_queues(path, "class", "only queues are told apart by class", problems)
    if probe.precedence is not None and not queues:
        what = "only queues are told apart by drop precedence"
        _of_queues(path, "precedence", what, problems)


def _of_queues(path: tuple[str | int, ...], field: str, what: str, problems: Problems) -> None:
    allowed = ", ".join(measure for measure in LINK_MEASURES if measure.startswith("queue"))
    problems.add("relation", (*path, field), what, at_key=True, allowed=allowed)


def _classes(
    scenario: Scenario,
    probe: Probe,
    port: str | None,
    path: tuple[str | int, ...],
    problems: Problems,
) -> None:
    known = check_ports.class_names(scenario, port)
    for at, name in enumerate(probe.class_ or ()):
        if name not in known:
            problems.add(
                "reference",
                (*path, "class", at),
                f"there is no class {name} at this port",
                allowed=listed(known),
                hint=nearest(name, known),
            )


def _run(scenario: Scenario, problems: Problems) -> None:
    run = scenario.run
    if run.warm_up >= run.duration:
        problems.add(
            "relation",
            ("run", "warm_up"),
            "warm_up must end before duration does",
            given=format_time(run.warm_up),
            allowed=f"below {format_time(run.duration)}",
            related=((("run", "duration"), f"duration is {format_time(run.duration)}"),),
        )
