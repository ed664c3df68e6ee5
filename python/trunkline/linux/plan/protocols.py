"""The protocols of a compiled network."""

from trunkline.network.types import Ldp, NetworkData, Ospf, Rsvp


def get_ospf(network: NetworkData) -> Ospf | None:
    """Return the timers of OSPF, if the network has it."""
    signalling = network.get("signalling")
    return signalling.get("ospf") if signalling else None


def get_ldp(network: NetworkData) -> Ldp | None:
    """Return the timers of LDP, if the network has it."""
    signalling = network.get("signalling")
    return signalling.get("ldp") if signalling else None


def get_rsvp(network: NetworkData) -> Rsvp | None:
    """RSVP-TE, if the network has it."""
    signalling = network.get("signalling")
    return signalling.get("rsvp") if signalling else None
