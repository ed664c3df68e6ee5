"""QoS of a router: classifiers, forwarding groups, queues and drop profiles."""

import math

from trunkline.routers.openconfig.interfaces import name_interface
from trunkline.routers.openconfig.json_entries import Json, make_entry, refer_to_interface
from trunkline.routers.openconfig.schedulers import (
    make_policer_policy,
    make_scheduler_policy,
    name_queue,
)
from trunkline.routers.router_config import (
    PortPolicy,
    QueuePolicy,
    Router,
    RouterInterface,
    RouterNetwork,
    TargetFiles,
)


def make_qos(files: TargetFiles, network: RouterNetwork, router: Router) -> Json:
    """Make the QoS part of a router; empty for none."""
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
        _note_precedences(files, router, policy)
        for queue in policy.classes:
            name = name_queue(policy, queue)
            queues[name] = make_entry("name", name)
            groups[name] = make_entry("name", name, **{"output-queue": name})
            profiles += _list_drop_profiles(files, router, policy, queue)
        schedulers.append(make_scheduler_policy(files, router, policy))
    for name, conditioner in policers:
        for policer in conditioner:
            metered = f"{name}.{policer.name}"
            queues[metered] = make_entry("name", metered)
            groups[metered] = make_entry("name", metered, **{"output-queue": metered})
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
        schedulers.append(make_policer_policy(name, conditioner))
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


def _make_classifier(name: str, kind: str, terms: list[tuple[str, Json]]) -> Json:
    entry = make_entry("name", name, type=kind)
    entry["terms"] = {
        "term": [
            make_entry("id", f"{number * 10}")
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
        (name_queue(policy, each), {"ipv4": {"config": {"dscp-set": list(each.dscps)}}})
        for each in policy.classes
        if each.dscps
    ]
    labels = [
        (name_queue(policy, each), {"mpls": {"config": {"traffic-class": tc}}})
        for each in policy.classes
        for tc in each.tcs
    ]
    return [
        _make_classifier(f"{policy.name}-ipv4", "IPV4", packets),
        _make_classifier(f"{policy.name}-mpls", "MPLS", labels),
    ]


def _note_precedences(files: TargetFiles, router: Router, policy: PortPolicy) -> None:
    matches = [each for queue in policy.classes for each in (queue.dscps, queue.tcs)]
    if any(precedence for match in matches for precedence in match.values()):
        files.omit(
            router.name,
            f"port {policy.port}: drop precedences",
            "the model's classifier chooses a queue alone; nearest: a class for each",
            ("ports", policy.port, "classify", "precedence"),
            changes_design=False,
        )


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
    if queue.curve_unit == "packets":
        files.omit(
            router.name,
            f"{element}: thresholds in packets",
            f"the model has bytes: packets of {queue.mean_packet} B are counted; nearest: "
            "thresholds in bytes",
            ("ports", policy.port, "classes", queue.name, "queue", "aqm"),
            changes_design=False,
        )
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
    return [
        make_entry("name", name_queue(policy, queue)) | {"wred": {"uniform": {"config": config}}}
    ]


def _make_qos_interface(network: RouterNetwork, interface: RouterInterface) -> Json:
    name = name_interface(interface)
    entry = make_entry("interface-id", name) | {"interface-ref": refer_to_interface(name)}
    policy = network.port_policies.get(interface.policy)
    if policy is not None:
        entry["output"] = {
            "classifiers": {
                "classifier": [
                    make_entry("type", kind, name=f"{policy.name}-{kind.lower()}")
                    for kind in ("IPV4", "MPLS")
                ]
            },
            "queues": {
                "queue": [
                    make_entry(
                        "name",
                        name_queue(policy, each),
                        **(
                            {"queue-management-profile": name_queue(policy, each)}
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
                "classifier": [make_entry("type", "IPV4", name=f"{interface.policer}-ipv4")]
            },
            "scheduler-policy": {"config": {"name": f"{interface.policer}-in"}},
        }
    return entry
