"""Label tables of explicit paths: FTN, ILM and NHLFE (RFC 3031), stacks of tunnels, labels.

A path's first node pushes its label, the nodes between swap it, and the last but one pops it
(penultimate-hop popping, RFC 3031 section 3.16), or sends explicit null (RFC 3032 section 2.1),
or leaves it to the last. Where a hop is a tunnel, the tunnel's label is pushed on top.
"""

from dataclasses import dataclass, field
from typing import Any

from trunkline.network import fec, segments
from trunkline.network.labels import EXPLICIT_NULL, labels
from trunkline.network.markings import Markings
from trunkline.network.ports import Ports
from trunkline.scenario.diffserv import DSCPS
from trunkline.scenario.path import Path
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.resolved.segments import first_arcs


@dataclass
class Tables:
    """Label tables, ready for the engine."""

    ftn: list[dict[str, Any]] = field(default_factory=list)
    ilm: list[dict[str, Any]] = field(default_factory=list)
    nhlfe: list[dict[str, Any]] = field(default_factory=list)
    diffserv: list[dict[str, Any]] = field(default_factory=list)
    """Maps that entries refer to."""
    entries: dict[tuple[str, int], int] = field(default_factory=dict)
    """NHLFE of each path at each node of its route, by place."""
    labels: dict[str, list[int | None]] = field(default_factory=dict)
    """Incoming label of each path at each node of its route."""
    followers: list[dict[str, Any]] = field(default_factory=list)
    """Entries of node segments that follow OSPF's routes."""


def compile(
    scenario: Resolved,
    nodes: dict[str, int],
    links: dict[str, int],
    built: Ports,
) -> Tables:
    """The label tables.

    Parameters
    ----------
    scenario : Resolved
        The scenario.
    nodes, links : dict
        Index of each node and one-way link.
    built : Ports
        Port configurations; they say which row of the classifier an entry's packets take.

    Returns
    -------
    Tables
        In the order of paths, and along each from its first node on.
    """
    builder = _Builder(scenario, nodes, links, built)
    return builder.build()


def _bound(classes: dict[fec.Class, int]) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    """The classes that each path carries, by number, and which DSCPs of them."""
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for its, number in classes.items():
        taken = {dscp for _, dscps in its for dscp in dscps or ()}
        for path, dscps in its:
            wanted: dict[str, Any] = {}
            if dscps is not None:
                wanted = {"dscps": sorted(dscps)}
            elif taken:
                wanted = {"dscps": sorted(set(range(DSCPS)) - taken)}
            found.setdefault(path, []).append((number, wanted))
    return found


