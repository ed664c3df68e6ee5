"""Directions of links with all their keys: their ends, their defaults, and their neighbours."""

from trunkline.scenario.base import merge_defaults
from trunkline.scenario.model import Link, LinkOptions
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedArc, ResolvedScenario


def resolve_links(scenario: ResolvedScenario, problems: Problems) -> None:
    """Works out both directions of every link; one without two known ends is left out."""
    for name, link in scenario.written.links.items():
        ends = _find_ends(scenario, name, link, problems)
        if ends is None:
            continue
        first, second = ends
        _add_arc(
            scenario,
            ResolvedArc(name, first, second, False, _merge_options(scenario, link, link.forward)),
        )
        _add_arc(
            scenario,
            ResolvedArc(name, second, first, True, _merge_options(scenario, link, link.backward)),
        )
    scenario.component = _number_components(scenario)


def _add_arc(scenario: ResolvedScenario, arc: ResolvedArc) -> None:
    scenario.arcs.append(arc)
    scenario.arc_by_name[arc.name] = arc
    scenario.arcs_between.setdefault((arc.source, arc.target), []).append(arc)


def _merge_options(
    scenario: ResolvedScenario, link: Link, direction_options: LinkOptions | None
) -> LinkOptions:
    """Merge the keys of one direction: its own, those of the link, and the defaults."""
    options = merge_defaults(link, scenario.written.defaults.link)
    if direction_options is None:
        return options
    keys = options.model_fields_set & set(LinkOptions.model_fields)
    values = {key: getattr(options, key) for key in LinkOptions.model_fields}
    return merge_defaults(direction_options, LinkOptions.model_construct(keys, **values))


def _find_ends(
    scenario: ResolvedScenario, name: str, link: Link, problems: Problems
) -> tuple[str, str] | None:
    path = ("links", name)
    if link.between is not None:
        ends = link.between
        if not problems.check_known((*path, "between"), "node", ends, scenario.nodes):
            return None
    else:
        splits = [
            (before, after)
            for position, each in enumerate(name)
            if each == "-" and (before := name[:position]) and (after := name[position + 1 :])
        ]
        valid_splits = [
            pair for pair in splits if pair[0] in scenario.nodes and pair[1] in scenario.nodes
        ]
        if len(valid_splits) != 1:
            _report_unknown_ends(scenario, name, splits, valid_splits, problems)
            return None
        ends = valid_splits[0]
    if ends[0] == ends[1]:
        message = f"a link must join two nodes, not {ends[0]} to itself"
        problems.add("relation", path, message, at_key=True)
        return None
    return ends


def _report_unknown_ends(
    scenario: ResolvedScenario,
    name: str,
    splits: list[tuple[str, str]],
    valid_splits: list[tuple[str, str]],
    problems: Problems,
) -> None:
    path = ("links", name)
    if len(valid_splits) > 1:
        readings = " or ".join(f"[{first}, {second}]" for first, second in valid_splits)
        message = f"the name {name} can be split in two ways"
        problems.add("ambiguous", path, message, hint=f"add `between: {readings}`", at_key=True)
    elif len(splits) == 1:
        for node in splits[0]:
            if node not in scenario.nodes:
                problems.add_unknown(path, "node", node, scenario.nodes, at_key=True)
    else:
        message = f"the ends of {name} are not known: its name is not A-B with two nodes A and B"
        problems.add("missing-key", path, message, hint="add `between: [A, B]`", at_key=True)


def _number_components(scenario: ResolvedScenario) -> dict[str, int]:
    neighbours: dict[str, list[str]] = {node: [] for node in scenario.nodes}
    for arc in scenario.arcs:
        neighbours[arc.source].append(arc.target)
    part: dict[str, int] = {}
    for number, start in enumerate(scenario.nodes):
        if start in part:
            continue
        part[start] = number
        stack = [start]
        while stack:
            for node in neighbours[stack.pop()]:
                if node not in part:
                    part[node] = number
                    stack.append(node)
    return part
