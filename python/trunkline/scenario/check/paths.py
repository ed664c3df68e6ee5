"""Checks of paths: routes, tunnels, labels."""

from trunkline.scenario.diagnostic import Path
from trunkline.scenario.path import FIRST_LABEL, Path as LabelPath
from trunkline.scenario.problems import Problems, plural
from trunkline.scenario.resolved import Resolved

MAX_STACK = 4
"""Labels that a packet can carry at once."""


def check(scenario: Resolved, problems: Problems) -> None:
    """Checks all paths; what their routes lack is said by what follows them."""
    for name in scenario.paths:
        _labels(scenario, name, problems)
        if name in scenario.routes:
            _depth(scenario, name, problems)
            _models(scenario, name, problems)
    _explicit_nulls(scenario, problems)


def _depth(scenario: Resolved, name: str, problems: Problems) -> None:
    deepest = max(scenario.routes[name].crossings, key=lambda each: each.labels)
    if deepest.labels > MAX_STACK:
        problems.add(
            "stack",
            ("paths", name, "segments" if name in scenario.segmented else "through"),
            f"packets of path {name} would carry {deepest.labels} labels on {deepest.arc.name}",
            allowed=f"at most {MAX_STACK}",
        )


def _models(scenario: Resolved, name: str, problems: Problems) -> None:
    """One label operation has one TTL model: where it touches two paths, theirs must agree."""
    path = scenario.paths[name]
    its = scenario.routes[name].hops
    for index, hop in enumerate(its):
        pops = path.php and not path.explicit_null and index == len(its) - 1
        over = scenario.paths.get(hop.over) if hop.is_tunnel else None
        if over is not None and (index == 0 or pops) and _pipe(over) != _pipe(path):
            problems.add(
                "relation",
                ("paths", name, "through"),
                f"{hop.source} handles the labels of {name} and {hop.over} in one step: their "
                "ttl must be the same",
                given=f"{path.ttl} and {over.ttl}",
            )


def _pipe(path: LabelPath) -> bool:
    return path.ttl != "uniform"


def _explicit_nulls(scenario: Resolved, problems: Problems) -> None:
    """Label 0 says nothing of its path: all that end at a node with it have one TTL model."""
    first: dict[str, str] = {}
    for name, path in scenario.paths.items():
        nodes = scenario.nodes_of(name)
        if not path.explicit_null or not nodes:
            continue
        other = first.setdefault(nodes[-1], name)
        if _pipe(scenario.paths[other]) != _pipe(path):
            problems.add(
                "relation",
                ("paths", name, "ttl"),
                f"paths {other} and {name} both end at {nodes[-1]} with explicit null: their ttl "
                "must be the same",
                at_key=True,
                related=((("paths", other), "the other"),),
            )


def _labels(scenario: Resolved, name: str, problems: Problems) -> None:
    path = scenario.paths[name]
    at: Path = ("paths", name, "labels")
    if path.explicit_null and path.php and "php" in path.model_fields_set:
        problems.add(
            "relation",
            ("paths", name, "explicit_null"),
            "explicit_null keeps a label on the last hop, php takes it off: choose one",
            at_key=True,
        )
    if path.labels is None:
        return
    nodes = scenario.nodes_of(name)
    needed = path.label_count(len(nodes))
    if len(path.labels) != needed:
        seen = ", ".join(nodes[1 : needed + 1]) or "no node"
        problems.add(
            "label",
            at,
            f"{plural(needed, 'label')} must be given, for {seen}",
            given=plural(len(path.labels), "label"),
            at_key=True,
        )
        return
    for index, (node, label) in enumerate(zip(nodes[1:], path.labels, strict=False)):
        if label < FIRST_LABEL:
            problems.add(
                "label",
                (*at, index),
                f"label {label} is reserved",
                allowed=f"{FIRST_LABEL} to {2**20 - 1}",
            )
        for other in scenario.paths:
            if other == name:
                break
            labels = scenario.paths[other].labels or ()
            taken = list(zip(scenario.nodes_of(other)[1:], labels, strict=False))
            if (node, label) in taken:
                problems.add(
                    "label",
                    (*at, index),
                    f"label {label} at {node} is taken by path {other}",
                    related=((("paths", other, "labels"), "taken here"),),
                )
