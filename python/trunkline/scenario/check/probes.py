"""Checks of probes: their subjects, and whether these have the measure."""

from collections.abc import Sequence

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.fields import ALL
from trunkline.scenario.flow import Tcp
from trunkline.scenario.probe import FLOW_MEASURES, LINK_MEASURES, TCP_MEASURES, Probe
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.units import format_time


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all probes."""
    for index, probe in enumerate(scenario.probes):
        path: DocumentPath = ("probes", index)
        _check_measures(probe, path, problems)
        _check_senders(scenario, probe, path, problems)
        if probe.every > scenario.run.duration:
            problems.add(
                "relation",
                (*path, "every"),
                "the run ends before the first step does: nothing is recorded",
                given=format_time(probe.every),
                related=((("run", "duration"), f"ends at {format_time(scenario.run.duration)}"),),
                warning=True,
            )
        for position, name in enumerate(probe.flow or ()):
            if name != ALL and not scenario.has_flow(name):
                problems.add_unknown((*path, "flow", position), "flow", name, scenario.flows)
        for position, name in enumerate(probe.link or ()):
            if name != ALL and name not in scenario.arc_by_name:
                problems.add_unknown(
                    (*path, "link", position),
                    "direction of a link",
                    name,
                    sorted(scenario.arc_by_name),
                )
            elif probe.class_ is not None and name != ALL:
                _check_classes(
                    scenario, probe, scenario.arc_by_name[name].options.port, path, problems
                )
        if "queue-average" in probe.measure and probe.link is not None and probe.class_ is None:
            _check_average(scenario, probe.link, (*path, "measure"), problems)


def _check_average(
    scenario: ResolvedScenario, links: Sequence[str], path: DocumentPath, problems: Problems
) -> None:
    """An average queue is its class's: a port with several has no one average."""
    for name in scenario.arc_by_name if ALL in links else links:
        arc = scenario.arc_by_name.get(name)
        classes = scenario.classes.get(arc.options.port, ()) if arc is not None else ()
        if len(classes) > 1:
            message = f"the port of {name} has an average queue for each class; name a `class`"
            problems.add("relation", path, message, allowed=", ".join(classes))
            return


def _check_senders(
    scenario: ResolvedScenario, probe: Probe, path: DocumentPath, problems: Problems
) -> None:
    """Check that windows and timers belong to TCP senders: a UDP flow has none."""
    _check_connections(scenario, probe, path, problems)
    tcp_measures = [each for each in probe.measure if each in TCP_MEASURES]
    agents = {flow.agent for flow in scenario.flows.values()}
    for position, name in enumerate(probe.flow or () if tcp_measures else ()):
        flow = scenario.flows.get(scenario.get_declared_name(name))
        if (flow is None and name == ALL and agents == {"udp"}) or (
            flow is not None and flow.agent == "udp"
        ):
            problems.add(
                "relation",
                (*path, "flow", position),
                f"a UDP flow has no {tcp_measures[0]}",
                given=name,
                allowed="flows with `agent: tcp`",
            )


def _check_connections(
    scenario: ResolvedScenario, probe: Probe, path: DocumentPath, problems: Problems
) -> None:
    """Many connections have no one window; one connection has no transfers that come and go."""
    for position, name in enumerate(probe.flow or ()):
        flow = scenario.flows.get(scenario.get_declared_name(name))
        if flow is None:
            continue
        tcp_measures = [each for each in probe.measure if each in TCP_MEASURES]
        if isinstance(flow, Tcp) and not flow.has_one_sender and tcp_measures:
            message = f"transfers have a {tcp_measures[0]} each, the flow has none"
            allowed = "flows of one connection, such as transfers: {connections: kept}"
            problems.add(
                "relation", (*path, "flow", position), message, given=name, allowed=allowed
            )
        elif (not isinstance(flow, Tcp) or flow.is_one_connection) and "transfers" in probe.measure:
            message = "the flow has no transfers that come and go"
            allowed = "flows with `transfers` or `pages`"
            problems.add(
                "relation", (*path, "flow", position), message, given=name, allowed=allowed
            )


def _check_measures(probe: Probe, path: DocumentPath, problems: Problems) -> None:
    if (probe.flow is None) == (probe.link is None):
        problems.add(
            "relation", path, "a probe looks at `flow` or at `link`: one of them", at_key=True
        )
        return
    kind, measures_allowed = (
        ("flow", FLOW_MEASURES) if probe.link is None else ("link", LINK_MEASURES)
    )
    for position, measure in enumerate(probe.measure):
        if measure not in measures_allowed:
            problems.add(
                "relation",
                (*path, "measure", position),
                f"{measure} is no measure of a {kind}",
                allowed=", ".join(measures_allowed),
            )
    if probe.class_ is not None and kind == "flow":
        problems.add("relation", (*path, "class"), "a flow has no classes", at_key=True)
    queues = all(measure.startswith("queue") for measure in probe.measure)
    port_measures = set(probe.measure) & {"utilisation", "drops", "marks"}
    if probe.class_ is not None and kind == "link" and port_measures:
        _report_queue_only_key(path, "class", "only queues are told apart by class", problems)
    if probe.precedence is not None and not queues:
        message = "only queues are told apart by drop precedence"
        _report_queue_only_key(path, "precedence", message, problems)


def _report_queue_only_key(path: DocumentPath, key: str, message: str, problems: Problems) -> None:
    allowed = ", ".join(measure for measure in LINK_MEASURES if measure.startswith("queue"))
    problems.add("relation", (*path, key), message, at_key=True, allowed=allowed)


def _check_classes(
    scenario: ResolvedScenario,
    probe: Probe,
    port: str | None,
    path: DocumentPath,
    problems: Problems,
) -> None:
    class_names = scenario.classes.get(port, ())
    for position, name in enumerate(probe.class_ or ()):
        if name not in class_names:
            problems.add_unknown(
                (*path, "class", position), "class", name, class_names, sentence_end=" at this port"
            )
