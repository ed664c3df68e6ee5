"""Rows of classifiers, worked out from rules.

The engine looks a packet up by a row and a column. Columns are DSCPs and traffic classes. Rows
tell apart what the rules tell apart: the path that forwarded the packet, where rules ask for
trunks or paths; its flow and direction, where they ask for flows, ends or protocols.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trunkline.scenario.match import Match
from trunkline.scenario.resolved import Resolved

DSCPS = 64
TCS = 8

Cell = list[int]
Row = list[Cell]
Decide = Callable[[Match | None, int], Cell]
NO_PATH: frozenset[str] = frozenset()
_NO_PHBS: tuple[int | None, ...] = (None,) * TCS


def asks_paths(rules: Sequence[Match], scenario: Resolved | None = None) -> bool:
    """Whether some rule looks at the path that forwards a packet, or at the PHB it tells."""
    if any(rule.trunk is not None or rule.path is not None for rule in rules):
        return True
    told = scenario is not None and any(scenario.tells_phb(name) for name in scenario.paths)
    return told and any(rule.dscp is not None for rule in rules)


def phbs(scenario: Resolved, paths: frozenset[str]) -> tuple[int | None, ...]:
    """DSCP of the PHB of each TC on the outermost of the paths that forward a packet."""
    outermost = [name for name in paths if not paths.intersection(scenario.paths[name].through)]
    its = scenario.paths[outermost[0]].diffserv if outermost else None
    return _NO_PHBS if its is None else tuple(its.dscp_of_tc())


def asks_flows(rules: Sequence[Match]) -> bool:
    """Whether some rule looks at the flow of a packet."""
    return any(
        rule.flow is not None
        or rule.source is not None
        or rule.destination is not None
        or rule.protocol is not None
        for rule in rules
    )


def trunk_of(scenario: Resolved) -> dict[str, tuple[str, str | None]]:
    """Paths of data and acknowledgements, by name of flow."""
    result: dict[str, tuple[str, str | None]] = {}
    for trunk in scenario.trunks.values():
        for flow in trunk.flows:
            result[flow] = (trunk.path, trunk.reverse)
    return result


@dataclass(frozen=True)
class _Packet:
    """What the rules may ask about, DSCP and TC apart."""

    flow: int
    name: str
    base: str
    source: str
    destination: str
    protocol: str


class Rows:
    """Rows of one classifier, each distinct one once.

    Parameters
    ----------
    scenario : Resolved
        Where trunks and flows are looked up.
    rules : sequence of Match
        In order; the first that matches decides.
    per_flow : bool
        Whether cells depend on the flow whatever the rules ask.
    decide : callable
        Cell for the rule that matched (None: none did) and the number of the flow.
    """

    def __init__(
        self,
        scenario: Resolved,
        rules: Sequence[Match],
        *,
        per_flow: bool,
        decide: Decide,
    ) -> None:
        self.scenario = scenario
        self.rules = rules
        self.per_flow = per_flow
        self.decide = decide
        self.rows: list[Row] = []
        self.flow_rows: list[int] = []
        self.by_paths: dict[frozenset[str], int] = {}
        self.index: dict[tuple[int, tuple[bool, ...], tuple[int | None, ...]], int] = {}

    def classifier(self) -> dict[str, object]:
        """As the engine reads it."""
        return {"rows": self.rows, "flow_rows": self.flow_rows}

    def fill(self, crossing: set[frozenset[str]]) -> None:
        """Rows that do not depend on flows."""
        self.row(None, NO_PATH)
        if asks_paths(self.rules, self.scenario):
            for paths in sorted(crossing, key=sorted):
                self.by_paths[paths] = self.row(None, paths)

    def fill_flows(self, forwards: Mapping[str, frozenset[str]]) -> None:
        """A row for each flow and direction.

        Parameters
        ----------
        forwards : mapping
            Paths that forward the packets of each path here.
        """
        trunks = trunk_of(self.scenario) if forwards else {}
        for index, (name, base) in enumerate(self.scenario.names):
            flow = self.scenario.flows[base]
            ends = (flow.from_, flow.to)
            pair = trunks.get(name) or trunks.get(base) or (None, None)
            for (source, destination), path in zip((ends, ends[::-1]), pair, strict=True):
                packet = _Packet(index, name, base, source, destination, flow.agent)
                paths = forwards.get(path, NO_PATH) if path is not None else NO_PATH
                self.flow_rows.append(self.row(packet, paths))
        for name in self.scenario.message_flows:
            index = len(self.flow_rows) // 2
            row = self.row(_Packet(index, name, name, "", "", name), NO_PATH)
            self.flow_rows += [row, row]

    def row(self, packet: _Packet | None, paths: frozenset[str]) -> int:
        """Index of the row for a kind of packet, added if it is new."""
        applies = tuple(self.applies(rule, packet, paths) for rule in self.rules)
        own = packet.flow if packet is not None and self.per_flow else 0
        told = phbs(self.scenario, paths)
        phb = self.scenario.phb_of_tc()
        key = (own, applies, told)
        if key not in self.index:
            self.index[key] = len(self.rows)
            columns = [*range(DSCPS), *(DSCPS + phb.get(tc, tc) for tc in range(TCS))]
            self.rows.append([self.cell(column, own, applies, told) for column in columns])
        return self.index[key]

    def applies(self, rule: Match, packet: _Packet | None, paths: frozenset[str]) -> bool:
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
        return own | {its.backup for its in guarded if own.intersection(its.path)}

    def cell(
        self, column: int, own: int, applies: tuple[bool, ...], told: tuple[int | None, ...]
    ) -> Cell:
        """What the first rule that holds for a column decides."""
        for rule, holds in zip(self.rules, applies, strict=True):
            if holds and _shows(rule, column, told):
                return self.decide(rule, own)
        return self.decide(None, own)


def forwards_onto(scenario: Resolved, link: str) -> dict[str, frozenset[str]]:
    """Paths whose entries forward the packets of each path onto a link."""
    return {
        name: each.paths
        for name, route in scenario.routes.items()
        for each in route.crossings
        if each.arc.name == link
    }


def _shows(rule: Match, column: int, told: tuple[int | None, ...]) -> bool:
    """Whether a rule's DSCP or TC is that of a column.

    A labelled packet shows no DSCP of its own, but that of the PHB its path tells.
    """
    if column < DSCPS:
        return rule.tc is None and (rule.dscp is None or column in rule.dscp)
    tc = column - DSCPS
    shown = rule.dscp is None or told[tc] in rule.dscp
    return shown and (rule.tc is None or tc in rule.tc)
