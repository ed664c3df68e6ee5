"""Computed backups: a protection with `backup: auto` becomes backup paths and their protections.

A generated path and its protection have one name: that of the protection, a dot, and the nodes that
a bypass is for (``frr.R1-R2``, ``frr.R1-R2-R3`` around R2), the path and the node of a detour
(``frr.E1-E4.R1``), or the path of a standby (``frr.E1-E4``).
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trunkline import te
from trunkline.scenario.diagnostic import Path as Place
from trunkline.scenario.fields import MAX_NAME_CHARACTERS
from trunkline.scenario.path import AUTO, Path
from trunkline.scenario.problems import Problems, plural
from trunkline.scenario.recovery import LOCAL, Protection
from trunkline.scenario.resolved.backed import Backed, Backup, Gap
from trunkline.scenario.resolved.finder import Finder
from trunkline.scenario.resolved.placement import (
    LENIENT,
    place,
    request_of,
    route_of,
    topology,
)
from trunkline.scenario.resolved.resolved import Resolved, Sid

if TYPE_CHECKING:
    from trunkline.te.place import Placement
    from trunkline.te.topology import Topology

ONLY_AUTO = ("protect", "bandwidth", "constraints")
"""Keys that have a meaning with `backup: auto` alone."""


def is_auto(scenario: Resolved, protection: Protection) -> bool:
    """Whether a protection's backups are to be computed."""
    auto = protection.backup == AUTO and AUTO not in scenario.paths
    return auto and protection.kind != "restoration"


def backups(scenario: Resolved, problems: Problems) -> None:
    """Puts backups and their protections in the place of protections with `backup: auto`."""
    for name, each in scenario.protections.items():
        _keys(scenario, name, each, problems)
    wanted = {name: p for name, p in scenario.protections.items() if is_auto(scenario, p)}
    if not wanted:
        return
    kept = {name: p for name, p in scenario.protections.items() if name not in wanted}
    scenario.protections = kept
    if problems.errors or not scenario.arcs:
        return
    graph = topology(scenario)
    try:
        made = scenario.placement or place(scenario, graph)
    except ValueError as error:
        problems.add("placement", ("te",), str(error), at_key=True)
        return
    scenario.backed = into = Backed(te.shared.Shared(graph.reservable - made.state.total()))
    for name, each in wanted.items():
        before = len(into.gaps)
        finder = Finder(scenario, graph, name, each, into)
        for path in _served(scenario, each, made):
            finder.serve(path)
        if each.kind == "facility-bypass":
            finder.found.sort(key=lambda backup: backup.over)
        for backup in finder.found:
            _put(scenario, graph, each, backup)
        into.backups += finder.found
        _report(name, each, finder, into.gaps[before:], problems)
    if scenario.placement is not None:
        own = tuple(outcome_of_backup(scenario, graph, each) for each in into.backups)
        scenario.placement = replace(made, outcomes=made.outcomes + own)


def _served(scenario: Resolved, its: Protection, made: "Placement") -> list[str]:
    """Paths to protect, in the order of their setup priority, bandwidth and name."""
    named: Iterable[str] = its.path
    if its.path == ("all",) and "all" not in scenario.paths:
        trunks = scenario.trunks.values()
        ridden = {each.path for each in trunks} | {each.reverse for each in trunks}
        named = [name for name in scenario.paths if name in ridden]
    order = {each.request.name: te.place.precedence(each.request) for each in made.outcomes}
    return sorted(named, key=lambda name: order.get(name, (8, 0, name)))


def _put(scenario: Resolved, graph: "Topology", its: Protection, backup: Backup) -> None:
    """Adds the path of a backup and its protection to the scenario."""
    working = scenario.paths[backup.paths[0]]
    name = backup.name = _name(scenario, graph, its, backup)
    made: dict[str, Any] = {"route": route_of(scenario, backup.repair.path)}
    kept: dict[str, Any]
    if backup.segments:
        words = tuple(over or node for node, over in backup.segments)
        kept = {"from_": graph.arcs[backup.over[0]].tail, "segments": words}
        kept |= {"ttl": working.ttl, "diffserv": working.diffserv}
        scenario.segmented[name] = tuple(Sid(*each) for each in backup.segments)
    elif its.kind == "facility-bypass":
        kept = {"diffserv": scenario.written.defaults.diffserv}
    else:
        keys = {"php", "explicit_null", "ttl", "diffserv"} & working.model_fields_set
        kept = {key: getattr(working, key) for key in keys | {"diffserv"}}
    made |= {key: value for key, value in kept.items() if value is not None}
    scenario.paths[name] = Path.model_construct(None, **made)
    gone = {"path", "backup", "link", *ONLY_AUTO}
    said: dict[str, Any] = {"path": tuple(backup.paths), "kind": its.kind, "backup": name}
    if its.kind == "ti-lfa":
        said["kind"] = "facility-bypass"
    said |= {key: getattr(its, key) for key in its.model_fields_set - gone - said.keys()}
    if (its.kind in LOCAL or backup.segments) and len(backup.over) > 1:
        # RFC 4090 section 6: a node repairs its own link; those behind have their own backups.
        said["link"] = (scenario.arcs[backup.over[0]].name,)
    elif its.kind not in LOCAL and its.link and not backup.segments:
        said["link"] = its.link
    scenario.protections[name] = Protection.model_construct(None, **said)
    for section in ("paths", "protections"):
        scenario.origins[section, name] = ("protections", backup.protection)


