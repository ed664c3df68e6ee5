"""Class types of signalled paths: the TE-classes in use, and their bounds on each link.

RFC 4124, 4.2: all nodes know the same TE-classes, at most eight pairs of a class type and a
preemption priority. Here they are those that the signalled paths and random requests ask for.
"""

from collections.abc import Sequence

from trunkline.scenario.resolved.placement import build_bandwidth_constraints
from trunkline.scenario.resolved.resolved import ResolvedScenario
from trunkline.scenario.resolved.signalled_paths import list_signalled_paths

MAX_TE_CLASSES = 8
ClassTypeLimit = tuple[tuple[int, ...], int]
"""Class types that share a bound, and the bound in bit/s."""


def list_te_classes(scenario: ResolvedScenario) -> list[tuple[int, int]]:
    """List class type and priority of each TE-class in use, in the order of the advertisements.

    scenario: With signalled paths.
    Returns: Empty where all paths are of class type 0 and no model bounds it.
    """
    used: set[tuple[int, int]] = set()
    for name in list_signalled_paths(scenario):
        path, class_type = scenario.paths[name], get_class_type(scenario, name)
        used |= {(class_type, path.setup), (class_type, path.hold)}
    if scenario.written.te.model == "none" and all(each == 0 for each, _ in used):
        return []
    for request in scenario.written.requests.values():
        used |= {(0, request.setup), (0, request.hold)}
    return sorted(used)


def get_class_type(scenario: ResolvedScenario, name: str) -> int:
    """Return class type of the reservation of a path, 0 to 7."""
    return scenario.get_reservation(name)[1]


def list_class_type_limits(
    scenario: ResolvedScenario, reservable: Sequence[int]
) -> list[list[ClassTypeLimit]]:
    """List the bounds of the scenario's model on some links.

    scenario: Its model is none, maximum allocation or Russian dolls.
    reservable: Maximum reservable bandwidth of each link, bit/s.
    Returns: For each link the bounds besides its reservable bandwidth.
    """
    if scenario.written.te.model == "none":
        return [[] for _ in reservable]
    bounds = build_bandwidth_constraints(scenario, reservable).list_bounds()
    # The last one is the reservable bandwidth itself.
    return [
        [(tuple(sorted(types)), int(limits[index])) for types, limits in bounds[:-1]]
        for index in range(len(reservable))
    ]


def find_limit(limits: Sequence[ClassTypeLimit], reservable: int, class_type: int) -> int:
    """Find the most that a class type alone may reserve on a link, bit/s."""
    return min([reservable, *(limit for types, limit in limits if class_type in types)])
