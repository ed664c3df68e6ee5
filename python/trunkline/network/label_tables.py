"""Label tables of explicit paths: FTN, ILM and NHLFE (RFC 3031), stacks of tunnels, labels.

A path's first node pushes its label, the nodes between swap it, and the last but one pops it
(penultimate-hop popping, RFC 3031 section 3.16), or sends explicit null (RFC 3032 section 2.1),
or leaves it to the last. Where a hop is a tunnel, the tunnel's label is pushed on top.
"""

import itertools
from dataclasses import dataclass, field
from typing import Any

from trunkline.network import fecs, segment_labels
from trunkline.network.diffserv_maps import DiffServMaps
from trunkline.network.labels import EXPLICIT_NULL, assign_labels
from trunkline.network.ports import CompiledPorts
from trunkline.scenario.diffserv import DSCP_COUNT
from trunkline.scenario.path import LabelSwitchedPath
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.placement import build_topology
from trunkline.scenario.resolved.segments import list_first_arcs


@dataclass
class LabelTables:
    """Label tables, ready for the engine."""

    markings: DiffServMaps
    """Maps that entries refer to by number."""
    ftn: list[dict[str, Any]] = field(default_factory=list)
    ilm: list[dict[str, Any]] = field(default_factory=list)
    nhlfe: list[dict[str, Any]] = field(default_factory=list)
    entries: dict[tuple[str, int], int] = field(default_factory=dict)
    """NHLFE of each path at each node of its route, by place."""
    labels: dict[str, list[int | None]] = field(default_factory=dict)
    """Incoming label of each path at each node of its route."""
    node_segments: list[dict[str, Any]] = field(default_factory=list)
    """Entries of node segments that follow OSPF's routes."""

    @property
    def diffserv(self) -> list[dict[str, Any]]:
        """Maps that entries refer to."""
        return self.markings.maps


def compile_label_tables(
    scenario: ResolvedScenario,
    nodes: dict[str, int],
    links: dict[str, int],
    compiled_ports: CompiledPorts,
) -> LabelTables:
    """Compile the label tables in the order of paths, and along each from its first node on.

    ``compiled_ports`` gives the row of the classifier for the packets of an entry.
    """
    builder = _LabelTableBuilder(scenario, nodes, links, compiled_ports)
    return builder.build()


def _bind_fecs_to_paths(
    classes: dict[fecs.FecPaths, int],
) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    """The classes that each path carries, by number, and which DSCPs of them."""
    fecs_of_path: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for fec_paths, number in classes.items():
        chosen_dscps = {dscp for _, dscps in fec_paths for dscp in dscps or ()}
        for path, dscps in fec_paths:
            dscp_keys: dict[str, Any] = {}
            if dscps is not None:
                dscp_keys = {"dscps": sorted(dscps)}
            elif chosen_dscps:
                dscp_keys = {"dscps": sorted(set(range(DSCP_COUNT)) - chosen_dscps)}
            fecs_of_path.setdefault(path, []).append((number, dscp_keys))
    return fecs_of_path


