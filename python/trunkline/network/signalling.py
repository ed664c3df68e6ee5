"""Signalling in the compiled network: sessions with their first routes, orders, requests."""

from trunkline.network import label_tables, messages, ospf
from trunkline.network.labels import EXPLICIT_NULL
from trunkline.scenario.base import CompiledKeys
from trunkline.scenario.fields import AUTO
from trunkline.scenario.recovery import LOCAL_PROTECTION_KINDS
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.class_types import (
    get_class_type,
    list_class_type_limits,
    list_te_classes,
)
from trunkline.scenario.resolved.head_constraints import list_head_constraints
from trunkline.scenario.resolved.protections import covers_arc, list_protected_arcs
from trunkline.scenario.resolved.signalled_paths import (
    find_links_of_route,
    list_paths_of_event,
    list_paths_set_up_later,
    list_signalled_paths,
)
from trunkline.scenario.signalling import OperatorEvent

_KEYS_COMPILED_ELSEWHERE = (
    *("kind", "start", "dscp", "reliable", "detection", "when_down"),
    *("soft_preemption", "auto_bandwidth"),
)
"""Keys of the scenario whose meaning is in other parts of the network."""


def make_message_flows(scenario: ResolvedScenario) -> list[CompiledKeys]:
    """Make the flow that messages are counted under, if there are any."""
    options = scenario.signalling
    if options.kind == "none":
        return []
    return [messages.make_message_flow(options.kind, dscp=options.dscp, ttl=255)]


def compile_signalling(
    scenario: ResolvedScenario,
    tables: label_tables.LabelTables,
    indices: tuple[dict[str, int], dict[str, int]],
    message_flow_index: int,
) -> CompiledKeys | None:
    """Compile the signalling part of a network; None if the scenario has none.

    The bindings of signalled paths leave the label tables, because their sessions create them.
    ``indices`` are those of nodes and of one-way links.
    """
    options = scenario.signalling
    if options.kind == "none":
        return None
    nodes, links = indices
    names = list_signalled_paths(scenario)
    constraints = _compile_constraints(scenario, nodes, names)
    set_up_later = list_paths_set_up_later(scenario)
    remaining = _RemainingEntries(tables)
    path_indices = {name: index for index, name in enumerate(scenario.paths)}
    sessions = [
        _compile_session(scenario, tables, remaining, indices, name)
        | {"path": path_indices[name]}
        | {"start_ns": None if name in set_up_later else options.start}
        | constraints.get(name, {})
        for name in names
    ]
    remaining.leave_in(tables)
    orders = [
        (event.at, path, _compile_action(scenario, links, event))
        for event in scenario.events
        for path in list_paths_of_event(scenario, event)
    ]
    orders += [
        (move.at, move.path, {"kind": "move", "route": [links[arc] for arc in move.arcs]})
        for move in scenario.drain_moves
    ]
    requests = [
        {
            "name": name,
            "head": nodes[each.from_],
            "tail": nodes[each.to],
            "bandwidth_bit_s": each.bandwidth,
            "setup": each.setup,
            "hold": each.hold,
            "every_ns": each.every,
            "holding_ns": each.holding,
            "route": None
            if each.route == (AUTO,)
            else [links[arc] for arc in find_links_of_route(scenario, each.route) or ()],
        }
        for name, each in scenario.path_requests.items()
    ]
    rsvp = {
        **options.compile_keys(*_KEYS_COMPILED_ELSEWHERE),
        "flow": message_flow_index,
        "resend_ns": options.resend if options.reliable else None,
        "soft_ns": options.soft_preemption,
        "discard": options.when_down == "discard",
        "flooding_ns": None if ospf.has_te_lsas(scenario) else options.flooding or 0,
        "reservable": [ospf.compute_reservable(arc) for arc in scenario.arcs],
        **_compile_class_types(scenario),
        **({"attributes": _compile_attributes(scenario)} if constraints else {}),
        "sessions": sessions,
        "orders": [
            {"at_ns": at, "session": names.index(path), "action": action}
            for at, path, action in sorted(orders, key=lambda order: order[0])
        ],
        "requests": requests,
    }
    return {"detection": options.detection.compile_keys(), "rsvp": rsvp}