class _Builder:
    def __init__(
        self,
        scenario: Resolved,
        nodes: dict[str, int],
        links: dict[str, int],
        built: Ports,
    ):
        self.scenario = scenario
        self.nodes = nodes
        self.links = links
        self.built = built
        self.number = {name: index for index, name in enumerate(scenario.paths)}
        self.labels = labels(scenario)
        self.markings = Markings(scenario)
        self.shared: dict[tuple[int, int], int] = {}
        self.tables = Tables(labels=self.labels, diffserv=self.markings.maps)
        in_use = {each for pair in fec.classes(scenario).values() for each in pair if each}
        numbers = fec.numbers(scenario)
        self.bound = _bound({its: n for its, n in numbers.items() if its in in_use})
        self.follows = scenario.routing.ospf is not None

    def build(self) -> Tables:
        trunks = self.scenario.trunks.values()
        ridden = {trunk.path for trunk in trunks} | {trunk.reverse for trunk in trunks}
        guarded = self.scenario.protections.values()
        spare = {name for its in guarded for name in (its.backup, *its.path)}
        for name in self.scenario.paths:
            if name in ridden | spare:
                self.head(name, bound=name in ridden)
            if name in self.scenario.segmented:
                if self.scenario.routing.ecmp is None:
                    self.steer(name)
                else:
                    self.spread(name)
                continue
            self.transit(name)
            self.tail(name)
        if self.follows:
            self.everywhere()
        return self.tables

    def head(self, name: str, *, bound: bool) -> None:
        """Adds the entry of a path's first node, and binds its class to it."""
        entry = self.forward(name, 0, pop=False)
        self.tables.entries[name, 0] = entry
        if bound:
            self.bind(name, entry)
        if self.scenario.routing.ecmp is not None and name in self.scenario.segmented:
            self.share(name, entry, bound=bound)

    def share(self, name: str, entry: int, *, bound: bool) -> None:
        """Adds what else the first node of a policy does: its other next hops of equal cost."""
        first, *others = segments.ways(self.scenario, name)[0].ahead
        chosen = self.tables.nhlfe[entry]
        entropy = {"entropy": True} if self.scenario.routing.ecmp == "entropy" else {}
        chosen |= {"link": self.links[first.arc], "push": first.labels} | entropy
        for each in others:
            row = self.built.row(each.arc, frozenset({name}))
            its = {"link": self.links[each.arc], "push": each.labels, "row": row}
            self.tables.nhlfe.append(chosen | its)
            if bound:
                self.bind(name, len(self.tables.nhlfe) - 1)

    def bind(self, name: str, entry: int) -> None:
        """Binds the class of a path to an entry of its first node."""
        node = self.nodes[self.scenario.routes[name].nodes[0]]
        for number, wanted in self.bound.get(name, ()):
            self.tables.ftn.append({"node": node, "fec": number, "nhlfe": entry} | wanted)

    def steer(self, name: str) -> None:
        """Adds what routers along a policy do with the outermost label, once for all policies."""
        its = self.scenario.routes[name]
        behind = segments.stacks(self.scenario, name)
        for index in range(1, len(its.hops)):
            before, after = behind[index - 1], behind[index]
            node, label = self.nodes[its.nodes[index]], before[-1]
            if (node, label) not in self.shared:
                arc = its.hops[index].over
                push = [label] if len(after) == len(before) else []
                row = self.built.row(arc, frozenset({name}))
                path = self.scenario.paths[name]
                entry = self.add(name, self.links[arc], True, push, path, row)
                self.shared[node, label] = entry
                self.tables.ilm.append({"node": node, "label": label, "nhlfe": entry})
            self.tables.entries[name, index] = self.shared[node, label]

    def spread(self, name: str) -> None:
        """As `steer`, with all next hops of equal cost."""
        path = self.scenario.paths[name]
        for way in segments.ways(self.scenario, name)[1:]:
            node, label = self.nodes[way.node], way.label
            if (node, label) in self.shared:
                continue
            for each in way.ahead:
                push = [label] if each.keeps else []
                row = self.built.row(each.arc, frozenset({name}))
                entry = self.add(name, self.links[each.arc], True, push, path, row)
                self.shared.setdefault((node, label), entry)
                self.tables.ilm.append({"node": node, "label": label, "nhlfe": entry})

    def everywhere(self) -> None:
        """Adds what each router does with the label of each node segment, on the way or not."""
        owners = {
            sid.node: name
            for name in reversed(self.scenario.segmented)
            for sid in self.scenario.segmented[name]
            if sid.arc is None
        }
        for target, name in owners.items():
            label = segments.node_label(self.scenario, target)
            several = self.scenario.routing.ecmp is not None
            for node, arcs in first_arcs(self.scenario, target).items():
                at = self.nodes[node]
                known = (at, label) in self.shared
                for arc in () if known else arcs if several else arcs[:1]:
                    push = [] if self.scenario.arc[arc].target == target else [label]
                    row = self.built.row(arc, frozenset({name}))
                    path = self.scenario.paths[name]
                    entry = self.add(name, self.links[arc], True, push, path, row)
                    self.shared.setdefault((at, label), entry)
                    self.tables.ilm.append({"node": at, "label": label, "nhlfe": entry})
                self.follow(name, node, target, self.shared[at, label])

    def follow(self, name: str, node: str, target: str, entry: int) -> None:
        """Makes an entry that puts the label of a node on follow the routes to it."""
        leaving = [arc for arc in self.scenario.arcs if arc.source == node]
        rows = [(arc.name, self.built.row(arc.name, frozenset({name}))) for arc in leaving]
        self.tables.followers.append(
            {
                "node": self.nodes[node],
                "destination": self.nodes[target],
                "entry": entry,
                "label": segments.node_label(self.scenario, target),
                "rows": [[self.links[arc], row] for arc, row in rows if row is not None],
            }
        )

    def transit(self, name: str) -> None:
        for index in range(1, len(self.scenario.routes[name].hops)):
            label = self.labels[name][index]
            self.map(name, index, label, self.forward(name, index, pop=True))

    def tail(self, name: str) -> None:
        path, last = self.scenario.paths[name], len(self.scenario.routes[name].hops)
        label = self.labels[name][last]
        if label is None:
            return
        if label == EXPLICIT_NULL:
            # Every node pops explicit null without an entry, in the uniform model; one entry
            # tells that all paths that end here with it are pipes.
            node = self.nodes[self.scenario.routes[name].nodes[last]]
            taken = any(each["node"] == node and each["label"] == label for each in self.tables.ilm)
            its = self.scenario.paths[name].diffserv
            plain = its is None or its.model == "short-pipe"
            if (path.ttl == "uniform" and plain) or taken:
                return
        entry = self.add(name, None, True, [], path, None)
        self.markings.mark(self.tables.nhlfe[entry], pops=name, pushes=[])
        self.map(name, last, label, entry)

    def map(self, name: str, index: int, label: int | None, entry: int) -> None:
        node = self.nodes[self.scenario.routes[name].nodes[index]]
        self.tables.entries[name, index] = entry
        self.tables.ilm.append({"node": node, "label": label, "nhlfe": entry})

    def forward(self, name: str, index: int, *, pop: bool) -> int:
        """Adds the entry of one hop of a path."""
        arc, push, riders = self.onto(name, index)
        model = self.scenario.paths[riders[-1]]
        row = self.built.row(arc, frozenset(riders))
        entry = self.add(name, self.links[arc], pop, push, model, row)
        # From the bottom: what each pushed label lies on. A swapped label keeps its TC.
        own = self.labels[name][index + 1] is not None
        below: list[str | None] = [name, *riders[1:-1]] if own else [None, *riders[1:-1]]
        pairs: list[tuple[str, str | None] | None] = list(zip(riders[1:], below, strict=False))
        if own:
            pairs.insert(0, None if pop else (name, None))
        into = self.tables.nhlfe[entry]
        self.markings.mark(into, pops=None if own or not pop else name, pushes=pairs)
        ridden, begins = riders[-1], len(riders) > 1 or index == 0
        if self.follows and begins and ridden in self.scenario.segmented:
            first = self.scenario.segmented[ridden][0]
            if first.arc is None:
                self.follow(ridden, self.scenario.arc[arc].source, first.node, entry)
        its = self.scenario.paths[name].diffserv
        if own and pop and its is not None and its.linux_tc_zero:
            into["zero_tc"] = True
        return entry

    def onto(self, name: str, index: int) -> tuple[str, list[int], list[str]]:
        """Link, labels to put on from the bottom, and paths entered, for one hop of a path."""
        label = self.labels[name][index + 1]
        push = [] if label is None else [label]
        if name in self.scenario.segmented:
            push = segments.stacks(self.scenario, name)[index]
        hop = self.scenario.routes[name].hops[index]
        if not hop.is_tunnel:
            return hop.over, push, [name]
        arc, above, riders = self.onto(hop.over, 0)
        return arc, push + above, [name, *riders]

    def add(
        self,
        name: str,
        link: int | None,
        pop: bool,
        push: list[int],
        model: Path,
        row: int | None,
    ) -> int:
        self.tables.nhlfe.append(
            {
                "link": link,
                "pop": pop,
                "push": push,
                "ttl": "uniform" if model.ttl == "uniform" else "pipe",
                "row": row,
                "path": self.number[name],
            }
        )
        return len(self.tables.nhlfe) - 1
