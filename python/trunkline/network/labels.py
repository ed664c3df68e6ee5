"""Labels of explicit paths: each node assigns its lowest free ones, in the order of paths."""

from trunkline.network import segment_labels
from trunkline.scenario.path import FIRST_LABEL
from trunkline.scenario.resolved import ResolvedScenario

EXPLICIT_NULL = 0


def assign_labels(scenario: ResolvedScenario) -> dict[str, list[int | None]]:
    """Assign the incoming label of each path at each node of its route.

    None at the first node, and at the last after penultimate-hop popping.
    """
    labels_in_use: dict[str, set[int]] = {}
    for name, path in scenario.paths.items():
        for node, label in zip(scenario.routes[name].nodes[1:], path.labels or (), strict=False):
            labels_in_use.setdefault(node, set()).add(label)
    next_label: dict[str, int] = {}
    result: dict[str, list[int | None]] = {}
    for name, path in scenario.paths.items():
        nodes = scenario.routes[name].nodes
        path_labels: list[int | None] = [None]
        if name in scenario.policies:
            stacks = segment_labels.compute_label_stacks(scenario, name)
            result[name] = path_labels + [stack[-1] if stack else None for stack in stacks]
            continue
        needed = path.count_labels(len(nodes))
        if path.labels is not None:
            path_labels += path.labels
        else:
            for node in nodes[1 : needed + 1]:
                label = next_label.get(node, FIRST_LABEL)
                while label in labels_in_use.get(node, ()):
                    label += 1
                next_label[node] = label + 1
                path_labels.append(label)
        if len(path_labels) < len(nodes):
            path_labels.append(EXPLICIT_NULL if path.explicit_null else None)
        result[name] = path_labels
    return result
