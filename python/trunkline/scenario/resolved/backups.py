"""Computed backups: a protection with `backup: auto` becomes backup paths and their protections.

A generated path and its protection have one name: that of the protection, a dot, and the nodes that
a bypass is for (``frr.R1-R2``, ``frr.R1-R2-R3`` around R2), the path and the node of a detour
(``frr.E1-E4.R1``), or the path of a standby (``frr.E1-E4``).
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trunkline import te
from trunkline.scenario.diagnostic import DocumentPath as Place
from trunkline.scenario.fields import ALL, AUTO, MAX_NAME_CHARACTERS
from trunkline.scenario.path import LabelSwitchedPath
from trunkline.scenario.problems import Problems, format_count
from trunkline.scenario.recovery import LOCAL_PROTECTION_KINDS, Protection
from trunkline.scenario.resolved.backup_search import BackupSearch
from trunkline.scenario.resolved.computed_backups import (
    ComputedBackup,
    ComputedBackups,
    ProtectionGap,
)
from trunkline.scenario.resolved.placement import (
    IS_LENIENT,
    build_topology,
    format_route,
    make_request,
    place_all_paths,
)
from trunkline.scenario.resolved.resolved import PolicySegment, ResolvedScenario

if TYPE_CHECKING:
    from trunkline.te.placement import Placement
    from trunkline.te.topology import Topology

AUTO_ONLY_KEYS = ("protect", "bandwidth", "constraints")
"""Keys that have a meaning with `backup: auto` alone."""


def is_computed(scenario: ResolvedScenario, protection: Protection) -> bool:
    """Whether a protection's backups must be computed."""
    auto = protection.backup == AUTO
    return auto and protection.kind != "restoration"


def resolve_backups(scenario: ResolvedScenario, problems: Problems) -> None:
    """Put backups and their protections in the place of protections with `backup: auto`."""
    for name, protection in scenario.protections.items():
        _check_keys(scenario, name, protection, problems)
    computed = {name: p for name, p in scenario.protections.items() if is_computed(scenario, p)}
    if not computed:
        return
    written = {name: p for name, p in scenario.protections.items() if name not in computed}
    scenario.protections = written
    if problems.has_errors or not scenario.arcs:
        return
    graph = build_topology(scenario)
    try:
        placement = scenario.placement or place_all_paths(scenario, graph)
    except ValueError as error:
        problems.add("placement", ("te",), str(error), at_key=True)
        return
    scenario.computed_backups = backups_found = ComputedBackups(
        te.shared_backups.SharedBandwidth(graph.reservable - placement.reservations.sum_reserved())
    )
    for name, protection in computed.items():
        before = len(backups_found.gaps)
        finder = BackupSearch(scenario, graph, name, protection, backups_found)
        for path in _list_paths_to_protect(scenario, protection, placement):
            finder.protect_path(path)
        if protection.kind == "facility-bypass":
            finder.backups.sort(key=lambda backup: backup.protected_arcs)
        for backup in finder.backups:
            _add_backup(scenario, graph, protection, backup)
        backups_found.backups += finder.backups
        _report_unprotected(name, protection, finder, backups_found.gaps[before:], problems)
    if scenario.placement is not None:
        outcomes = tuple(
            outcome_of_backup(scenario, graph, protection) for protection in backups_found.backups
        )
        scenario.placement = replace(placement, outcomes=placement.outcomes + outcomes)


def _list_paths_to_protect(
    scenario: ResolvedScenario, protection: Protection, placement: "Placement"
) -> list[str]:
    """List the paths to protect, in the order of their setup priority, bandwidth and name."""
    path_names: Iterable[str] = protection.path
    if protection.path == (ALL,):
        trunks = scenario.trunks.values()
        ridden = {each.path for each in trunks} | {each.reverse for each in trunks}
        path_names = [name for name in scenario.paths if name in ridden]
    order = {
        each.request.name: te.placement.make_priority_key(each.request)
        for each in placement.outcomes
    }
    return sorted(path_names, key=lambda name: order.get(name, (8, 0, name)))


def _add_backup(
    scenario: ResolvedScenario, graph: "Topology", protection: Protection, backup: ComputedBackup
) -> None:
    """Add the path of a backup and its protection to the scenario."""
    working = scenario.paths[backup.paths[0]]
    name = backup.name = _make_backup_name(scenario, graph, protection, backup)
    path_keys: dict[str, Any] = {"route": format_route(scenario, backup.backup_path.path)}
    inherited: dict[str, Any]
    if backup.segments:
        words = tuple(over or node for node, over in backup.segments)
        inherited = {"from_": graph.arcs[backup.protected_arcs[0]].tail, "segments": words}
        inherited |= {"ttl": working.ttl, "diffserv": working.diffserv}
        scenario.policies[name] = tuple(PolicySegment(*each) for each in backup.segments)
    elif protection.kind == "facility-bypass":
        inherited = {"diffserv": scenario.written.defaults.diffserv}
    else:
        keys = {"php", "explicit_null", "ttl", "diffserv"} & working.model_fields_set
        inherited = {key: getattr(working, key) for key in keys | {"diffserv"}}
    path_keys |= {key: value for key, value in inherited.items() if value is not None}
    scenario.paths[name] = LabelSwitchedPath.model_construct(None, **path_keys)
    keys_left_out = {"path", "backup", "link", *AUTO_ONLY_KEYS}
    protection_keys: dict[str, Any] = {
        "path": tuple(backup.paths),
        "kind": protection.kind,
        "backup": name,
    }
    if protection.kind == "ti-lfa":
        protection_keys["kind"] = "facility-bypass"
    protection_keys |= {
        key: getattr(protection, key)
        for key in protection.model_fields_set - keys_left_out - protection_keys.keys()
    }
    if (protection.kind in LOCAL_PROTECTION_KINDS or backup.segments) and len(
        backup.protected_arcs
    ) > 1:
        # RFC 4090 section 6: a node repairs its own link; those behind have their own backups.
        protection_keys["link"] = (scenario.arcs[backup.protected_arcs[0]].name,)
    elif protection.kind not in LOCAL_PROTECTION_KINDS and protection.link and not backup.segments:
        protection_keys["link"] = protection.link
    scenario.protections[name] = Protection.model_construct(None, **protection_keys)
    for section in ("paths", "protections"):
        scenario.origins[section, name] = ("protections", backup.protection)


