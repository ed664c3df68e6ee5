"""Labels by FRR's ldpd: its configuration from a scenario's LDP, and features that it lacks.

Each node has one address that labels are for, which its sessions use too. The daemon runs until
time zero before the run begins, so that all labels are known by then.
"""

from collections.abc import Iterator
from typing import Final

from trunkline.linux.plan.addresses import VethPlan
from trunkline.linux.plan.command_script import CommandScript
from trunkline.linux.plan.protocols import get_ldp, get_ospf
from trunkline.network.types import Ldp, NetworkData

NAME: Final = "ldpd"
_NS_PER_S: Final = 1_000_000_000
_MIN_KEEPALIVE_NS: Final = 15 * _NS_PER_S
_RETRY_NS: Final = 15 * _NS_PER_S
"""Time from a failed session to the next attempt (``INIT_DELAY_TMR``)."""


def refuse_unsupported(script: CommandScript, network: NetworkData) -> None:
    """Report features that ldpd lacks.

    script: Takes the reasons.
    network: The compiled network.
    """
    ldp = get_ldp(network)
    if ldp is None:
        return

    def refuse_key(text: str, key: str) -> None:
        script.refuse(("routing", "ldp", key), text)

    ospf = get_ospf(network)
    if ospf and ospf.get("ldp_sync"):
        refuse_key("igp_sync: FRR's is not set up here; nearest: off", "igp_sync")
    if ldp["start_ns"]:
        refuse_key("start: the daemons run before time zero; nearest: 0 s", "start")
    if ldp["keepalive_ns"] < _MIN_KEEPALIVE_NS:
        refuse_key("keepalive: FRR takes 15 s or more; nearest: 15 s", "keepalive")
    if ldp["retry_ns"] != _RETRY_NS:
        refuse_key("retry: FRR's is set; nearest: 15 s", "retry")
    timers = {
        "hello": ldp["hello_ns"],
        "hello_hold": ldp["hello_hold_ns"],
        "keepalive": ldp["keepalive_ns"],
    }
    for key, value in timers.items():
        if value % _NS_PER_S:
            refuse_key(
                f"{key}: FRR counts whole seconds; nearest: {max(1, value // _NS_PER_S)} s", key
            )


def format_config(ldp: Ldp, wiring: VethPlan, node: int, address: str) -> Iterator[str]:
    """Format the lines of a node's configuration.

    ldp: LDP as compiled.
    wiring: Devices.
    address: That of its sessions.
    """
    yield "debug mpls ldp messages sent"
    yield "mpls ldp"
    yield f" router-id {address}"
    if ldp["ordered"]:
        yield " ordered-control"
    yield " address-family ipv4"
    yield f"  discovery transport-address {address}"
    yield f"  discovery hello interval {ldp['hello_ns'] // _NS_PER_S}"
    yield f"  discovery hello holdtime {ldp['hello_hold_ns'] // _NS_PER_S}"
    yield f"  session holdtime {ldp['keepalive_ns'] // _NS_PER_S}"
    if not ldp["gtsm"]:
        yield "  ttl-security disable"
    # Labels are for nodes, not for the networks of links.
    yield "  label local allocate host-routes"
    for side in wiring.sending_ends:
        if side.node == node:
            yield f"  interface {side.device}"
            yield "  exit"
    yield " exit-address-family"
    yield "exit"
