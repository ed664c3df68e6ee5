"""Signalling as the engine reads it: sessions with their first routes, orders, requests."""

from trunkline.network import messages, mpls, ospf
from trunkline.network.labels import EXPLICIT_NULL
from trunkline.scenario.base import Compiled
from trunkline.scenario.path import AUTO
from trunkline.scenario.recovery import LOCAL
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.resolved.protections import covers, guarded
from trunkline.scenario.resolved.signalled import links_of, paths_of, signalled
from trunkline.scenario.signalling import Event

_ELSEWHERE = (
    *("kind", "start", "dscp", "reliable", "detection", "when_down"),
    *("soft_preemption", "auto_bandwidth"),
)
"""Keys of the scenario whose meaning stands in other parts of the network."""


def flow(scenario: Resolved) -> list[Compiled]:
    """The flow that messages are counted under, if there are any."""
    its = scenario.signalling
    if its.kind == "none":
        return []
    return [messages.flow(its.kind, dscp=its.dscp, ttl=255)]


def compile(
    scenario: Resolved,
    tables: mpls.Tables,
    indices: tuple[dict[str, int], dict[str, int]],
    flow: int,
) -> Compiled | None:
    """The signalling part of a network; None if the scenario has none.

    The bindings of signalled paths leave the label tables: their sessions make them.

    Parameters
    ----------
    scenario : Resolved
        The scenario.
    tables : Tables
        The label tables.
    indices : tuple of dict
        Index of each node, and of each one-way link.
    flow : int
        Index of the flow of the messages.
    """
    its = scenario.signalling
    if its.kind == "none":
        return None
    nodes, links = indices
    names = signalled(scenario)
    sessions = [_session(scenario, tables, indices, name) for name in names]
    orders = [
        {"at_ns": event.at, "session": names.index(path), "action": _action(scenario, links, event)}
        for event in sorted(scenario.events, key=lambda event: event.at)
        for path in paths_of(scenario, event)
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
            else [links[arc] for arc in links_of(scenario, each.route) or ()],
        }
        for name, each in scenario.path_requests.items()
    ]
    rsvp = {
        **its.compiled(*_ELSEWHERE),
        "flow": flow,
        "resend_ns": its.resend if its.reliable else None,
        "soft_ns": its.soft_preemption,
        "discard": its.when_down == "discard",
        "flooding_ns": None if ospf.by_lsas(scenario) else its.flooding or 0,
        "reservable": [ospf.reservable(arc) for arc in scenario.arcs],
        "sessions": sessions,
        "orders": orders,
        "requests": requests,
    }
    return {"detection": its.detection.compiled(), "rsvp": rsvp}


def _session(
    scenario: Resolved,
    tables: mpls.Tables,
    indices: tuple[dict[str, int], dict[str, int]],
    name: str,
) -> Compiled:
    nodes, links = indices
    path, route = scenario.paths[name], scenario.routes[name]
    labels = tables.labels[name]
    entries = [tables.entries.get((name, index)) for index in range(len(route.nodes))]
    # What protections made of the end of a path counts, not the entry it had at first.
    bound = {(each["node"], each["label"]): each["nhlfe"] for each in tables.ilm}
    places = [(nodes[node], label) for node, label in zip(route.nodes, labels, strict=True)]
    entries[1:] = [bound.get(place) for place in places[1:]]
    classes = [each for each in tables.ftn if each["nhlfe"] == entries[0]]
    tables.ftn = [each for each in tables.ftn if each["nhlfe"] != entries[0]]
    given = {(node, label) for node, label in places if label != EXPLICIT_NULL}
    tables.ilm = [each for each in tables.ilm if (each["node"], each["label"]) not in given]
    head = tables.nhlfe[entries[0]] if entries[0] is not None else {}
    last = next((entry for entry in reversed(entries) if entry is not None), None)
    written = scenario.written.paths.get(name)
    waits = {
        path for event in scenario.events if event.set_up for path in paths_of(scenario, event)
    }
    auto = scenario.signalling.auto_bandwidth.get(name)
    return {
        "name": name,
        "path": list(scenario.paths).index(name),
        "bandwidth_bit_s": scenario.reserved.get(name, (path.bandwidth or 0, 0))[0],
        "setup": path.setup,
        "hold": path.hold,
        "start_ns": None if name in waits else scenario.signalling.start,
        "dynamic": written is None or written.route == (AUTO,),
        "route": [links[hop.over] for hop in route.hops],
        "hops": [
            {"label": label, "entry": entry} for label, entry in zip(labels, entries, strict=True)
        ],
        "classes": [{"fec": each["fec"], "dscps": each.get("dscps", [])} for each in classes],
        "pipe": path.ttl != "uniform",
        "diffserv": [
            next(iter(head.get("push_diffserv", ())), None),
            None if last is None else tables.nhlfe[last].get("pop_diffserv"),
        ],
        "protection": _protection(scenario, links, name),
        "around": _around(scenario, links, name),
        "auto_bandwidth": None
        if auto is None
        else auto.compiled() | {"maximum_bit_s": auto.maximum or 2**62},
    }


def _protection(scenario: Resolved, links: dict[str, int], name: str) -> Compiled | None:
    """Local protection that a path asks for; None if it asks for none."""
    local = {
        key: its
        for key, its in scenario.protections.items()
        if its.kind in LOCAL and name in its.path
    }
    if not local:
        return None
    written = []
    for key in local:
        _, origin = scenario.origins.get(("protections", key), ("protections", key))
        written.append(scenario.written.protections[str(origin)])
    given = [its.backup for its in local.values() if its.kind == "detour" and its.backup]
    routes = [scenario.routes[backup] for backup in given]
    return {
        "one_to_one": bool(given),
        "node": any(its.protect != "link" for its in written)
        or any(len(guarded(scenario, its, name)) > 1 for its in local.values() if not given),
        "bandwidth": any(its.bandwidth is not None for its in written),
        "computed": any(its.backup == AUTO for its in written),
        "detours": [[links[hop.over] for hop in route.hops] for route in routes],
    }


def _around(scenario: Resolved, links: dict[str, int], name: str) -> list[int]:
    """Links that a path goes around as a bypass tunnel of others; empty if it is none."""
    found: set[int] = set()
    for its in scenario.protections.values():
        if its.kind != "facility-bypass" or its.backup != name:
            continue
        for path in its.path:
            crossed = guarded(scenario, its, path)
            # A node repairs the link behind it (RFC 4090 section 6), not those further on.
            if crossed and covers(its, crossed[0]):
                found |= {links[arc.name] for arc in crossed}
    return sorted(found)


def _action(scenario: Resolved, links: dict[str, int], event: Event) -> Compiled:
    if event.set_up is not None:
        return {"kind": "set-up"}
    if event.tear is not None:
        return {"kind": "tear"}
    if event.resize is not None:
        return {"kind": "resize", "bandwidth_bit_s": event.bandwidth}
    if event.to == (AUTO,):
        return {"kind": "move", "route": None}
    arcs = links_of(scenario, event.to) or ()
    return {"kind": "move", "route": [links[arc] for arc in arcs]}