def _make_backup_name(
    scenario: ResolvedScenario, graph: "Topology", protection: Protection, backup: ComputedBackup
) -> str:
    if protection.kind == "facility-bypass":
        subject = "-".join(graph.list_node_names(backup.protected_arcs))
    elif backup.segments:
        first = graph.arcs[backup.protected_arcs[0]]
        subject = f"{first.tail}-{first.head}.{graph.arcs[backup.protected_arcs[-1]].head}"
    elif protection.kind == "detour":
        subject = f"{backup.paths[0]}.{graph.arcs[backup.protected_arcs[0]].tail}"
    else:
        subject = backup.paths[0]
    stem = f"{backup.protection}.{subject}"
    if len(stem) > MAX_NAME_CHARACTERS - 6:
        stem = f"{backup.protection[: MAX_NAME_CHARACTERS - 16]}.{len(scenario.paths)}"
    name, number = stem, 1
    # Written protections that are computed are no longer among the others.
    taken = (
        scenario.paths.keys() | scenario.protections.keys() | scenario.written.protections.keys()
    )
    while name in taken:
        number += 1
        name = f"{stem}.{number}"
    return name


def outcome_of_backup(
    scenario: ResolvedScenario, graph: "Topology", backup: ComputedBackup
) -> "te.placement.PlacementOutcome":
    """A backup as one of the placed paths, which reserves nothing of its own."""
    request = make_request(scenario, graph, backup.name, scenario.paths[backup.name])
    return te.placement.PlacementOutcome(
        request, te.cspf.ConstrainedPath(backup.backup_path.path, 0, 0, 1.0)
    )


def _report_unprotected(
    name: str,
    protection: Protection,
    finder: BackupSearch,
    gaps: list[ProtectionGap],
    problems: Problems,
) -> None:
    """Report names that are for nothing, and elements without protection."""
    section_path: Place = ("protections", name)
    for index, link in enumerate(protection.link):
        if (
            protection.kind in LOCAL_PROTECTION_KINDS
            and link not in finder.links_covered
            and not problems.has_errors
        ):
            message = f"no path that {name} protects crosses {link}"
            problems.add("protection", (*section_path, "link", index), message)
    unprotected = [gap for gap in gaps if not gap.has_link_backup]
    if not finder.backups and not unprotected:
        message = "there is no path of a trunk that this can protect"
        problems.add("protection", (*section_path, "path"), message, warning=True)
    if unprotected and not IS_LENIENT.get():
        reasons = list(
            dict.fromkeys(f"{gap.protected_element}: {gap.reason}" for gap in unprotected)
        )
        message = (
            f"{format_count(len(unprotected), 'place')} of paths without a backup: "
            f"{'; '.join(reasons[:3])}"
        )
        if len(reasons) > 3:
            message += f"; and {len(reasons) - 3} more"
        problems.add("protection", section_path, message, at_key=True, warning=True)


def _check_keys(
    scenario: ResolvedScenario, name: str, protection: Protection, problems: Problems
) -> None:
    """Report keys without effect or without an object."""
    section_path: Place = ("protections", name)
    for index, link in enumerate(protection.link):
        if link not in scenario.written.links and link not in scenario.arc_by_name:
            problems.add_unknown(
                (*section_path, "link", index), "link", link, scenario.written.links
            )
    if protection.kind == "ti-lfa" and not is_computed(scenario, protection):
        message = "ti-lfa computes its repair lists: `backup: auto`"
        problems.add(
            "protection",
            (*section_path, "kind"),
            message,
            given=str(protection.backup or "no backup"),
        )
    if protection.kind == "ti-lfa":
        for key in ("bandwidth", "constraints"):
            if key in protection.model_fields_set:
                message = f"{key} has no meaning with ti-lfa: repair lists follow IP routing"
                problems.add("relation", (*section_path, key), message, at_key=True)
    if not is_computed(scenario, protection):
        for key in AUTO_ONLY_KEYS:
            if key in protection.model_fields_set:
                message = f"{key} has a meaning with `backup: auto` alone"
                problems.add("relation", (*section_path, key), message, at_key=True)
        return
    if not protection.path:
        problems.add("empty", (*section_path, "path"), "a protection protects at least one path")
    for index, path in enumerate(protection.path):
        if path not in scenario.paths and protection.path != (ALL,):
            problems.add_unknown((*section_path, "path", index), "path", path, scenario.paths)
    constraints = protection.constraints
    via = () if constraints is None else constraints.via
    problems.check_known((*section_path, "constraints", "via"), "node", via, scenario.nodes)
