"""Failures, protections and rerouting in the compiled network."""

from collections.abc import Iterator
from dataclasses import dataclass

from trunkline.network import segment_labels
from trunkline.network.label_tables import LabelTables
from trunkline.network.labels import EXPLICIT_NULL
from trunkline.scenario.base import CompiledKeys
from trunkline.scenario.recovery import LOCAL_PROTECTION_KINDS, Failure, Protection
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.protections import covers_arc, find_span, list_protected_arcs
from trunkline.scenario.resolved.resolved import fails_arc
from trunkline.scenario.resolved.signalled_paths import list_signalled_repairs


def compile_recovery(
    scenario: ResolvedScenario, tables: LabelTables, indices: tuple[dict[str, int], dict[str, int]]
) -> CompiledKeys | None:
    """Compile the recovery part of a network; None if the scenario has none.

    Local repair adds entries to ``tables``. ``indices`` are those of nodes and of one-way links.
    """
    if not (scenario.failures or scenario.protections or scenario.rerouting):
        return None
    nodes, links = indices
    builder = _ProtectionCompiler(scenario, tables, nodes, links)
    rerouting = scenario.rerouting
    return {
        "failures": [
            compile_failure(scenario, links, name, failure) | _compile_drain(scenario, name)
            for name, failure in scenario.failures.items()
        ],
        "protections": [
            each
            for name, protection in scenario.protections.items()
            for each in builder.compile_protections(name, protection)
        ],
        "rerouting": None
        if rerouting is None
        else {
            "detection": rerouting.detection.compile_keys(),
            "processing_ns": rerouting.processing,
            "spf_delay_ns": rerouting.spf_delay,
        },
    }


def compile_failure(
    scenario: ResolvedScenario, links: dict[str, int], name: str, failure: Failure
) -> CompiledKeys:
    """A failure as the engine reads it."""
    failed_links = {links[arc.name] for arc in scenario.arcs if fails_arc(failure, arc)}
    schedule: CompiledKeys
    if failure.mtbf is not None:
        schedule = {"kind": "random", "mtbf_ns": failure.mtbf, "mttr_ns": failure.mttr}
    else:
        outages = [{"failed_ns": each.at, "repaired_ns": each.repair} for each in failure.times]
        schedule = {"kind": "fixed", "at": outages}
    return {
        "name": name,
        "links": sorted(failed_links),
        "node": bool(failure.node) and not failure.link,
        "outages": schedule,
    }


def _compile_drain(scenario: ResolvedScenario, name: str) -> CompiledKeys:
    """The drain before a planned outage; no key without."""
    window = scenario.written.maintenance.get(name)
    if window is None or window.drained_ns is None:
        return {}
    drain = {
        "at_ns": window.drained_ns,
        "by_metric": window.drain in ("metric", "both"),
        "by_switch": window.drain in ("lsp", "both"),
    }
    return {"drain": drain}


