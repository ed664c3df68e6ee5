"""Directions of links with all their keys: their ends, defaults, and who is joined to whom."""

from trunkline.scenario.base import merged
from trunkline.scenario.model import Link, LinkOptions
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Arc, Resolved


def links(scenario: Resolved, problems: Problems) -> None:
    """Works out both directions of every link; one without two known ends is left out."""
    for name, link in scenario.written.links.items():
        ends = _ends(scenario, name, link, problems)
        if ends is None:
            continue
        first, second = ends
        _add(scenario, Arc(name, first, second, False, _options(scenario, link, link.forward)))
        _add(scenario, Arc(name, second, first, True, _options(scenario, link, link.backward)))
    scenario.part = _parts(scenario)


def _add(scenario: Resolved, arc: Arc) -> None:
    scenario.arcs.append(arc)
    scenario.arc[arc.name] = arc
    scenario.between.setdefault((arc.source, arc.target), []).append(arc)


def _options(scenario: Resolved, link: Link, own: LinkOptions | None) -> LinkOptions:
    """Keys of one direction: its own, those of the link, and the defaults."""
    options = merged(link, scenario.written.defaults.link)
    if own is None:
        return options
    keys = options.model_fields_set & set(LinkOptions.model_fields)
    values = {key: getattr(options, key) for key in LinkOptions.model_fields}
    return merged(own, LinkOptions.model_construct(keys, **values))


def _ends(scenario: Resolved, name: str, link: Link, problems: Problems) -> tuple[str, str] | None:
    path = ("links", name)
    if link.between is not None:
        ends = link.between
        if not problems.each_known((*path, "between"), "node", ends, scenario.nodes):
            return None
    else:
        splits = [
            (name[:at], name[at + 1 :])
            for at, each in enumerate(name)
            if each == "-" and name[:at] and name[at + 1 :]
        ]
        fits = [pair for pair in splits if pair[0] in scenario.nodes and pair[1] in scenario.nodes]
        if len(fits) != 1:
            _no_ends(scenario, name, splits, fits, problems)
            return None
        ends = fits[0]
    if ends[0] == ends[1]:
        message = f"a link must join two nodes, not {ends[0]} to itself"
        problems.add("relation", path, message, at_key=True)
        return None
    return ends


def _no_ends(
    scenario: Resolved,
    name: str,
    splits: list[tuple[str, str]],
    fits: list[tuple[str, str]],
    problems: Problems,
) -> None:
    path = ("links", name)
    if len(fits) > 1:
        readings = " or ".join(f"[{first}, {second}]" for first, second in fits)
        problems.add(
            "ambiguous",
            path,
            f"the name {name} can be split in two ways",
            hint=f"add `between: {readings}`",
            at_key=True,
        )
    elif len(splits) == 1:
        for node in splits[0]:
            if node not in scenario.nodes:
                problems.unknown(path, "node", node, scenario.nodes, at_key=True)
    else:
        problems.add(
            "missing-key",
            path,
            f"the ends of {name} are not known: its name is not A-B with two nodes A and B",
            hint="add `between: [A, B]`",
            at_key=True,
        )


def _parts(scenario: Resolved) -> dict[str, int]:
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
