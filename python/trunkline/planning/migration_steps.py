"""The steps of a migration as scenarios that run: each performs one step by RSVP-TE."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from trunkline.planning.explicit_scenario import (
    collect_paths,
    collect_trunks,
    format_scenario_yaml,
)
from trunkline.planning.migration import list_movable_paths
from trunkline.scenario.resolved.placement import build_topology, make_request

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from trunkline.planning.migration import Migration, PlannedStep
    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import ResolvedScenario


@dataclass(frozen=True, slots=True)
class StepScenario:
    """A step as a scenario."""

    name: str  # Number, action and path, such as ``02-move-gold``.
    # YAML. The paths are those before the step; an event performs it a quarter into the measured
    # time.
    text: str


def write_migration_steps(
    before: Scenario, after: Scenario, migration: Migration
) -> list[StepScenario]:
    """Write each step as a scenario with the traffic of the first and the links of the second.

    Failures, events and requests of the first scenario are left out, and so are protections, since
    their backups belong to other routes.
    """
    return list(_StepWriter(before, after).write_all(migration))


class _StepWriter:
    """The state of all paths between steps, as documents."""

    def __init__(self, before: Scenario, after: Scenario):
        self.before = before
        old, new = before.resolve(), after.resolve()
        self.data = before.to_document() | {
            key: value
            for key, value in after.to_document().items()
            if key in ("nodes", "links", "ports", "defaults")
        }
        for key in ("failures", "maintenance", "events", "requests", "protections"):
            self.data.pop(key, None)
        self.paths, self.bandwidths = _collect_documents(before, old)
        self.end_paths, self.end_bandwidths = _collect_documents(after, new)
        self.trunks = self._collect_trunks(before, old, after, new)
        run = old.run
        measured_ns = run.duration - run.warm_up
        self.pause_ns = measured_ns // 4
        self.at_ns = run.warm_up + self.pause_ns
        # The old route goes well before the end of the run.
        cleanup_ns = min(old.signalling.cleanup, self.pause_ns)
        self.data["signalling"] = self.data.get("signalling", {}) | {
            "kind": "rsvp-te",
            "cleanup": f"{cleanup_ns} ns",
            "make_before_break": True,
        }

    def _collect_trunks(
        self,
        before: Scenario,
        old: ResolvedScenario,
        after: Scenario,
        new: ResolvedScenario,
    ) -> dict[str, Any]:
        trunks = collect_trunks(old, before.to_document().get("trunks", {}))
        carried = {flow for trunk in old.trunks.values() for flow in trunk.flows}
        # A new path takes the demands of the first scenario that had none.
        for name, trunk in new.trunks.items():
            fresh = [flow for flow in trunk.flows if flow in before.demands and flow not in carried]
            if fresh and trunk.path not in old.paths:
                trunks[_make_unused_name(name, trunks)] = {
                    "path": trunk.path,
                    "demands": fresh,
                }
        return trunks

    def write_all(self, migration: Migration) -> Iterator[StepScenario]:
        width = len(str(len(migration.steps)))
        for number, step in enumerate(migration.steps, 1):
            title = f"{number:0{max(width, 2)}}-{step.action.replace(' ', '-')}-{step.path}"
            remark = f"Step {number} of {len(migration.steps)}: {_describe_step(step)}."
            yield StepScenario(title, self._write_step(step, remark))
            self._advance(step)

    def _write_step(self, step: PlannedStep, remark: str) -> str:
        paths = {
            name: document | self._format_bandwidth(self.bandwidths[name])
            for name, document in self.paths.items()
        }
        name, changes = step.path, list[dict[str, Any]]()
        if step.action in ("tear", "preempt"):
            changes.append({"tear": name})
        elif not step.route_before:
            bandwidth = self._format_bandwidth(self._find_end_bandwidth(step))
            paths[name] = self._make_document(step) | bandwidth
            changes.append({"set_up": name})
        else:
            changes += self._list_changes_of_path(step, paths)
        times = [self.at_ns, self.at_ns + self.pause_ns]
        events = [
            {"at": f"{time} ns"} | change for time, change in zip(times, changes, strict=False)
        ]
        data = self.data | {"paths": paths, "events": events}
        data["trunks"] = {
            key: trunk for key, trunk in self.trunks.items() if trunk["path"] in paths
        }
        return format_scenario_yaml(self.before, data, [remark])

    def _list_changes_of_path(
        self, step: PlannedStep, paths: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """List the change of the route and that of the bandwidth; a lender joins the paths."""
        changes: list[dict[str, Any]] = []
        if step.route != step.route_before:
            # A path that only lends its route: nodes alone do not tell parallel links apart.
            lender = _make_unused_name(f"{step.path}.route", paths)
            changes.append({"move": step.path, "to": [lender]})
            paths[lender] = {"route": list(step.route)}
        start, end = self.bandwidths[step.path], self._find_end_bandwidth(step)
        if start != end:
            resize = {"resize": step.path, "bandwidth": f"{max(end, 1)} bit/s"}
            # On each link no more is reserved than the larger of both.
            changes.insert(len(changes) if end > start else 0, resize)
        return changes

    def _format_bandwidth(self, bandwidth: int) -> dict[str, str]:
        return {"bandwidth": f"{bandwidth} bit/s"} if bandwidth else {}

    def _find_end_bandwidth(self, step: PlannedStep) -> int:
        """Find the reservation after a step: on a detour the larger of both."""
        end = self.end_bandwidths.get(step.path, 0)
        return max(self.bandwidths[step.path], end) if step.action == "detour" else end

    def _make_document(self, step: PlannedStep) -> dict[str, Any]:
        kept: dict[str, Any] = self.end_paths.get(step.path) or self.paths[step.path]
        return kept | {"route": list(step.route)}

    def _advance(self, step: PlannedStep) -> None:
        if step.action in ("tear", "preempt"):
            del self.paths[step.path], self.bandwidths[step.path]
            return
        bandwidth = self._find_end_bandwidth(step)
        self.paths[step.path] = self._make_document(step)
        self.bandwidths[step.path] = bandwidth


def _collect_documents(
    scenario: Scenario, resolved: ResolvedScenario
) -> tuple[dict[str, Any], dict[str, int]]:
    """Collect the paths with their routes, without backups, and what they reserve [bit/s]."""
    unscaled = resolved.get_unscaled()
    graph = build_topology(unscaled)
    backups = {protection.backup for protection in resolved.protections.values()}
    own = {name: path for name, path in resolved.paths.items() if name not in backups}
    documents = collect_paths(replace(resolved, paths=own), scenario.to_document().get("paths", {}))
    bandwidths = dict.fromkeys(documents, 0)
    for name, path in list_movable_paths(unscaled).items():
        bandwidths[name] = make_request(unscaled, graph, name, path).constraints.bandwidth
    without = {
        name: {key: value for key, value in document.items() if key != "bandwidth"}
        for name, document in documents.items()
    }
    return without, bandwidths


def _make_unused_name(name: str, used: Container[str]) -> str:
    while name in used:
        name += "+"
    return name


def _describe_step(step: PlannedStep) -> str:
    route = " ".join(step.route)
    words = {
        "move": f"path {step.path} moves to {route}",
        "detour": f"path {step.path} takes the detour {route}",
        "resize": f"path {step.path} reserves {step.bandwidth_bit_s} bit/s",
        "set up": f"path {step.path} is set up on {route}",
        "tear": f"path {step.path} is torn down",
        "preempt": f"path {step.path} is torn down, and set up again in a later step",
    }
    return words[step.action]