def _name(scenario: Resolved, graph: "Topology", its: Protection, backup: Backup) -> str:
    if its.kind == "facility-bypass":
        about = "-".join(graph.along(backup.over))
    elif backup.segments:
        first = graph.arcs[backup.over[0]]
        about = f"{first.tail}-{first.head}.{graph.arcs[backup.over[-1]].head}"
    elif its.kind == "detour":
        about = f"{backup.paths[0]}.{graph.arcs[backup.over[0]].tail}"
    else:
        about = backup.paths[0]
    stem = f"{backup.protection}.{about}"
    if len(stem) > MAX_NAME_CHARACTERS - 6:
        stem = f"{backup.protection[: MAX_NAME_CHARACTERS - 16]}.{len(scenario.paths)}"
    name, number = stem, 1
    while name in scenario.paths or name in scenario.protections:
        number += 1
        name = f"{stem}.{number}"
    return name


def outcome_of_backup(scenario: Resolved, graph: "Topology", backup: Backup) -> "te.place.Outcome":
    """A backup as one of the placed paths, which reserves nothing of its own."""
    request = request_of(scenario, graph, backup.name, scenario.paths[backup.name])
    return te.place.Outcome(request, te.cspf.Route(backup.repair.path, 0, 0, 1.0))


def _report(
    name: str, its: Protection, finder: Finder, gaps: list[Gap], problems: Problems
) -> None:
    """What is named for nothing, and what stays without protection."""
    at: Place = ("protections", name)
    for index, link in enumerate(its.link):
        if its.kind in LOCAL and link not in finder.links and not problems.errors:
            message = f"no path that {name} protects crosses {link}"
            problems.add("protection", (*at, "link", index), message)
    bare = [gap for gap in gaps if not gap.by_link]
    if not finder.found and not bare:
        message = "there is no path of a trunk that this can protect"
        problems.add("protection", (*at, "path"), message, warning=True)
    if bare and not LENIENT.get():
        shown = list(dict.fromkeys(f"{gap.around}: {gap.why}" for gap in bare))
        message = f"{plural(len(bare), 'place')} of paths without a backup: {'; '.join(shown[:3])}"
        if len(shown) > 3:
            message += f"; and {len(shown) - 3} more"
        problems.add("protection", at, message, at_key=True, warning=True)


def _keys(scenario: Resolved, name: str, its: Protection, problems: Problems) -> None:
    """Reports keys that do nothing or name nothing."""
    at: Place = ("protections", name)
    for index, link in enumerate(its.link):
        if link not in scenario.written.links and link not in scenario.arc:
            problems.unknown((*at, "link", index), "link", link, scenario.written.links)
    if its.kind == "ti-lfa" and not is_auto(scenario, its):
        message = "ti-lfa computes its repair lists: `backup: auto`"
        problems.add("protection", (*at, "kind"), message, given=str(its.backup or "no backup"))
    if its.kind == "ti-lfa":
        for key in ("bandwidth", "constraints"):
            if key in its.model_fields_set:
                message = f"{key} has no meaning with ti-lfa: repair lists follow IP routing"
                problems.add("relation", (*at, key), message, at_key=True)
    if not is_auto(scenario, its):
        for key in ONLY_AUTO:
            if key in its.model_fields_set:
                message = f"{key} has a meaning with `backup: auto` alone"
                problems.add("relation", (*at, key), message, at_key=True)
        return
    if not its.path:
        problems.add("empty", (*at, "path"), "a protection protects at least one path")
    for index, path in enumerate(its.path):
        if path not in scenario.paths and its.path != ("all",):
            problems.unknown((*at, "path", index), "path", path, scenario.paths)
    asked = its.constraints
    via = () if asked is None else asked.via
    problems.each_known((*at, "constraints", "via"), "node", via, scenario.nodes)
