"""Checks of port configurations."""

from trunkline.scenario.check import aqms
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.flow_queue import CAKE_SET_SIZE, FLOW_SCHEDULERS, Cake
from trunkline.scenario.match import MatchConditions, list_conditions
from trunkline.scenario.port import ClassifierRule, PortConfiguration
from trunkline.scenario.problems import Problems
from trunkline.scenario.queue import QueueOptions
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.scheduler import (
    HIERARCHICAL_SCHEDULERS,
    MULTI_CLASS_SCHEDULERS,
    SINGLE_CLASS_SCHEDULERS,
)
from trunkline.scenario.scheduler_classes import DrrClass, RateClass
from trunkline.scenario.units import format_bytes

MAX_CLASSES = 65_535


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all port configurations."""
    default = scenario.written.defaults.queue
    if default is not None:
        _check_queue(default, ("defaults", "queue"), problems)
    for name, port in scenario.ports.items():
        path: DocumentPath = ("ports", name)
        _check_shape(scenario, port, path, problems)
        for index, rule in enumerate(port.classify):
            _check_rule(scenario, port, rule, (*path, "classify", index), problems)
        if port.queue is not None:
            _check_queue(port.queue, (*path, "queue"), problems)
        for each, port_class in port.classes.items():
            _check_queue(port_class.queue, (*path, "classes", each, "queue"), problems)
            _check_quantum(scenario, port, each, path, problems)


def _check_shape(
    scenario: ResolvedScenario, port: PortConfiguration, path: DocumentPath, problems: Problems
) -> None:
    if port.classes and (port.queue is not None or port.per == "flow"):
        key = "queue" if port.queue is not None else "per"
        message = f"each class has its own queue: `{key}` has no meaning with classes"
        problems.add("relation", (*path, key), message, at_key=True)
    has_several_classes = len(port.classes) > 1 or port.per == "flow"
    if has_several_classes and port.scheduler is None:
        problems.add(
            "missing-key",
            (*path, "scheduler"),
            "scheduler is missing: several classes need one",
            allowed=MULTI_CLASS_SCHEDULERS,
            at_key=True,
        )
    if has_several_classes and port.scheduler in SINGLE_CLASS_SCHEDULERS:
        problems.add(
            "relation",
            (*path, "scheduler"),
            f"{port.scheduler} serves one class only",
            allowed=MULTI_CLASS_SCHEDULERS,
            hint=f"`flows: {port.scheduler}` divides the queue of a class into flows"
            if port.scheduler in FLOW_SCHEDULERS
            else "`shaped` has a token bucket for each class"
            if port.scheduler == "tbf"
            else "",
        )
    if port.scheduler in FLOW_SCHEDULERS:
        queues = [
            port.queue or QueueOptions(),
            *(port_class.queue for port_class in port.classes.values()),
        ]
        if any(each.flows is not None for each in queues):
            message = f"{port.scheduler} divides the queue already that `flows` divides"
            problems.add("relation", (*path, "scheduler"), message, hint="leave the scheduler out")
    if port.bandwidth is not None and port.scheduler != "cake":
        problems.add(
            "relation",
            (*path, "bandwidth"),
            f"bandwidth means nothing to {port.scheduler or 'fifo'}",
            allowed="scheduler: cake",
            hint="`tbf` and `shaped` have a rate in each class",
            at_key=True,
        )
    if not port.classes and port.scheduler in (*HIERARCHICAL_SCHEDULERS, "tbf"):
        promise = "curve" if port.scheduler == "hfsc" else "rate"
        problems.add(
            "relation",
            (*path, "scheduler"),
            f"{port.scheduler} gives every class a {promise}, and this port names no classes",
            given=port.scheduler,
            hint=f"add `classes` with a `{'link_share' if promise == 'curve' else promise}` each",
        )
    if port.per == "flow":
        count = len(scenario.flow_names) + len(scenario.message_flows)
        if count > MAX_CLASSES:
            message = f"{count} flows need {count} classes; a port has at most {MAX_CLASSES}"
            problems.add("limit", (*path, "per"), message)
    elif has_several_classes and "default" not in port.classes and not _has_catch_all_rule(port):
        problems.add(
            "classify",
            (*path, "classes"),
            "packets that no rule matches have no class",
            hint="name one class `default`, or end `classify` with a rule without conditions",
            at_key=True,
        )


def _has_catch_all_rule(port: PortConfiguration) -> bool:
    return any(not list_conditions(rule) for rule in port.classify)


def _check_rule(
    scenario: ResolvedScenario,
    port: PortConfiguration,
    rule: ClassifierRule,
    path: DocumentPath,
    problems: Problems,
) -> None:
    if rule.class_ is None:
        if len(port.classes) > 1:
            problems.add("missing-key", (*path, "class"), "class is missing", at_key=True)
    elif port.per == "flow" or (not port.classes and rule.class_ != "default"):
        problems.add("classify", (*path, "class"), "this port has no classes to choose from")
    elif port.classes and rule.class_ not in port.classes:
        problems.add_unknown(
            (*path, "class"), "class", rule.class_, port.classes, sentence_end=" in this port"
        )
    check_match(scenario, rule, path, problems)


def check_match(
    scenario: ResolvedScenario, rule: MatchConditions, path: DocumentPath, problems: Problems
) -> None:
    """Check the conditions of a rule."""
    if rule.dscp is not None and rule.tc is not None:
        message = "no packet shows both a DSCP and a TC: a label hides the DSCP"
        problems.add("classify", (*path, "tc"), message, hint="write two rules", at_key=True)
    for index, name in enumerate(rule.flow or ()):
        if not scenario.has_flow(name):
            problems.add_unknown((*path, "flow", index), "flow", name, scenario.flows)
    for key in ("source", "destination"):
        problems.check_known((*path, key), "node", getattr(rule, key) or (), scenario.nodes)
    problems.check_known((*path, "trunk"), "trunk", rule.trunk or (), scenario.trunks)
    problems.check_known((*path, "path"), "path", rule.path or (), scenario.paths)
    _check_shared_paths(scenario, rule, path, problems)


def _check_shared_paths(
    scenario: ResolvedScenario, rule: MatchConditions, path: DocumentPath, problems: Problems
) -> None:
    """Trunks on one path bear one label: no router can tell them apart."""
    trunk_names = set(rule.trunk or ())
    for index, name in enumerate(rule.trunk or ()):
        trunk = scenario.trunks.get(name)
        if trunk is None:
            continue
        for other, other_trunk in scenario.trunks.items():
            shared = {trunk.path, trunk.reverse} & {other_trunk.path, other_trunk.reverse} - {None}
            if other not in trunk_names and shared:
                problems.add(
                    "classify",
                    (*path, "trunk", index),
                    f"trunks {name} and {other} ride one path: no router can tell them apart",
                    hint="give each its own path; two paths may have one route",
                    related=((("trunks", other), "the other"),),
                )
                return


def _check_queue(queue: QueueOptions, path: DocumentPath, problems: Problems) -> None:
    aqms.check(queue.aqm, (*path, "aqm"), problems)
    if queue.flows is not None:
        _check_flow_queues(queue, path, problems)
    if queue.counts_in_service and 0 in (queue.limit.packets, queue.limit.bytes):
        message = "a limit of 0 that counts the packet in service lets nothing through"
        problems.add("relation", (*path, "limit"), message, hint="use `counts_in_service: false`")


def _check_flow_queues(queue: QueueOptions, path: DocumentPath, problems: Problems) -> None:
    flows = queue.flows
    assert flows is not None
    if "aqm" in queue.model_fields_set and type(queue.aqm) is not type(flows.aqm):
        message = f"{flows.kind} goes with {flows.aqm.kind}"
        problems.add(
            "relation", (*path, "aqm"), message, given=queue.aqm.kind, allowed=flows.aqm.kind
        )
    if isinstance(flows, Cake) and flows.queues % CAKE_SET_SIZE:
        problems.add(
            "range",
            (*path, "flows", "queues"),
            f"queues of cake come in sets of {CAKE_SET_SIZE}",
            given=str(flows.queues),
            allowed=f"a multiple of {CAKE_SET_SIZE}",
        )
    if queue.counts_in_service:
        message = "counts_in_service has no effect with flows: a packet in service is not queued"
        problems.add("relation", (*path, "counts_in_service"), message, at_key=True)


def _check_quantum(
    scenario: ResolvedScenario,
    port: PortConfiguration,
    name: str,
    path: DocumentPath,
    problems: Problems,
) -> None:
    port_class = port.classes[name]
    quantum = port_class.quantum if isinstance(port_class, DrrClass | RateClass) else None
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