class _RemainingEntries:
    """Bindings that no session has taken yet."""

    def __init__(self, tables: label_tables.LabelTables) -> None:
        # The end of a path counts with its protections, not its first entry.
        self.entry_of_label = {(each["node"], each["label"]): each["nhlfe"] for each in tables.ilm}
        self._classes: dict[int, list[CompiledKeys]] = {}
        for each in tables.ftn:
            self._classes.setdefault(each["nhlfe"], []).append(each)

    def take_classes(self, entry: int | None) -> list[CompiledKeys]:
        """Take the classes that an entry carries, which are a session's from now on."""
        return [] if entry is None else self._classes.pop(entry, [])

    def leave_in(self, tables: label_tables.LabelTables) -> None:
        """Remove the entries of sessions from the tables."""
        tables.ftn = [each for each in tables.ftn if each["nhlfe"] in self._classes]
        tables.ilm = [
            each for each in tables.ilm if (each["node"], each["label"]) in self.entry_of_label
        ]


def _compile_session(
    scenario: ResolvedScenario,
    tables: label_tables.LabelTables,
    remaining: _RemainingEntries,
    indices: tuple[dict[str, int], dict[str, int]],
    name: str,
) -> CompiledKeys:
    nodes, links = indices
    path, route = scenario.paths[name], scenario.routes[name]
    labels = tables.labels[name]
    entries = [tables.entries.get((name, index)) for index in range(len(route.nodes))]
    places = [(nodes[node], label) for node, label in zip(route.nodes, labels, strict=True)]
    entries[1:] = [remaining.entry_of_label.get(place) for place in places[1:]]
    classes = remaining.take_classes(entries[0])
    for place in places:
        if place[1] != EXPLICIT_NULL:
            remaining.entry_of_label.pop(place, None)
    head = tables.nhlfe[entries[0]] if entries[0] is not None else {}
    last = next((entry for entry in reversed(entries) if entry is not None), None)
    written = scenario.written.paths.get(name)
    auto = scenario.signalling.auto_bandwidth.get(name)
    class_type = get_class_type(scenario, name)
    return {
        "name": name,
        "bandwidth_bit_s": scenario.get_reservation(name)[0],
        "setup": path.setup,
        "hold": path.hold,
        **({"class_type": class_type} if class_type else {}),
        "dynamic": written is None or written.route == (AUTO,),
        "route": [links[hop.over] for hop in route.hops],
        **({"computed": True} if name in scenario.unplanned_paths else {}),
        "hops": [
            {"label": label, "entry": entry} for label, entry in zip(labels, entries, strict=True)
        ],
        "classes": [{"fec": each["fec"], "dscps": each.get("dscps", [])} for each in classes],
        "pipe": path.ttl != "uniform",
        "diffserv": [
            next(iter(head.get("push_diffserv", ())), None),
            None if last is None else tables.nhlfe[last].get("pop_diffserv"),
        ],
        "protection": _compile_protection(scenario, links, name),
        "around": _find_bypassed_links(scenario, links, name),
        "auto_bandwidth": None
        if auto is None
        else auto.compile_keys() | {"maximum_bit_s": auto.maximum or 2**62},
    }


def _compile_constraints(
    scenario: ResolvedScenario, nodes: dict[str, int], names: list[str]
) -> dict[str, CompiledKeys]:
    """Compile the constraints of each path whose route must satisfy more than bandwidth."""
    return {
        name: {
            "constraints": {
                "barred": sorted(constraints.barred_arcs),
                "via": [nodes[node] for node in scenario.paths[name].via],
                "max_hops": scenario.paths[name].max_hops,
                "max_delay_ns": scenario.paths[name].max_delay,
                "minimise": scenario.paths[name].minimise,
                "apart": [
                    {"session": names.index(other), "from": kind}
                    for other, kind in constraints.disjoint_paths.items()
                ],
            }
        }
        for name, constraints in list_head_constraints(scenario, names).items()
    }


