"""LDP as the engine reads it, the flow that its messages are, and the classes it labels."""

from trunkline.network import messages
from trunkline.scenario.base import Compiled
from trunkline.scenario.resolved import Resolved

CS6 = 48


def flow(scenario: Resolved) -> list[Compiled]:
    """The flow that messages are counted under, if there are any."""
    return [] if scenario.routing.ldp is None else [messages.flow("ldp", dscp=CS6, ttl=255)]


def compile(scenario: Resolved, flow: int, first_fec: int) -> Compiled | None:
    """LDP in the signalling part of a network; None without it.

    Parameters
    ----------
    scenario : Resolved
        The scenario.
    flow : int
        Index of the flow of its messages.
    first_fec : int
        Class of packets to the first node.
    """
    its = scenario.routing.ldp
    if its is None:
        return None
    return {
        "detection": scenario.routing.detection.compiled(),
        "ldp": {
            **its.compiled("control", "detection", "igp_sync"),
            "flow": flow,
            "ordered": its.control == "ordered",
            "first_fec": first_fec,
        },
    }
