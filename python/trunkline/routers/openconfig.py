"""OpenConfig: a file of RFC 7951 JSON for each router.

Interfaces, MPLS (RSVP-TE tunnels, static LSPs, segment lists, LDP), OSPF and QoS, in the paths that
both the models of 2017 and the newest have.
"""

import json
import math
from typing import Any, Final

from trunkline.routers.router_config import (
    PortPolicy,
    QueuePolicy,
    Router,
    RouterInterface,
    RouterNetwork,
    SegmentPolicy,
    StaticLabelEntry,
    TargetFiles,
    Tunnel,
)

NAME: Final = "openconfig"
_INSTANCE: Final = "default"
_LOOPBACK: Final = "lo0"
_MAX_MTU: Final = 65_535
_MIN_LABEL: Final = 16
_MAX_EXPLICIT_HOPS: Final = 255

Json = dict[str, Any]


def name_interface(interface: RouterInterface) -> str:
    """The chosen name, or ``eth`` and the interface's number."""
    return interface.device or f"eth{interface.number}"


def write_openconfig(network: RouterNetwork) -> TargetFiles:
    """Write a JSON file for each router."""
    files = TargetFiles()
    for router in network.routers:
        files.omit(
            router.name,
            "rates and delays of links",
            "they are the wire's",
            ("links",),
            changes_design=False,
        )
        document = {
            "openconfig-interfaces:interfaces": {"interface": _list_interfaces(router)},
            "openconfig-network-instance:network-instances": {
                "network-instance": [_make_instance(files, network, router)]
            },
        }
        qos = _make_qos(files, network, router)
        if qos:
            document["openconfig-qos:qos"] = qos
        files.texts[f"{router.name}.json"] = json.dumps(document, indent=1) + "\n"
    return files


def _entry(key: str, key_value: Any, /, **config: Any) -> Json:
    """A list entry with its key, which its config repeats."""
    return {key: key_value, "config": {key: key_value, **config}}


def _list_interfaces(router: Router) -> list[Json]:
    interfaces = []
    loopback = [(_LOOPBACK, f"{router.router_id}", 32, "", "softwareLoopback", 0)]
    ends = [
        (
            name_interface(each),
            str(each.address.ip),
            each.address.network.prefixlen,
            f"to {each.neighbour}: {each.arc}" if each.arc else f"to {each.neighbour}",
            "ethernetCsmacd",
            each.mtu,
        )
        for each in router.interfaces
    ]
    for name, address, prefix, description, kind, mtu in loopback + ends:
        entry = _entry("name", name, type=f"iana-if-type:{kind}", enabled=True)
        if description:
            entry["config"]["description"] = description
        if 0 < mtu < _MAX_MTU:
            entry["config"]["mtu"] = mtu
        unit = _entry("index", 0)
        unit["openconfig-if-ip:ipv4"] = {
            "addresses": {"address": [_entry("ip", address, **{"prefix-length": prefix})]}
        }
        entry["subinterfaces"] = {"subinterface": [unit]}
        interfaces.append(entry)
    return interfaces


def _refer(interface: str) -> Json:
    return {"config": {"interface": interface, "subinterface": 0}}


def _make_instance(files: TargetFiles, network: RouterNetwork, router: Router) -> Json:
    instance = _entry("name", _INSTANCE, type="openconfig-network-instance-types:DEFAULT_INSTANCE")
    instance["config"]["router-id"] = str(router.router_id)
    names = [_LOOPBACK, *(name_interface(each) for each in router.interfaces)]
    instance["interfaces"] = {
        "interface": [_entry("id", name, interface=name, subinterface=0) for name in names]
    }
    protocols = [_make_ospf(network, router)] if network.runs_igp else []
    protocols += [_make_static_routes(router)] if router.static_routes else []
    instance["protocols"] = {"protocol": protocols}
    instance["mpls"] = _make_mpls(files, network, router)
    if network.srgb:
        _add_segment_routing(files, network, router, instance)
    return instance


