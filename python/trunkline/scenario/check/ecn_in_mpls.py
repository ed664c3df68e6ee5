"""Checks of congestion marks on labels (RFC 5129): one pair of traffic classes for each PHB."""

from trunkline.scenario.aqm import DropTail, PrecedenceDropTail, Step
from trunkline.scenario.diagnostic import Path
from trunkline.scenario.dscp import dscp_name
from trunkline.scenario.port import Port
from trunkline.scenario.problems import Problems
from trunkline.scenario.queue import Queue
from trunkline.scenario.resolved import Resolved


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks the pairs of all ports, and that nothing else means something by their classes."""
    marking = {name: port for name, port in scenario.ports.items() if port.ecn_in_mpls}
    first = next(iter(marking), "")
    for name, port in marking.items():
        at: Path = ("ports", name, "ecn_in_mpls")
        _pairs(port, at, problems)
        if port.ecn_in_mpls != marking[first].ecn_in_mpls:
            problems.add(
                "relation",
                at,
                f"ports {first} and {name} mark by different traffic classes: no egress could read "
                "them",
                at_key=True,
                related=((("ports", first, "ecn_in_mpls"), "the other"),),
            )
        _can_mark(scenario, name, at, problems)
    for name, port in scenario.ports.items():
        if not port.ecn_in_mpls:
            _hidden(scenario, name, port, problems)
    if marking:
        _rules(scenario, problems)
        _paths(scenario, first, problems)


def _pairs(port: Port, at: Path, problems: Problems) -> None:
    seen: set[int] = set()
    for tc, said in port.ecn_in_mpls.items():
        if seen & {tc, said} or tc == said:
            problems.add(
                "relation",
                (*at, str(tc)),
                "a traffic class has one meaning: that of one pair, with or without congestion",
                given=f"{tc}: {said}",
            )
        seen |= {tc, said}


def _can_mark(scenario: Resolved, name: str, at: Path, problems: Problems) -> None:
    """Labelled packets must cross it, and a queue of it must have an AQM."""
    port = scenario.ports[name]
    queues = [port.queue or Queue(), *(its.queue for its in port.classes.values())]
    by_protocol = scenario.routing.ldp is not None or scenario.rerouting is not None
    if all(isinstance(its.aqm, DropTail | PrecedenceDropTail) for its in queues):
        problems.add(
            "relation", at, "ecn_in_mpls marks nothing: no queue here has an AQM", at_key=True
        )
    elif not by_protocol and scenario.routes and not _labelled(scenario, name):
        message = "ecn_in_mpls marks nothing: no labelled packet crosses this port"
        problems.add("relation", at, message, at_key=True)


def _labelled(scenario: Resolved, port: str) -> set[str]:
    """One-way links with this port where packets bear labels."""
    return {
        crossing.arc.name
        for route in scenario.routes.values()
        for crossing in route.crossings
        if crossing.labels and crossing.arc.options.port == port
    }


def _hidden(scenario: Resolved, name: str, port: Port, problems: Problems) -> None:
    """An AQM that only marks, where every packet that it could mark bears a label."""
    carried = {each for trunk in scenario.trunks.values() for each in trunk.flows}
    links = {arc.name for arc in scenario.arcs if arc.options.port == name}
    if not links or links != _labelled(scenario, name):
        return
    if any(not {its, base} & carried for its, base in scenario.names):
        return
    places: list[tuple[Path, Queue]] = [(("ports", name, "queue"), port.queue or Queue())]
    places += [
        (("ports", name, "classes", each, "queue"), its.queue) for each, its in port.classes.items()
    ]
    for at, queue in places:
        key = "kind" if isinstance(queue.aqm, Step) else "ce_threshold"
        if isinstance(queue.aqm, Step) or getattr(queue.aqm, "ce_threshold", None) is not None:
            problems.add(
                "relation",
                (*at, "aqm", key),
                "this marks nothing: every flow rides a path, and labels hide the ECN field here",
                hint="`ecn_in_mpls: {0: 1}` on the port marks labels (RFC 5129)",
                warning=True,
            )


def _rules(scenario: Resolved, problems: Problems) -> None:
    phb = scenario.phb_of_tc()
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


def _paths(scenario: Resolved, port: str, problems: Problems) -> None:
    """No path may mean a PHB by a traffic class that says congestion experienced."""
    phb = scenario.phb_of_tc()
    related = ((("ports", port, "ecn_in_mpls"), "congestion experienced"),)
    for name, path in scenario.paths.items():
        its = path.diffserv
        known = None if its is None else its.tc_of_dscp()
        for dscp, tc in (known or {}).items():
            if tc in phb:
                problems.add(
                    "relation",
                    ("paths", name),
                    f"path {name} maps DSCP {dscp_name(dscp)} to TC {tc}, which says congestion "
                    "experienced",
                    at_key=True,
                    related=related,
                )
        if known is not None:
            continue
        for trunk in scenario.trunks.values():
            if name not in (trunk.path, trunk.reverse):
                continue
            for each in trunk.flows:
                flow = scenario.flows.get(scenario.declared(each))
                if flow is not None and flow.dscp >> 3 in phb:
                    problems.add(
                        "relation",
                        ("paths", name),
                        f"path {name} has no map, so flow {each} (DSCP {dscp_name(flow.dscp)}) has "
                        f"TC {flow.dscp >> 3}, which says congestion experienced",
                        hint="give the path a map: `diffserv: {map: {DF: 0}}`",
                        at_key=True,
                        related=related,
                    )
