"""Checks of service level agreements: whom they are for, and that they say something."""

from trunkline.scenario import check_flows
from trunkline.scenario.diagnostic import Problems
from trunkline.scenario.dscp import dscp_name
from trunkline.scenario.model import Scenario
from trunkline.scenario.topology import listed

__all__ = ["check"]


def check(scenario: Scenario, problems: Problems) -> None:
    """Checks all agreements.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    problems : Problems
        Gets what is wrong.
    """
    sent = {check_flows.options(scenario, name).dscp for name in scenario.flows}
    for name, sla in scenario.slas.items():
        path = ("slas", name)
        if (sla.flow is None) == (sla.class_ is None):
            message = "an SLA is for `flow` or for `class`: one of them"
            problems.add("relation", path, message, at_key=True)
        for at, flow in enumerate(sla.flow or ()):
            if flow != "all" and not check_flows.exists(scenario, flow):
                check_flows.unknown(scenario, flow, (*path, "flow", at), problems)
        if sla.class_ is not None and sla.class_ not in sent:
            problems.add(
                "reference",
                (*path, "class"),
                f"no flow sends with DSCP {dscp_name(sla.class_)}",
                allowed=listed([str(dscp_name(each)) for each in sorted(sent)]),
            )
        if not (sla.at_most.model_fields_set or sla.at_least.model_fields_set):
            problems.add(
                "relation",
                path,
                "an SLA without a bound promises nothing",
                hint="add `at_most: {delay_p99: 20 ms}` or `at_least: {goodput: 1 Mbit/s}`",
                at_key=True,
            )
