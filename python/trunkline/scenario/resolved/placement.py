"""Computed routes: paths with `route: auto` are placed, besides those whose route is written."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from trunkline import te
from trunkline.scenario.diagnostic import DocumentPath as Place
from trunkline.scenario.fields import AUTO
from trunkline.scenario.path import LabelSwitchedPath
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import ResolvedArc, ResolvedScenario
from trunkline.scenario.resolved.signalled_paths import (
    list_paths_set_up_later,
    list_route_only_paths,
)
from trunkline.scenario.te import CLASS_TYPE_NAMES, RouteConstraints
from trunkline.scenario.units import format_rate, format_time

if TYPE_CHECKING:
    from trunkline.te.cspf import ConstrainedPath
    from trunkline.te.dste import BandwidthConstraints
    from trunkline.te.placement import PathRequest, Placement, PlacementOutcome
    from trunkline.te.refusal import Refusal
    from trunkline.te.topology import ArcPath as Arcs, Ints, Topology

IS_LENIENT: ContextVar[bool] = ContextVar("lenient", default=False)
"""Whether a path that cannot be placed is a warning, whatever the scenario says."""


@contextmanager
def unplaced_paths_allowed() -> Iterator[None]:
    """Scenarios that are loaded inside may have paths that cannot be placed."""
    token = IS_LENIENT.set(True)
    try:
        yield
    finally:
        IS_LENIENT.reset(token)


def is_computed(path: LabelSwitchedPath) -> bool:
    """Whether a path's route must be computed."""
    return path.route == (AUTO,)


def resolve_placement(scenario: ResolvedScenario, problems: Problems) -> None:
    """Give every path with `route: auto` its route; one that cannot be placed is reported."""
    _check_rules(scenario, problems)
    computed = [name for name, path in scenario.paths.items() if is_computed(path)]
    for name, path in scenario.paths.items():
        _check_keys(scenario, name, path, problems)
    if not computed:
        return
    if problems.has_errors or not scenario.arcs:
        # Elements with faults give no sound graph; a path without a route is no new fault.
        for name in computed:
            _drop_path(scenario, name)
        return
    graph = build_topology(scenario)
    try:
        scenario.placement = place_all_paths(scenario, graph)
    except ValueError as error:
        problems.add("placement", ("te",), str(error), at_key=True)
        for name in computed:
            _drop_path(scenario, name)
        return
    for outcome in scenario.placement.outcomes:
        name = outcome.request.name
        if name not in computed:
            continue
        found = outcome.route
        if found is None:
            found = _find_retried_route(scenario, graph, outcome.request)
            _report_unplaced(scenario, graph, outcome, problems)
        if found is None:
            _drop_path(scenario, name)
        else:
            route = format_route(scenario, found.path)
            scenario.paths[name] = scenario.paths[name].model_copy(update={"route": route})


def _find_retried_route(
    scenario: ResolvedScenario, graph: "Topology", request: "PathRequest"
) -> "ConstrainedPath | None":
    """The route that a path without room would have alone, where its head asks for it again."""
    is_error = scenario.written.te.unplaced == "error"
    if scenario.signalling.kind == "none" or is_error or IS_LENIENT.get():
        return None
    found = make_placer(scenario, graph)([request]).outcomes[0].route
    if found is not None:
        scenario.unplanned_paths.add(request.name)
    return found


def _drop_path(scenario: ResolvedScenario, name: str) -> None:
    """Leave out a path without a route: the packets of its trunks follow IP routing."""
    del scenario.paths[name]
    scenario.trunks = {key: each for key, each in scenario.trunks.items() if each.path != name}
    for key, trunk in scenario.trunks.items():
        if trunk.reverse == name:
            scenario.trunks[key] = trunk.model_copy(update={"reverse": None})


