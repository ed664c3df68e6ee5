"""Trunks with the names of their flows: `all` written out."""

from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedScenario


def resolve_trunks(scenario: ResolvedScenario, problems: Problems) -> None:
    """Put every flow for `all` in the flows of trunks."""
    for name, trunk in scenario.trunks.items():
        if not any(scenario.is_all_flows(flow) for flow in trunk.flows):
            continue
        members: list[str] = []
        for index, flow in enumerate(trunk.flows):
            for each in scenario.flows if scenario.is_all_flows(flow) else (flow,):
                at = ("trunks", name, "flows")
                scenario.origins[*at, len(members)] = (*at, index)
                members.append(each)
        scenario.trunks[name] = trunk.model_copy(update={"flows": tuple(members)})
