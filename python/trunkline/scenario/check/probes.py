"""Checks of probes: what they look at, and whether it has what they measure."""

from collections.abc import Sequence

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.flow import Tcp
from trunkline.scenario.probe import FLOW_MEASURES, LINK_MEASURES, TCP_MEASURES, Probe
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.units import format_time


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks all probes."""
    for index, probe in enumerate(scenario.probes):
        path: Path = ("probes", index)
        _measures(probe, path, problems)
        _senders(scenario, probe, path, problems)
        if probe.every > scenario.run.duration:
            problems.add(
                "relation",
                (*path, "every"),
                "the run ends before the first step does: nothing is recorded",
                given=format_time(probe.every),
                related=((("run", "duration"), f"ends at {format_time(scenario.run.duration)}"),),
                warning=True,
            )
        for at, name in enumerate(probe.flow or ()):
            if name != "all" and not scenario.has_flow(name):
                problems.unknown((*path, "flow", at), "flow", name, scenario.flows)
        for at, name in enumerate(probe.link or ()):
            if name != "all" and name not in scenario.arc:
                problems.unknown(
                    (*path, "link", at), "direction of a link", name, sorted(scenario.arc)
                )
            elif probe.class_ is not None and name != "all":
                _classes(scenario, probe, scenario.arc[name].options.port, path, problems)
        if "queue-average" in probe.measure and probe.link is not None and probe.class_ is None:
            _average(scenario, probe.link, (*path, "measure"), problems)


def _average(scenario: Resolved, links: Sequence[str], path: Path, problems: Problems) -> None:
    """An average queue is its class's: a port with several has no one average."""
    for name in scenario.arc if "all" in links else links:
        arc = scenario.arc.get(name)
        classes = scenario.classes.get(arc.options.port, ()) if arc is not None else ()
        if len(classes) > 1:
            message = f"the port of {name} has an average queue for each class; name a `class`"
            problems.add("relation", path, message, allowed=", ".join(classes))
            return


def _senders(scenario: Resolved, probe: Probe, path: Path, problems: Problems) -> None:
    """Windows and timers are of TCP senders: a UDP flow has none."""
    _connections(scenario, probe, path, problems)
    asked = [each for each in probe.measure if each in TCP_MEASURES]
    agents = {flow.agent for flow in scenario.flows.values()}
    for at, name in enumerate(probe.flow or () if asked else ()):
        flow = scenario.flows.get(scenario.declared(name))
        if (flow is None and name == "all" and agents == {"udp"}) or (
            flow is not None and flow.agent == "udp"
        ):
            problems.add(
                "relation",
                (*path, "flow", at),
                f"a UDP flow has no {asked[0]}",
                given=name,
                allowed="flows with `agent: tcp`",
            )


def _connections(scenario: Resolved, probe: Probe, path: Path, problems: Problems) -> None:
    """Many connections have no one window; one connection has no transfers that come and go."""
    for at, name in enumerate(probe.flow or ()):
        flow = scenario.flows.get(scenario.declared(name))
        many = isinstance(flow, Tcp) and not flow.is_one_connection
        if flow is None:
            continue
        asked = [each for each in probe.measure if each in TCP_MEASURES]
        if many and asked:
            message = f"transfers have a {asked[0]} each, the flow has none"
            problems.add("relation", (*path, "flow", at), message, given=name)
        elif not many and "transfers" in probe.measure:
            message = "the flow has no transfers that come and go"
            allowed = "flows with `transfers` or `pages`"
            problems.add("relation", (*path, "flow", at), message, given=name, allowed=allowed)


def _measures(probe: Probe, path: Path, problems: Problems) -> None:
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


def _of_queues(path: Path, field: str, what: str, problems: Problems) -> None:
    allowed = ", ".join(measure for measure in LINK_MEASURES if measure.startswith("queue"))
    problems.add("relation", (*path, field), what, at_key=True, allowed=allowed)


def _classes(
    scenario: Resolved,
    probe: Probe,
    port: str | None,
    path: Path,
    problems: Problems,
) -> None:
    known = scenario.classes.get(port, ())
    for at, name in enumerate(probe.class_ or ()):
        if name not in known:
            problems.unknown((*path, "class", at), "class", name, known, where=" at this port")
