"""Checks of trunks: what rides them, whether it gets to them, whether it fits."""

import heapq
from dataclasses import dataclass, field

from trunkline.scenario import check_flows
from trunkline.scenario.check_diffserv import tells_phb
from trunkline.scenario.check_paths import loads, route_nodes
from trunkline.scenario.diagnostic import Path, Problems, nearest
from trunkline.scenario.model import Scenario
from trunkline.scenario.path import Trunk
from trunkline.scenario.topology import Topology, arcs_of, listed, plural
from trunkline.scenario.units import format_bytes

__all__ = ["check"]

LABEL_BYTES = 4
_MAX_STARTS = 500  # nodes from which distances are worked out; beyond, the doubts go unsaid


def check(scenario: Scenario, found: Topology, sound: set[str], problems: Problems) -> None:
    """Checks all trunks.

    Parameters
    ----------
    scenario, found
        The scenario and its links.
    sound : set of str
        Paths whose routes have no fault.
    problems : Problems
        Gets what is wrong or doubtful.
    """
    _hidden_dscps(scenario, found, sound, problems)
    distances = _Distances(scenario, found)
    carried: dict[str, list[str]] = {}
    for name, trunk in scenario.trunks.items():
        path: Path = ("trunks", name)
        known = _paths(scenario, trunk, path, problems)
        for index, flow in enumerate(trunk.flows):
            where = (*path, "flows", index)
            for each in _members(scenario, flow, where, problems):
                other = _claim(scenario, each, name, carried)
                if other is not None:
                    problems.add(
                        "trunk",
                        where,
                        f"flow {each} rides trunk {other} already",
                        related=((("trunks", other), "the other"),),
                    )
                elif known and {trunk.path, trunk.reverse} - {None} <= sound:
                    _rides(scenario, found, distances, trunk, each, where, problems)


def _hidden_dscps(scenario: Scenario, found: Topology, sound: set[str], problems: Problems) -> None:
    """Doubts ports that tell packets apart by a DSCP that labels hide."""
    ports = {arc.name: options.port for arc, options in arcs_of(scenario, found)}
    blind = {
        name
        for name, port in scenario.ports.items()
        if any(rule.dscp is not None for rule in port.classify)
        and not any(rule.tc or rule.trunk or rule.path for rule in port.classify)
    }
    ridden = {trunk.path for trunk in scenario.trunks.values()} & sound
    for path in scenario.paths:
        if any(tells_phb(scenario, each) for each in (path, *scenario.paths[path].through)):
            continue
        for link, labels in loads(scenario, found, path) if blind and path in ridden else ():
            port = ports[link]
            if labels and port in blind:
                blind.discard(port)
                problems.add(
                    "classify",
                    ("ports", str(port), "classify"),
                    f"labelled packets show no DSCP: on {link} those of path {path} match no rule "
                    "that asks for one",
                    hint="say what the TC means: `defaults: {diffserv: {map: {DF: 0, EF: 5}}}`, "
                    "with each DSCP in use; or add rules by tc, which is else the first three bits "
                    "of the DSCP, or by trunk",
                    at_key=True,
                    warning=True,
                )


def _paths(scenario: Scenario, trunk: Trunk, path: Path, problems: Problems) -> bool:
    known = True
    for key, name in (("path", trunk.path), ("reverse", trunk.reverse)):
        if name is not None and name not in scenario.paths:
            known = False
            problems.add(
                "reference",
                (*path, key),
                f"there is no path {name}",
                allowed=listed(scenario.paths),
                hint=nearest(name, scenario.paths),
            )
    return known


def _members(scenario: Scenario, flow: str, where: Path, problems: Problems) -> list[str]:
    if flow == "all" and "all" not in scenario.flows:
        return list(scenario.flows)
    if check_flows.exists(scenario, flow):
        return [flow]
    check_flows.unknown(scenario, flow, where, problems)
    return []


