"""Search for the backups of a protection with `backup: auto`; elements that it cannot protect.

Paths are served in the order of their setup priority, bandwidth and name. A bypass serves every
path that needs it and whose bandwidth it has room for; a detour and a standby serve one.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from trunkline import te
from trunkline.scenario.recovery import LOCAL_PROTECTION_KINDS, Protection
from trunkline.scenario.resolved.computed_backups import (
    ComputedBackup,
    ComputedBackups,
    ProtectionGap,
)
from trunkline.scenario.resolved.placement import explain_refusal, find_arcs, make_constraints
from trunkline.scenario.resolved.resolved import PolicySegment, ResolvedScenario
from trunkline.scenario.resolved.segments import follow_segments, list_remaining_segments
from trunkline.scenario.te import RouteConstraints

if TYPE_CHECKING:
    from trunkline.te.disjoint_paths import Disjointness
    from trunkline.te.refusal import Refusal
    from trunkline.te.topology import ArcPath as Arcs, Topology

MAX_LABEL_DEPTH = 4  # Labels that a packet can carry at once.


class BackupSearch:
    """Finds the backups of one protection.

    scenario: With all routes written out.
    name: Name of the protection.
    result: Gets the findings.
    """

    def __init__(
        self,
        scenario: ResolvedScenario,
        graph: "Topology",
        name: str,
        protection: Protection,
        result: ComputedBackups,
    ):
        self.scenario, self.graph, self.name, self.protection, self.result = (
            scenario,
            graph,
            name,
            protection,
            result,
        )
        self.backups: list[ComputedBackup] = []
        self.links_covered: set[str] = set()
        self._bypasses: dict[tuple[int, int | None, str], list[ComputedBackup]] = {}
        # Why there is no bypass even without bandwidth.
        self._refusals: dict[tuple[int, int | None, str], str] = {}

    def protect_path(self, path: str) -> None:
        """Find the protections of a path."""
        arcs = find_arcs(self.scenario, self.scenario.paths[path])
        if self.protection.kind == "ti-lfa":
            self._add_repair_lists(path, arcs)
            return
        if path in self.scenario.policies and self.protection.kind != "backup":
            self.result.place_count += 1
            self._add_gap(
                path, f"path {path}", f"it has segments: {self.protection.kind} needs a route"
            )
            return
        if arcs is None:
            if self.scenario.paths[path].through:
                self.result.place_count += 1
                self._add_gap(path, f"path {path}", "it rides tunnels")
        elif self.protection.kind in LOCAL_PROTECTION_KINDS:
            for hop, arc in enumerate(arcs):
                if self._covers_arc(arc):
                    self.result.place_count += 1
                    self._protect_hop(path, arcs, hop)
        else:
            self.result.place_count += 1
            self._add_standby(path, arcs)

    def _covers_arc(self, arc: int) -> bool:
        direction = self.scenario.arcs[arc]
        named = {direction.link, direction.name}.intersection(self.protection.link)
        self.links_covered |= named
        return bool(named) or not self.protection.link

    def _protect_hop(self, path: str, arcs: "Arcs", hop: int) -> None:
        protect: Disjointness = self.protection.protect
        if protect == "node" and hop == len(arcs) - 1:
            protect = "link"
        found = self._find_local_backup(path, arcs, hop, protect)
        if isinstance(found, str):
            link = self._find_local_backup(path, arcs, hop, "link") if protect != "link" else found
            missing = "link" if isinstance(link, str) else protect
            reason = link if isinstance(link, str) else found
            self._add_gap(
                path,
                self._describe_element(arcs[hop], missing),
                reason,
                has_link_backup=missing != "link",
            )
            found = link
        if isinstance(found, ComputedBackup):
            self._add_path_to_backup(found, path)

    def _find_local_backup(
        self, path: str, arcs: "Arcs", hop: int, protect: "Disjointness"
    ) -> ComputedBackup | str:
        """Find a bypass that is there and has room, or a new backup; or why there is none."""
        failures = te.shared_backups.list_failures_of_path(
            self.graph, arcs[hop : hop + 1], nodes=False
        )
        if protect == "node":
            failures |= {("node", int(self.graph.head[arcs[hop]]))}
        free = self.result.shared.get_free(failures)
        constraints = self._make_constraints(path)
        bypass = self.protection.kind == "facility-bypass"
        key = arcs[hop], arcs[hop + 1] if protect == "node" else None, protect
        if bypass:
            for each in self._bypasses.get(key, ()):
                if free[list(each.backup_path.path)].min() >= constraints.bandwidth:
                    return each
            if key in self._refusals:
                return self._refusals[key]
        kind: te.backup_paths.LocalBackupKind = "facility-bypass" if bypass else "detour"
        repair = te.backup_paths.find_local_backup(
            self.graph, arcs, hop, kind, protect, constraints, free
        )
        if isinstance(repair, te.refusal.Refusal):
            merge = hop + 1 if protect == "node" else hop
            ends = arcs[hop], arcs[merge if bypass else -1]
            reason = self._explain_refusal(repair, constraints, *ends)
            if not constraints.bandwidth:
                self._refusals[key] = reason
            return reason
        over = arcs[hop : repair.joins_at]
        backup = ComputedBackup(
            self.name, self._describe_element(arcs[hop], protect), repair, over, failures
        )
        self._bypasses.setdefault(key, []).append(backup)
        return backup

    def _add_repair_lists(self, path: str, arcs: "Arcs | None") -> None:
        """Repair lists at every hop of a policy of segment routing."""
        if path not in self.scenario.policies or arcs is None:
            self.result.place_count += 1
            self._add_gap(path, f"path {path}", "ti-lfa needs a path with segments")
            return
        for hop, arc in enumerate(arcs):
            if self._covers_arc(arc):
                self.result.place_count += 1
                remaining = list_remaining_segments(self.scenario, path, hop)
                found = self._find_repair_list(arcs, hop, remaining)
                if isinstance(found, str):
                    self._add_gap(path, self._describe_element(arc, self.protection.protect), found)
                else:
                    self._add_path_to_backup(found, path)

    def _find_repair_list(
        self, arcs: "Arcs", hop: int, remaining: list[PolicySegment]
    ) -> ComputedBackup | str:
        """Find the repair list of a hop, towards the end of the segment that is active there."""
        graph, arc = self.graph, arcs[hop]
        start, target = graph.arcs[arc].tail, graph.node_number[remaining[0].node]
        key = arc, target, "ti-lfa"
        if key in self._bypasses:
            return self._bypasses[key][0]
        repair = te.ti_lfa.find_repair_list(graph, graph.igp, arc, target, self.protection.protect)
        if repair is None:
            return f"no other way leads from {start} to {remaining[0].node}"
        if len(repair.segments) + len(remaining) > MAX_LABEL_DEPTH:
            return f"the repair list makes {len(repair.segments) + len(remaining)} labels"
        sids = [
            PolicySegment(graph.arcs[repair.path[0]].head, self.scenario.arcs[repair.path[0]].name)
        ]
        for each in repair.segments:
            over = None if each.arc is None else self.scenario.arcs[each.arc].name
            sids.append(PolicySegment(graph.nodes[each.node], over))
        if sids[-1].node != remaining[0].node:
            sids.append(PolicySegment(remaining[0].node))
        arcs_followed, _ = follow_segments(self.scenario, graph, start, sids)
        nodes = graph.list_node_names(tuple(arcs_followed))
        if len(set(nodes)) < len(nodes):
            return "the repair list leads through a node twice"
        last = [int(graph.head[each]) for each in arcs].index(target, hop) + 1
        failures = te.shared_backups.list_failures_of_path(graph, (arc,), nodes=False)
        if self.protection.protect == "node":
            failures |= {("node", int(graph.head[arc]))}
        element = self._describe_element(
            arc, "link" if last == hop + 1 else self.protection.protect
        )
        backup_path = te.backup_paths.BackupPath(
            hop, last, tuple(arcs_followed), self.protection.protect
        )
        listed = tuple((sid.node, sid.arc) for sid in sids)
        backup = ComputedBackup(
            self.name, element, backup_path, arcs[hop:last], failures, segments=listed
        )
        self._bypasses[key] = [backup]
        return backup

    def _add_standby(self, path: str, arcs: "Arcs") -> None:
        failures = te.shared_backups.list_failures_of_path(self.graph, arcs, nodes=True)
        constraints, free = self._make_constraints(path), self.result.shared.get_free(failures)
        repair = te.backup_paths.find_standby(
            self.graph, arcs, self.protection.protect, constraints, free
        )
        if isinstance(repair, te.refusal.Refusal):
            reason = self._explain_refusal(
                repair, constraints, arcs[0], arcs[-1]
            ) + self._suggest_pair(arcs)
            self._add_gap(path, f"path {path}", reason)
        else:
            self._add_path_to_backup(
                ComputedBackup(self.name, f"path {path}", repair, arcs, failures), path
            )

    def _suggest_pair(self, arcs: "Arcs") -> str:
        """Find two disjoint paths where the working path blocks any second one."""
        ends = int(self.graph.tail[arcs[0]]), int(self.graph.head[arcs[-1]])
        pair = te.disjoint_paths.find_disjoint_pair(
            self.graph, *ends, self.graph.igp, self.protection.protect
        )
        if pair is None:
            return ""
        first, second = (
            "-".join(self.graph.list_node_names(path)) for path in (pair.first, pair.second)
        )
        return f"; {first} and {second} would be disjoint"

    def _add_path_to_backup(self, backup: ComputedBackup, path: str) -> None:
        share = 1.0 if self.protection.bandwidth is None else self.protection.bandwidth
        rate = round(share * self.scenario.get_reservation(path)[0])
        if not backup.paths:
            self.backups.append(backup)
        backup.paths.append(path)
        backup.bandwidth += rate
        self.result.shared.reserve(backup.backup_path.path, rate, backup.failures)

    def _make_constraints(self, path: str) -> "te.path_constraints.PathConstraints":
        rate, _ = self.scenario.get_reservation(path)
        bandwidth = round((self.protection.bandwidth or 0) * rate)
        constraints = self.protection.constraints
        if constraints is None and self.protection.kind == "facility-bypass":
            constraints = RouteConstraints()
        if constraints is not None:
            return make_constraints(self.graph, constraints, bandwidth)
        path_constraints = replace(
            make_constraints(self.graph, self.scenario.paths[path], bandwidth), via=()
        )
        return (
            replace(path_constraints, max_hops=None, max_delay=None)
            if self.protection.kind in LOCAL_PROTECTION_KINDS
            else path_constraints
        )

    def _describe_element(self, arc: int, protect: "Disjointness") -> str:
        direction = self.scenario.arcs[arc]
        if protect == "node":
            return f"node {direction.target}"
        return f"{'the risks of ' if protect == 'risk' else ''}link {direction.name}"

    def _explain_refusal(
        self,
        refusal: "Refusal",
        constraints: "te.path_constraints.PathConstraints",
        first: int,
        last: int,
    ) -> str:
        if refusal.reason == "disjoint":
            ends = self.graph.arcs[first].tail, self.graph.arcs[last].head
            return f"no other way leads from {ends[0]} to {ends[1]}"
        return explain_refusal(self.graph, refusal, constraints)

    def _add_gap(
        self, path: str, element: str, reason: str, *, has_link_backup: bool = False
    ) -> None:
        self.result.gaps.append(ProtectionGap(self.name, path, element, reason, has_link_backup))
