"""Protect the label-switched paths of a scenario: backups, their bandwidth, what has none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from trunkline import te
from trunkline.planning.loads import by_igp, on_igp
from trunkline.planning.place import lsp_loads
from trunkline.scenario.loader import extended
from trunkline.scenario.path import AUTO
from trunkline.scenario.resolved.placement import place as place_paths, route_of, topology

if TYPE_CHECKING:
    from trunkline.scenario import Scenario
    from trunkline.scenario.resolved import Resolved
    from trunkline.scenario.resolved.backed import Backup
    from trunkline.te.topology import Topology

NAME = "frr"
"""Name of the protection that is added where a scenario has none."""


@dataclass(frozen=True, slots=True)
class BackupPath:
    """A computed backup.

    Parameters
    ----------
    protection : str
        Protection of the scenario that asked for it.
    around : str
        Link, node or path that it goes around.
    route : tuple of str
        Nodes, and links where several are parallel.
    paths : tuple of str
        Paths that it serves.
    bandwidth_bit_s : int
        What it carries when it is used.
    stretch_s : float
        Propagation of the repaired path less that of the path [s].
    stretch_hops : int
        The same in links.
    """

    backup: str
    protection: str
    kind: str
    around: str
    route: tuple[str, ...]
    paths: tuple[str, ...]
    bandwidth_bit_s: int
    stretch_s: float
    stretch_hops: int


@dataclass(frozen=True, slots=True)
class Unprotected:
    """What has no backup.

    Parameters
    ----------
    around : str
        Link, node or path without a way around it.
    protection : str
        Protection that should cover it.
    by_link : bool
        Whether the link has a backup all the same, which does not avoid the node or the risk.
    """

    path: str
    around: str
    protection: str
    why: str
    by_link: bool


@dataclass(frozen=True, slots=True)
class LinkBackup:
    """A direction of a link.

    Parameters
    ----------
    load_bit_s : int
        Demands that cross it without a failure.
    reserved_bit_s : int
        What working paths reserve.
    backup_bit_s : int
        What backups carry here at the worst single failure.
    unshared_bit_s : int
        What they would take if each had bandwidth of its own.
    utilisation : float
        Load and backups over capacity [1].
    """

    link: str
    capacity_bit_s: int
    load_bit_s: int
    reserved_bit_s: int
    backup_bit_s: int
    unshared_bit_s: int
    utilisation: float


@dataclass(frozen=True, slots=True)
class Protected:
    """The backups of a scenario.

    Parameters
    ----------
    backups : tuple of BackupPath
        In the order of the scenario.
    unprotected : tuple of Unprotected
        What has none, or not the one asked for.
    links : tuple of LinkBackup
        In the order of the scenario.
    places : int
        Hops of paths that should have a local repair, and paths that should have a backup from end
        to end.
    coverage : float or None
        Share of them that has one [1]; None without any.
    scale : float
        Factor of all rates in a run; those here are not scaled.
    """

    backups: tuple[BackupPath, ...]
    unprotected: tuple[Unprotected, ...]
    links: tuple[LinkBackup, ...]
    places: int
    coverage: float | None
    scale: float

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def with_backups(
    scenario: Scenario,
    *,
    kind: str = "facility-bypass",
    around: str = "link",
    share: str | None = None,
) -> Scenario:
    """The scenario, with a protection of all its paths if none of its protections is computed.

    Parameters
    ----------
    kind : {"facility-bypass", "detour", "backup", "one-plus-one"}
        Of the protection that is added.
    around : {"link", "node", "risk"}
        What its backups go around.
    share : str, optional
        Bandwidth that backups must find over that of the paths, as ``100 %``; absent: none.

    Returns
    -------
    Scenario
        The same if it has a protection with ``backup: auto``.
    """
    if any(each.backup == AUTO for each in scenario.protections.values()):
        return scenario
    name, number = NAME, 1
    while name in scenario.protections:
        number += 1
        name = f"{NAME}{number}"
    said = {"path": "all", "kind": kind, "backup": AUTO, "protect": around}
    added = {name: said | ({"bandwidth": share} if share else {})}
    return extended(scenario, "protections", added, f"--kind {kind}")


def protect(scenario: Scenario) -> Protected:
    """Backups that the protections with ``backup: auto`` of a scenario get.

    Parameters
    ----------
    scenario : Scenario
        See `with_backups` for one that has none.

    Returns
    -------
    Protected
        Rates are those of the network itself, whatever its `scale`.
    """
    its = scenario.resolved()
    full = its.unscaled()
    graph = topology(full)
    backed = its.backed
    found = () if backed is None else tuple(_backup(full, graph, each) for each in backed.backups)
    gaps = [] if backed is None else backed.gaps
    places = 0 if backed is None else backed.places
    bare = sum(not gap.by_link for gap in gaps)
    return Protected(
        found,
        tuple(Unprotected(g.path, g.around, g.protection, g.why, g.by_link) for g in gaps),
        _links(full, graph),
        places,
        1 - bare / places if places else None,
        scenario.scale,
    )


def _backup(scenario: Resolved, graph: Topology, backup: Backup) -> BackupPath:
    way, over = list(backup.repair.path), list(backup.over)
    delay = int(graph.delay[way].sum()) - int(graph.delay[over].sum())
    return BackupPath(
        backup.name,
        backup.protection,
        scenario.protections[backup.name].kind,
        backup.around,
        route_of(scenario, backup.repair.path),
        tuple(backup.paths),
        backup.bandwidth,
        delay / 1e9,
        len(way) - len(over),
    )


def _links(scenario: Resolved, graph: Topology) -> tuple[LinkBackup, ...]:
    made = scenario.placement or place_paths(scenario, graph)
    loads = lsp_loads(scenario, graph, made) + by_igp(scenario, graph, on_igp(scenario))
    reserved = made.state.total()
    shared = (
        te.shared.Shared(graph.reservable) if scenario.backed is None else scenario.backed.shared
    )
    need = shared.total()
    return tuple(
        LinkBackup(
            arc.name,
            int(graph.capacity[index]),
            round(float(loads[index])),
            int(reserved[index]),
            int(need[index]),
            int(shared.unshared[index]),
            float((loads[index] + need[index]) / graph.capacity[index]),
        )
        for index, arc in enumerate(scenario.arcs)
    )
