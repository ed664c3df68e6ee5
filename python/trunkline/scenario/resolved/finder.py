"""Finds the backups of a protection with `backup: auto`, and what it cannot protect.

Paths are served in the order of their setup priority, bandwidth and name. A bypass serves every
path that needs it and whose bandwidth it has room for; a detour and a standby serve one.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from trunkline import te
from trunkline.scenario.recovery import LOCAL, Protection
from trunkline.scenario.resolved.backed import Backed, Backup, Gap
from trunkline.scenario.resolved.placement import arcs_of, asked_of, refused
from trunkline.scenario.resolved.resolved import Resolved, Sid
from trunkline.scenario.resolved.segments import active, followed
from trunkline.scenario.te import Constraints

if TYPE_CHECKING:
    from trunkline.te.disjoint import Apart
    from trunkline.te.refusal import Refusal
    from trunkline.te.topology import Path as Arcs, Topology

DEPTH = 4
"""Labels that a packet can carry at once."""


class Finder:
    """Finds the backups of one protection.

    Parameters
    ----------
    scenario : Resolved
        With all routes written out.
    graph : te.topology.Topology
        Its graph.
    name : str
        Name of the protection.
    its : Protection
        The protection.
    into : Backed
        Gets what is found.
    """

    def __init__(
        self, scenario: Resolved, graph: "Topology", name: str, its: Protection, into: Backed
    ):
        self.scenario, self.graph, self.name, self.its, self.into = scenario, graph, name, its, into
        self.found: list[Backup] = []
        self.links: set[str] = set()
        self._bypasses: dict[tuple[int, int, str], list[Backup]] = {}
        self._refusals: dict[tuple[int, int, str], str] = {}

    def serve(self, path: str) -> None:
        """Finds what protects a path."""
        arcs = arcs_of(self.scenario, self.scenario.paths[path])
        if self.its.kind == "ti-lfa":
            self._lists(path, arcs)
            return
        if path in self.scenario.segmented and self.its.kind != "backup":
            self.into.places += 1
            self._gap(path, f"path {path}", f"it has segments: {self.its.kind} needs a route")
            return
        if arcs is None:
            if self.scenario.paths[path].through:
                self.into.places += 1
                self._gap(path, f"path {path}", "it rides tunnels")
        elif self.its.kind in LOCAL:
            for at, arc in enumerate(arcs):
                if self._covers(arc):
                    self.into.places += 1
                    self._local(path, arcs, at)
        else:
            self.into.places += 1
            self._standby(path, arcs)

    def _covers(self, arc: int) -> bool:
        its = self.scenario.arcs[arc]
        named = {its.link, its.name}.intersection(self.its.link)
        self.links |= named
        return bool(named) or not self.its.link

    def _local(self, path: str, arcs: "Arcs", at: int) -> None:
        wanted: Apart = self.its.protect
        if wanted == "node" and at == len(arcs) - 1:
            wanted = "link"
        found = self._around(path, arcs, at, wanted)
        if isinstance(found, str):
            link = self._around(path, arcs, at, "link") if wanted != "link" else found
            missing = "link" if isinstance(link, str) else wanted
            why = link if isinstance(link, str) else found
            self._gap(path, self._word(arcs[at], missing), why, by_link=missing != "link")
            found = link
        if isinstance(found, Backup):
            self._use(found, path)

    def _around(self, path: str, arcs: "Arcs", at: int, protect: "Apart") -> Backup | str:
        """A bypass that is there and has room, or a new backup; or why there is none."""
        by = te.shared.events(self.graph, arcs[at : at + 1], nodes=False)
        if protect == "node":
            by |= {("node", int(self.graph.head[arcs[at]]))}
        free = self.into.shared.free(by)
        asked = self._asked(path)
        bypass = self.its.kind == "facility-bypass"
        key = arcs[at], arcs[at + 1] if protect == "node" else -1, protect
        if bypass:
            for each in self._bypasses.get(key, ()):
                if free[list(each.repair.path)].min() >= asked.bandwidth:
                    return each
            if key in self._refusals and not asked.bandwidth:
                return self._refusals[key]
        kind: te.repair.Local = "facility-bypass" if bypass else "detour"
        repair = te.repair.local(self.graph, arcs, at, kind, protect, asked, free)
        if isinstance(repair, te.refusal.Refusal):
            merge = at + 1 if protect == "node" else at
            ends = arcs[at], arcs[merge if bypass else -1]
            self._refusals[key] = self._why(repair, asked, *ends)
            return self._refusals[key]
        over = arcs[at : repair.last]
        backup = Backup(self.name, self._word(arcs[at], protect), repair, over, by)
        self._bypasses.setdefault(key, []).append(backup)
        return backup

    def _lists(self, path: str, arcs: "Arcs | None") -> None:
        """Repair lists at every hop of a policy of segment routing."""
        if path not in self.scenario.segmented or arcs is None:
            self.into.places += 1
            self._gap(path, f"path {path}", "ti-lfa needs a path with segments")
            return
        for at, arc in enumerate(arcs):
            if self._covers(arc):
                self.into.places += 1
                left = active(self.scenario, path, at)
                found = self._list(arcs, at, left)
                if isinstance(found, str):
                    self._gap(path, self._word(arc, self.its.protect), found)
                else:
                    self._use(found, path)

    def _list(self, arcs: "Arcs", at: int, left: list[Sid]) -> Backup | str:
        """The repair list of a hop, towards the end of the segment that is active there."""
        graph, arc = self.graph, arcs[at]
        start, target = graph.arcs[arc].tail, graph.node[left[0].node]
        key = arc, target, "ti-lfa"
        if key in self._bypasses:
            return self._bypasses[key][0]
        repair = te.ti_lfa.ti_lfa(graph, graph.igp, arc, target, self.its.protect)
        if repair is None:
            return f"no other way leads from {start} to {left[0].node}"
        if len(repair.segments) + len(left) > DEPTH:
            return f"the repair list makes {len(repair.segments) + len(left)} labels"
        sids = [Sid(graph.arcs[repair.path[0]].head, self.scenario.arcs[repair.path[0]].name)]
        for each in repair.segments:
            over = None if each.arc is None else self.scenario.arcs[each.arc].name
            sids.append(Sid(graph.nodes[each.node], over))
        if sids[-1].node != left[0].node:
            sids.append(Sid(left[0].node))
        way, _ = followed(self.scenario, graph, start, sids)
        nodes = graph.along(tuple(way))
        if len(set(nodes)) < len(nodes):
            return "the repair list leads through a node twice"
        last = [int(graph.head[each]) for each in arcs].index(target, at) + 1
        by = te.shared.events(graph, (arc,), nodes=False)
        if self.its.protect == "node":
            by |= {("node", int(graph.head[arc]))}
        word = self._word(arc, "link" if last == at + 1 else self.its.protect)
        its = te.repair.Repair(at, last, tuple(way), self.its.protect)
        listed = tuple((sid.node, sid.arc) for sid in sids)
        backup = Backup(self.name, word, its, arcs[at:last], by, segments=listed)
        self._bypasses[key] = [backup]
        return backup

    def _standby(self, path: str, arcs: "Arcs") -> None:
        by = te.shared.events(self.graph, arcs, nodes=True)
        asked, free = self._asked(path), self.into.shared.free(by)
        repair = te.repair.standby(self.graph, arcs, self.its.protect, asked, free)
        if isinstance(repair, te.refusal.Refusal):
            why = self._why(repair, asked, arcs[0], arcs[-1]) + self._pair(arcs)
            self._gap(path, f"path {path}", why)
        else:
            self._use(Backup(self.name, f"path {path}", repair, arcs, by), path)

    def _pair(self, arcs: "Arcs") -> str:
        """Two disjoint paths, where the working path stands in the way of any second one."""
        ends = int(self.graph.tail[arcs[0]]), int(self.graph.head[arcs[-1]])
        pair = te.disjoint.disjoint_pair(self.graph, *ends, self.graph.igp, self.its.protect)
        if pair is None:
            return ""
        one, other = ("-".join(self.graph.along(way)) for way in (pair.first, pair.second))
        return f"; {one} and {other} would be disjoint"

    def _use(self, backup: Backup, path: str) -> None:
        share = 1.0 if self.its.bandwidth is None else self.its.bandwidth
        rate = round(share * self.scenario.reserved.get(path, (0, 0))[0])
        if not backup.paths:
            self.found.append(backup)
        backup.paths.append(path)
        backup.bandwidth += rate
        self.into.shared.hold(backup.repair.path, rate, backup.by)

    def _asked(self, path: str) -> "te.constraints.Constraints":
        rate = self.scenario.reserved.get(path, (0, 0))[0]
        bandwidth = round((self.its.bandwidth or 0) * rate)
        said = self.its.constraints
        if said is None and self.its.kind == "facility-bypass":
            said = Constraints()
        if said is not None:
            return asked_of(self.graph, said, bandwidth)
        own = replace(asked_of(self.graph, self.scenario.paths[path], bandwidth), via=())
        return replace(own, max_hops=None, max_delay=None) if self.its.kind in LOCAL else own

    def _word(self, arc: int, protect: "Apart") -> str:
        its = self.scenario.arcs[arc]
        if protect == "node":
            return f"node {its.target}"
        return f"{'the risks of ' if protect == 'risk' else ''}link {its.name}"

    def _why(
        self, refusal: "Refusal", asked: "te.constraints.Constraints", first: int, last: int
    ) -> str:
        if refusal.reason == "disjoint":
            ends = self.graph.arcs[first].tail, self.graph.arcs[last].head
            return f"no other way leads from {ends[0]} to {ends[1]}"
        return refused(self.graph, refusal, asked)

    def _gap(self, path: str, around: str, why: str, *, by_link: bool = False) -> None:
        self.into.gaps.append(Gap(self.name, path, around, why, by_link))
