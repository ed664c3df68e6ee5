"""Port configurations: classes with their queues and shares, and the rows of the classifier.

A port whose rules ask for flows and for paths has rows for each link of its own, since the path
of a flow is known per link; one whose classes have shares of the link's rate, classes for each
rate.
"""

from dataclasses import dataclass, field
from typing import Any

from trunkline.network.rows import Cell, Rows, asks_flows, asks_paths, forwards_onto
from trunkline.scenario.match import Match
from trunkline.scenario.port import HIERARCHIES, Class, Port, Rule, rate_of
from trunkline.scenario.resolved import Resolved

__all__ = ["Ports", "compile"]


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
        key = (name, arc.name if per_link else "", rate if _has_shares(port) else 0)
        if key not in known:
            known[key] = len(built.ports)
            table = _rows(scenario, port)
            if by_flow:
                table.fill_flows(forwards_onto(scenario, arc.name) if per_link else {})
            elif len(port.classes) > 1 or any(rule.precedence for rule in port.classify):
                table.fill(crossing)
            classes = scenario.classes[name].items()
            built.ports.append(
                {
                    "name": name or "default",
                    "classifier": table.classifier(),
                    "classes": [
                        _class(port, each, its, index, rate)
                        for index, (each, its) in enumerate(classes)
                    ],
                    "scheduler": port.scheduler or "fifo",
                }
            )
            built.rows.append(table.by_paths)
        built.of_link[arc.name] = known[key]
    return built


def _has_shares(port: Port) -> bool:
    """Whether some rate is a share of the link's."""
    rates = [rate for its in port.classes.values() for rate in (its.rate, its.ceil)]
    return any(isinstance(rate, float) for rate in rates)


def _crossing(scenario: Resolved) -> set[frozenset[str]]:
    """Every set of paths that one entry forwards for."""
    return {each.paths for route in scenario.routes.values() for each in route.crossings}


def _class(port: Port, name: str, its: Class, index: int, link_rate: int) -> dict[str, Any]:
    queue = its.queue
    priority = 0 if port.scheduler in HIERARCHIES or port.per == "flow" else index
    share: dict[str, Any] = {
        "priority": priority if its.priority is None else its.priority,
        "weight": its.weight,
        "quantum_bytes": its.quantum or 0,
        "rate_bit_s": rate_of(its.rate, link_rate),
        "ceil_bit_s": rate_of(its.ceil, link_rate),
        "burst_bytes": 0,
        "cburst_bytes": 0,
        "parent": None if its.parent is None else list(port.classes).index(its.parent),
        "borrow": False,
    }
    if port.scheduler in ("htb", "shaped"):
        share |= {"burst_bytes": its.burst, "cburst_bytes": its.cburst}
    elif port.scheduler in HIERARCHIES:
        share |= {
            "borrow": not its.bounded,
            "isolated": its.isolated,
            "max_burst_packets": its.max_burst,
            "average_packet_bytes": its.average_packet,
            "ewma_log": its.ewma_log,
            "min_idle_ns": its.min_idle,
        }
    return {
        "name": name,
        "queue": {
            "limit_packets": queue.limit.packets,
            "limit_bytes": queue.limit.bytes,
            "counts_in_service": queue.counts_in_service,
            "aqm": queue.aqm.compiled(),
        },
        "share": share,
    }


def _rows(scenario: Resolved, port: Port) -> Rows:
    """An empty table of rows for a port's rules."""
    index = {name: at for at, name in enumerate(port.classes)}

    def decide(rule: Match | None, own: int) -> Cell:
        if not isinstance(rule, Rule):
            return [index.get("default", own), 0]
        return [own if rule.class_ is None else index.get(rule.class_, 0), rule.precedence]

    return Rows(scenario, port.classify, per_flow=port.per == "flow", decide=decide)