class _LabelTableBuilder:
    def __init__(
        self,
        scenario: ResolvedScenario,
        nodes: dict[str, int],
        links: dict[str, int],
        compiled_ports: CompiledPorts,
    ):
        self.scenario = scenario
        self.nodes = nodes
        self.links = links
        self.compiled_ports = compiled_ports
        self.path_number = {name: index for index, name in enumerate(scenario.paths)}
        self.labels = assign_labels(scenario)
        self.markings = DiffServMaps(scenario)
        self.segment_entries: dict[tuple[int, int], int] = {}
        self.tables = LabelTables(self.markings, labels=self.labels)
        in_use = {
            each for pair in fecs.find_fecs_of_flows(scenario).values() for each in pair if each
        }
        numbers = fecs.number_fecs(scenario)
        self.fecs_of_path = _bind_fecs_to_paths(
            {fec_paths: n for fec_paths, n in numbers.items() if fec_paths in in_use}
        )
        self.has_ospf = scenario.routing.ospf is not None

    def build(self) -> LabelTables:
        trunks = self.scenario.trunks.values()
        ridden = {trunk.path for trunk in trunks} | {trunk.reverse for trunk in trunks}
        protections = self.scenario.protections.values()
        protection_paths = {
            name for protection in protections for name in (protection.backup, *protection.path)
        }
        for name in self.scenario.paths:
            if name in ridden | protection_paths:
                self.add_head(name, bound=name in ridden)
            if name in self.scenario.policies:
                if self.scenario.routing.ecmp is None:
                    self.add_policy_entries(name)
                else:
                    self.add_ecmp_policy_entries(name)
                continue
            self.add_transit(name)
            self.add_tail(name)
        if self.has_ospf:
            self.add_node_segment_entries()
        return self.tables

    def add_head(self, name: str, *, bound: bool) -> None:
        """Add the entry of the first node of a path, and bind its class to it."""
        entry = self.add_hop_entry(name, 0, pop=False)
        self.tables.entries[name, 0] = entry
        if bound:
            self.bind_fecs(name, entry)
        if self.scenario.routing.ecmp is not None and name in self.scenario.policies:
            self.add_equal_cost_hops(name, entry, bound=bound)

    def add_equal_cost_hops(self, name: str, entry: int, *, bound: bool) -> None:
        """Add the other next hops of equal cost of the first node of a policy."""
        first, *others = segment_labels.compute_segment_forwarding(self.scenario, name)[0].next_hops
        head_entry = self.tables.nhlfe[entry]
        entropy = {"entropy": True} if self.scenario.routing.ecmp == "entropy" else {}
        head_entry |= {"link": self.links[first.arc], "push": first.labels} | entropy
        for each in others:
            row = self.compiled_ports.find_row(each.arc, frozenset({name}))
            next_hop = {"link": self.links[each.arc], "push": each.labels, "row": row}
            self.tables.nhlfe.append(head_entry | next_hop)
            if bound:
                self.bind_fecs(name, len(self.tables.nhlfe) - 1)

    def bind_fecs(self, name: str, entry: int) -> None:
        """Bind the class of a path to an entry of its first node."""
        node = self.nodes[self.scenario.routes[name].nodes[0]]
        for number, dscp_keys in self.fecs_of_path.get(name, ()):
            self.tables.ftn.append({"node": node, "fec": number, "nhlfe": entry} | dscp_keys)

    def add_policy_entries(self, name: str) -> None:
        """Add the entries for the outermost label of policies, once for all policies."""
        route = self.scenario.routes[name]
        stacks = segment_labels.compute_label_stacks(self.scenario, name)
        for index in range(1, len(route.hops)):
            before, after = stacks[index - 1], stacks[index]
            node, label = self.nodes[route.nodes[index]], before[-1]
            if (node, label) not in self.segment_entries:
                arc = route.hops[index].over
                push = [label] if len(after) == len(before) else []
                row = self.compiled_ports.find_row(arc, frozenset({name}))
                path = self.scenario.paths[name]
                entry = self.add_nhlfe(name, self.links[arc], True, push, path, row)
                self.segment_entries[node, label] = entry
                self.tables.ilm.append({"node": node, "label": label, "nhlfe": entry})
            self.tables.entries[name, index] = self.segment_entries[node, label]

    def add_ecmp_policy_entries(self, name: str) -> None:
        """Steer as `steer` does, with all next hops of equal cost."""
        path = self.scenario.paths[name]
        for forwarding in segment_labels.compute_segment_forwarding(self.scenario, name)[1:]:
            node, label = self.nodes[forwarding.node], forwarding.label
            if (node, label) in self.segment_entries:
                continue
            for each in forwarding.next_hops:
                push = [label] if each.keeps_top_label else []
                row = self.compiled_ports.find_row(each.arc, frozenset({name}))
                entry = self.add_nhlfe(name, self.links[each.arc], True, push, path, row)
                self.segment_entries.setdefault((node, label), entry)
                self.tables.ilm.append({"node": node, "label": label, "nhlfe": entry})

    def add_node_segment_entries(self) -> None:
        """Add the entry of each router for the label of each node segment."""
        owners = {
            sid.node: name
            for name in reversed(self.scenario.policies)
            for sid in self.scenario.policies[name]
            if sid.arc is None
        }
        graph = build_topology(self.scenario) if owners else None
        for target, name in owners.items():
            assert graph is not None
            label = segment_labels.get_node_label(self.scenario, target)
            has_ecmp = self.scenario.routing.ecmp is not None
            for node, arcs in list_first_arcs(self.scenario, graph, target).items():
                node_index = self.nodes[node]
                is_known = (node_index, label) in self.segment_entries
                for arc in () if is_known else arcs if has_ecmp else arcs[:1]:
                    push = [] if self.scenario.arc_by_name[arc].target == target else [label]
                    row = self.compiled_ports.find_row(arc, frozenset({name}))
                    path = self.scenario.paths[name]
                    entry = self.add_nhlfe(name, self.links[arc], True, push, path, row)
                    self.segment_entries.setdefault((node_index, label), entry)
                    self.tables.ilm.append({"node": node_index, "label": label, "nhlfe": entry})
                self.add_ospf_follower(name, node, target, self.segment_entries[node_index, label])

    def add_ospf_follower(self, name: str, node: str, target: str, entry: int) -> None:
        """Make an entry that pushes the label of a node follow the routes to it."""
        leaving = [arc for arc in self.scenario.arcs if arc.source == node]
        rows = [
            (arc.name, self.compiled_ports.find_row(arc.name, frozenset({name}))) for arc in leaving
        ]
        self.tables.node_segments.append(
            {
                "node": self.nodes[node],
                "destination": self.nodes[target],
                "entry": entry,
                "label": segment_labels.get_node_label(self.scenario, target),
                "rows": [[self.links[arc], row] for arc, row in rows if row is not None],
            }
        )

    def add_transit(self, name: str) -> None:
        for index in range(1, len(self.scenario.routes[name].hops)):
            label = self.labels[name][index]
            self.add_ilm_entry(name, index, label, self.add_hop_entry(name, index, pop=True))

    def add_tail(self, name: str) -> None:
        path, last = self.scenario.paths[name], len(self.scenario.routes[name].hops)
        label = self.labels[name][last]
        if label is None:
            return
        if label == EXPLICIT_NULL:
            # Every node pops explicit null without an entry, in the uniform model; one entry
            # shows that all paths that end here with it are pipes.
            node = self.nodes[self.scenario.routes[name].nodes[last]]
            is_taken = any(
                each["node"] == node and each["label"] == label for each in self.tables.ilm
            )
            path_diffserv = self.scenario.paths[name].diffserv
            is_plain = path_diffserv is None or path_diffserv.model == "short-pipe"
            if (path.ttl == "uniform" and is_plain) or is_taken:
                return
        entry = self.add_nhlfe(name, None, True, [], path, None)
        self.markings.mark_entry(self.tables.nhlfe[entry], pops=name, pushes=[])
        self.add_ilm_entry(name, last, label, entry)

    def add_ilm_entry(self, name: str, index: int, label: int | None, entry: int) -> None:
        node = self.nodes[self.scenario.routes[name].nodes[index]]
        self.tables.entries[name, index] = entry
        self.tables.ilm.append({"node": node, "label": label, "nhlfe": entry})

    def add_hop_entry(self, name: str, index: int, *, pop: bool) -> int:
        """Add the entry of one hop of a path."""
        arc, push, riders = self.resolve_hop(name, index)
        model = self.scenario.paths[riders[-1]]
        row = self.compiled_ports.find_row(arc, frozenset(riders))
        entry = self.add_nhlfe(name, self.links[arc], pop, push, model, row)
        # From the bottom: each pushed label and the one below it. A swapped label keeps its TC.
        keeps_own_label = self.labels[name][index + 1] is not None
        stack = [name if keeps_own_label else None, *riders[1:]]
        pairs: list[tuple[str, str | None] | None] = [
            (path, below) for below, path in itertools.pairwise(stack) if path is not None
        ]
        if keeps_own_label:
            pairs.insert(0, None if pop else (name, None))
        nhlfe_entry = self.tables.nhlfe[entry]
        self.markings.mark_entry(
            nhlfe_entry, pops=None if keeps_own_label or not pop else name, pushes=pairs
        )
        # Of a policy only the first hop comes here.
        ridden = riders[-1]
        if self.has_ospf and ridden in self.scenario.policies:
            first = self.scenario.policies[ridden][0]
            if first.arc is None:
                self.add_ospf_follower(
                    ridden, self.scenario.arc_by_name[arc].source, first.node, entry
                )
        path_diffserv = self.scenario.paths[name].diffserv
        if keeps_own_label and pop and path_diffserv is not None and path_diffserv.linux_tc_zero:
            nhlfe_entry["zero_tc"] = True
        return entry

    def resolve_hop(self, name: str, index: int) -> tuple[str, list[int], list[str]]:
        """Link, labels to put on from the bottom, and paths entered, for one hop of a path."""
        label = self.labels[name][index + 1]
        push = [] if label is None else [label]
        if name in self.scenario.policies:
            push = segment_labels.compute_label_stacks(self.scenario, name)[index]
        hop = self.scenario.routes[name].hops[index]
        if not hop.is_tunnel:
            return hop.over, push, [name]
        arc, above, riders = self.resolve_hop(hop.over, 0)
        return arc, push + above, [name, *riders]

    def add_nhlfe(
        self,
        name: str,
        link: int | None,
        pop: bool,
        push: list[int],
        model: LabelSwitchedPath,
        row: int | None,
    ) -> int:
        self.tables.nhlfe.append(
            {
                "link": link,
                "pop": pop,
                "push": push,
                "ttl": "uniform" if model.ttl == "uniform" else "pipe",
                "row": row,
                "path": self.path_number[name],
            }
        )
        return len(self.tables.nhlfe) - 1
