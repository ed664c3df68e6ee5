"""Checks of paths: routes, tunnels, labels."""

from collections.abc import Callable

from trunkline.scenario.diagnostic import DocumentPath
from trunkline.scenario.path import FIRST_LABEL, LabelSwitchedPath as LabelPath
from trunkline.scenario.problems import Problems, format_count
from trunkline.scenario.resolved import ResolvedScenario

MAX_LABEL_DEPTH = 4  # Labels that a packet can carry at once.


def check(scenario: ResolvedScenario, problems: Problems) -> None:
    """Check all paths; the code that follows their routes reports faults of these."""
    for name in scenario.paths:
        _check_labels(scenario, name, problems)
        if name in scenario.routes:
            _check_depth(scenario, name, problems)
            _check_ttl_models(scenario, name, problems)
    check_explicit_nulls(scenario, "ttl", "ttl", _is_pipe, problems)


def _check_depth(scenario: ResolvedScenario, name: str, problems: Problems) -> None:
    deepest = max(scenario.routes[name].crossings, key=lambda each: each.label_count)
    if deepest.label_count > MAX_LABEL_DEPTH:
        problems.add(
            "stack",
            ("paths", name, "segments" if name in scenario.policies else "through"),
            f"packets of path {name} would carry {deepest.label_count} labels on "
            f"{deepest.arc.name}",
            allowed=f"at most {MAX_LABEL_DEPTH}",
        )


def _check_ttl_models(scenario: ResolvedScenario, name: str, problems: Problems) -> None:
    """One label operation has one TTL model: where it touches two paths, theirs must agree."""
    path = scenario.paths[name]
    hops = scenario.routes[name].hops
    for index, hop in enumerate(hops):
        pops = path.php and not path.explicit_null and index == len(hops) - 1
        tunnel = scenario.paths.get(hop.over) if hop.is_tunnel else None
        if tunnel is not None and (index == 0 or pops) and _is_pipe(tunnel) != _is_pipe(path):
            problems.add(
                "relation",
                ("paths", name, "through"),
                f"{hop.source} handles the labels of {name} and {hop.over} in one step: their "
                "ttl must be the same",
                given=f"{path.ttl} and {tunnel.ttl}",
            )


def _is_pipe(path: LabelPath) -> bool:
    return path.ttl != "uniform"


def check_explicit_nulls(
    scenario: ResolvedScenario,
    key: str,
    attributes: str,
    get_behaviour: Callable[[LabelPath], object],
    problems: Problems,
) -> None:
    """Label 0 does not identify its path: all paths that end at a node with it behave alike."""
    first: dict[str, str] = {}
    for name, path in scenario.paths.items():
        nodes = scenario.list_route_nodes(name)
        if not path.explicit_null or not nodes:
            continue
        other = first.setdefault(nodes[-1], name)
        if get_behaviour(scenario.paths[other]) != get_behaviour(path):
            message = (
                f"paths {other} and {name} both end at {nodes[-1]} with explicit null: their "
                f"{attributes} must be the same"
            )
            related = ((("paths", other), "the other"),)
            problems.add("relation", ("paths", name, key), message, at_key=True, related=related)


def _check_labels(scenario: ResolvedScenario, name: str, problems: Problems) -> None:
    path = scenario.paths[name]
    labels_path: DocumentPath = ("paths", name, "labels")
    if path.explicit_null and path.php and "php" in path.model_fields_set:
        message = "explicit_null keeps a label on the last hop, php takes it off: choose one"
        problems.add("relation", ("paths", name, "explicit_null"), message, at_key=True)
    if path.labels is None:
        return
    nodes = scenario.list_route_nodes(name)
    needed = path.count_labels(len(nodes))
    if len(path.labels) != needed:
        node_text = ", ".join(nodes[1 : needed + 1]) or "no node"
        problems.add(
            "label",
            labels_path,
            f"{format_count(needed, 'label')} must be given, for {node_text}",
            given=format_count(len(path.labels), "label"),
            at_key=True,
        )
        return
    for index, (node, label) in enumerate(zip(nodes[1:], path.labels, strict=False)):
        if label < FIRST_LABEL:
            message = f"label {label} is reserved"
            problems.add(
                "label", (*labels_path, index), message, allowed=f"{FIRST_LABEL} to {2**20 - 1}"
            )
        for other in scenario.paths:
            if other == name:
                break
            labels = scenario.paths[other].labels or ()
            labels_in_use = list(zip(scenario.list_route_nodes(other)[1:], labels, strict=False))
            if (node, label) in labels_in_use:
                problems.add(
                    "label",
                    (*labels_path, index),
                    f"label {label} at {node} is taken by path {other}",
                    related=((("paths", other, "labels"), "taken here"),),
                )
