"""OSPF as the engine reads it, and the flow that its messages are."""

from trunkline.network import messages
from trunkline.scenario.base import Compiled
from trunkline.scenario.resolved import Resolved

__all__ = ["compile", "flow", "names"]

NAME = "ospf"
"""Of the flow of its messages."""
CS6 = 48


def names(scenario: Resolved) -> list[str]:
    """Name of the flow of its messages, if there are any."""
    return [] if scenario.routing.ospf is None else [NAME]


def flow(scenario: Resolved) -> list[Compiled]:
    """The flow that messages are counted under, if there are any."""
    return [messages.flow(name, dscp=CS6, ttl=1) for name in names(scenario)]


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
    return {"detection": its.detection.compiled(), "ospf": ospf}