def build_topology(scenario: ResolvedScenario) -> "Topology":
    """Build the graph, its arcs numbered as those of the scenario."""
    return te.topology.build_topology(
        list(scenario.nodes),
        [
            te.topology.Arc(
                tail=arc.source,
                head=arc.target,
                capacity=arc.options.rate or 1,
                link=arc.link,
                reservable=round((arc.options.rate or 1) * arc.options.te.reservable),
                igp=arc.options.metric,
                te=arc.options.te.metric,
                delay=arc.options.delay,
                colours=frozenset(arc.options.te.colours),
                risks=frozenset(arc.options.te.risks),
            )
            for arc in scenario.arcs
        ],
    )


def place_all_paths(scenario: ResolvedScenario, graph: "Topology") -> "Placement":
    """Place every path, computed or written, by the rules of the scenario.

    Signalled paths that are not there at the start reserve nothing: each has the route that it
    would have alone, since its head computes one when it is set up.

    Raises ValueError: A holding priority weaker than the setup priority, or a model that does not
        fit.
    """
    fixed = {
        name: arcs
        for name, path in scenario.paths.items()
        if not is_computed(path) and (arcs := find_arcs(scenario, path)) is not None
    }
    requests = {
        name: make_request(scenario, graph, name, path)
        for name, path in scenario.paths.items()
        if name in fixed or is_computed(path)
    }
    place = make_placer(scenario, graph)
    absent = list_paths_set_up_later(scenario) | list_route_only_paths(scenario)
    first = place(
        [request for name, request in requests.items() if name not in absent],
        fixed_paths=fixed,
    )
    outcomes = {outcome.request.name: outcome for outcome in first.outcomes}
    for name in absent & requests.keys():
        outcomes[name] = place([requests[name]], fixed_paths=fixed).outcomes[0]
    return replace(first, outcomes=tuple(outcomes[name] for name in requests))


def make_placer(scenario: ResolvedScenario, graph: "Topology") -> "Callable[..., Placement]":
    """Make a function that places requests by the rules of the scenario."""
    rules = scenario.written.te
    return partial(
        te.placement.place_paths,
        graph,
        order=rules.order,
        bandwidth_constraints=build_bandwidth_constraints(scenario, graph.reservable),
        preemption=rules.preemption,
    )


def build_bandwidth_constraints(
    scenario: ResolvedScenario, reservable: "Ints | Sequence[int]"
) -> "BandwidthConstraints":
    """The bounds of class types on arcs of a reservable bandwidth, by the model of the scenario.

    Raises ValueError: A model that does not fit.
    """
    rules = scenario.written.te
    if rules.model == "none":
        return te.dste.make_bandwidth_constraints(reservable)
    type_numbers = [
        CLASS_TYPE_NAMES.index(each) for each in (*rules.class_types, *rules.constraints)
    ]
    constraints = {str(each): bound for each, bound in rules.constraints.items()}
    bounds = te.dste.scale_to_reservable(
        reservable,
        [
            constraints.get(each, 1.0)
            for each in CLASS_TYPE_NAMES[: max(type_numbers, default=0) + 1]
        ],
    )
    threshold = te.dste.scale_to_reservable(reservable, [rules.threshold or 0.0])[:, 0]
    return te.dste.make_bandwidth_constraints(reservable, rules.model, bounds, threshold)


def make_request(
    scenario: ResolvedScenario, graph: "Topology", name: str, path: LabelSwitchedPath
) -> "PathRequest":
    """Make the request of a path."""
    bandwidth, class_type = scenario.get_reservation(name)
    written = [each for each in path.route if each in scenario.nodes]
    source, target = (
        (str(path.from_), str(path.to)) if is_computed(path) else (written[0], written[-1])
    )
    return te.placement.PathRequest(
        name,
        graph.node_number[source],
        graph.node_number[target],
        make_constraints(graph, path, bandwidth),
        class_type,
        path.setup,
        path.hold,
        tuple(path.disjoint_from.items()),
    )


