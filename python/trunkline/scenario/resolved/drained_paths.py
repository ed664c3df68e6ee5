"""Moves of signalled paths off links that are drained for maintenance, and back.

At the start of a drain the head moves a path that no protection takes off the link, make before
break (RFC 5817 section 4: the head end reroutes before the link goes out of service). The other
route has the least metric within the constraints of the path, round all links of windows at that
time. When the links of the written route are back for as long as the drain led the cut, so that
both ends have seen the signal, the path goes back to it.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from trunkline.scenario.problems import Problems
from trunkline.scenario.recovery import MaintenanceWindow
from trunkline.scenario.resolved.placement import build_topology, make_placer, make_request
from trunkline.scenario.resolved.protections import covers_arc, list_protected_arcs
from trunkline.scenario.resolved.resolved import DrainMove, ResolvedScenario, fails_arc
from trunkline.scenario.resolved.signalled_paths import (
    list_paths_of_event,
    list_paths_set_up_later,
    list_signalled_paths,
)

if TYPE_CHECKING:
    from trunkline.te.topology import ArcPath, Topology


class _DrainedState(NamedTuple):
    """Arcs of windows from a time on: all, and those that paths are moved off."""

    at: int  # [ns]
    closed: frozenset[int]
    drained: frozenset[int]


def resolve_drains(scenario: ResolvedScenario, problems: Problems) -> None:
    """Find the moves of signalled paths that windows with `drain: lsp` or `both` cause."""
    windows = scenario.written.maintenance
    if scenario.signalling.kind == "none" or not windows or problems.has_errors:
        return
    graph = build_topology(scenario)
    number = {arc.name: index for index, arc in enumerate(scenario.arcs)}
    # A path of which an operator's event decides is left to the operator.
    ordered = {path for event in scenario.events for path in list_paths_of_event(scenario, event)}
    absent = list_paths_set_up_later(scenario)
    planned = {
        name: tuple(number[each.arc.name] for each in scenario.routes[name].crossings)
        for name in list_signalled_paths(scenario)
        if name not in absent
    }
    movable = [name for name in planned if name not in ordered and not _is_restored(scenario, name)]
    current = dict(planned)
    for state in _list_states(scenario):
        kept = {name: path for name, path in planned.items() if name not in movable}
        to_move = []
        for name in movable:
            drained = state.drained - _list_protected_arcs(scenario, name)
            if drained.isdisjoint(planned[name]):
                kept[name] = planned[name]
            elif state.closed.isdisjoint(current[name]):
                kept[name] = current[name]
            else:
                to_move.append(name)
        found = kept | _find_other_routes(scenario, graph, kept, to_move, state.closed)
        for name in movable:
            if found.get(name) is None:
                scenario.undrained_paths.append((state.at, name))
            elif found[name] != current[name]:
                arcs = tuple(scenario.arcs[arc].name for arc in found[name])
                scenario.drain_moves.append(DrainMove(state.at, name, arcs))
                current[name] = found[name]


def _list_states(scenario: ResolvedScenario) -> Iterator[_DrainedState]:
    windows = scenario.written.maintenance.values()
    times = {
        time
        for window in windows
        for time in (_get_begin(window), _get_end(window))
        if time is not None and time < scenario.run.duration
    }
    for time in sorted(times):
        active = [
            window
            for window in windows
            if _get_begin(window) <= time and not _ends_by(window, time)
        ]
        moving = [window for window in active if window.drain in ("lsp", "both")]
        yield _DrainedState(time, _list_arcs(scenario, active), _list_arcs(scenario, moving))


def _get_begin(window: MaintenanceWindow) -> int:
    return window.from_ if window.drained_ns is None else window.drained_ns


def _get_end(window: MaintenanceWindow) -> int | None:
    return None if window.to is None else window.to + (0 if window.drain == "none" else window.lead)


def _ends_by(window: MaintenanceWindow, time: int) -> bool:
    end = _get_end(window)
    return end is not None and end <= time


def _list_arcs(scenario: ResolvedScenario, windows: list[MaintenanceWindow]) -> frozenset[int]:
    failures = [window.make_failure() for window in windows]
    return frozenset(
        number
        for number, arc in enumerate(scenario.arcs)
        if any(fails_arc(each, arc) for each in failures)
    )


def _is_restored(scenario: ResolvedScenario, path: str) -> bool:
    """Whether a path is itself a backup, or has a protection that computes another route."""
    return any(
        each.backup == path or (path in each.path and each.kind == "restoration")
        for each in scenario.protections.values()
    )


def _list_protected_arcs(scenario: ResolvedScenario, path: str) -> frozenset[int]:
    """Arcs off which protections take a path."""
    protected = {
        arc.name
        for each in scenario.protections.values()
        if path in each.path and (each.backup is None or each.backup in scenario.routes)
        for arc in list_protected_arcs(scenario, each, path)
        if covers_arc(each, arc)
    }
    return frozenset(number for number, arc in enumerate(scenario.arcs) if arc.name in protected)


def _find_other_routes(
    scenario: ResolvedScenario,
    graph: "Topology",
    kept: "dict[str, ArcPath]",
    names: list[str],
    closed: frozenset[int],
) -> "dict[str, ArcPath]":
    """Place paths round closed arcs, with the bandwidth that the kept ones leave."""
    if not names:
        return {}
    requests = {
        name: make_request(scenario, graph, name, scenario.paths[name]) for name in (*kept, *names)
    }
    for name in names:
        constraints = replace(requests[name].constraints, avoid=closed)
        requests[name] = replace(requests[name], constraints=constraints)
    placement = make_placer(scenario, graph)(requests.values(), fixed_paths=kept, order="listed")
    paths = placement.get_paths()
    return {name: paths[name] for name in names if name in paths}
