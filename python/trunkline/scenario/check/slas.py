"""Checks of service level agreements: whom they are for, and that they say something."""

from trunkline.scenario.dscp import dscp_name
from trunkline.scenario.problems import Problems, listed
from trunkline.scenario.resolved import Resolved

__all__ = ["check"]


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks all agreements.

    Parameters
    ----------
    scenario : Resolved
        What is checked.
    problems : Problems
        Gets what is wrong.
    """
    sent = {scenario.flows[name].dscp for name in scenario.flows}
    for name, sla in scenario.slas.items():
        path = ("slas", name)
        if (sla.flow is None) == (sla.class_ is None):
            message = "an SLA is for `flow` or for `class`: one of them"
            problems.add("relation", path, message, at_key=True)
        for at, flow in enumerate(sla.flow or ()):
            if flow != "all" and not scenario.has_flow(flow):
                problems.unknown((*path, "flow", at), "flow", flow, scenario.flows)
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
