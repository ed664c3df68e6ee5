"""Checks of port configurations."""

from trunkline.scenario.check import aqms
from trunkline.scenario.diagnostic import Path
from trunkline.scenario.flow_queue import FLOW_SCHEDULERS, WAYS, Cake
from trunkline.scenario.match import Match, conditions
from trunkline.scenario.port import Port, Rule
from trunkline.scenario.problems import Problems
from trunkline.scenario.queue import Queue
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.scheduler import ALONE, HIERARCHIES, SCHEDULERS
from trunkline.scenario.shares import DrrClass, Rated
from trunkline.scenario.units import format_bytes

MAX_CLASSES = 65_535


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks all port configurations."""
    default = scenario.written.defaults.queue
    if default is not None:
        _queue(default, ("defaults", "queue"), problems)
    for name, port in scenario.ports.items():
        path: Path = ("ports", name)
        _shape(scenario, port, path, problems)
        for index, rule in enumerate(port.classify):
            _rule(scenario, port, rule, (*path, "classify", index), problems)
        if port.queue is not None:
            _queue(port.queue, (*path, "queue"), problems)
        for each, its in port.classes.items():
            _queue(its.queue, (*path, "classes", each, "queue"), problems)
            _quantum(scenario, port, each, path, problems)


def _shape(scenario: Resolved, port: Port, path: Path, problems: Problems) -> None:
    if port.classes and (port.queue is not None or port.per == "flow"):
        other = "queue" if port.queue is not None else "per"
        problems.add(
            "relation",
            (*path, other),
            f"classes have queues of their own: `{other}` has no place beside them",
            at_key=True,
        )
    several = len(port.classes) > 1 or port.per == "flow"
    if several and port.scheduler is None:
        problems.add(
            "missing-key",
            (*path, "scheduler"),
            "scheduler is missing: several classes need one",
            allowed=SCHEDULERS,
            at_key=True,
        )
    if several and port.scheduler in ALONE:
        problems.add(
            "relation",
            (*path, "scheduler"),
            f"{port.scheduler} serves one class only",
            allowed=SCHEDULERS,
            hint=f"`flows: {port.scheduler}` divides the queue of a class into flows"
            if port.scheduler in FLOW_SCHEDULERS
            else "`shaped` has a token bucket for each class"
            if port.scheduler == "tbf"
            else "",
        )
    if port.scheduler in FLOW_SCHEDULERS:
        queues = [port.queue or Queue(), *(its.queue for its in port.classes.values())]
        if any(each.flows is not None for each in queues):
            problems.add(
                "relation",
                (*path, "scheduler"),
                f"{port.scheduler} divides the queue already that `flows` divides",
                hint="leave the scheduler out",
            )
    if port.bandwidth is not None and port.scheduler != "cake":
        problems.add(
            "relation",
            (*path, "bandwidth"),
            f"bandwidth means nothing to {port.scheduler or 'fifo'}",
            allowed="scheduler: cake",
            hint="`tbf` and `shaped` have a rate in each class",
            at_key=True,
        )
    if not port.classes and port.scheduler in (*HIERARCHIES, "tbf"):
        due = "curve" if port.scheduler == "hfsc" else "rate"
        problems.add(
            "relation",
            (*path, "scheduler"),
            f"{port.scheduler} gives every class a {due}, and this port names no classes",
            given=port.scheduler,
            hint=f"add `classes` with a `{'link_share' if due == 'curve' else due}` each",
        )
    if port.per == "flow":
        count = len(scenario.names) + len(scenario.message_flows)
        if count > MAX_CLASSES:
            problems.add(
                "limit",
                (*path, "per"),
                f"{count} flows need {count} classes; a port has at most {MAX_CLASSES}",
            )
    elif several and "default" not in port.classes and not _catches_all(port):
        problems.add(
            "classify",
            (*path, "classes"),
            "packets that no rule matches have no class",
            hint="name one class `default`, or end `classify` with a rule without conditions",
            at_key=True,
        )


def _catches_all(port: Port) -> bool:
    return any(not conditions(rule) for rule in port.classify)


def _rule(scenario: Resolved, port: Port, rule: Rule, path: Path, problems: Problems) -> None:
    if rule.class_ is None:
        if len(port.classes) > 1:
            problems.add("missing-key", (*path, "class"), "class is missing", at_key=True)
    elif port.per == "flow" or (not port.classes and rule.class_ != "default"):
        problems.add("classify", (*path, "class"), "this port has no classes to choose from")
    elif port.classes and rule.class_ not in port.classes:
        problems.unknown(
            (*path, "class"), "class", rule.class_, port.classes, where=" in this port"
        )
    match(scenario, rule, path, problems)


def match(scenario: Resolved, rule: Match, path: Path, problems: Problems) -> None:
    """Checks the conditions of a rule."""
    if rule.dscp is not None and rule.tc is not None:
        problems.add(
            "classify",
            (*path, "tc"),
            "no packet shows both a DSCP and a TC: a label hides the DSCP",
            hint="write two rules",
            at_key=True,
        )
    for index, name in enumerate(rule.flow or ()):
        if not scenario.has_flow(name):
            problems.unknown((*path, "flow", index), "flow", name, scenario.flows)
    for key in ("source", "destination"):
        problems.each_known((*path, key), "node", getattr(rule, key) or (), scenario.nodes)
    problems.each_known((*path, "trunk"), "trunk", rule.trunk or (), scenario.trunks)
    problems.each_known((*path, "path"), "path", rule.path or (), scenario.paths)
    _same_label(scenario, rule, path, problems)


def _same_label(scenario: Resolved, rule: Match, path: Path, problems: Problems) -> None:
    """Trunks on one path bear one label: no router can tell them apart."""
    named = set(rule.trunk or ())
    for index, name in enumerate(rule.trunk or ()):
        trunk = scenario.trunks.get(name)
        if trunk is None:
            continue
        for other, its in scenario.trunks.items():
            shared = {trunk.path, trunk.reverse} & {its.path, its.reverse} - {None}
            if other not in named and shared:
                problems.add(
                    "classify",
                    (*path, "trunk", index),
                    f"trunks {name} and {other} ride one path: no router can tell them apart",
                    hint="give each a path of its own; two paths may have one route",
                    related=((("trunks", other), "the other"),),
                )
                return


def _queue(queue: Queue, path: Path, problems: Problems) -> None:
    aqms.check(queue.aqm, (*path, "aqm"), problems)
    if queue.flows is not None:
        _flows(queue, path, problems)
    if queue.counts_in_service and 0 in (queue.limit.packets, queue.limit.bytes):
        problems.add(
            "relation",
            (*path, "limit"),
            "a limit of 0 that counts the packet in service lets nothing through",
            hint="use `counts_in_service: false`",
        )


def _flows(queue: Queue, path: Path, problems: Problems) -> None:
    flows = queue.flows
    assert flows is not None
    if "aqm" in queue.model_fields_set and type(queue.aqm) is not type(flows.aqm):
        problems.add(
            "relation",
            (*path, "aqm"),
            f"{flows.kind} goes with {flows.aqm.kind}",
            given=queue.aqm.kind,
            allowed=flows.aqm.kind,
        )
    if isinstance(flows, Cake) and flows.queues % WAYS:
        problems.add(
            "range",
            (*path, "flows", "queues"),
            f"queues of cake come in sets of {WAYS}",
            given=str(flows.queues),
            allowed=f"a multiple of {WAYS}",
        )
    if queue.counts_in_service:
        problems.add(
            "relation",
            (*path, "counts_in_service"),
            "counts_in_service means nothing to flows: what is sent has left its queue",
            at_key=True,
        )


def _quantum(scenario: Resolved, port: Port, name: str, path: Path, problems: Problems) -> None:
    its = port.classes[name]
    quantum = its.quantum if isinstance(its, DrrClass | Rated) else None
    largest = max((flow.largest_packet for flow in scenario.flows.values()), default=0)
    if quantum is not None and quantum < largest:
        problems.add(
            "relation",
            (*path, "classes", name, "quantum"),
            f"a quantum below the largest packet makes {port.scheduler} take several rounds for "
            "one packet",
            given=format_bytes(quantum),
            allowed=f"{format_bytes(largest)} or more",
            warning=True,
        )
