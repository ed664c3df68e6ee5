"""OSPF in the compiled network, and the flow of its messages."""

from trunkline.network import messages
from trunkline.scenario.base import CompiledKeys
from trunkline.scenario.resolved import ResolvedScenario
from trunkline.scenario.resolved.class_types import (
    MAX_TE_CLASSES,
    find_limit,
    list_class_type_limits,
    list_te_classes,
)
from trunkline.scenario.resolved.resolved import ResolvedArc

CS6_DSCP = 48
MAX_TE_METRIC = 2**32 - 1


def has_te_lsas(scenario: ResolvedScenario) -> bool:
    """Whether heads of signalled paths learn of links by LSAs of OSPF."""
    signalling = scenario.signalling
    return (
        scenario.routing.ospf is not None
        and signalling.kind == "rsvp-te"
        and signalling.flooding is None
    )


def compute_reservable(arc: ResolvedArc) -> int:
    """Maximum reservable bandwidth of a direction of a link [bit/s]."""
    return round((arc.options.rate or 0) * arc.options.te.reservable)


def _compile_te_links(scenario: ResolvedScenario) -> list[CompiledKeys]:
    """Compile the TE attributes of links; each colour is a bit, in the order of names."""
    colours = sorted({name for arc in scenario.arcs for name in arc.options.te.colours})
    te_classes = list_te_classes(scenario)
    reservable = [compute_reservable(arc) for arc in scenario.arcs]
    limits = list_class_type_limits(scenario, reservable)

    def compile_unreserved(index: int) -> CompiledKeys:
        if not te_classes:
            return {}
        free = [find_limit(limits[index], reservable[index], each) for each, _ in te_classes]
        return {"unreserved_bit_s": [*free, *[0] * (MAX_TE_CLASSES - len(free))]}

    return [
        {
            "metric": min(arc.options.te.metric or arc.options.metric, MAX_TE_METRIC),
            "reservable_bit_s": reservable[index],
            **compile_unreserved(index),
            "colours": sum(1 << colours.index(name) for name in set(arc.options.te.colours)),
        }
        for index, arc in enumerate(scenario.arcs)
    ]


def make_message_flows(scenario: ResolvedScenario) -> list[CompiledKeys]:
    """Make the flow that messages are counted under, if there are any."""
    return (
        []
        if scenario.routing.ospf is None
        else [messages.make_message_flow("ospf", dscp=CS6_DSCP, ttl=1)]
    )


def compile_ospf(scenario: ResolvedScenario, message_flow_index: int) -> CompiledKeys | None:
    """Compile the signalling part of a network with OSPF alone; None without OSPF."""
    ospf_options = scenario.routing.ospf
    if ospf_options is None:
        return None
    ospf = {
        **ospf_options.compile_keys("detection", "fib_updates"),
        "lsa_arrival_ns": ospf_options.min_lsa_arrival,
        "flow": message_flow_index,
        "hello_ns": ospf_options.hello or None,
        "dead_ns": ospf_options.dead_interval,
        "fib_update_ns": [
            ospf_options.fib_updates.get(node, ospf_options.fib_update) for node in scenario.nodes
        ],
        "multipath": scenario.routing.ecmp is not None,
    }
    if scenario.routing.ldp is not None and scenario.routing.ldp.igp_sync:
        ospf["ldp_sync"] = True
    if ospf_options.local_delay:
        ospf["local_delay_ns"] = ospf_options.local_delay
    if has_te_lsas(scenario):
        ospf["te"] = _compile_te_links(scenario)
    return {"detection": ospf_options.detection.compile_keys(), "ospf": ospf}
