"""Port configurations: classes with their queues and shares, and the rows of the classifier.

If the rules of a port ask for flows and for paths, each link has separate rows, since the path of a
flow is known per link. If classes have shares of the link's rate, each rate has separate classes.
"""

from dataclasses import dataclass, field
from typing import Any

from trunkline.network.classifier_rows import (
    ClassifierCell,
    ClassifierRows,
    find_paths_onto,
    has_flow_rules,
    has_path_rules,
)
from trunkline.scenario.base import resolve_rate
from trunkline.scenario.delay_aqms import MAX_FRAME_BYTES, Cobalt
from trunkline.scenario.flow_queue import FLOW_SCHEDULERS, Cake
from trunkline.scenario.match import MatchConditions
from trunkline.scenario.port import ClassifierRule, PortConfiguration
from trunkline.scenario.queue import QueueOptions
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.scheduler_classes import CakeClass, PortClass


@dataclass
class CompiledPorts:
    """Compiled port configurations."""

    ports: list[dict[str, Any]] = field(default_factory=list)  # Compiled configurations.
    # Index of the configuration of each one-way link.
    port_of_link: dict[str, int] = field(default_factory=dict)
    # For each configuration, row by the set of paths that forward; empty where rows do not depend
    # on paths.
    rows: list[dict[frozenset[str], int]] = field(default_factory=list)

    def find_row(self, arc: str, paths: frozenset[str]) -> int | None:
        """Find the row of packets that some paths forward onto a link; None = by their flow."""
        return self.rows[self.port_of_link[arc]].get(paths)


def compile_ports(scenario: ResolvedScenario) -> CompiledPorts:
    """Compile all port configurations that links use, in order of first use."""
    compiled = CompiledPorts()
    port_index: dict[tuple[str | None, str, int | None], int] = {}
    path_sets = _list_crossing_path_sets(scenario)
    for arc in scenario.arcs:
        name = arc.options.port
        port = scenario.ports[name] if name is not None else PortConfiguration()
        by_flow = port.per == "flow" or has_flow_rules(port.classify)
        per_link = by_flow and has_path_rules(port.classify, scenario)
        rate = arc.options.rate or 0
        rate = resolve_rate(port.bandwidth, rate) or rate
        key = (name, arc.name if per_link else "", rate if _has_relative_rates(port) else None)
        if key not in port_index:
            port_index[key] = len(compiled.ports)
            rows = _make_rows(scenario, port)
            if by_flow:
                rows.fill_by_flow(find_paths_onto(scenario, arc.name) if per_link else {})
            elif len(port.classes) > 1 or any(rule.precedence for rule in port.classify):
                rows.fill_by_path(path_sets)
            classes = scenario.classes[name]
            names, scheduler = list(classes), port.scheduler or "fifo"
            compiled.ports.append(
                {
                    "name": name or "default",
                    "classifier": rows.to_classifier(),
                    "classes": [
                        {
                            "name": class_name,
                            "queue": _compile_queue(_complete_tin_queue(port_class, rate)),
                        }
                        for class_name, port_class in classes.items()
                    ],
                    "scheduler": {
                        "kind": "fifo" if scheduler in FLOW_SCHEDULERS else scheduler,
                        "shares": [
                            port_class.compile_share(
                                0 if port.per == "flow" else position, rate, names
                            )
                            for position, port_class in enumerate(classes.values())
                        ],
                    },
                    "ecn_in_mpls": bool(port.ecn_in_mpls),
                }
            )
            compiled.rows.append(rows.row_of_paths)
        compiled.port_of_link[arc.name] = port_index[key]
    return compiled


def _has_relative_rates(port: PortConfiguration) -> bool:
    """Whether some rate is a share of the link's."""
    rates = [port.bandwidth]
    rates += [rate for port_class in port.classes.values() for rate in port_class.list_rates()]
    return any(isinstance(rate, float) for rate in rates)


def _list_crossing_path_sets(scenario: ResolvedScenario) -> set[frozenset[str]]:
    """List every set of paths that one entry forwards for."""
    return {each.paths for route in scenario.routes.values() for each in route.crossings}


def _complete_tin_queue(tin: PortClass, bandwidth: int) -> QueueOptions:
    """Complete the queue of a class; the rate of a CAKE tin gives values that are not set."""
    queue = tin.queue
    if not isinstance(tin, CakeClass):
        return queue
    rate = resolve_rate(tin.rate, bandwidth)
    if isinstance(queue.aqm, Cobalt) and queue.aqm.rate is None:
        queue = queue.model_copy(update={"aqm": queue.aqm.model_copy(update={"rate": rate})})
    flows = queue.flows
    if isinstance(flows, Cake) and "quantum" not in flows.model_fields_set:
        # sch_cake.c, cake_set_rate: bytes of 1/4096 s, a packet at most.
        quantum = max(300, min(MAX_FRAME_BYTES, rate // 8 // 4096))
        queue = queue.model_copy(update={"flows": flows.model_copy(update={"quantum": quantum})})
    return queue


def _compile_queue(queue: QueueOptions) -> dict[str, Any]:
    return {
        "limit_packets": queue.limit.packets,
        "limit_bytes": queue.limit.bytes,
        "counts_in_service": queue.counts_in_service,
        "aqm": queue.aqm.compile_keys(),
        "flows": None if queue.flows is None else queue.flows.compile_keys(),
    }


def _make_rows(scenario: ResolvedScenario, port: PortConfiguration) -> ClassifierRows:
    """Make an empty table of rows for a port's rules."""
    index = {name: position for position, name in enumerate(port.classes)}

    def decide(rule: MatchConditions | None, own_class: int) -> ClassifierCell:
        if not isinstance(rule, ClassifierRule):
            return [index.get("default", own_class), 0]
        return [own_class if rule.class_ is None else index[rule.class_], rule.precedence]

    return ClassifierRows(scenario, port.classify, per_flow=port.per == "flow", decide=decide)