def _make_static_routes(router: Router) -> Json:
    """Static routes; the metric of a next hop is the preference of its route."""
    routes = []
    for prefix in dict.fromkeys(str(each.prefix) for each in router.static_routes):
        hops = [
            _entry(
                "index",
                str(index),
                **{"next-hop": str(each.interface.far_address.ip), "metric": each.distance},
            )
            for index, each in enumerate(router.static_routes, 1)
            if str(each.prefix) == prefix
        ]
        routes.append(_entry("prefix", prefix) | {"next-hops": {"next-hop": hops}})
    kind = "openconfig-policy-types:STATIC"
    return {
        "identifier": kind,
        "name": "static",
        "config": {"identifier": kind, "name": "static", "enabled": True},
        "static-routes": {"static": routes},
    }


def _make_ospf(network: RouterNetwork, router: Router) -> Json:
    interfaces = [
        {
            "id": _LOOPBACK,
            "config": {"id": _LOOPBACK, "passive": True},
            "interface-ref": _refer(_LOOPBACK),
        }
    ]
    for each in router.interfaces:
        name = name_interface(each)
        interfaces.append(
            {
                "id": name,
                "config": {
                    "id": name,
                    "network-type": "openconfig-ospf-types:POINT_TO_POINT_NETWORK",
                    "metric": each.metric,
                },
                "interface-ref": _refer(name),
                "timers": {
                    "config": {
                        "hello-interval": network.igp.hello_s,
                        "dead-interval": network.igp.dead_s,
                    }
                },
            }
        )
    kind = "openconfig-policy-types:OSPF"
    initial, _, maximum = network.igp.spf_ms
    spf = {"initial-delay": initial, "maximum-delay": maximum}
    return {
        "identifier": kind,
        "name": "1",
        "config": {"identifier": kind, "name": "1", "enabled": True},
        "ospfv2": {
            "global": {
                "config": {"router-id": str(router.router_id)},
                "timers": {"spf": {"config": spf}},
                "mpls": {
                    "config": {"traffic-engineering-extensions": network.is_signalled},
                },
            },
            "areas": {
                "area": [
                    {
                        "identifier": 0,
                        "config": {"identifier": 0},
                        "interfaces": {"interface": interfaces},
                    }
                ]
            },
        },
    }


def _make_mpls(files: TargetFiles, network: RouterNetwork, router: Router) -> Json:
    names = [name_interface(each) for each in router.interfaces]
    mpls: Json = {
        "global": {
            "interface-attributes": {
                "interface": [
                    _entry("interface-id", name, **{"mpls-enabled": True})
                    | {"interface-ref": _refer(name)}
                    for name in names
                ]
            }
        }
    }
    if network.colours or network.risks:
        mpls["te-global-attributes"] = _make_te_names(network)
    if network.is_signalled or network.colours or network.risks:
        mpls["te-interface-attributes"] = {
            "interface": [_make_te_interface(each) for each in router.interfaces]
        }
    if network.is_signalled:
        rsvp = [_make_rsvp_interface(files, router, each) for each in router.interfaces]
        mpls["signaling-protocols"] = {"rsvp-te": {"interface-attributes": {"interface": rsvp}}}
    if network.has_ldp:
        ldp = mpls.setdefault("signaling-protocols", {}).setdefault("ldp", {})
        ldp["global"] = {"config": {"lsr-id": str(router.router_id)}}
    lsps: Json = {}
    tunnels = [_make_tunnel(files, router, each) for each in router.tunnels if not each.is_standby]
    tunnels += [_make_policy_tunnel(router, each) for each in router.policies]
    if tunnels:
        routes = [
            _make_explicit_path(each.name, [str(hop.address) for hop in each.hops], "STRICT")
            for each in router.tunnels
        ]
        routes += [_make_segment_path(each) for each in router.policies]
        lsps["constrained-path"] = {
            "named-explicit-paths": {"named-explicit-path": routes},
            "tunnels": {"tunnel": tunnels},
        }
    if not network.is_signalled and router.labels:
        lsps["static-lsps"] = {"static-lsp": _list_static_lsps(files, router)}
    if lsps:
        mpls["lsps"] = lsps
    _note_steering(files, network, router)
    _note_imposition(files, network, router)
    return mpls


