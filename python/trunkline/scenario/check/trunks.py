"""Checks of trunks: their flows and demands, whether these reach them, whether they fit."""

from trunkline.scenario.check.path_costs import PathCosts
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.path import Trunk
from trunkline.scenario.problems import Problems, format_count
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.units import format_bytes

LABEL_BYTES = 4


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all trunks."""
    _check_hidden_dscps(scenario, problems)
    path_costs = PathCosts(scenario.arcs)
    trunks_of_flow: dict[str, list[str]] = {}
    for name, trunk in scenario.trunks.items():
        path: DocumentPath = ("trunks", name)
        are_paths_known = _check_paths(scenario, trunk, path, problems)
        for index, flow in enumerate(trunk.flows):
            flow_path = (*path, "flows", index)
            if not scenario.has_flow(flow):
                problems.add_unknown(flow_path, "flow", flow, scenario.flows)
                continue
            other_trunk = _claim_flow(scenario, flow, name, trunks_of_flow)
            if other_trunk is not None:
                message = f"flow {flow} rides trunk {other_trunk} already"
                problems.add(
                    "trunk", flow_path, message, related=((("trunks", other_trunk), "the other"),)
                )
            elif are_paths_known and {trunk.path, trunk.reverse} - {None} <= scenario.routes.keys():
                _check_ride(scenario, path_costs, trunk, flow, flow_path, problems)


def _check_hidden_dscps(scenario: ResolvedScenario, problems: Problems) -> None:
    """Warn of ports that tell packets apart by a DSCP that labels hide."""
    dscp_only_ports = {
        name
        for name, port in scenario.ports.items()
        if any(rule.dscp is not None for rule in port.classify)
        and not any(rule.tc or rule.trunk or rule.path for rule in port.classify)
    }
    ridden = {trunk.path for trunk in scenario.trunks.values()} & scenario.routes.keys()
    for path in scenario.paths:
        if any(scenario.has_phb_labels(each) for each in (path, *scenario.paths[path].through)):
            continue
        for arc, labels, _ in scenario.routes[path].crossings if path in ridden else ():
            port = arc.options.port
            if labels and port in dscp_only_ports:
                dscp_only_ports.discard(port)
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


def _check_paths(
    scenario: ResolvedScenario, trunk: Trunk, path: DocumentPath, problems: Problems
) -> bool:
    are_known = True
    for key, name in (("path", trunk.path), ("reverse", trunk.reverse)):
        if name is not None and name not in scenario.paths:
            are_known = False
            problems.add_unknown((*path, key), "path", name, scenario.paths)
    return are_known


def _claim_flow(
    scenario: ResolvedScenario, flow: str, trunk: str, trunks_of_flow: dict[str, list[str]]
) -> str | None:
    """Notes that a flow rides a trunk; names a trunk that carries the same packets, if any."""
    declared = scenario.get_declared_name(flow)
    others = trunks_of_flow.get(flow, []) + (
        trunks_of_flow.get(declared, []) if declared != flow else []
    )
    if flow == declared and scenario.flows[flow].replicate is not None:
        prefix = f"{flow}["
        others += [
            each
            for name, other_dscps in trunks_of_flow.items()
            if name.startswith(prefix)
            for each in other_dscps
        ]
    own_dscps = scenario.trunks[trunk].dscp
    for other in others:
        other_dscps = scenario.trunks[other].dscp
        if own_dscps == other_dscps or (
            own_dscps and other_dscps and set(own_dscps) & set(other_dscps)
        ):
            return other
    trunks_of_flow.setdefault(flow, []).append(trunk)
    return None


def _check_ride(
    scenario: ResolvedScenario,
    distances: PathCosts,
    trunk: Trunk,
    name: str,
    flow_path: DocumentPath,
    problems: Problems,
) -> None:
    base = scenario.get_declared_name(name)
    flow = scenario.flows[base]
    if flow.from_ not in scenario.nodes or flow.to not in scenario.nodes:
        return
    if scenario.component[flow.from_] != scenario.component[flow.to]:
        return
    directions = [(trunk.path, flow.from_, flow.to)]
    if trunk.reverse is not None:
        directions.append((trunk.reverse, flow.to, flow.from_))
    for path, source, destination in directions:
        nodes = scenario.list_route_nodes(path)
        head, tail = nodes[0], nodes[-1]
        if scenario.component[head] != scenario.component[source]:
            message = f"flow {name} cannot reach {head}, where path {path} begins"
            problems.add("trunk", flow_path, message)
        elif not distances.is_on_shortest_path(source, head, destination):
            message = (
                f"no shortest path of flow {name} from {source} to {destination} passes {head}, "
                f"where path {path} begins: the trunk carries none of it"
            )
            problems.add("trunk", flow_path, message, warning=True)
        elif tail != destination and distances.is_on_shortest_path(tail, head, destination):
            message = (
                f"the shortest path from {tail}, where path {path} ends, to {destination} leads "
                f"back over {head}, where it begins: packets would circle"
            )
            problems.add("trunk", flow_path, message, warning=True)
    _check_mtu(scenario, trunk, base, flow_path, problems)


def _check_mtu(
    scenario: ResolvedScenario, trunk: Trunk, flow: str, flow_path: DocumentPath, problems: Problems
) -> None:
    size = scenario.flows[flow].largest_packet
    for arc, labels, _ in scenario.routes[trunk.path].crossings:
        needed = size + LABEL_BYTES * labels
        if needed > arc.options.mtu:
            problems.add(
                "mtu",
                flow_path,
                f"packets of {flow} are up to {format_bytes(needed)} with "
                f"{format_count(labels, 'label')}; {arc.name} carries "
                f"{format_bytes(arc.options.mtu)}",
                hint="raise the mtu of the link, or make the packets smaller",
                warning=True,
            )
            return
