"""What a scenario means: defaults merged, replicas and `all` written out, routes followed.

A scenario is resolved by passes, in order, each a function in a file of its own here. A pass reads
what those before it made and adds its part to the one `Resolved`; it reports what it cannot work
out. Whatever a section of the language computes (routes, flows, protections), it computes here, so
that checks judge it and the compiler writes it like anything that was written by hand.
"""

from collections.abc import Callable

from trunkline.scenario.model import Sections
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.backups import backups
from trunkline.scenario.resolved.classes import classes
from trunkline.scenario.resolved.demands import demands
from trunkline.scenario.resolved.diffserv import diffserv
from trunkline.scenario.resolved.flows import flows
from trunkline.scenario.resolved.links import links
from trunkline.scenario.resolved.meshes import meshes
from trunkline.scenario.resolved.placement import placement
from trunkline.scenario.resolved.protections import protections
from trunkline.scenario.resolved.replicas import TooLarge, replicas
from trunkline.scenario.resolved.resolved import Arc, Crossing, Hop, Offered, Resolved, Route
from trunkline.scenario.resolved.routes import routes
from trunkline.scenario.resolved.scale import scale
from trunkline.scenario.resolved.schedules import schedules
from trunkline.scenario.resolved.segments import segments
from trunkline.scenario.resolved.slas import slas
from trunkline.scenario.resolved.traffic import traffic
from trunkline.scenario.resolved.trunks import trunks
from trunkline.scenario.resolved.workloads import workloads

__all__ = ["PASSES", "Arc", "Crossing", "Hop", "Offered", "Resolved", "Route", "resolve"]

PASSES: tuple[Callable[[Resolved, Problems], None], ...] = (
    links,
    demands,
    meshes,
    traffic,
    workloads,
    flows,
    replicas,
    schedules,
    classes,
    diffserv,
    trunks,
    segments,
    placement,
    backups,
    scale,
    routes,
    protections,
    slas,
)
"""In the order in which they run. One that makes links stands before `links`, one that makes flows
before `flows`, which gives them their defaults, and so on."""


def resolve(scenario: Sections, problems: Problems) -> Resolved | None:
    """Works out what a scenario means.

    Parameters
    ----------
    scenario : Sections
        A scenario whose every key is of the right kind and in range.
    problems : Problems
        Gets what cannot be worked out; findings about generated elements are placed where those
        come from, here and by whoever uses it after.

    Returns
    -------
    Resolved or None
        What is sound of it; None if it is too large to be written out.
    """
    its = Resolved.of(scenario)
    problems.origins = its.origins
    try:
        for each in PASSES:
            each(its, problems)
    except TooLarge:
        return None
    return its