@dataclass
class _ProtectionCompiler:
    scenario: ResolvedScenario
    tables: LabelTables
    nodes: dict[str, int]
    links: dict[str, int]

    def __post_init__(self) -> None:
        self.number = {name: index for index, name in enumerate(self.scenario.paths)}
        self.signalled = list_signalled_repairs(self.scenario)

    def compile_protections(self, name: str, protection: Protection) -> Iterator[CompiledKeys]:
        """Compile a protection for each of its paths; with several, the name has the path.

        RSVP-TE does the local repair of signalled paths.
        """
        for path in protection.path:
            if protection.kind in LOCAL_PROTECTION_KINDS and path in self.signalled:
                continue
            yield self.compile_protection(
                name if len(protection.path) == 1 else f"{name}[{path}]", protection, path
            )

    def compile_protection(self, name: str, protection: Protection, path: str) -> CompiledKeys:
        route = self.scenario.routes[path].nodes
        span = find_span(self.scenario, protection, path)
        assert span is not None, "checked before: the backup begins and ends as its kind needs"
        first, last = span
        protected_arcs = list_protected_arcs(self.scenario, protection, path)
        switches, bridge = self.compile_switches(protection, path, first, last)
        return {
            "name": name,
            "path": self.number[path],
            "kind": protection.kind,
            "node": self.nodes[route[last if protection.kind == "one-plus-one" else first]],
            "watches": [
                self.links[arc.name] for arc in protected_arcs if covers_arc(protection, arc)
            ],
            "switches": switches,
            "bridge": bridge,
            "detection": protection.detection.compile_keys(),
            "processing_ns": protection.processing,
            "hold_off_ns": protection.hold_off,
            "compute_ns": protection.compute,
            "switch_ns": protection.switch,
            "revertive": protection.revertive,
            "wait_to_restore_ns": protection.wait_to_restore,
            "make_before_break": protection.make_before_break,
        }

    def compile_switches(
        self, protection: Protection, path: str, first: int, last: int
    ) -> tuple[list[CompiledKeys], CompiledKeys | None]:
        """Compile the entries that change, and those at the head of 1+1."""
        entry = self.tables.entries[path, first]
        if protection.backup is None:
            return [_make_switch(entry, entry)], None
        head = self.tables.entries[protection.backup, 0]
        if protection.kind == "backup":
            return [_make_switch(entry, head)], None
        if protection.kind == "one-plus-one":
            ends = [len(self.scenario.routes[name].hops) for name in (path, protection.backup)]
            tails = (
                self.tables.entries[name, end]
                for name, end in zip((path, protection.backup), ends, strict=True)
            )
            return [_make_switch(*tails)], _make_switch(entry, head)
        if protection.kind == "detour":
            self.join_detour(protection.backup, path, last)
            backup_entry = dict(self.tables.nhlfe[head])
        else:
            backup_entry = dict(self.tables.nhlfe[head])
            inner = self.tables.labels[path][last]
            below = [] if inner is None else [inner]
            if path in self.scenario.policies:
                # Behind the first node the labels of the segments to come are on the packet.
                below = (
                    segment_labels.compute_label_stacks(self.scenario, path)[last - 1]
                    if first == 0
                    else []
                )
            backup_entry["push"] = below + backup_entry["push"]
            self.mark_bypass(backup_entry, protection.backup, path, len(below), first)
        # The packet has the working path's label on it, but for the first node.
        backup_entry["pop"] = first > 0
        self.tables.nhlfe.append(backup_entry)
        return [_make_switch(entry, len(self.tables.nhlfe) - 1)], None

    def mark_bypass(
        self, entry: CompiledKeys, bypass: str, path: str, below: int, first: int
    ) -> None:
        """Write the maps of traffic classes into the entry that puts a path into a bypass.

        below: Labels of the path that it pushes or swaps; without any it takes off the path's
            label, but for the path's first node.
        first: Place of the node in the path.
        """
        outer = entry.pop("push_diffserv", [None] * (len(entry["push"]) - below))
        # At the first node the path's labels are pushed, at others the last is swapped.
        pushes: list[tuple[str, str | None] | None] = [(path, None) if first == 0 else None] * below
        if self.tables.labels[bypass][1] is not None:
            pushes.append((bypass, path if below else None))
        pops = path if first > 0 and not below else None
        self.tables.markings.mark_entry(entry, pops=pops, pushes=pushes)
        # Those of the tunnels that the bypass rides are the ones of its own first node.
        outer = outer[len(pushes) - below :]
        own = entry.get("push_diffserv", [None] * len(pushes))
        if any(each is not None for each in [*own, *outer]):
            entry["push_diffserv"] = [*own, *outer]

    def join_detour(self, detour: str, working: str, last: int) -> None:
        """Make the end of a detour continue as the working path does there."""
        label = self.tables.labels[working][last]
        hop = len(self.scenario.routes[detour].hops)
        detour_label = self.tables.labels[detour][hop]
        if detour_label in (None, EXPLICIT_NULL):
            # The last but one node of the detour pushes the label of the working path there.
            entry = self.tables.nhlfe[self.tables.entries[detour, hop - 1]]
            entry["push"] = [] if label is None else [label]
            return
        if label is None:
            return
        node = self.nodes[self.scenario.routes[detour].nodes[hop]]
        working_entry = self.tables.entries[working, last]
        for each in self.tables.ilm:
            if each["node"] == node and each["label"] == detour_label:
                each["nhlfe"] = working_entry


def _make_switch(entry: int, alternative: int) -> CompiledKeys:
    return {"entry": entry, "alternative": alternative}
