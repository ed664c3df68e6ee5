"""Checks of links: rates, names of directions, port configurations."""

from collections.abc import Sequence

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.flow import Tcp
from trunkline.scenario.model import ScriptedLoss
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all links."""
    for arc in scenario.arcs:
        if arc.options.rate is None and not arc.backward:
            problems.add(
                "missing-key",
                ("links", arc.link, "rate"),
                "rate is missing",
                hint="add `rate: 10 Mbit/s`, or `defaults: {link: {rate: 10 Mbit/s}}`",
                at_key=True,
            )
    names: dict[str, str] = {}
    for arc in scenario.arcs:
        if names.setdefault(arc.name, arc.link) != arc.link and not arc.backward:
            problems.add(
                "duplicate-name",
                ("links", arc.link),
                f"{arc.name} is also a direction of link {names[arc.name]}",
                hint="give one of them a name that is not A-B, with `between`",
                at_key=True,
            )
    for name, link in scenario.written.links.items():
        if link.port is not None:
            _check_port(scenario, link.port, ("links", name, "port"), problems)
        _check_scripted_losses(scenario, link.lose, ("links", name, "lose"), problems)
        for key, one_way in (("forward", link.forward), ("backward", link.backward)):
            if one_way is not None and one_way.port is not None:
                _check_port(scenario, one_way.port, ("links", name, key, "port"), problems)
            if one_way is not None:
                _check_scripted_losses(
                    scenario, one_way.lose, ("links", name, key, "lose"), problems
                )
    default = scenario.written.defaults.link
    if default is not None and default.port is not None:
        _check_port(scenario, default.port, ("defaults", "link", "port"), problems)
    if default is not None:
        _check_scripted_losses(scenario, default.lose, ("defaults", "link", "lose"), problems)


def _check_scripted_losses(
    scenario: ResolvedScenario,
    losses: Sequence[ScriptedLoss],
    path: DocumentPath,
    problems: Problems,
) -> None:
    """Check that each scripted loss has a flow whose packets are numbered on their own."""
    flow_names = {name for name, _ in scenario.flow_names} if losses else set()
    for index, loss in enumerate(losses):
        flow_path = (*path, index, "flow")
        if loss.flow not in flow_names:
            problems.add_unknown(flow_path, "flow", loss.flow, sorted(flow_names))
            continue
        flow = scenario.flows[scenario.get_declared_name(loss.flow)]
        if isinstance(flow, Tcp) and not flow.is_one_connection:
            message = f"{loss.flow} has many connections, each with a segment {loss.segment}"
            problems.add("relation", flow_path, message, given=loss.flow)


def _check_port(
    scenario: ResolvedScenario, port: str, path: DocumentPath, problems: Problems
) -> None:
    if port not in scenario.ports:
        problems.add_unknown(path, "port configuration", port, scenario.ports)
