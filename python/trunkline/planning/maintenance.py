"""Planned outages: a link is drained, then out of service, and any failure may come meanwhile.

A drained link has the greatest metric (RFC 8405 and RFC 6987 drain by metric), so IP routing leaves
it, and offers no bandwidth, so computed paths leave it. Paths whose written route crosses it are
computed anew, make before break, and their written backups are computed anew as well. Then the link
and each failure are down together: after the drain the link carries nothing that has another way.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from trunkline.planning.explicit_scenario import format_scenario_yaml
from trunkline.planning.failure_screening import Survival, survive
from trunkline.scenario.fields import AUTO
from trunkline.scenario.loader import load_text
from trunkline.scenario.resolved.placement import unplaced_paths_allowed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trunkline.scenario import Scenario

NO_BANDWIDTH = "0.0000000001 %"  # A factor of the rate that leaves nothing to reserve.
MAX_METRIC = 2**32 - 1  # The greatest metric of a link.
DIRECTION_KEYS = ("forward", "backward")


@dataclass(frozen=True, slots=True)
class PlannedOutage:
    """A link out of service, and the failures during that time."""

    link: str  # The drained link.
    moved: tuple[str, ...]  # Paths with a written route over the link, which were computed anew.
    unplaced: tuple[str, ...]  # Paths that have no route without the link.
    cut_off: tuple[str, ...]  # Nodes that no link reaches while it is out of service.
    # The outage alone, named after the link, and with each failure during it, the worst first.
    survival: Survival

    def to_dict(self) -> dict[str, Any]:
        """Build plain data."""
        return asdict(self)


def drain_link(scenario: Scenario, link: str) -> tuple[Scenario, tuple[str, ...]]:
    """Make a scenario in which traffic leaves a link, and list the paths that this moves.

    Raises LookupError: There is no such link.
    """
    resolved = scenario.resolve()
    if link not in {arc.link for arc in resolved.arcs}:
        raise LookupError(f"there is no link {link}")
    data = scenario.to_document()
    options = dict(data["links"][link] or {})
    for direction in DIRECTION_KEYS:
        if isinstance(options.get(direction), dict):
            options[direction] = {
                key: value for key, value in options[direction].items() if key != "metric"
            }
    options["metric"] = MAX_METRIC
    options["te"] = {**(options.get("te") or {}), "reservable": NO_BANDWIDTH}
    data["links"] = {**data["links"], link: options}
    paths = dict(data.get("paths") or {})
    protections = data.get("protections") or {}
    crossing_paths = {
        name
        for name, path in paths.items()
        if name in resolved.routes
        and any(crossing.arc.link == link for crossing in resolved.routes[name].crossings)
        and not _has_auto_route(path)
        and not path.get("segments")
    }
    backups = {str(each.get("backup", AUTO)) for each in protections.values()}
    moved = tuple(name for name in paths if name in crossing_paths - backups)
    for name in moved:
        arcs = [crossing.arc for crossing in resolved.routes[name].crossings]
        ends = {"from": arcs[0].source, "to": arcs[-1].target}
        paths[name] = {**paths[name], **ends, "route": AUTO}
    if paths:
        lost_backups = crossing_paths & backups
        data["paths"] = {name: path for name, path in paths.items() if name not in lost_backups}
    if protections and crossing_paths:
        del data["protections"]
        routes = _load_document(scenario, data).resolve().routes
        crossed_links = {
            name: {word for each in route.crossings for word in (each.arc.name, each.arc.link)}
            for name, route in routes.items()
        }
        renewed = _renew_protections(protections, set(moved), crossing_paths)
        data["protections"] = dict(_keep_crossed_links(renewed, crossed_links))
    return _load_document(scenario, data), moved


def _load_document(scenario: Scenario, data: dict[str, Any]) -> Scenario:
    origin = scenario._origin
    with unplaced_paths_allowed():
        text = format_scenario_yaml(scenario, data, ())
        return load_text(type(scenario), text, origin.file, origin.folder, {}, False)


def _keep_crossed_links(
    protections: Iterator[tuple[str, dict[str, Any]]], crossed_links: dict[str, set[str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Leave out links that no protected path crosses any more."""
    for name, protection in protections:
        if "link" not in protection:
            yield name, protection
            continue
        paths = _list_names(protection.get("path"))
        protected = crossed_links if paths == ["all"] else paths
        crossed = set().union(*(crossed_links.get(path, set()) for path in protected))
        if links := [link for link in _list_names(protection["link"]) if link in crossed]:
            yield name, {**protection, "link": links}


def _list_names(written: Any) -> list[str]:
    return [written] if isinstance(written, str) else list(written or ())


def _has_auto_route(path: dict[str, Any]) -> bool:
    return bool(path.get("route", AUTO) == AUTO)


def _renew_protections(
    written: dict[str, Any], moved: set[str], crossing_paths: set[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Leave moved paths out of protections with a written backup; protect them by computed ones.

    A backup that crosses the drained link is computed anew too.
    """
    renewed: dict[str, list[str]] = {}
    for name, protection in written.items():
        names = _list_names(protection.get("path"))
        affected = [path for path in names if path in moved]
        if not affected or protection.get("backup", AUTO) == AUTO:
            yield name, _renew_backup(protection, crossing_paths)
            continue
        for path in affected:
            renewed.setdefault(protection["kind"], [])
            if path not in renewed[protection["kind"]]:
                renewed[protection["kind"]].append(path)
        if kept := [path for path in names if path not in moved]:
            yield name, _renew_backup({**protection, "path": kept}, crossing_paths)
    for kind, paths in renewed.items():
        yield f"drained.{kind}", {"path": paths, "kind": kind, "backup": AUTO}


def _renew_backup(protection: dict[str, Any], crossing_paths: set[str]) -> dict[str, Any]:
    if protection.get("backup") in crossing_paths:
        return {**protection, "backup": AUTO}
    return protection


def screen_planned_outage(
    scenario: Scenario, link: str, *, kinds: Sequence[str] = ("link", "node", "risk")
) -> tuple[PlannedOutage, Scenario]:
    """Screen an outage alone and with each failure during it; return also the drained scenario.

    Raises LookupError: There is no such link.
    """
    drained, moved = drain_link(scenario, link)
    survival = survive(drained, kinds=kinds, out_of_service=link)
    (alone,) = [each for each in survival.failures if each.failure == link]
    placement = drained.resolve().placement
    outcomes = () if placement is None else placement.outcomes
    unplaced = tuple(each.request.name for each in outcomes if each.route is None)
    return PlannedOutage(link, moved, unplaced, alone.disconnects, survival), drained


def screen_planned_outages(
    scenario: Scenario,
    links: Sequence[str] | None = None,
    *,
    kinds: Sequence[str] = ("link", "node", "risk"),
) -> tuple[PlannedOutage, ...]:
    """Screen every planned outage with every failure during it, the worst outage first.

    Parameters
    ----------
    links : sequence of str, optional
        The links to drain, one after the other; by default each.
    """
    chosen = list(dict.fromkeys(arc.link for arc in scenario.resolve().arcs))
    outages = [
        screen_planned_outage(scenario, link, kinds=kinds)[0]
        for link in (chosen if links is None else links)
    ]
    return tuple(
        sorted(outages, key=lambda outage: outage.survival.failures[0].severity, reverse=True)
    )
