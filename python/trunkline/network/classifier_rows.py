"""Rows of classifiers, derived from rules.

The engine looks a packet up by a row and a column. Columns are DSCPs and traffic classes. Rows
separate packets as the rules do: by the path that forwarded the packet, where rules ask for trunks
or paths; by flow and direction, where they ask for flows, ends or protocols.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trunkline.scenario.match import MatchConditions
from trunkline.scenario.resolved import ResolvedScenario

DSCP_COUNT = 64
TC_COUNT = 8

ClassifierCell = list[int]
ClassifierRow = list[ClassifierCell]
DecideCell = Callable[[MatchConditions | None, int], ClassifierCell]
NO_PATH: frozenset[str] = frozenset()
_NO_PHBS: tuple[int | None, ...] = (None,) * TC_COUNT


def has_path_rules(
    rules: Sequence[MatchConditions], scenario: ResolvedScenario | None = None
) -> bool:
    """Test whether some rule depends on the path that forwards a packet, or on the path's PHB."""
    if any(rule.trunk is not None or rule.path is not None for rule in rules):
        return True
    has_phb_paths = scenario is not None and any(
        scenario.has_phb_labels(name) for name in scenario.paths
    )
    return has_phb_paths and any(rule.dscp is not None for rule in rules)


def list_phbs_of_tcs(scenario: ResolvedScenario, paths: frozenset[str]) -> tuple[int | None, ...]:
    """DSCP of the PHB of each TC on the outermost of the paths that forward a packet."""
    outermost = [name for name in paths if not paths.intersection(scenario.paths[name].through)]
    diffserv = scenario.paths[outermost[0]].diffserv if outermost else None
    return _NO_PHBS if diffserv is None else tuple(diffserv.list_dscps_by_tc())


def has_flow_rules(rules: Sequence[MatchConditions]) -> bool:
    """Whether some rule looks at the flow of a packet."""
    return any(
        rule.flow is not None
        or rule.source is not None
        or rule.destination is not None
        or rule.protocol is not None
        for rule in rules
    )


def find_paths_of_flows(scenario: ResolvedScenario) -> dict[str, tuple[str, str | None]]:
    """Find the paths of data and acknowledgements, by name of flow."""
    result: dict[str, tuple[str, str | None]] = {}
    for trunk in scenario.trunks.values():
        for flow in trunk.flows:
            result[flow] = (trunk.path, trunk.reverse)
    return result


@dataclass(frozen=True)
class _PacketKind:
    """The properties that rules can test, except DSCP and TC."""

    flow: int
    name: str
    base: str
    source: str
    destination: str
    protocol: str


