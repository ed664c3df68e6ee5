"""Doubts about flows whose links are down from the start to the end."""

from trunkline.scenario.check.distances import Distances
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.resolved.resolved import breaks


def check(scenario: Resolved, problems: Problems) -> None:
    """Doubts every flow that no packet of can arrive."""
    down, cause = _down(scenario)
    ridden = {scenario.declared(flow) for each in scenario.trunks.values() for flow in each.flows}
    blocked = _blocked(scenario, down)
    before = Distances(scenario.arcs)
    after = Distances([arc for arc in scenario.arcs if arc.name not in down])
    for name, flow in scenario.flows.items() if down else ():
        costs, left = before.of(flow.from_), after.of(flow.from_)
        if flow.to not in costs:
            continue
        # Without rerouting packets keep to the shortest path of the network without failures.
        longer = left.get(flow.to, costs[flow.to]) > costs[flow.to]
        stays = scenario.rerouting is None and name not in ridden and longer
        if flow.to not in left or name in blocked or stays:
            problems.add(
                "no-path",
                ("flows", name),
                f"the way of flow {name} to {flow.to} is down in the whole run: nothing arrives",
                at_key=True,
                warning=True,
                related=((("failures", cause), "by this failure"),),
            )


def _blocked(scenario: Resolved, down: set[str]) -> set[str]:
    """Flows whose trunk leads over such a link on a path without protection."""
    safe = {path for each in scenario.protections.values() for path in each.path}
    return {
        scenario.declared(flow)
        for trunk in scenario.trunks.values()
        if trunk.dscp is None
        and trunk.path in scenario.routes.keys() - safe
        and any(each.arc.name in down for each in scenario.routes[trunk.path].crossings)
        for flow in trunk.flows
    }


def _down(scenario: Resolved) -> tuple[set[str], str]:
    """Directions of links that are down during the whole run, and the first failure at fault."""
    down: set[str] = set()
    cause = ""
    for name, failure in scenario.failures.items():
        end = scenario.run.duration
        if any(
            each.at == 0 and (each.repair is None or each.repair >= end) for each in failure.times
        ):
            cause = cause or name
            down |= {arc.name for arc in scenario.arcs if breaks(failure, arc)}
    return down, cause
