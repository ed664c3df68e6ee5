"""Computed routes: paths with `route: auto` are placed, beside those whose route is written."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from trunkline import te
from trunkline.scenario.diagnostic import Path as Place
from trunkline.scenario.path import AUTO, Path
from trunkline.scenario.problems import Problems
from trunkline.scenario.resolved.resolved import Arc, Resolved
from trunkline.scenario.te import CLASS_TYPES, Constraints
from trunkline.scenario.units import format_rate, format_time

if TYPE_CHECKING:
    from trunkline.te.dste import Pools
    from trunkline.te.place import Outcome, Placement, Request
    from trunkline.te.refusal import Refusal
    from trunkline.te.topology import Path as Arcs, Topology

LENIENT: ContextVar[bool] = ContextVar("lenient", default=False)
"""Whether a path that cannot be placed is a warning, whatever the scenario says."""


@contextmanager
def unplaced_paths_allowed() -> Iterator[None]:
    """Scenarios that are loaded inside may have paths that cannot be placed."""
    token = LENIENT.set(True)
    try:
        yield
    finally:
        LENIENT.reset(token)


def is_auto(path: Path) -> bool:
    """Whether a path's route is to be computed."""
    return path.route == (AUTO,)


def placement(scenario: Resolved, problems: Problems) -> None:
    """Gives every path with `route: auto` its route; one that cannot be placed is reported."""
    _rules(scenario, problems)
    wanted = [name for name, path in scenario.paths.items() if is_auto(path)]
    for name, path in scenario.paths.items():
        _keys(scenario, name, path, problems)
    if not wanted:
        return
    if problems.errors or not scenario.arcs:
        # What has a fault already gives no sound graph; a path without a route is no new fault.
        for name in wanted:
            _drop(scenario, name)
        return
    graph = topology(scenario)
    try:
        scenario.placement = place(scenario, graph)
    except ValueError as error:
        problems.add("placement", ("te",), str(error), at_key=True)
        for name in wanted:
            _drop(scenario, name)
        return
    for outcome in scenario.placement.outcomes:
        name = outcome.request.name
        if name not in wanted:
            continue
        if outcome.route is None:
            _refused(scenario, graph, outcome, problems)
            _drop(scenario, name)
        else:
            route = route_of(scenario, outcome.route.path)
            scenario.paths[name] = scenario.paths[name].model_copy(update={"route": route})


def _drop(scenario: Resolved, name: str) -> None:
    """Leaves out a path without a route: the packets of its trunks follow IP routing."""
    del scenario.paths[name]
    scenario.trunks = {key: each for key, each in scenario.trunks.items() if each.path != name}
    for key, trunk in scenario.trunks.items():
        if trunk.reverse == name:
            scenario.trunks[key] = trunk.model_copy(update={"reverse": None})


