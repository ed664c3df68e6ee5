"""OSPF as the engine reads it, and the flow that its messages are."""

from trunkline.network import messages
from trunkline.scenario.base import Compiled
from trunkline.scenario.resolved import Resolved
from trunkline.scenario.resolved.resolved import Arc

CS6 = 48
LARGEST_TE_METRIC = 2**32 - 1


def by_lsas(scenario: Resolved) -> bool:
    """Whether heads of signalled paths learn of links by LSAs of OSPF."""
    its = scenario.signalling
    return scenario.routing.ospf is not None and its.kind == "rsvp-te" and its.flooding is None


def reservable(arc: Arc) -> int:
    """Maximum reservable bandwidth of a direction of a link [bit/s]."""
    return round((arc.options.rate or 0) * arc.options.te.reservable)


def _offers(scenario: Resolved) -> list[Compiled]:
    """What nodes say of their links: each colour is a bit, in the order of names."""
    colours = sorted({name for arc in scenario.arcs for name in arc.options.te.colours})
    return [
        {
            "metric": min(arc.options.te.metric or arc.options.metric, LARGEST_TE_METRIC),
            "reservable_bit_s": reservable(arc),
            "colours": sum(1 << colours.index(name) for name in set(arc.options.te.colours)),
        }
        for arc in scenario.arcs
    ]


def flow(scenario: Resolved) -> list[Compiled]:
    """The flow that messages are counted under, if there are any."""
    return [] if scenario.routing.ospf is None else [messages.flow("ospf", dscp=CS6, ttl=1)]


def compile(scenario: Resolved, flow: int) -> Compiled | None:
    """The signalling part of a network with OSPF alone; None without it.

    Parameters
    ----------
    scenario : Resolved
        The scenario.
    flow : int
        Index of the flow of its messages.
    """
    its = scenario.routing.ospf
    if its is None:
        return None
    ospf = {
        **its.compiled("detection", "fib_updates"),
        "lsa_arrival_ns": its.arrival,
        "flow": flow,
        "hello_ns": its.hello or None,
        "dead_ns": its.silence,
        "fib_update_ns": [its.fib_updates.get(node, its.fib_update) for node in scenario.nodes],
        "multipath": scenario.routing.ecmp is not None,
    }
    if scenario.routing.ldp is not None and scenario.routing.ldp.igp_sync:
        ospf["ldp_sync"] = True
    if its.local_delay:
        ospf["local_delay_ns"] = its.local_delay
    if by_lsas(scenario):
        ospf["te"] = _offers(scenario)
    return {"detection": its.detection.compiled(), "ospf": ospf}
