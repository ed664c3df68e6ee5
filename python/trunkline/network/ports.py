"""Port configurations: classes, and classifier rows worked out from the rules.

The engine looks a packet up by a row and a column. Columns are DSCPs and traffic classes. Rows
tell apart what the rules tell apart: the path that forwarded the packet, where rules ask for
trunks or paths; its flow and direction, where they ask for flows, ends or protocols. A port whose
rules ask for both has rows for each link of its own, since the path of a flow is known per link.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trunkline.scenario.base import merged
from trunkline.scenario.model import LinkOptions, Scenario
from trunkline.scenario.port import Class, Port, Queue, Rule
from trunkline.scenario.topology import Arc

if TYPE_CHECKING:
    from trunkline.network.mpls import Route

__all__ = ["Ports", "compile"]

DSCPS = 64
TCS = 8

Cell = list[int]
Row = list[Cell]
_NO_PATH: frozenset[str] = frozenset()


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


@dataclass(frozen=True)
class _Packet:
    """What the rules may ask about, DSCP and TC apart."""

    flow: int
    name: str
    base: str
    source: str
    destination: str
    protocol: str


def compile(
    scenario: Scenario,
    arcs: list[tuple[Arc, LinkOptions]],
    flow_list: list[tuple[str, str]],
    routes: "dict[str, Route]",
) -> Ports:
    """All port configurations that links use, in order of first use.

    Parameters
    ----------
    scenario : Scenario
        A scenario that was checked.
    arcs : list
        One-way links with their keys.
    flow_list : list
        All flows: own name, name as declared.
    routes : dict
        Routes of the paths.

    Returns
    -------
    Ports
    """
    built = Ports()
    known: dict[tuple[str | None, str], int] = {}
    crossing = _crossing(routes)
    for arc, options in arcs:
        name = options.port
        port = scenario.ports[name] if name is not None else Port()
        per_link = _asks_flows(port) and _asks_paths(port)
        key = (name, arc.name if per_link else "")
        if key not in known:
            known[key] = len(built.ports)
            table = _Table(scenario, port, flow_list)
            table.fill(crossing, arc.name if per_link else None, routes)
            built.ports.append(
                {
                    "name": name or "default",
                    "classifier": {"rows": table.rows, "flow_rows": table.flow_rows},
                    "classes": table.classes(),
                    "scheduler": port.scheduler or "fifo",
                }
            )
            built.rows.append(table.by_paths)
        built.of_link[arc.name] = known[key]
    return built


def _crossing(routes: "dict[str, Route]") -> set[frozenset[str]]:
    """Every set of paths that one entry forwards for."""
    return {paths for route in routes.values() for _, paths in route.arcs}


def _asks_paths(port: Port) -> bool:
    return any(rule.trunk is not None or rule.path is not None for rule in port.classify)


def _asks_flows(port: Port) -> bool:
    return port.per == "flow" or any(
        rule.flow is not None
        or rule.source is not None
        or rule.destination is not None
        or rule.protocol is not None
        for rule in port.classify
    )


class _Table:
    """Rows of one configuration, each distinct one once."""

    def __init__(self, scenario: Scenario, port: Port, flow_list: list[tuple[str, str]]):
        self.scenario = scenario
        self.port = port
        self.flow_list = flow_list
        self.rows: list[Row] = []
        self.flow_rows: list[int] = []
        self.by_paths: dict[frozenset[str], int] = {}
        self.index: dict[tuple[int, tuple[bool, ...]], int] = {}
        self.class_index = {name: index for index, name in enumerate(port.classes)}

    def classes(self) -> list[dict[str, Any]]:
        if self.port.per == "flow":
            each = Class(queue=self.port.queue or Queue())
            return [self.class_(name, each, 0) for name, _ in self.flow_list] or [
                self.class_("default", each, 0)
            ]
        if not self.port.classes:
            return [self.class_("default", Class(queue=self.port.queue or Queue()), 0)]
        return [
            self.class_(name, its, index)
            for index, (name, its) in enumerate(self.port.classes.items())
        ]

    def class_(self, name: str, its: Class, index: int) -> dict[str, Any]:
        queue = merged(its.queue, self.scenario.defaults.queue)
        return {
            "name": name,
            "queue": {
                "limit_packets": queue.limit.packets,
                "limit_bytes": queue.limit.bytes,
                "counts_in_service": queue.counts_in_service,
                "aqm": queue.aqm.compiled(),
            },
            "share": {
                "priority": index if its.priority is None else its.priority,
                "weight": its.weight,
                "quantum_bytes": its.quantum or 0,
                "rate_bit_s": 0,
                "ceil_bit_s": 0,
                "burst_bytes": 0,
                "cburst_bytes": 0,
                "parent": None,
                "borrow": False,
            },
        }

    def fill(
        self,
        crossing: set[frozenset[str]],
        link: str | None,
        routes: "dict[str, Route]",
    ) -> None:
        """Works out the rows; `link` is given where they differ by link."""
        if not _asks_flows(self.port):
            if len(self.port.classes) <= 1 and all(
                rule.precedence == 0 for rule in self.port.classify
            ):
                return
            self.row(None, _NO_PATH)
            if _asks_paths(self.port):
                for paths in sorted(crossing, key=sorted):
                    self.by_paths[paths] = self.row(None, paths)
            return
        forwards = self.forwards(link, routes) if link is not None else {}
        trunk_of = self.trunk_of() if forwards else {}
        for index, (name, base) in enumerate(self.flow_list):
            flow = self.scenario.flows[base]
            ends = (flow.from_, flow.to)
            pair = trunk_of.get(name) or trunk_of.get(base) or (None, None)
            for (source, destination), path in zip((ends, ends[::-1]), pair, strict=True):
                packet = _Packet(index, name, base, source, destination, flow.agent)
                paths = forwards.get(path, _NO_PATH) if path is not None else _NO_PATH
                self.flow_rows.append(self.row(packet, paths))

    def forwards(self, link: str, routes: "dict[str, Route]") -> dict[str, frozenset[str]]:
        """Paths whose entries forward the packets of each path onto a link."""
        return {
            name: paths
            for name, route in routes.items()
            for arc, paths in route.arcs
            if arc == link
        }

    def trunk_of(self) -> dict[str, tuple[str, str | None]]:
        """Paths of data and acknowledgements, by name of flow."""
        result: dict[str, tuple[str, str | None]] = {}
        for trunk in self.scenario.trunks.values():
            for flow in trunk.flows:
                every = flow == "all" and "all" not in self.scenario.flows
                for name in self.scenario.flows if every else (flow,):
                    result[name] = (trunk.path, trunk.reverse)
        return result

    def row(self, packet: _Packet | None, paths: frozenset[str]) -> int:
        """Index of the row for a kind of packet, added if it is new."""
        applies = tuple(self.applies(rule, packet, paths) for rule in self.port.classify)
        own = packet.flow if packet is not None and self.port.per == "flow" else 0
        key = (own, applies)
        if key not in self.index:
            self.index[key] = len(self.rows)
            self.rows.append([self.cell(column, own, applies) for column in range(DSCPS + TCS)])
        return self.index[key]

    def applies(self, rule: Rule, packet: _Packet | None, paths: frozenset[str]) -> bool:
        """Whether a rule's conditions hold, DSCP and TC apart."""
        if rule.path is not None and not paths.intersection(rule.path):
            return False
        if rule.trunk is not None and not any(self.paths_of(name) & paths for name in rule.trunk):
            return False
        if packet is None:
            return True
        return (
            (rule.flow is None or packet.name in rule.flow or packet.base in rule.flow)
            and (rule.source is None or packet.source in rule.source)
            and (rule.destination is None or packet.destination in rule.destination)
            and (rule.protocol is None or packet.protocol in rule.protocol)
        )

    def paths_of(self, trunk: str) -> set[str | None]:
        """Paths of a trunk, and those that take over from them."""
        own = {self.scenario.trunks[trunk].path, self.scenario.trunks[trunk].reverse}
        guarded = self.scenario.protections.values()
        return own | {its.backup for its in guarded if its.path in own}

    def cell(self, column: int, own: int, applies: tuple[bool, ...]) -> Cell:
        """Class and drop precedence of a column."""
        for rule, holds in zip(self.port.classify, applies, strict=True):
            if holds and _shows(rule, column):
                class_ = own if rule.class_ is None else self.class_index.get(rule.class_, 0)
                return [class_, rule.precedence]
        return [self.class_index.get("default", own), 0]


def _shows(rule: Rule, column: int) -> bool:
    """Whether a rule's DSCP or TC is that of a column: a labelled packet shows no DSCP."""
    if column < DSCPS:
        return rule.tc is None and (rule.dscp is None or column in rule.dscp)
    return rule.dscp is None and (rule.tc is None or column - DSCPS in rule.tc)
