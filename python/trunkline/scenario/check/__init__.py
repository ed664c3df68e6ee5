"""Checks of a resolved scenario: names that must exist, values that must agree.

One file a section; none changes what it checks.
"""

from trunkline.scenario.check import (
    classes,
    conditioners,
    diffserv,
    ecn_in_mpls,
    flows,
    lesson,
    links,
    maintenance,
    outages,
    paths,
    ports,
    probes,
    recovery,
    routing,
    run,
    signalling,
    slas,
    static_routes,
    tcp,
    trunks,
    workloads,
)
from trunkline.scenario.model import ScenarioSections
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved import ResolvedScenario, resolve

__all__ = ["CHECKS", "check"]

CHECKS = (
    links.check,
    ports.check,
    classes.check,
    conditioners.check,
    paths.check,
    diffserv.check,
    ecn_in_mpls.check,
    trunks.check,
    flows.check,
    tcp.check,
    workloads.check,
    recovery.check,
    maintenance.check,
    outages.check,
    signalling.check,
    routing.check,
    static_routes.check,
    probes.check,
    slas.check,
    lesson.check,
    run.check,
)


def check(scenario: ScenarioSections, problems: Problems) -> ResolvedScenario | None:
    """Resolves a scenario and checks it.

    scenario: A scenario whose every key is of the right kind and in range.
    Returns: The resolved scenario, for use where no fault was found; None if it is too large.
    """
    if not scenario.nodes:
        problems.add("empty", ("nodes",), "a network needs at least one node", at_key=True)
    resolved = resolve(scenario, problems)
    if resolved is not None:
        for each in CHECKS:
            each(resolved, problems)
    return resolved
