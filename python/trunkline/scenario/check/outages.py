"""Doubts about flows whose links are down from the start to the end."""

from trunkline.scenario.check.path_costs import PathCosts
from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.resolved import fails_arc


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Warn of every flow of which no packet can arrive."""
    failed_arcs, cause = _find_failed_arcs(scenario)
    ridden = {
        scenario.get_declared_name(flow) for each in scenario.trunks.values() for flow in each.flows
    }
    blocked = _find_blocked_flows(scenario, failed_arcs)
    before = PathCosts(scenario.arcs)
    after = PathCosts([arc for arc in scenario.arcs if arc.name not in failed_arcs])
    for name, flow in scenario.flows.items() if failed_arcs else ():
        costs, costs_left = before.compute_costs(flow.from_), after.compute_costs(flow.from_)
        if flow.to not in costs:
            continue
        # Without rerouting packets keep to the shortest path of the network without failures.
        is_longer = costs_left.get(flow.to, costs[flow.to]) > costs[flow.to]
        stays_on_path = scenario.rerouting is None and name not in ridden and is_longer
        if flow.to not in costs_left or name in blocked or stays_on_path:
            problems.add(
                "no-path",
                ("flows", name),
                f"the way of flow {name} to {flow.to} is down in the whole run: nothing arrives",
                at_key=True,
                warning=True,
                related=(_describe_cause(scenario, cause),),
            )


def _describe_cause(scenario: ResolvedScenario, cause: str) -> tuple[DocumentPath, str]:
    if cause in scenario.written.maintenance:
        return ("maintenance", cause), "by this maintenance"
    return ("failures", cause), "by this failure"


def _find_blocked_flows(scenario: ResolvedScenario, failed_arcs: set[str]) -> set[str]:
    """Find the flows whose trunk leads over such a link on a path without protection."""
    protected_paths = {path for each in scenario.protections.values() for path in each.path}
    return {
        scenario.get_declared_name(flow)
        for trunk in scenario.trunks.values()
        if trunk.dscp is None
        and trunk.path in scenario.routes.keys() - protected_paths
        and any(each.arc.name in failed_arcs for each in scenario.routes[trunk.path].crossings)
        for flow in trunk.flows
    }


def _find_failed_arcs(scenario: ResolvedScenario) -> tuple[set[str], str]:
    """Directions of links that are down during the whole run, and the first failure at fault."""
    failed_arcs: set[str] = set()
    cause = ""
    for name, failure in scenario.failures.items():
        end = scenario.run.duration
        if any(
            each.at == 0 and (each.repair is None or each.repair >= end) for each in failure.times
        ):
            cause = cause or name
            failed_arcs |= {arc.name for arc in scenario.arcs if fails_arc(failure, arc)}
    return failed_arcs, cause
