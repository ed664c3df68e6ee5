"""Checks of congestion marks on labels (RFC 5129): one pair of traffic classes for each PHB."""

from trunkline.scenario.aqm import DropTail, PrecedenceDropTail, StepMarking
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.dscp import get_dscp_name
from trunkline.scenario.port import PortConfiguration
from trunkline.scenario.problems import Problems
from trunkline.scenario.queue import QueueOptions
from trunkline.scenario.resolved import ResolvedScenario


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check the pairs of all ports, and that nothing else means something by their classes."""
    marking = {name: port for name, port in scenario.ports.items() if port.ecn_in_mpls}
    first = next(iter(marking), "")
    for name, port in marking.items():
        key_path: DocumentPath = ("ports", name, "ecn_in_mpls")
        _check_pairs(port, key_path, problems)
        if port.ecn_in_mpls != marking[first].ecn_in_mpls:
            problems.add(
                "relation",
                key_path,
                f"ports {first} and {name} mark by different traffic classes: no egress could read "
                "them",
                at_key=True,
                related=((("ports", first, "ecn_in_mpls"), "the other"),),
            )
        _check_has_effect(scenario, name, key_path, problems)
    for name, port in scenario.ports.items():
        if not port.ecn_in_mpls:
            _check_hidden_marking(scenario, name, port, problems)
    if marking:
        _check_rules(scenario, problems)
        _check_paths(scenario, first, problems)


def _check_pairs(port: PortConfiguration, key_path: DocumentPath, problems: Problems) -> None:
    seen: set[int] = set()
    for tc, ce_tc in port.ecn_in_mpls.items():
        if seen & {tc, ce_tc} or tc == ce_tc:
            message = (
                "a traffic class has one meaning: that of one pair, with or without congestion"
            )
            problems.add("relation", (*key_path, str(tc)), message, given=f"{tc}: {ce_tc}")
        seen |= {tc, ce_tc}


def _check_has_effect(
    scenario: ResolvedScenario, name: str, key_path: DocumentPath, problems: Problems
) -> None:
    """Labelled packets must cross it, and a queue of it must have an AQM."""
    port = scenario.ports[name]
    queues = [port.queue or QueueOptions(), *(queue.queue for queue in port.classes.values())]
    by_protocol = scenario.routing.ldp is not None or scenario.rerouting is not None
    if all(isinstance(queue.aqm, DropTail | PrecedenceDropTail) for queue in queues):
        problems.add(
            "relation", key_path, "ecn_in_mpls marks nothing: no queue here has an AQM", at_key=True
        )
    elif not by_protocol and scenario.routes and not _list_labelled_arcs(scenario, name):
        message = "ecn_in_mpls marks nothing: no labelled packet crosses this port"
        problems.add("relation", key_path, message, at_key=True)


def _list_labelled_arcs(scenario: ResolvedScenario, port: str) -> set[str]:
    """One-way links with this port where packets bear labels."""
    return {
        crossing.arc.name
        for route in scenario.routes.values()
        for crossing in route.crossings
        if crossing.label_count and crossing.arc.options.port == port
    }


def _check_hidden_marking(
    scenario: ResolvedScenario, name: str, port: PortConfiguration, problems: Problems
) -> None:
    """An AQM that only marks, where every packet that it could mark bears a label."""
    carried = {each for trunk in scenario.trunks.values() for each in trunk.flows}
    links = {arc.name for arc in scenario.arcs if arc.options.port == name}
    if not links or links != _list_labelled_arcs(scenario, name):
        return
    if any(not {item, base} & carried for item, base in scenario.flow_names):
        return
    places: list[tuple[DocumentPath, QueueOptions]] = [
        (("ports", name, "queue"), port.queue or QueueOptions())
    ]
    places += [
        (("ports", name, "classes", each, "queue"), class_.queue)
        for each, class_ in port.classes.items()
    ]
    for queue_path, queue in places:
        key = "kind" if isinstance(queue.aqm, StepMarking) else "ce_threshold"
        if (
            isinstance(queue.aqm, StepMarking)
            or getattr(queue.aqm, "ce_threshold", None) is not None
        ):
            problems.add(
                "relation",
                (*queue_path, "aqm", key),
                "this marks nothing: every flow rides a path, and labels hide the ECN field here",
                hint="`ecn_in_mpls: {0: 1}` on the port marks labels (RFC 5129)",
                warning=True,
            )


def _check_rules(scenario: ResolvedScenario, problems: Problems) -> None:
    phb = scenario.map_ce_tcs()
    for name, port in scenario.ports.items():
        for index, rule in enumerate(port.classify):
            for tc in rule.tc or ():
                if tc in phb:
                    problems.add(
                        "classify",
                        ("ports", name, "classify", index, "tc"),
                        f"TC {tc} says congestion experienced; a rule for TC {phb[tc]} holds for "
                        "both",
                        given=str(tc),
                    )


def _check_paths(scenario: ResolvedScenario, port: str, problems: Problems) -> None:
    """Check that no path gives a PHB the traffic class of congestion experienced."""
    phb = scenario.map_ce_tcs()
    related = ((("ports", port, "ecn_in_mpls"), "congestion experienced"),)
    for name, path in scenario.paths.items():
        diffserv = path.diffserv
        tc_of_dscp = None if diffserv is None else diffserv.get_tc_by_dscp()
        for dscp, tc in (tc_of_dscp or {}).items():
            if tc in phb:
                message = (
                    f"path {name} maps DSCP {get_dscp_name(dscp)} to TC "
                    f"{tc}, which says congestion "
                    "experienced"
                )
                problems.add("relation", ("paths", name), message, at_key=True, related=related)
        if tc_of_dscp is not None:
            continue
        for trunk in scenario.trunks.values():
            if name not in (trunk.path, trunk.reverse):
                continue
            for each in trunk.flows:
                flow = scenario.flows.get(scenario.get_declared_name(each))
                if flow is not None and flow.dscp >> 3 in phb:
                    problems.add(
                        "relation",
                        ("paths", name),
                        f"path {name} has no map, so flow {each} (DSCP "
                        f"{get_dscp_name(flow.dscp)}) has "
                        f"TC {flow.dscp >> 3}, which says congestion experienced",
                        hint="give the path a map: `diffserv: {map: {DF: 0}}`",
                        at_key=True,
                        related=related,
                    )