def _make_te_names(network: RouterNetwork) -> Json:
    return {
        "srlgs": {
            "srlg": [
                _entry("name", risk, value=index) for index, risk in enumerate(network.risks, 1)
            ]
        },
        "mpls-admin-groups": {
            "admin-group": [
                _entry("admin-group-name", colour, **{"bit-position": bit})
                for bit, colour in enumerate(network.colours)
            ]
        },
    }


def _make_te_interface(interface: RouterInterface) -> Json:
    name = name_interface(interface)
    entry = _entry("interface-id", name, **{"te-metric": interface.te_metric})
    if interface.colours:
        entry["config"]["admin-group"] = list(interface.colours)
    if interface.risks:
        entry["config"]["srlg-membership"] = list(interface.risks)
    return entry | {"interface-ref": _refer(name)}


def _make_rsvp_interface(files: TargetFiles, router: Router, interface: RouterInterface) -> Json:
    name = name_interface(interface)
    entry = _entry("interface-id", name) | {"interface-ref": _refer(name)}
    if interface.rate:
        percent = min(100, round(100 * interface.reservable / interface.rate))
        entry["subscription"] = {"config": {"subscription": percent}}
        files.note_rounding(
            router.name,
            f"link {interface.arc}",
            "reservable bandwidth",
            interface.reservable,
            percent * interface.rate / 100,
            "bit/s",
        )
    return entry


def _make_tunnel(files: TargetFiles, router: Router, tunnel: Tunnel) -> Json:
    kbps = math.ceil(tunnel.bandwidth / 1000)
    files.note_rounding(
        router.name, f"path {tunnel.name}", "bandwidth", tunnel.bandwidth, kbps * 1000, "bit/s"
    )
    style = {
        "": "UNPROTECTED",
        "link": "LINK_PROTECTION_REQUIRED",
        "node": "LINK_NODE_PROTECTION_REQUESTED",
    }[tunnel.repair]
    primary: Json = _entry(
        "name",
        tunnel.name,
        **{
            "path-computation-method": "openconfig-mpls-types:EXPLICITLY_DEFINED",
            "use-cspf": False,
            "explicit-path-name": tunnel.name,
            "setup-priority": tunnel.setup,
            "hold-priority": tunnel.hold,
        },
    )
    groups = {
        "include-any-group": tunnel.include_any,
        "include-all-group": tunnel.include_all,
        "exclude-group": tunnel.exclude,
    }
    named = {key: list(colours) for key, colours in groups.items() if colours}
    if named:
        primary["admin-groups"] = {"config": named}
    attributes: Json = {
        "config": {"destination": str(tunnel.destination)},
        "p2p-primary-path": {"p2p-primary-path": [primary]},
    }
    if tunnel.standby:
        attributes["p2p-secondary-paths"] = {
            "p2p-secondary-path": [
                _entry(
                    "name",
                    name,
                    **{
                        "path-computation-method": "openconfig-mpls-types:EXPLICITLY_DEFINED",
                        "explicit-path-name": name,
                    },
                )
                for name in tunnel.standby
            ]
        }
        primary["candidate-secondary-paths"] = {
            "candidate-secondary-path": [
                _entry("secondary-path", name, priority=rank)
                for rank, name in enumerate(tunnel.standby, 1)
            ]
        }
    if tunnel.protects:
        around = ", ".join(each.arc for each in tunnel.protects)
        files.omit(
            router.name,
            f"path {tunnel.name}: bypass of {around}",
            "the model asks for protection and leaves the bypass to the router; the tunnel is "
            "written without its duty",
            ("protections", tunnel.protection),
            changes_design=False,
        )
    return _entry(
        "name",
        tunnel.name,
        **{
            "type": "openconfig-mpls-types:P2P",
            "signaling-protocol": "openconfig-mpls-types:PATH_SETUP_RSVP",
            "source": str(router.router_id),
            "setup-priority": tunnel.setup,
            "hold-priority": tunnel.hold,
            "shortcut-eligible": any(each.path == tunnel.name for each in router.steering),
            "protection-style-requested": f"openconfig-mpls-types:{style}",
        },
    ) | {
        "bandwidth": {"config": {"specification-type": "SPECIFIED", "set-bandwidth": str(kbps)}},
        "p2p-tunnel-attributes": attributes,
    }


