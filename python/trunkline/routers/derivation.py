"""The neutral form of a scenario, derived once from its resolved and its compiled form.

Rules where the scenario is silent: router ids are 10.255.0.1 and on, in the order of the nodes;
routes are those of OSPF in one area. A path is a tunnel of RSVP-TE if the scenario signals or
protects paths, else a static LSP with the scenario's own labels.
"""

from typing import Final

from trunkline.linux.plan.command_target import CommandTarget
from trunkline.routers.design import RouterDesign
from trunkline.routers.interface_derivation import derive_interfaces, list_static_routes
from trunkline.routers.label_derivation import (
    list_labels,
    list_segment_policies,
    list_steering,
    map_imposition,
)
from trunkline.routers.port_policies import PortPolicies
from trunkline.routers.protocol_omissions import note_paths, note_protocols, note_unused_heads
from trunkline.routers.router_config import LinkStateRouting, Router, RouterNetwork
from trunkline.routers.tunnels import list_tunnels
from trunkline.scenario import Scenario

_NS_PER_S: Final = 1_000_000_000
_NS_PER_MS: Final = 1_000_000
SRGB_SIZE: Final = 8000  # Labels of the block of node labels, as routers have it by default.


def derive_routers(scenario: Scenario, target: CommandTarget) -> RouterNetwork:
    """Derive the neutral form.

    scenario: The design.
    target: Chosen addresses and devices; the rest follows the rules above.
    """
    design = RouterDesign(scenario, target)
    port_policies = _make_port_policies(design)
    interfaces = derive_interfaces(design, target, port_policies)
    tunnels, labels = list_tunnels(design), list_labels(design)
    policies, steering = list_segment_policies(design), list_steering(design)
    imposition = map_imposition(design)
    note_paths(design)
    note_protocols(design)
    note_unused_heads(design)
    routers = tuple(
        Router(
            name,
            design.router_ids[index],
            tuple(interfaces[index]),
            index,
            tuple(labels.get(index, ())),
            tuple(tunnels.get(name, ())),
            tuple(policies.get(name, ())),
            tuple(steering.get(index, ())),
            imposition.get(name, {}),
            tuple(list_static_routes(design, index)),
        )
        for index, name in enumerate(design.nodes)
    )
    for router in routers:
        policers = [f"conditioner {each}" for each in router.list_policers()]
        for policy in (*router.list_port_policies(), *policers):
            design.hardware_omissions += port_policies.list_omissions(policy, router.name)
    resolved = design.resolved
    options = [arc.options.te for arc in resolved.arcs]
    srgb = resolved.written.te.srgb
    ttls = {path.ttl for path in resolved.paths.values()}
    return RouterNetwork(
        design.network["name"],
        routers,
        port_policies.policies,
        port_policies.policers,
        tuple(dict.fromkeys(colour for each in options for colour in each.colours)),
        tuple(dict.fromkeys(risk for each in options for risk in each.risks)),
        (srgb, srgb + max(SRGB_SIZE, len(design.nodes)) - 1) if resolved.policies else None,
        resolved.routing.ldp is not None,
        design.is_signalled,
        bool(ttls) and "uniform" not in ttls,
        _derive_igp(design),
        resolved.routing.igp,
        tuple(design.omissions),
        tuple(design.hardware_omissions),
        design.network,
    )


def _make_port_policies(design: RouterDesign) -> PortPolicies:
    label_only_paths = frozenset(
        name
        for name, path in design.resolved.paths.items()
        if path.diffserv is not None and path.diffserv.kind == "l-lsp"
    )
    return PortPolicies(design.network, label_only_paths)


def _derive_igp(design: RouterDesign) -> LinkStateRouting:
    ospf = design.resolved.routing.ospf
    repairs = any(each.kind == "ti-lfa" for each in design.resolved.protections.values())
    if ospf is None:
        return LinkStateRouting(repairs_prefixes=repairs)
    spf = ospf.spf
    times = (
        (spf.initial, spf.second, spf.maximum)
        if spf.kind == "backoff"
        else (spf.initial, spf.short, spf.long)
    )
    hello = max(1, round(ospf.hello / _NS_PER_S)) if ospf.hello else 10
    return LinkStateRouting(
        hello,
        max(1, round(ospf.dead_interval / _NS_PER_S)) if ospf.hello else 4 * hello,
        (times[0] // _NS_PER_MS, times[1] // _NS_PER_MS, times[2] // _NS_PER_MS),
        ospf.lsa_interval // _NS_PER_MS,
        repairs,
    )
