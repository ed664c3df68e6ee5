"""Port configurations: classes with their queues and shares, and the rows of the classifier.

A port whose rules ask for flows and for paths has rows for each link of its own, since the path
of a flow is known per link; one whose classes have shares of the link's rate, classes for each
rate.
"""

from dataclasses import dataclass, field
from typing import Any

from trunkline.network.rows import Cell, Rows, asks_flows, asks_paths, forwards_onto
from trunkline.scenario.base import rate_of
from trunkline.scenario.flow_queue import FLOW_SCHEDULERS, Cake
from trunkline.scenario.match import Match
from trunkline.scenario.port import Port, Rule
from trunkline.scenario.queue import Queue
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.shares import CakeClass, Class
from trunkline.scenario.timed import LARGEST_FRAME, Cobalt


@dataclass
class Ports:
    """Compiled port configurations.

    Attributes
    ----------
    ports : list of dict
        As the engine reads them.
    of_link : dict
        Index of the configuration of each one-way link.
    rows : list of dict
        For each configuration, row by the set of paths that forward; empty where rows do not
        depend on paths.
    """

    ports: list[dict[str, Any]] = field(default_factory=list)
    of_link: dict[str, int] = field(default_factory=dict)
    rows: list[dict[frozenset[str], int]] = field(default_factory=list)

    def row(self, arc: str, paths: frozenset[str]) -> int | None:
        """Row of packets that some paths forward onto a link; None = by their flow."""
        return self.rows[self.of_link[arc]].get(paths)


def compile(scenario: Resolved) -> Ports:
    """All port configurations that links use, in order of first use."""
    built = Ports()
    known: dict[tuple[str | None, str, int], int] = {}
    crossing = _crossing(scenario)
    for arc in scenario.arcs:
        name = arc.options.port
        port = scenario.ports[name] if name is not None else Port()
        by_flow = port.per == "flow" or asks_flows(port.classify)
        per_link = by_flow and asks_paths(port.classify, scenario)
        rate = arc.options.rate or 0
        rate = rate_of(port.bandwidth, rate) or rate
        key = (name, arc.name if per_link else "", rate if _has_shares(port) else 0)
        if key not in known:
            known[key] = len(built.ports)
            table = _rows(scenario, port)
            if by_flow:
                table.fill_flows(forwards_onto(scenario, arc.name) if per_link else {})
            elif len(port.classes) > 1 or any(rule.precedence for rule in port.classify):
                table.fill(crossing)
            classes = scenario.classes[name]
            names, scheduler = list(classes), port.scheduler or "fifo"
            built.ports.append(
                {
                    "name": name or "default",
                    "classifier": table.classifier(),
                    "classes": [
                        {"name": own, "queue": _queue(_of_tin(its, rate))}
                        for own, its in classes.items()
                    ],
                    "scheduler": {
                        "kind": "fifo" if scheduler in FLOW_SCHEDULERS else scheduler,
                        "shares": [
                            its.share(0 if port.per == "flow" else at, rate, names)
                            for at, its in enumerate(classes.values())
                        ],
                    },
                    "ecn_in_mpls": bool(port.ecn_in_mpls),
                }
            )
            built.rows.append(table.by_paths)
        built.of_link[arc.name] = known[key]
    return built


def _has_shares(port: Port) -> bool:
    """Whether some rate is a share of the link's."""
    rates = [port.bandwidth]
    rates += [rate for its in port.classes.values() for rate in its.rates()]
    return any(isinstance(rate, float) for rate in rates)


def _crossing(scenario: Resolved) -> set[frozenset[str]]:
    """Every set of paths that one entry forwards for."""
    return {each.paths for route in scenario.routes.values() for each in route.crossings}


def _of_tin(its: Class, bandwidth: int) -> Queue:
    """The queue of a class; in a tin of CAKE its rate sets what is not set."""
    queue = its.queue
    if not isinstance(its, CakeClass):
        return queue
    rate = rate_of(its.rate, bandwidth)
    if isinstance(queue.aqm, Cobalt) and queue.aqm.rate is None:
        queue = queue.model_copy(update={"aqm": queue.aqm.model_copy(update={"rate": rate})})
    flows = queue.flows
    if isinstance(flows, Cake) and "quantum" not in flows.model_fields_set:
        # sch_cake.c, cake_set_rate: bytes of 1/4096 s, a packet at most.
        quantum = max(300, min(LARGEST_FRAME, rate // 8 // 4096))
        queue = queue.model_copy(update={"flows": flows.model_copy(update={"quantum": quantum})})
    return queue


def _queue(queue: Queue) -> dict[str, Any]:
    return {
        "limit_packets": queue.limit.packets,
        "limit_bytes": queue.limit.bytes,
        "counts_in_service": queue.counts_in_service,
        "aqm": queue.aqm.compiled(),
        "flows": None if queue.flows is None else queue.flows.compiled(),
    }


def _rows(scenario: Resolved, port: Port) -> Rows:
    """An empty table of rows for a port's rules."""
    index = {name: at for at, name in enumerate(port.classes)}

    def decide(rule: Match | None, own: int) -> Cell:
        if not isinstance(rule, Rule):
            return [index.get("default", own), 0]
        return [own if rule.class_ is None else index.get(rule.class_, 0), rule.precedence]

    return Rows(scenario, port.classify, per_flow=port.per == "flow", decide=decide)