def _make_policy_tunnel(router: Router, policy: SegmentPolicy) -> Json:
    """Make a segment routing policy as a tunnel that segments set up."""
    return _entry(
        "name",
        policy.name,
        **{
            "type": "openconfig-mpls-types:P2P",
            "signaling-protocol": "openconfig-mpls-types:PATH_SETUP_SR",
            "source": str(router.router_id),
            "shortcut-eligible": any(each.path == policy.name for each in router.steering),
        },
    ) | {
        "p2p-tunnel-attributes": {
            "config": {"destination": str(policy.endpoint)},
            "p2p-primary-path": {
                "p2p-primary-path": [
                    _entry(
                        "name",
                        policy.name,
                        **{
                            "path-computation-method": "openconfig-mpls-types:EXPLICITLY_DEFINED",
                            "explicit-path-name": policy.name,
                        },
                    )
                ]
            },
        }
    }


def _make_explicit_path(name: str, addresses: list[str], hop_type: str) -> Json:
    hops = [
        _entry("index", index, address=address, **{"hop-type": hop_type})
        for index, address in enumerate(addresses[:_MAX_EXPLICIT_HOPS], 1)
    ]
    return _entry("name", name) | {"explicit-route-objects": {"explicit-route-object": hops}}


def _make_segment_path(policy: SegmentPolicy) -> Json:
    hops = [
        _entry(
            "index",
            index,
            address=str(hop.address),
            **{"hop-type": "STRICT" if hop.is_adjacency else "LOOSE"},
        )
        for index, hop in enumerate(policy.hops, 1)
    ]
    return _entry("name", policy.name) | {"explicit-route-objects": {"explicit-route-object": hops}}


def _list_static_lsps(files: TargetFiles, router: Router) -> list[Json]:
    lsps: list[Json] = []
    counts: dict[str, int] = {}
    for entry in router.labels:
        if len(entry.out_labels) > 1:
            reason = (
                "a static LSP pushes one label; nearest: RSVP-TE, or a path that rides no tunnel"
            )
            files.omit_label_stack(router, entry, reason)
            continue
        counts[entry.path] = counts.get(entry.path, 0) + 1
        rank = counts[entry.path]
        name = entry.path if rank == 1 else f"{entry.path}.{rank}"
        lsps.append(_entry("name", name) | _make_static_hop(entry))
    return lsps


def _make_static_hop(entry: StaticLabelEntry) -> Json:
    config: Json = {}
    if entry.in_label is not None:
        config["incoming-label"] = entry.in_label
    if entry.interface is None:
        return {"egress": {"config": config}}
    config["next-hop"] = str(entry.interface.far_address.ip)
    label = entry.out_labels[0] if entry.out_labels else None
    config["push-label"] = (
        "IMPLICIT_NULL" if label is None else "IPV4_EXPLICIT_NULL" if label < _MIN_LABEL else label
    )
    return {"ingress" if entry.in_label is None else "transit": {"config": config}}