def make_constraints(
    graph: "Topology", constraints: RouteConstraints, bandwidth: int
) -> "te.path_constraints.PathConstraints":
    """Make constraints as the algorithms take them."""
    return te.path_constraints.PathConstraints(
        bandwidth=bandwidth,
        metric=constraints.minimise,
        include_any=frozenset(constraints.include_any),
        include_all=frozenset(constraints.include_all),
        exclude=frozenset(constraints.exclude),
        via=tuple(te.path_constraints.ViaNode(graph.node_number[each]) for each in constraints.via),
        max_hops=constraints.max_hops,
        max_delay=constraints.max_delay,
    )


def find_arcs(scenario: ResolvedScenario, path: LabelSwitchedPath) -> "Arcs | None":
    """Find the arcs of a written route; None if it has a fault, or rides tunnels."""
    number = {arc.name: index for index, arc in enumerate(scenario.arcs)}
    arcs: list[int] = []
    last, chosen_link = "", ""
    for word in path.route:
        if word not in scenario.nodes:
            chosen_link = word
            continue
        if last:
            parallel_arcs = scenario.arcs_between.get((last, word), [])
            parallel_arcs = [
                arc for arc in parallel_arcs if not chosen_link or arc.link == chosen_link
            ]
            if not parallel_arcs:
                return None
            arcs.append(number[parallel_arcs[0].name])
        last, chosen_link = word, ""
    return None if path.through or not arcs else tuple(arcs)


def format_route(scenario: ResolvedScenario, arcs: "Arcs") -> tuple[str, ...]:
    """Write a route: nodes, and the name of a link where several are parallel."""
    words: list[str] = []
    for number in arcs:
        arc: ResolvedArc = scenario.arcs[number]
        words += [] if words else [arc.source]
        if scenario.arcs_between[arc.source, arc.target][0] is not arc:
            words.append(arc.link)
        words.append(arc.target)
    return tuple(words)


def _report_unplaced(
    scenario: ResolvedScenario, graph: "Topology", outcome: "PlacementOutcome", problems: Problems
) -> None:
    name = outcome.request.name
    lenient = IS_LENIENT.get() or scenario.written.te.unplaced == "igp"
    message = f"path {name} is not placed: {explain_unplaced(graph, outcome)}"
    if name in scenario.unplanned_paths:
        message += f"; its head asks again each {format_time(scenario.signalling.retry)}"
    elif lenient:
        message += "; its packets follow IP routing"
    problems.add("placement", ("paths", name), message, at_key=True, warning=lenient)


def explain_unplaced(graph: "Topology", outcome: "PlacementOutcome") -> str:
    """Explain why a path is not placed: the constraint, the available bandwidth, and the cut."""
    reasons = (
        []
        if outcome.refusal is None
        else [explain_refusal(graph, outcome.refusal, outcome.request.constraints)]
    )
    if outcome.displaced_by:
        reasons.append(f"displaced by {', '.join(outcome.displaced_by)}")
    return "; ".join(reasons)


def explain_refusal(
    graph: "Topology", refusal: "Refusal", constraints: "te.path_constraints.PathConstraints"
) -> str:
    """Explain why there is no route, in words."""
    reason = _describe_reason(refusal, constraints)
    if refusal.pair:
        first, second = (" ".join(graph.list_node_names(path)) for path in refusal.pair)
        reason += (
            f"; if {refusal.partner} took {first}, there would be {second}: let "
            f"{refusal.partner} name this path in disjoint_from too"
        )
    if refusal.cut:
        arcs = [graph.arcs[number] for number in refusal.cut]
        cut_text = ", ".join(f"{arc.tail}->{arc.head}" for arc in arcs[:6])
        reason += f"; the cut is {cut_text}" + (
            f" and {len(arcs) - 6} more" if len(arcs) > 6 else ""
        )
    return reason


def _describe_reason(refusal: "Refusal", constraints: "te.path_constraints.PathConstraints") -> str:
    best = refusal.best or 0
    if refusal.reason == "bandwidth":
        available = f"at most {format_rate(best)}" if best > 0 else "nothing"
        return (
            f"bandwidth: {format_rate(constraints.bandwidth)} is asked, {available} is unreserved"
        )
    return {
        "disconnected": "no links lead there",
        "disjoint": "disjoint: no route is apart from the path that it must not share with",
        "colour": "colour: no route has links of the colours asked",
        "via": "via: no route without a loop passes these nodes in this order",
        "hops": f"hops: {constraints.max_hops} are allowed, the fewest are {best}",
        "delay": f"delay: {format_time(constraints.max_delay or 0)} is allowed, the least is "
        f"{format_time(best)}",
        "bounds": "bounds: hops and delay can each be kept, but not together",
    }[refusal.reason]


