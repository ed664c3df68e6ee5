"""Failures, protections and rerouting as the engine reads them."""

from collections.abc import Iterator
from dataclasses import dataclass

from trunkline.network import segments
from trunkline.network.labels import EXPLICIT_NULL
from trunkline.network.mpls import Tables
from trunkline.scenario.base import Compiled
from trunkline.scenario.recovery import LOCAL, Failure, Protection
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.resolved.protections import covers, guarded, span
from trunkline.scenario.resolved.resolved import breaks
from trunkline.scenario.resolved.signalled import repaired


def compile(
    scenario: Resolved, tables: Tables, indices: tuple[dict[str, int], dict[str, int]]
) -> Compiled | None:
    """The recovery part of a network; None if the scenario has none.

    Parameters
    ----------
    scenario : Resolved
        The scenario.
    tables : Tables
        The label tables, to which local repair adds entries.
    indices : tuple of dict
        Index of each node, and of each one-way link.
    """
    if not (scenario.failures or scenario.protections or scenario.rerouting):
        return None
    nodes, links = indices
    builder = _Builder(scenario, tables, nodes, links)
    rerouting = scenario.rerouting
    return {
        "failures": [failure_of(scenario, links, *item) for item in scenario.failures.items()],
        "protections": [
            each
            for name, its in scenario.protections.items()
            for each in builder.protections(name, its)
        ],
        "rerouting": None
        if rerouting is None
        else {
            "detection": rerouting.detection.compiled(),
            "processing_ns": rerouting.processing,
            "spf_delay_ns": rerouting.spf_delay,
        },
    }


def failure_of(scenario: Resolved, links: dict[str, int], name: str, failure: Failure) -> Compiled:
    """A failure as the engine reads it."""
    down = {links[arc.name] for arc in scenario.arcs if breaks(failure, arc)}
    schedule: Compiled
    if failure.mtbf is not None:
        schedule = {"kind": "random", "mtbf_ns": failure.mtbf, "mttr_ns": failure.mttr}
    else:
        at = [{"failed_ns": each.at, "repaired_ns": each.repair} for each in failure.times]
        schedule = {"kind": "fixed", "at": at}
    return {
        "name": name,
        "links": sorted(down),
        "node": bool(failure.node) and not failure.link,
        "outages": schedule,
    }


@dataclass
class _Builder:
    scenario: Resolved
    tables: Tables
    nodes: dict[str, int]
    links: dict[str, int]

    def __post_init__(self) -> None:
        self.number = {name: index for index, name in enumerate(self.scenario.paths)}
        self.signalled = repaired(self.scenario)

    def protections(self, name: str, its: Protection) -> Iterator[Compiled]:
        """Those of each of its paths; of several the path is in the name.

        Local repair of a path that is signalled is RSVP-TE's.
        """
        for path in its.path:
            if its.kind in LOCAL and path in self.signalled:
                continue
            yield self.protection(name if len(its.path) == 1 else f"{name}[{path}]", its, path)

    def protection(self, name: str, its: Protection, path: str) -> Compiled:
        route = self.scenario.routes[path].nodes
        first, last = span(self.scenario, its, path) or (0, len(route) - 1)
        around = guarded(self.scenario, its, path)
        switches, bridge = self.switches(its, path, first, last)
        return {
            "name": name,
            "path": self.number[path],
            "kind": its.kind,
            "node": self.nodes[route[last if its.kind == "one-plus-one" else first]],
            "watches": [self.links[arc.name] for arc in around if covers(its, arc)],
            "switches": switches,
            "bridge": bridge,
            "detection": its.detection.compiled(),
            "processing_ns": its.processing,
            "hold_off_ns": its.hold_off,
            "compute_ns": its.compute,
            "switch_ns": its.switch,
            "revertive": its.revertive,
            "wait_to_restore_ns": its.wait_to_restore,
            "make_before_break": its.make_before_break,
        }

    def switches(
        self, its: Protection, path: str, first: int, last: int
    ) -> tuple[list[Compiled], Compiled | None]:
        """Entries that change, and those at the head of 1+1."""
        entry = self.tables.entries[path, first]
        if its.backup is None:
            return [_switch(entry, entry)], None
        head = self.tables.entries[its.backup, 0]
        if its.kind == "backup":
            return [_switch(entry, head)], None
        if its.kind == "one-plus-one":
            ends = [len(self.scenario.routes[name].hops) for name in (path, its.backup)]
            tails = (
                self.tables.entries[name, end]
                for name, end in zip((path, its.backup), ends, strict=True)
            )
            return [_switch(*tails)], _switch(entry, head)
        if its.kind == "detour":
            self.join(its.backup, path, last)
            spare = dict(self.tables.nhlfe[head])
        else:
            spare = dict(self.tables.nhlfe[head])
            inner = self.tables.labels[path][last]
            below = [] if inner is None else [inner]
            if path in self.scenario.segmented:
                # Behind the first node the labels of the segments to come are on the packet.
                below = segments.stacks(self.scenario, path)[last - 1] if first == 0 else []
            spare["push"] = below + spare["push"]
        # The packet has the working path's label on it, but for the first node.
        spare["pop"] = first > 0
        self.tables.nhlfe.append(spare)
        return [_switch(entry, len(self.tables.nhlfe) - 1)], None

    def join(self, detour: str, working: str, last: int) -> None:
        """Makes the end of a detour go on as the working path does there."""
        label = self.tables.labels[working][last]
        hop = len(self.scenario.routes[detour].hops)
        own = self.tables.labels[detour][hop]
        if own in (None, EXPLICIT_NULL):
            # The last but one node of the detour puts on what the working path has there.
            entry = self.tables.nhlfe[self.tables.entries[detour, hop - 1]]
            entry["push"] = [] if label is None else [label]
            return
        if label is None:
            return
        node = self.nodes[self.scenario.routes[detour].nodes[hop]]
        onward = self.tables.entries[working, last]
        for each in self.tables.ilm:
            if each["node"] == node and each["label"] == own:
                each["nhlfe"] = onward


def _switch(entry: int, alternative: int) -> Compiled:
    return {"entry": entry, "alternative": alternative}
