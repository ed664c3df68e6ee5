"""Labels of explicit paths: each node hands out its lowest free ones, in the order of paths."""

from trunkline.network import segments
from trunkline.scenario.path import FIRST_LABEL
from trunkline.scenario.resolved import Resolved

EXPLICIT_NULL = 0


def labels(scenario: Resolved) -> dict[str, list[int | None]]:
    """Incoming label of each path at each node of its route.

    None at the first node, and at the last after penultimate-hop popping.
    """
    taken: dict[str, set[int]] = {}
    for name, path in scenario.paths.items():
        for node, label in zip(scenario.routes[name].nodes[1:], path.labels or (), strict=False):
            taken.setdefault(node, set()).add(label)
    following: dict[str, int] = {}
    result: dict[str, list[int | None]] = {}
    for name, path in scenario.paths.items():
        nodes = scenario.routes[name].nodes
        own: list[int | None] = [None]
        if name in scenario.segmented:
            behind = segments.stacks(scenario, name)
            result[name] = own + [stack[-1] if stack else None for stack in behind]
            continue
        needed = path.label_count(len(nodes))
        if path.labels is not None:
            own += path.labels
        else:
            for node in nodes[1 : needed + 1]:
                label = following.get(node, FIRST_LABEL)
                while label in taken.get(node, ()):
                    label += 1
                following[node] = label + 1
                own.append(label)
        if len(own) < len(nodes):
            own.append(EXPLICIT_NULL if path.explicit_null else None)
        result[name] = own
    return result