def _check_keys(
    scenario: ResolvedScenario, name: str, path: LabelSwitchedPath, problems: Problems
) -> None:
    """Report keys without effect or without an object."""
    section_path: Place = ("paths", name)
    if ("paths", name) in scenario.origins:
        return
    auto = is_computed(path)
    if path.hold > path.setup:
        message = "hold is weaker than setup: a path would not keep what it takes"
        problems.add(
            "relation", (*section_path, "hold"), message, given=f"{path.hold} above {path.setup}"
        )
    for key, node in (("from", path.from_), ("to", path.to)):
        if auto and node is None:
            problems.add(
                "missing-key", (*section_path, key), f"{key} is missing: route is auto", at_key=True
            )
        elif node is not None and node not in scenario.nodes:
            problems.add_unknown((*section_path, key), "node", node, scenario.nodes)
    if auto and path.from_ is not None and path.from_ == path.to:
        problems.add("relation", (*section_path, "to"), "a path leads from one node to another")
    auto_only_fields = (
        "from_",
        "to",
        "minimise",
        "include_any",
        "include_all",
        "exclude",
        "via",
        "max_hops",
    )
    for field in (*auto_only_fields, "max_delay", "disjoint_from"):
        if path.segments and field == "from_":
            continue
        if not auto and field in path.model_fields_set:
            key = field.rstrip("_")
            message = f"{key} has a meaning with `route: auto` alone"
            problems.add("relation", (*section_path, key), message, at_key=True)
    problems.check_known((*section_path, "via"), "node", path.via, scenario.nodes)
    for other, kind in path.disjoint_from.items():
        key_path: Place = (*section_path, "disjoint_from", other)
        if other not in scenario.paths:
            problems.add_unknown(key_path, "path", other, scenario.paths)
        elif other == name:
            message = "a path cannot be disjoint from itself"
            problems.add("relation", key_path, message, given=other, at_key=True)
        elif scenario.paths[other].disjoint_from.get(name, kind) != kind:
            message = "two paths that name each other are disjoint in the same sense"
            problems.add(
                "relation", key_path, message, given=f"{kind}, {other} has the other", at_key=True
            )


def _check_rules(scenario: ResolvedScenario, problems: Problems) -> None:
    rules = scenario.written.te
    if rules.model == "none" and rules.constraints:
        message = "constraints have a meaning with a model"
        problems.add("relation", ("te", "constraints"), message, allowed="mam, rdm, mar")
    if rules.model == "mar" and rules.threshold is None:
        message = "mar needs a threshold: without one its constraints do nothing"
        problems.add("missing-key", ("te", "model"), message)
    elif rules.model != "mar" and rules.threshold is not None:
        message = "threshold has a meaning with the model mar"
        problems.add("relation", ("te", "threshold"), message)
    if rules.model != "none" and not rules.constraints:
        message = f"{rules.model} needs constraints: without them it bounds nothing"
        problems.add("missing-key", ("te", "model"), message)
    for name, module in rules.modules.items():
        problems.check_known(
            ("te", "modules", name, "links"), "link", module.links, scenario.written.links
        )
    classes = {*scenario.written.traffic, *(each.class_ for each in scenario.demands.values())}
    first: dict[str, str] = {}
    for type_, members in rules.class_types.items():
        for index, class_ in enumerate(members):
            key_path: Place = ("te", "class_types", type_, index)
            if class_ not in classes:
                problems.add_unknown(key_path, "class", class_, sorted(classes))
            elif first.setdefault(class_, type_) != type_:
                problems.add("relation", key_path, f"class {class_} is of {first[class_]} already")