def _add_segment_routing(
    files: TargetFiles, network: RouterNetwork, router: Router, instance: Json
) -> None:
    assert network.srgb is not None
    first, last = network.srgb
    instance["mpls"]["global"]["reserved-label-blocks"] = {
        "reserved-label-block": [
            _entry("local-id", "srgb", **{"lower-bound": first, "upper-bound": last})
        ]
    }
    instance["segment-routing"] = {
        "srgbs": {
            "srgb": [
                _entry(
                    "local-id",
                    "srgb",
                    **{"dataplane-type": "MPLS", "mpls-label-blocks": ["srgb"]},
                )
            ]
        }
    }
    files.omit(
        router.name,
        f"node label {first + router.node_label_index}",
        "the model has prefix segments of IS-IS, not of OSPF",
        ("te", "srgb"),
        changes_design=False,
    )


def _note_steering(files: TargetFiles, network: RouterNetwork, router: Router) -> None:
    for each in router.steering:
        if each.dscps:
            reason = "the model has no choice of a tunnel by DSCP; nearest: iosxr, junos"
        elif not network.is_signalled and not network.srgb:
            reason = "the model has no FEC of a static LSP; nearest: signalling: rsvp-te"
        else:
            continue
        files.omit(
            router.name,
            f"path {each.path}: traffic to {each.destination}",
            reason,
            ("paths", each.path),
        )


def _note_imposition(files: TargetFiles, network: RouterNetwork, router: Router) -> None:
    if router.imposition:
        path = router.steering[0].path if router.steering else ""
        files.omit(
            router.name,
            "traffic classes of pushed labels",
            "the model remarks what arrives, not what is pushed; nearest: diffserv without a map",
            ("paths", path, "diffserv") if path else ("paths",),
            changes_design=False,
        )
    if network.hides_ttl:
        files.omit(
            router.name,
            "ttl: pipe",
            "the model does not say whether labels hide the TTL",
            ("paths",),
            changes_design=False,
        )


def _make_qos(files: TargetFiles, network: RouterNetwork, router: Router) -> Json:
    policies = [network.port_policies[name] for name in router.list_port_policies()]
    policers = [(name, network.policers[name]) for name in router.list_policers()]
    if not policies and not any(each for _, each in policers):
        return {}
    classifiers: list[Json] = []
    groups: dict[str, Json] = {}
    queues: dict[str, Json] = {}
    schedulers: list[Json] = []
    profiles: list[Json] = []
    for policy in policies:
        classifiers += _list_classifiers(policy)
        for queue in policy.classes:
            name = _name_queue(policy, queue)
            queues[name] = _entry("name", name)
            groups[name] = _entry("name", name, **{"output-queue": name})
            profiles += _list_drop_profiles(files, router, policy, queue)
        schedulers.append(_make_scheduler_policy(files, router, policy))
    for name, conditioner in policers:
        for policer in conditioner:
            metered = f"{name}.{policer.name}"
            queues[metered] = _entry("name", metered)
            groups[metered] = _entry("name", metered, **{"output-queue": metered})
        classifiers.append(
            _make_classifier(
                f"{name}-ipv4",
                "IPV4",
                [
                    (f"{name}.{each.name}", {"ipv4": {"config": {"dscp-set": list(each.dscps)}}})
                    for each in conditioner
                ],
            )
        )
        schedulers.append(_make_policer_policy(name, conditioner))
    qos: Json = {
        "queues": {"queue": list(queues.values())},
        "forwarding-groups": {"forwarding-group": list(groups.values())},
        "classifiers": {"classifier": classifiers},
        "scheduler-policies": {"scheduler-policy": schedulers},
        "interfaces": {
            "interface": [
                _make_qos_interface(network, each)
                for each in router.interfaces
                if each.policy or network.policers.get(each.policer)
            ]
        },
    }
    if profiles:
        qos["queue-management-profiles"] = {"queue-management-profile": profiles}
    return qos


def _name_queue(policy: PortPolicy, queue: QueuePolicy) -> str:
    return f"{policy.name}.{queue.name}"