def _claim(scenario: Scenario, flow: str, trunk: str, carried: dict[str, list[str]]) -> str | None:
    """Notes that a flow rides a trunk; names a trunk that carries the same packets, if any."""
    whole = check_flows.base(flow) if flow not in scenario.flows else flow
    others = carried.get(flow, []) + (carried.get(whole, []) if whole != flow else [])
    if flow == whole and scenario.flows[flow].replicate is not None:
        prefix = f"{flow}["
        others += [each for name, its in carried.items() if name.startswith(prefix) for each in its]
    mine = scenario.trunks[trunk].dscp
    for other in others:
        its = scenario.trunks[other].dscp
        if mine == its or (mine and its and set(mine) & set(its)):
            return other
    carried.setdefault(flow, []).append(trunk)
    return None


def _rides(
    scenario: Scenario,
    found: Topology,
    distances: "_Distances",
    trunk: Trunk,
    name: str,
    where: Path,
    problems: Problems,
) -> None:
    base = name if name in scenario.flows else check_flows.base(name)
    flow = scenario.flows[base]
    if flow.from_ not in scenario.nodes or flow.to not in scenario.nodes:
        return
    if found.part[flow.from_] != found.part[flow.to]:
        return
    directions = [(trunk.path, flow.from_, flow.to)]
    if trunk.reverse is not None:
        directions.append((trunk.reverse, flow.to, flow.from_))
    for path, source, destination in directions:
        nodes = route_nodes(scenario, path)
        head, tail = nodes[0], nodes[-1]
        if found.part[head] != found.part[source]:
            message = f"flow {name} cannot reach {head}, where path {path} begins"
            problems.add("trunk", where, message)
        elif not distances.on_the_way(source, head, destination):
            problems.add(
                "trunk",
                where,
                f"no shortest path of flow {name} from {source} to {destination} passes {head}, "
                f"where path {path} begins: the trunk carries none of it",
                warning=True,
            )
        elif tail != destination and distances.on_the_way(tail, head, destination):
            problems.add(
                "trunk",
                where,
                f"the shortest path from {tail}, where path {path} ends, to {destination} leads "
                f"back over {head}, where it begins: packets would circle",
                warning=True,
            )
    _fits(scenario, found, trunk, base, where, problems)


def _fits(
    scenario: Scenario, found: Topology, trunk: Trunk, flow: str, where: Path, problems: Problems
) -> None:
    size = check_flows.largest_of(check_flows.options(scenario, flow))
    mtu = {arc.name: options.mtu for arc, options in arcs_of(scenario, found)}
    for link, labels in loads(scenario, found, trunk.path):
        needed = size + LABEL_BYTES * labels
        if needed > mtu[link]:
            problems.add(
                "mtu",
                where,
                f"packets of {flow} are up to {format_bytes(needed)} with "
                f"{plural(labels, 'label')}; {link} carries {format_bytes(mtu[link])}",
                hint="raise the mtu of the link, or make the packets smaller",
                warning=True,
            )
            return


@dataclass
class _Distances:
    """Costs of shortest paths, worked out as they are asked for."""

    scenario: Scenario
    found: Topology
    arcs: dict[str, list[tuple[str, int]]] | None = None
    known: dict[str, dict[str, int]] = field(default_factory=dict)

    def on_the_way(self, source: str, middle: str, target: str) -> bool:
        """Whether some shortest path from source to target passes a node (or may, unknown)."""
        if middle in (source, target):
            return True
        if len(self.known) > _MAX_STARTS:
            return True
        near, far = self.of(source), self.of(middle)
        return near[middle] + far[target] == near[target]

    def of(self, start: str) -> dict[str, int]:
        """Costs from a node (Dijkstra)."""
        if start in self.known:
            return self.known[start]
        arcs = self.neighbours()
        costs = {start: 0}
        waiting = [(0, start)]
        while waiting:
            cost, node = heapq.heappop(waiting)
            if cost > costs[node]:
                continue
            for target, metric in arcs.get(node, ()):
                total = cost + metric
                if total < costs.get(target, total + 1):
                    costs[target] = total
                    heapq.heappush(waiting, (total, target))
        self.known[start] = costs
        return costs

    def neighbours(self) -> dict[str, list[tuple[str, int]]]:
        if self.arcs is None:
            self.arcs = {}
            for arc, options in arcs_of(self.scenario, self.found):
                self.arcs.setdefault(arc.source, []).append((arc.target, options.metric))
        return self.arcs