def _compile_class_types(scenario: ResolvedScenario) -> CompiledKeys:
    """TE-classes and the bounds of each link, where a path is of another class type than 0."""
    te_classes = list_te_classes(scenario)
    if not te_classes:
        return {}
    reservable = [ospf.compute_reservable(arc) for arc in scenario.arcs]
    bounds = [
        [{"class_types": list(types), "bit_s": limit} for types, limit in limits]
        for limits in list_class_type_limits(scenario, reservable)
    ]
    classes = [
        {"class_type": class_type, "priority": priority} for class_type, priority in te_classes
    ]
    return {"class_types": {"te_classes": classes, "bounds": bounds}}


def _compile_attributes(scenario: ResolvedScenario) -> list[CompiledKeys]:
    """Compile the attributes of links that heads know besides bandwidth; risks are numbered."""
    risks = sorted({risk for arc in scenario.arcs for risk in arc.options.te.risks})
    return [
        {
            "metric": arc.options.te.metric or arc.options.metric,
            "delay_ns": arc.options.delay,
            "risks": sorted(risks.index(risk) for risk in set(arc.options.te.risks)),
        }
        for arc in scenario.arcs
    ]


def _compile_protection(
    scenario: ResolvedScenario, links: dict[str, int], name: str
) -> CompiledKeys | None:
    """Local protection that a path asks for; None if it asks for none."""
    local = {
        key: protection
        for key, protection in scenario.protections.items()
        if protection.kind in LOCAL_PROTECTION_KINDS and name in protection.path
    }
    if not local:
        return None
    written = []
    for key in local:
        _, origin = scenario.origins.get(("protections", key), ("protections", key))
        written.append(scenario.written.protections[str(origin)])
    written_detours = [
        protection.backup
        for protection in local.values()
        if protection.kind == "detour" and protection.backup
    ]
    routes = [scenario.routes[backup] for backup in written_detours]
    return {
        "one_to_one": bool(written_detours),
        "node": any(protection.protect != "link" for protection in written)
        or any(
            len(list_protected_arcs(scenario, protection, name)) > 1
            for protection in local.values()
            if not written_detours
        ),
        "bandwidth": any(protection.bandwidth is not None for protection in written),
        "computed": any(protection.backup == AUTO for protection in written),
        "detours": [[links[hop.over] for hop in route.hops] for route in routes],
    }


def _find_bypassed_links(scenario: ResolvedScenario, links: dict[str, int], name: str) -> list[int]:
    """Find the links that a path bypasses for others; empty if it is no bypass tunnel."""
    found: set[int] = set()
    for protection in scenario.protections.values():
        if protection.kind != "facility-bypass" or protection.backup != name:
            continue
        for path in protection.path:
            protected_arcs = list_protected_arcs(scenario, protection, path)
            # A node repairs the link behind it (RFC 4090 section 6), not those further on.
            if protected_arcs and covers_arc(protection, protected_arcs[0]):
                found |= {links[arc.name] for arc in protected_arcs}
    return sorted(found)


def _compile_action(
    scenario: ResolvedScenario, links: dict[str, int], event: OperatorEvent
) -> CompiledKeys:
    if event.set_up is not None:
        return {"kind": "set-up"}
    if event.tear is not None:
        return {"kind": "tear"}
    if event.resize is not None:
        return {"kind": "resize", "bandwidth_bit_s": event.bandwidth}
    if event.to == (AUTO,):
        return {"kind": "move", "route": None}
    arcs = find_links_of_route(scenario, event.to) or ()
    return {"kind": "move", "route": [links[arc] for arc in arcs]}
