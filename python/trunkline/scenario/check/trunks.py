"""Checks of trunks: what rides them, whether it gets to them, whether it fits."""

from trunkline.scenario.check.distances import Distances
from trunkline.scenario.diagnostic import Path
from trunkline.scenario.path import Trunk
from trunkline.scenario.problems import Problems, plural
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.units import format_bytes

LABEL_BYTES = 4


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks all trunks."""
    _hidden_dscps(scenario, problems)
    distances = Distances(scenario.arcs)
    carried: dict[str, list[str]] = {}
    for name, trunk in scenario.trunks.items():
        path: Path = ("trunks", name)
        known = _paths(scenario, trunk, path, problems)
        for index, flow in enumerate(trunk.flows):
            where = (*path, "flows", index)
            if not scenario.has_flow(flow):
                problems.unknown(where, "flow", flow, scenario.flows)
                continue
            other = _claim(scenario, flow, name, carried)
            if other is not None:
                problems.add(
                    "trunk",
                    where,
                    f"flow {flow} rides trunk {other} already",
                    related=((("trunks", other), "the other"),),
                )
            elif known and {trunk.path, trunk.reverse} - {None} <= scenario.routes.keys():
                _rides(scenario, distances, trunk, flow, where, problems)


def _hidden_dscps(scenario: Resolved, problems: Problems) -> None:
    """Doubts ports that tell packets apart by a DSCP that labels hide."""
    blind = {
        name
        for name, port in scenario.ports.items()
        if any(rule.dscp is not None for rule in port.classify)
        and not any(rule.tc or rule.trunk or rule.path for rule in port.classify)
    }
    ridden = {trunk.path for trunk in scenario.trunks.values()} & scenario.routes.keys()
    for path in scenario.paths:
        if any(scenario.tells_phb(each) for each in (path, *scenario.paths[path].through)):
            continue
        for arc, labels, _ in scenario.routes[path].crossings if path in ridden else ():
            port = arc.options.port
            if labels and port in blind:
                blind.discard(port)
                problems.add(
                    "classify",
                    ("ports", str(port), "classify"),
                    f"labelled packets show no DSCP: on {arc.name} those of path {path} match no "
                    "rule that asks for one",
                    hint="say what the TC means: `defaults: {diffserv: {map: {DF: 0, EF: 5}}}`, "
                    "with each DSCP in use; or add rules by tc, which is else the first three bits "
                    "of the DSCP, or by trunk",
                    at_key=True,
                    warning=True,
                )


def _paths(scenario: Resolved, trunk: Trunk, path: Path, problems: Problems) -> bool:
    known = True
    for key, name in (("path", trunk.path), ("reverse", trunk.reverse)):
        if name is not None and name not in scenario.paths:
            known = False
            problems.unknown((*path, key), "path", name, scenario.paths)
    return known


def _claim(scenario: Resolved, flow: str, trunk: str, carried: dict[str, list[str]]) -> str | None:
    """Notes that a flow rides a trunk; names a trunk that carries the same packets, if any."""
    whole = scenario.declared(flow)
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
    scenario: Resolved,
    distances: Distances,
    trunk: Trunk,
    name: str,
    where: Path,
    problems: Problems,
) -> None:
    base = scenario.declared(name)
    flow = scenario.flows[base]
    if flow.from_ not in scenario.nodes or flow.to not in scenario.nodes:
        return
    if scenario.part[flow.from_] != scenario.part[flow.to]:
        return
    directions = [(trunk.path, flow.from_, flow.to)]
    if trunk.reverse is not None:
        directions.append((trunk.reverse, flow.to, flow.from_))
    for path, source, destination in directions:
        nodes = scenario.nodes_of(path)
        head, tail = nodes[0], nodes[-1]
        if scenario.part[head] != scenario.part[source]:
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
    _fits(scenario, trunk, base, where, problems)


def _fits(scenario: Resolved, trunk: Trunk, flow: str, where: Path, problems: Problems) -> None:
    size = scenario.flows[flow].largest_packet
    for arc, labels, _ in scenario.routes[trunk.path].crossings:
        needed = size + LABEL_BYTES * labels
        if needed > arc.options.mtu:
            problems.add(
                "mtu",
                where,
                f"packets of {flow} are up to {format_bytes(needed)} with "
                f"{plural(labels, 'label')}; {arc.name} carries {format_bytes(arc.options.mtu)}",
                hint="raise the mtu of the link, or make the packets smaller",
                warning=True,
            )
            return