def _make_classifier(name: str, kind: str, terms: list[tuple[str, Json]]) -> Json:
    entry = _entry("name", name, type=kind)
    entry["terms"] = {
        "term": [
            _entry("id", f"{number * 10}")
            | {
                "conditions": conditions,
                "actions": {"config": {"target-group": group}},
            }
            for number, (group, conditions) in enumerate(terms, 1)
        ]
    }
    return entry


def _list_classifiers(policy: PortPolicy) -> list[Json]:
    packets = [
        (_name_queue(policy, each), {"ipv4": {"config": {"dscp-set": list(each.dscps)}}})
        for each in policy.classes
        if each.dscps
    ]
    labels = [
        (_name_queue(policy, each), {"mpls": {"config": {"traffic-class": tc}}})
        for each in policy.classes
        for tc in each.tcs
    ]
    return [
        _make_classifier(f"{policy.name}-ipv4", "IPV4", packets),
        _make_classifier(f"{policy.name}-mpls", "MPLS", labels),
    ]


def _list_drop_profiles(
    files: TargetFiles, router: Router, policy: PortPolicy, queue: QueuePolicy
) -> list[Json]:
    if not queue.curves:
        return []
    element = f"port {policy.port} class {queue.name}"
    curve = queue.curves[0]
    if len(queue.curves) > 1:
        files.omit(
            router.name,
            f"{element}: {len(queue.curves)} drop precedences",
            "the model has one curve for a queue, that of precedence 0 is written; nearest: red",
            ("ports", policy.port, "classes", queue.name, "queue", "aqm"),
        )
    thresholds = {"min_th": curve["min_th"], "max_th": curve["max_th"]}
    low, high = (queue.to_curve_bytes(each) for each in thresholds.values())
    unit = "B" if queue.curve_unit == "bytes" else f"packets of {queue.mean_packet} B"
    for key, expressed in (("min_th", low), ("max_th", high)):
        size = queue.mean_packet if queue.curve_unit == "packets" else 1
        files.note_rounding(router.name, element, key, thresholds[key], expressed / size, unit)
    percent = max(1, round(100 * curve["max_p"]))
    files.note_rounding(router.name, element, "max_p", curve["max_p"], percent / 100, "1")
    weight = max(0, round(-math.log2(queue.average_weight))) if queue.average_weight else 0
    files.note_rounding(router.name, element, "w_q", queue.average_weight, 2.0**-weight, "1")
    config = {
        "min-threshold": str(low),
        "max-threshold": str(high),
        "max-drop-probability-percent": percent,
        "weight": weight,
    }
    return [_entry("name", _name_queue(policy, queue)) | {"wred": {"uniform": {"config": config}}}]


def _make_scheduler_policy(files: TargetFiles, router: Router, policy: PortPolicy) -> Json:
    schedulers: list[Json] = []
    weighted = []
    order = sorted(policy.classes, key=lambda each: (each.priority is None, each.priority or 0))
    for queue in order:
        name = _name_queue(policy, queue)
        if queue.weight is not None:
            weighted.append((name, queue.weight))
            continue
        entry = _entry("sequence", len(schedulers) + 1)
        if queue.priority is not None:
            entry["config"]["priority"] = "STRICT"
        entry["inputs"] = {"input": [_make_input(name)]}
        if queue.rate is not None:
            ceiling = queue.ceiling or policy.rate
            entry["config"]["type"] = "openconfig-qos-types:TWO_RATE_THREE_COLOR"
            entry["two-rate-three-color"] = {
                "config": {"cir": str(queue.rate), "pir": str(ceiling), "bc": queue.burst or 0}
            }
        elif queue.ceiling is not None:
            entry["config"]["type"] = "openconfig-qos-types:ONE_RATE_TWO_COLOR"
            entry["one-rate-two-color"] = {
                "config": {
                    "cir": str(queue.ceiling),
                    "bc": queue.burst or 0,
                    "queuing-behavior": "SHAPE",
                }
            }
        schedulers.append(entry)
    if weighted:
        entry = _entry("sequence", len(schedulers) + 1)
        entry["inputs"] = {"input": [_make_input(name, weight) for name, weight in weighted]}
        schedulers.append(entry)
    if policy.shaped_rate is not None:
        files.omit(
            router.name,
            f"port {policy.port}: shaped to {policy.shaped_rate} bit/s",
            "the model shapes queues, not the port above them; nearest: a link of that rate",
            ("ports", policy.port),
        )
    for queue in policy.classes:
        if queue.limit_packets is not None or queue.limit_bytes is not None:
            files.omit(
                router.name,
                f"port {policy.port} class {queue.name}: queue limit",
                "the model has no length of a queue that is not shaped",
                ("ports", policy.port, "classes", queue.name, "queue", "limit"),
                changes_design=False,
            )
    return _entry("name", policy.name) | {"schedulers": {"scheduler": schedulers}}


