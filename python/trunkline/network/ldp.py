"""LDP in the compiled network: the flow of its messages, and the classes that it labels."""

from trunkline.network import messages
from trunkline.scenario.base import CompiledKeys
from trunkline.scenario.resolved import ResolvedScenario

CS6_DSCP = 48


def make_message_flows(scenario: ResolvedScenario) -> list[CompiledKeys]:
    """Make the flow that messages are counted under, if there are any."""
    return (
        []
        if scenario.routing.ldp is None
        else [messages.make_message_flow("ldp", dscp=CS6_DSCP, ttl=255)]
    )


def compile_ldp(
    scenario: ResolvedScenario, message_flow_index: int, first_fec: int
) -> CompiledKeys | None:
    """Compile LDP for the signalling part of a network; None without LDP.

    ``first_fec`` is the class of packets to the first node.
    """
    ldp_options = scenario.routing.ldp
    if ldp_options is None:
        return None
    return {
        "detection": scenario.routing.detection.compile_keys(),
        "ldp": {
            **ldp_options.compile_keys("control", "detection", "igp_sync"),
            "flow": message_flow_index,
            "ordered": ldp_options.control == "ordered",
            "first_fec": first_fec,
        },
    }
