"""Who is joined to whom: ends of links, connected parts, routes of paths."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from trunkline.scenario.base import merged
from trunkline.scenario.diagnostic import Problems, nearest
from trunkline.scenario.model import Link, LinkOptions, Scenario

__all__ = ["Arc", "Topology", "arcs_of", "topology"]


@dataclass(frozen=True)
class Arc:
    """One direction of a link.

    Attributes
    ----------
    link : str
        Name of the link in the scenario.
    source, target : str
        Nodes.
    backward : bool
        Whether it leads from the second end to the first.
    """

    link: str
    source: str
    target: str
    backward: bool

    @property
    def name(self) -> str:
        """``R1->R2``, after ``link:`` where the link has a name of its own."""
        arrow = f"{self.source}->{self.target}"
        first, second = (self.target, self.source) if self.backward else (self.source, self.target)
        return arrow if self.link == f"{first}-{second}" else f"{self.link}:{arrow}"


@dataclass
class Topology:
    """Links by their ends.

    Attributes
    ----------
    arcs : list of Arc
        Two for each link, in the order of the scenario.
    between : dict
        Arcs by their source and target.
    part : dict
        A number for each node; equal where links join the nodes.
    """

    arcs: list[Arc] = field(default_factory=list)
    between: dict[tuple[str, str], list[Arc]] = field(default_factory=dict)
    part: dict[str, int] = field(default_factory=dict)

    def add(self, arc: Arc) -> None:
        """Adds one direction of a link."""
        self.arcs.append(arc)
        self.between.setdefault((arc.source, arc.target), []).append(arc)


def topology(scenario: Scenario, problems: Problems) -> Topology:
    """Works out the ends of links.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    problems : Problems
        Gets links without two known ends; they are left out.

    Returns
    -------
    Topology
        Of the links that have two ends.
    """
    found = Topology()
    for name, link in scenario.links.items():
        ends = _ends(scenario, name, link, problems)
        if ends is None:
            continue
        first, second = ends
        found.add(Arc(name, first, second, False))
        found.add(Arc(name, second, first, True))
    found.part = _parts(scenario, found)
    return found


def _ends(scenario: Scenario, name: str, link: Link, problems: Problems) -> tuple[str, str] | None:
    path = ("links", name)
    if link.between is not None:
        ends = link.between
        unknown = False
        for index, node in enumerate(ends):
            if node not in scenario.nodes:
                unknown = True
                unknown_node(scenario, node, (*path, "between", index), problems)
        if unknown:
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
    scenario: Scenario,
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
                unknown_node(scenario, node, path, problems, at_key=True)
    else:
        problems.add(
            "missing-key",
            path,
            f"the ends of {name} are not known: its name is not A-B with two nodes A and B",
            hint="add `between: [A, B]`",
            at_key=True,
        )


def unknown_node(
    scenario: Scenario,
    node: str,
    path: tuple[str | int, ...],
    problems: Problems,
    *,
    at_key: bool = False,
) -> None:
    """Reports a node that is not declared."""
    problems.add(
        "reference",
        path,
        f"there is no node {node}",
        allowed=listed(scenario.nodes),
        hint=nearest(node, scenario.nodes),
        at_key=at_key,
    )


def listed(names: object, most: int = 12) -> str:
    """Names for a message; cut where there are many."""
    words = [str(each) for each in names]  # type: ignore[attr-defined]
    shown = ", ".join(words[:most])
    return f"{shown}, ... ({len(words)})" if len(words) > most else shown


def plural(count: int, noun: str) -> str:
    """A count with its noun: ``1 label``, ``2 labels``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _parts(scenario: Scenario, found: Topology) -> dict[str, int]:
    neighbours: dict[str, list[str]] = {node: [] for node in scenario.nodes}
    for arc in found.arcs:
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


def arcs_of(scenario: Scenario, found: Topology) -> Iterator[tuple[Arc, LinkOptions]]:
    """Each direction of each link with its own keys, those of the link and the defaults merged."""
    default = scenario.defaults.link
    for arc in found.arcs:
        link = scenario.links[arc.link]
        own = link.backward if arc.backward else link.forward
        options = merged(link, default)
        yield arc, options if own is None else merged(own, _plain(options))


def _plain(options: LinkOptions) -> LinkOptions:
    keys = options.model_fields_set & set(LinkOptions.model_fields)
    return LinkOptions.model_construct(
        keys, **{key: getattr(options, key) for key in LinkOptions.model_fields}
    )