def topology(scenario: Resolved) -> "Topology":
    """The graph, its arcs numbered as those of the scenario."""
    return te.topology.topology(
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


def place(scenario: Resolved, graph: "Topology") -> "Placement":
    """Places every path, computed or written, by the rules of the scenario.

    Raises
    ------
    ValueError
        A holding priority weaker than the setup priority, or a model that does not fit.
    """
    rules = scenario.written.te
    fixed = {
        name: arcs
        for name, path in scenario.paths.items()
        if not is_auto(path) and (arcs := arcs_of(scenario, path)) is not None
    }
    requests = [
        request_of(scenario, graph, name, path)
        for name, path in scenario.paths.items()
        if name in fixed or is_auto(path)
    ]
    return te.place.place(
        graph,
        requests,
        order=rules.order,
        bounds=_pools(scenario, graph),
        preemption=rules.preemption,
        fixed=fixed,
    )


def _pools(scenario: Resolved, graph: "Topology") -> "Pools":
    rules = scenario.written.te
    if rules.model == "none":
        return te.dste.pools(graph.reservable)
    named = [CLASS_TYPES.index(each) for each in (*rules.class_types, *rules.constraints)]
    constraints = {str(each): bound for each, bound in rules.constraints.items()}
    bounds = te.dste.shares(
        graph.reservable,
        [constraints.get(each, 1.0) for each in CLASS_TYPES[: max(named, default=0) + 1]],
    )
    spare = te.dste.shares(graph.reservable, [rules.threshold or 0.0])[:, 0]
    return te.dste.pools(graph.reservable, rules.model, bounds, spare)


def request_of(scenario: Resolved, graph: "Topology", name: str, path: Path) -> "Request":
    """What a path asks for."""
    bandwidth, class_type = scenario.reserved.get(name, (path.bandwidth or 0, 0))
    written = [each for each in path.route if each in scenario.nodes]
    source, target = (str(path.from_), str(path.to)) if is_auto(path) else (written[0], written[-1])
    return te.place.Request(
        name,
        graph.node[source],
        graph.node[target],
        asked_of(graph, path, bandwidth),
        class_type,
        path.setup,
        path.hold,
        tuple(path.disjoint_from.items()),
    )


def asked_of(graph: "Topology", said: Constraints, bandwidth: int) -> "te.constraints.Constraints":
    """Constraints as the algorithms take them."""
    return te.constraints.Constraints(
        bandwidth=bandwidth,
        metric=said.minimise,
        include_any=frozenset(said.include_any),
        include_all=frozenset(said.include_all),
        exclude=frozenset(said.exclude),
        via=tuple(te.constraints.Via(graph.node[each]) for each in said.via),
        max_hops=said.max_hops,
        max_delay=said.max_delay,
    )


def arcs_of(scenario: Resolved, path: Path) -> "Arcs | None":
    """Arcs of a written route; None if it has a fault, or rides tunnels."""
    number = {arc.name: index for index, arc in enumerate(scenario.arcs)}
    found: list[int] = []
    last, chosen = "", ""
    for word in path.route:
        if word not in scenario.nodes:
            chosen = word
            continue
        if last:
            ways = scenario.between.get((last, word), [])
            ways = [arc for arc in ways if not chosen or arc.link == chosen]
            if not ways:
                return None
            found.append(number[ways[0].name])
        last, chosen = word, ""
    return None if path.through or not found else tuple(found)


def route_of(scenario: Resolved, arcs: "Arcs") -> tuple[str, ...]:
    """A route as it is written: nodes, and the name of a link where several are parallel."""
    words: list[str] = []
    for number in arcs:
        arc: Arc = scenario.arcs[number]
        words += [] if words else [arc.source]
        if scenario.between[arc.source, arc.target][0] is not arc:
            words.append(arc.link)
        words.append(arc.target)
    return tuple(words)


def _refused(scenario: Resolved, graph: "Topology", outcome: "Outcome", problems: Problems) -> None:
    name = outcome.request.name
    lenient = LENIENT.get() or scenario.written.te.unplaced == "igp"
    message = f"path {name} is not placed: {why(graph, outcome)}"
    if lenient:
        message += "; its packets follow IP routing"
    problems.add("placement", ("paths", name), message, at_key=True, warning=lenient)


def why(graph: "Topology", outcome: "Outcome") -> str:
    """Why a path is not placed, in words: the constraint, what could be had, and the cut."""
    said = (
        [] if outcome.refusal is None else [refused(graph, outcome.refusal, outcome.request.asked)]
    )
    if outcome.displaced_by:
        said.append(f"displaced by {', '.join(outcome.displaced_by)}")
    return "; ".join(said)


def refused(graph: "Topology", refusal: "Refusal", asked: "te.constraints.Constraints") -> str:
    """Why there is no route, in words."""
    said = _words(refusal, asked)
    if refusal.cut:
        arcs = [graph.arcs[number] for number in refusal.cut]
        shown = ", ".join(f"{arc.tail}->{arc.head}" for arc in arcs[:6])
        said += f"; the cut is {shown}" + (f" and {len(arcs) - 6} more" if len(arcs) > 6 else "")
    return said


def _words(refusal: "Refusal", asked: "te.constraints.Constraints") -> str:
    best = refusal.best or 0
    if refusal.reason == "bandwidth":
        got = f"at most {format_rate(best)}" if best > 0 else "nothing"
        return f"bandwidth: {format_rate(asked.bandwidth)} is asked, {got} is unreserved"
    return {
        "disconnected": "no links lead there",
        "disjoint": "disjoint: no route is apart from the path that it must not share with",
        "colour": "colour: no route has links of the colours asked",
        "via": "via: no route without a loop passes these nodes in this order",
        "hops": f"hops: {asked.max_hops} are allowed, the fewest are {best}",
        "delay": f"delay: {format_time(asked.max_delay or 0)} is allowed, the least is "
        f"{format_time(best)}",
        "bounds": "bounds: hops and delay can each be kept, but not together",
    }[refusal.reason]


def _keys(scenario: Resolved, name: str, path: Path, problems: Problems) -> None:
    """Reports keys that do nothing or name nothing."""
    at: Place = ("paths", name)
    if ("paths", name) in scenario.origins:
        return
    auto = is_auto(path)
    if path.hold > path.setup:
        message = "hold is weaker than setup: a path would not keep what it takes"
        problems.add("relation", (*at, "hold"), message, given=f"{path.hold} above {path.setup}")
    for key, node in (("from", path.from_), ("to", path.to)):
        if auto and node is None:
            problems.add("missing-key", (*at, key), f"{key} is missing: route is auto", at_key=True)
        elif node is not None and node not in scenario.nodes:
            problems.unknown((*at, key), "node", node, scenario.nodes)
    if auto and path.from_ is not None and path.from_ == path.to:
        problems.add("relation", (*at, "to"), "a path leads from one node to another")
    only = ("from_", "to", "minimise", "include_any", "include_all", "exclude", "via", "max_hops")
    for field in (*only, "max_delay", "disjoint_from"):
        if path.segments and field == "from_":
            continue
        if not auto and field in path.model_fields_set:
            key = field.rstrip("_")
            message = f"{key} has a meaning with `route: auto` alone"
            problems.add("relation", (*at, key), message, at_key=True)
    problems.each_known((*at, "via"), "node", path.via, scenario.nodes)
    for other in path.disjoint_from:
        where: Place = (*at, "disjoint_from", other)
        if other not in scenario.paths:
            problems.unknown(where, "path", other, scenario.paths)
        elif other == name or name in scenario.paths[other].disjoint_from:
            message = "of two paths, the one placed second is disjoint from the first"
            problems.add("relation", where, message, given=other, at_key=True)


def _rules(scenario: Resolved, problems: Problems) -> None:
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
    classes = {*scenario.written.traffic, *(each.class_ for each in scenario.demands.values())}
    first: dict[str, str] = {}
    for type_, members in rules.class_types.items():
        for index, class_ in enumerate(members):
            at: Place = ("te", "class_types", type_, index)
            if class_ not in classes:
                problems.unknown(at, "class", class_, sorted(classes))
            elif first.setdefault(class_, type_) != type_:
                problems.add("relation", at, f"class {class_} is of {first[class_]} already")
