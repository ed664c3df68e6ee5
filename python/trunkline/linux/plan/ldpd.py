"""Labels by FRR's ldpd: its configuration from a scenario's LDP, and what it has not.

Each node has one address that labels are for, which its sessions use too. The daemon runs until
time zero before the run begins, so that all labels are known by then.
"""

from collections.abc import Iterator
from typing import Final

from trunkline.linux.plan.addresses import Wiring
from trunkline.linux.plan.protocols import ldp_of, ospf_of
from trunkline.linux.plan.script import Script
from trunkline.network.types import Network
from trunkline.network.types.signalling import Ldp

NAME: Final = "ldpd"
_S: Final = 1_000_000_000
_LEAST_KEEPALIVE_NS: Final = 15 * _S
_RETRY_NS: Final = 15 * _S
"""From a session that failed to the next attempt (``INIT_DELAY_TMR``)."""


def refuse(script: Script, data: Network) -> None:
    """Tells what ldpd cannot do.

    Parameters
    ----------
    script : Script
        Takes the reasons.
    data : mapping
        The compiled network.
    """
    ldp = ldp_of(data)
    if ldp is None:
        return

    def say(text: str, key: str) -> None:
        script.refuse(("routing", "ldp", key), text)

    ospf = ospf_of(data)
    if ospf and ospf.get("ldp_sync"):
        say("igp_sync: FRR's is not set up here; nearest: off", "igp_sync")
    if ldp["start_ns"]:
        say("start: the daemons run before time zero; nearest: 0 s", "start")
    if ldp["keepalive_ns"] < _LEAST_KEEPALIVE_NS:
        say("keepalive: FRR takes 15 s or more; nearest: 15 s", "keepalive")
    if ldp["retry_ns"] != _RETRY_NS:
        say("retry: FRR's is set; nearest: 15 s", "retry")
    timers = {
        "hello": ldp["hello_ns"],
        "hello_hold": ldp["hello_hold_ns"],
        "keepalive": ldp["keepalive_ns"],
    }
    for key, value in timers.items():
        if value % _S:
            say(f"{key}: FRR counts whole seconds; nearest: {max(1, value // _S)} s", key)


def settings(ldp: Ldp, wiring: Wiring, node: int, address: str) -> Iterator[str]:
    """Lines of a node's configuration.

    Parameters
    ----------
    ldp : mapping
        LDP as compiled.
    wiring : Wiring
        Devices.
    node : int
        The node.
    address : str
        That of its sessions.
    """
    yield "debug mpls ldp messages sent"
    yield "mpls ldp"
    yield f" router-id {address}"
    if ldp["ordered"]:
        yield " ordered-control"
    yield " address-family ipv4"
    yield f"  discovery transport-address {address}"
    yield f"  discovery hello interval {ldp['hello_ns'] // _S}"
    yield f"  discovery hello holdtime {ldp['hello_hold_ns'] // _S}"
    yield f"  session holdtime {ldp['keepalive_ns'] // _S}"
    if not ldp["gtsm"]:
        yield "  ttl-security disable"
    # Labels are for nodes, not for the networks of links.
    yield "  label local allocate host-routes"
    for side in wiring.near:
        if side.node == node:
            yield f"  interface {side.device}"
            yield "  exit"
    yield " exit-address-family"
    yield "exit"