class ClassifierRows:
    """Distinct rows of one classifier.

    scenario: Where trunks and flows are looked up.
    rules: In order; the first that matches decides.
    per_flow: Whether cells depend on the flow even if no rule asks for it.
    decide: Returns the cell for the matching rule (None: none) and the number of the flow.
    """

    def __init__(
        self,
        scenario: ResolvedScenario,
        rules: Sequence[MatchConditions],
        *,
        per_flow: bool,
        decide: DecideCell,
    ) -> None:
        self.scenario = scenario
        self.rules = rules
        self.per_flow = per_flow
        self.decide = decide
        self.rows: list[ClassifierRow] = []
        self.flow_rows: list[int] = []
        self.row_of_paths: dict[frozenset[str], int] = {}
        self.index: dict[tuple[int, tuple[bool, ...], tuple[int | None, ...]], int] = {}

    def to_classifier(self) -> dict[str, object]:
        """Return the row for the compiled network."""
        return {"rows": self.rows, "flow_rows": self.flow_rows}

    def fill_by_path(self, path_sets: set[frozenset[str]]) -> None:
        """Fill the rows that do not depend on flows."""
        self.add_row(None, NO_PATH)
        if has_path_rules(self.rules, self.scenario):
            for paths in sorted(path_sets, key=sorted):
                self.row_of_paths[paths] = self.add_row(None, paths)

    def fill_by_flow(self, forwards: Mapping[str, frozenset[str]]) -> None:
        """Return the row of each flow and direction.

        ``forwards`` gives the paths that forward the packets of each path here.
        """
        trunks = find_paths_of_flows(self.scenario) if forwards else {}
        for index, (name, base) in enumerate(self.scenario.flow_names):
            flow = self.scenario.flows[base]
            ends = (flow.from_, flow.to)
            pair = trunks.get(name) or trunks.get(base) or (None, None)
            for (source, destination), path in zip((ends, ends[::-1]), pair, strict=True):
                packet = _PacketKind(index, name, base, source, destination, flow.agent)
                paths = forwards.get(path, NO_PATH) if path is not None else NO_PATH
                self.flow_rows.append(self.add_row(packet, paths))
        for name in self.scenario.message_flows:
            index = len(self.flow_rows) // 2
            row = self.add_row(_PacketKind(index, name, name, "", "", name), NO_PATH)
            self.flow_rows += [row, row]

    def add_row(self, packet: _PacketKind | None, paths: frozenset[str]) -> int:
        """Add the index of the row for a kind of packet, added if it is new."""
        rules_match = tuple(self.can_match(rule, packet, paths) for rule in self.rules)
        flow_number = packet.flow if packet is not None and self.per_flow else 0
        phbs_of_tcs = list_phbs_of_tcs(self.scenario, paths)
        phb = self.scenario.map_ce_tcs()
        key = (flow_number, rules_match, phbs_of_tcs)
        if key not in self.index:
            self.index[key] = len(self.rows)
            columns = [
                *range(DSCP_COUNT),
                *(DSCP_COUNT + phb.get(tc, tc) for tc in range(TC_COUNT)),
            ]
            self.rows.append(
                [
                    self.decide_cell(column, flow_number, rules_match, phbs_of_tcs)
                    for column in columns
                ]
            )
        return self.index[key]

    def can_match(
        self, rule: MatchConditions, packet: _PacketKind | None, paths: frozenset[str]
    ) -> bool:
        """Test the conditions of a rule except DSCP and TC."""
        if rule.path is not None and not paths.intersection(rule.path):
            return False
        if rule.trunk is not None and not any(
            self.list_trunk_paths(name) & paths for name in rule.trunk
        ):
            return False
        if packet is None:
            return True
        return (
            (rule.flow is None or packet.name in rule.flow or packet.base in rule.flow)
            and (rule.source is None or packet.source in rule.source)
            and (rule.destination is None or packet.destination in rule.destination)
            and (rule.protocol is None or packet.protocol in rule.protocol)
        )

    def list_trunk_paths(self, trunk: str) -> set[str | None]:
        """List the paths of a trunk, and those that take over from them."""
        trunk_paths = {self.scenario.trunks[trunk].path, self.scenario.trunks[trunk].reverse}
        protections = self.scenario.protections.values()
        return trunk_paths | {
            protection.backup
            for protection in protections
            if trunk_paths.intersection(protection.path)
        }

    def decide_cell(
        self,
        column: int,
        flow_number: int,
        applies: tuple[bool, ...],
        phbs_of_tcs: tuple[int | None, ...],
    ) -> ClassifierCell:
        """Return the cell of the first rule that holds for a column."""
        for rule, holds in zip(self.rules, applies, strict=True):
            if holds and _matches_column(rule, column, phbs_of_tcs):
                return self.decide(rule, flow_number)
        return self.decide(None, flow_number)


def find_paths_onto(scenario: ResolvedScenario, link: str) -> dict[str, frozenset[str]]:
    """Find the paths whose entries forward the packets of each path onto a link."""
    return {
        name: each.paths
        for name, route in scenario.routes.items()
        for each in route.crossings
        if each.arc.name == link
    }


def _matches_column(
    rule: MatchConditions, column: int, phbs_of_tcs: tuple[int | None, ...]
) -> bool:
    """Test whether a column is that of a rule's DSCP or TC.

    A labelled packet shows no DSCP, but the PHB that its path carries.
    """
    if column < DSCP_COUNT:
        return rule.tc is None and (rule.dscp is None or column in rule.dscp)
    tc = column - DSCP_COUNT
    matches_dscp = rule.dscp is None or phbs_of_tcs[tc] in rule.dscp
    return matches_dscp and (rule.tc is None or tc in rule.tc)
