"""Checks of links: rates, names of directions, port configurations."""

from collections.abc import Sequence

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.flow import Tcp
from trunkline.scenario.model import Lost
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import Resolved


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks all links."""
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
            _port(scenario, link.port, ("links", name, "port"), problems)
        _lose(scenario, link.lose, ("links", name, "lose"), problems)
        for key, one_way in (("forward", link.forward), ("backward", link.backward)):
            if one_way is not None and one_way.port is not None:
                _port(scenario, one_way.port, ("links", name, key, "port"), problems)
            if one_way is not None:
                _lose(scenario, one_way.lose, ("links", name, key, "lose"), problems)
    default = scenario.written.defaults.link
    if default is not None and default.port is not None:
        _port(scenario, default.port, ("defaults", "link", "port"), problems)
    if default is not None:
        _lose(scenario, default.lose, ("defaults", "link", "lose"), problems)


def _lose(scenario: Resolved, lost: Sequence[Lost], path: Path, problems: Problems) -> None:
    """What is lost by script has a flow whose packets have numbers of their own."""
    own = {name for name, _ in scenario.names} if lost else set()
    for index, its in enumerate(lost):
        at = (*path, index, "flow")
        if its.flow not in own:
            problems.unknown(at, "flow", its.flow, sorted(own))
            continue
        flow = scenario.flows[scenario.declared(its.flow)]
        if isinstance(flow, Tcp) and not flow.is_one_connection:
            message = f"{its.flow} has many connections, each with a segment {its.segment}"
            problems.add("relation", at, message, given=its.flow)


def _port(scenario: Resolved, port: str, path: Path, problems: Problems) -> None:
    if port not in scenario.ports:
        problems.unknown(path, "port configuration", port, scenario.ports)
