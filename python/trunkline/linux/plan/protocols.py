"""The protocols of a compiled network."""

from trunkline.network.types import Network
from trunkline.network.types.signalling import Ldp, Ospf, Rsvp


def ospf_of(data: Network) -> Ospf | None:
    """The timers of OSPF, if the network has it."""
    signalling = data.get("signalling")
    return signalling.get("ospf") if signalling else None


def ldp_of(data: Network) -> Ldp | None:
    """The timers of LDP, if the network has it."""
    signalling = data.get("signalling")
    return signalling.get("ldp") if signalling else None


def rsvp_of(data: Network) -> Rsvp | None:
    """RSVP-TE, if the network has it."""
    signalling = data.get("signalling")
    return signalling.get("rsvp") if signalling else None
