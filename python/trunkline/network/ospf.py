"""OSPF as the engine reads it, and the flow that its messages are."""

from typing import Any

from trunkline.scenario.resolved import Resolved

__all__ = ["compile", "flow", "names"]

Compiled = dict[str, Any]
NAME = "ospf"
"""Of the flow of its messages."""
CS6 = 48
OSPF = 89
"""Protocol number in the IP header (RFC 2328 section A.1)."""
IP_HEADER = 20


def names(scenario: Resolved) -> list[str]:
    """Name of the flow of its messages, if there are any."""
    return [] if scenario.routing.ospf is None else [NAME]


def flow(scenario: Resolved) -> list[Compiled]:
    """The flow that messages are counted under, if there are any."""
    agent = {"protocol": "control", "header_bytes": IP_HEADER, "ip_protocol": OSPF}
    return [
        {
            "name": name,
            "src": 0,
            "dst": 1,
            "start_ns": 0,
            "stop_ns": None,
            "start_jitter_ns": 0,
            "dscp": CS6,
            "ttl": 1,
            "fec": 0,
            "fec_reverse": 0,
            "agent": agent,
        }
        for name in names(scenario)
    ]


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
        "flow": flow,
        "processing_ns": its.processing,
        "resend_ns": its.resend,
        "lsa_interval_ns": its.lsa_interval,
        "hello_ns": its.hello or None,
        "dead_ns": its.silence,
        "spf": its.spf.compiled(),
        "compute_ns": its.compute,
        "fib_update_ns": [its.fib_updates.get(node, its.fib_update) for node in scenario.nodes],
        "multipath": scenario.routing.ecmp is not None,
    }
    return {"detection": its.detection.compiled(), "ospf": ospf}
