"""Protect the label-switched paths of a scenario: backups, their bandwidth, gaps of protection."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from trunkline import te
from trunkline.planning.loads import compute_igp_loads, list_igp_demands
from trunkline.planning.placement import sum_lsp_loads
from trunkline.scenario.fields import AUTO
from trunkline.scenario.loader import extend_section
from trunkline.scenario.resolved.placement import (
    build_topology,
    format_route,
    place_all_paths as place_paths,
)

if TYPE_CHECKING:
    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import ResolvedScenario
    from trunkline.scenario.resolved.computed_backups import ComputedBackup
    from trunkline.te.topology import Topology

DEFAULT_PROTECTION_NAME = "frr"  # Name of the protection that is added where a scenario has none.


@dataclass(frozen=True, slots=True)
class PlannedBackup:
    """A computed backup."""

    backup: str
    protection: str  # Protection of the scenario that asked for it.
    kind: str
    around: str  # Link, node or path that it avoids.
    route: tuple[str, ...]  # Nodes, and links where several are parallel.
    paths: tuple[str, ...]  # Paths that it serves.
    bandwidth_bit_s: int  # Load of the backup when it is used.
    stretch_s: float  # Propagation of the repaired path less that of the path [s].
    stretch_hops: int  # The same in links.


@dataclass(frozen=True, slots=True)
class UnprotectedElement:
    """An element without a backup."""

    path: str
    around: str  # Link, node or path that no path avoids.
    protection: str  # Protection that should cover it.
    why: str
    by_link: bool  # Whether the link still has a backup, which does not avoid the node or the risk.


@dataclass(frozen=True, slots=True)
class LinkBackupLoad:
    """The load of a direction of a link with its backups."""

    link: str
    capacity_bit_s: int
    load_bit_s: int  # Demands that cross it without a failure.
    reserved_bit_s: int  # Reservations of working paths.
    backup_bit_s: int  # Load of backups at the worst single failure.
    unshared_bit_s: int  # Bandwidth of the backups if they shared none.
    utilisation: float  # Load and backups over capacity [1].


@dataclass(frozen=True, slots=True)
class BackupPlan:
    """The backups of a scenario."""

    # backups, links: In the order of the scenario.
    backups: tuple[PlannedBackup, ...]
    # Elements without the backup that the scenario asks for.
    unprotected: tuple[UnprotectedElement, ...]
    links: tuple[LinkBackupLoad, ...]
    # Number of hops that need a local repair, plus paths that need a backup from end to end.
    places: int
    coverage: float | None  # Share of the places with a backup [1]; None without places.
    scale: float  # Factor of all rates in a run; rates here are not scaled.

    def to_dict(self) -> dict[str, Any]:
        """Build plain data."""
        return asdict(self)


def add_default_protection(
    scenario: Scenario,
    *,
    kind: str = "facility-bypass",
    around: str = "link",
    share: str | None = None,
) -> Scenario:
    """Add a protection of all paths to a scenario that has none with ``backup: auto``.

    kind: one of "facility-bypass", "detour", "backup", "one-plus-one"; of the protection that is
        added.
    around: one of "link", "node", "risk"; elements that its backups avoid.
    share: Bandwidth that backups must find over that of the paths, as ``100 %``; absent: none.
    """
    if any(each.backup == AUTO for each in scenario.protections.values()):
        return scenario
    name, number = DEFAULT_PROTECTION_NAME, 1
    while name in scenario.protections:
        number += 1
        name = f"{DEFAULT_PROTECTION_NAME}{number}"
    protection = {"path": "all", "kind": kind, "backup": AUTO, "protect": around}
    added = {name: protection | ({"bandwidth": share} if share else {})}
    return extend_section(scenario, "protections", added, f"--kind {kind}")


def protect(scenario: Scenario) -> BackupPlan:
    """Compute the backups of the protections with ``backup: auto`` of a scenario.

    Rates are not scaled by the `scale` of the scenario. See `add_default_protection` for a scenario
    without protections.
    """
    resolved = scenario.resolve()
    unscaled = resolved.get_unscaled()
    graph = build_topology(unscaled)
    computed = resolved.computed_backups
    backups = (
        ()
        if computed is None
        else tuple(_make_backup_path(unscaled, graph, each) for each in computed.backups)
    )
    gaps = [] if computed is None else computed.gaps
    places = 0 if computed is None else computed.place_count
    unprotected = sum(not gap.has_link_backup for gap in gaps)
    return BackupPlan(
        backups,
        tuple(
            UnprotectedElement(
                uncovered.path,
                uncovered.protected_element,
                uncovered.protection,
                uncovered.reason,
                uncovered.has_link_backup,
            )
            for uncovered in gaps
        ),
        _list_backup_loads(unscaled, graph),
        places,
        1 - unprotected / places if places else None,
        scenario.scale,
    )


def _make_backup_path(
    scenario: ResolvedScenario, graph: Topology, backup: ComputedBackup
) -> PlannedBackup:
    repair, bypassed = list(backup.backup_path.path), list(backup.protected_arcs)
    delay = int(graph.delay[repair].sum()) - int(graph.delay[bypassed].sum())
    return PlannedBackup(
        backup.name,
        backup.protection,
        scenario.protections[backup.name].kind,
        backup.protected_element,
        format_route(scenario, backup.backup_path.path),
        tuple(backup.paths),
        backup.bandwidth,
        delay / 1e9,
        len(repair) - len(bypassed),
    )


def _list_backup_loads(scenario: ResolvedScenario, graph: Topology) -> tuple[LinkBackupLoad, ...]:
    placement = scenario.placement or place_paths(scenario, graph)
    loads = sum_lsp_loads(scenario, graph, placement) + compute_igp_loads(
        scenario, graph, list_igp_demands(scenario)
    )
    reserved = placement.reservations.sum_reserved()
    shared = (
        te.shared_backups.SharedBandwidth(graph.reservable)
        if scenario.computed_backups is None
        else scenario.computed_backups.shared
    )
    backup_loads = shared.compute_total()
    return tuple(
        LinkBackupLoad(
            arc.name,
            int(graph.capacity[index]),
            round(float(loads[index])),
            int(reserved[index]),
            int(backup_loads[index]),
            int(shared.unshared[index]),
            float((loads[index] + backup_loads[index]) / graph.capacity[index]),
        )
        for index, arc in enumerate(scenario.arcs)
    )