def _make_input(queue: str, weight: int | None = None) -> Json:
    config: Json = {"input-type": "QUEUE", "queue": queue}
    if weight is not None:
        config["weight"] = str(weight)
    return _entry("id", queue, **config)


def _make_policer_policy(name: str, policers: tuple[Any, ...]) -> Json:
    schedulers = []
    for sequence, policer in enumerate(policers, 1):
        entry = _entry("sequence", sequence)
        entry["inputs"] = {"input": [_make_input(f"{name}.{policer.name}")]}
        if policer.violate is None:
            entry["config"]["type"] = "openconfig-qos-types:ONE_RATE_TWO_COLOR"
            entry["one-rate-two-color"] = {
                "config": {
                    "cir": str(policer.rate),
                    "bc": policer.burst,
                    "queuing-behavior": "POLICE",
                },
                **_make_actions(policer, ("conform", "exceed")),
            }
        else:
            entry["config"]["type"] = "openconfig-qos-types:TWO_RATE_THREE_COLOR"
            entry["two-rate-three-color"] = {
                "config": {
                    "cir": str(policer.rate),
                    "bc": policer.burst,
                    "pir": str(policer.peak_rate or policer.rate),
                    "be": policer.peak_burst,
                },
                **_make_actions(policer, ("conform", "exceed", "violate")),
            }
        schedulers.append(entry)
    return _entry("name", f"{name}-in") | {"schedulers": {"scheduler": schedulers}}


def _make_actions(policer: Any, colours: tuple[str, ...]) -> Json:
    actions = {}
    for colour in colours:
        action = getattr(policer, colour)
        config: Json = {}
        if action.drop:
            config["drop"] = True
        if action.dscp is not None:
            config["set-dscp"] = action.dscp
        if config:
            actions[f"{colour}-action"] = {"config": config}
    return actions


def _make_qos_interface(network: RouterNetwork, interface: RouterInterface) -> Json:
    name = name_interface(interface)
    entry = _entry("interface-id", name) | {"interface-ref": _refer(name)}
    policy = network.port_policies.get(interface.policy)
    if policy is not None:
        entry["output"] = {
            "classifiers": {
                "classifier": [
                    _entry("type", kind, name=f"{policy.name}-{kind.lower()}")
                    for kind in ("IPV4", "MPLS")
                ]
            },
            "queues": {
                "queue": [
                    _entry(
                        "name",
                        _name_queue(policy, each),
                        **(
                            {"queue-management-profile": _name_queue(policy, each)}
                            if each.curves
                            else {}
                        ),
                    )
                    for each in policy.classes
                ]
            },
            "scheduler-policy": {"config": {"name": policy.name}},
        }
    if network.policers.get(interface.policer):
        entry["input"] = {
            "classifiers": {
                "classifier": [_entry("type", "IPV4", name=f"{interface.policer}-ipv4")]
            },
            "scheduler-policy": {"config": {"name": f"{interface.policer}-in"}},
        }
    return entry
