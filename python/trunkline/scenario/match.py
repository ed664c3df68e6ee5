"""Conditions on packets, of classifiers and conditioners alike."""

from typing import Literal

from trunkline.scenario.base import Element
from trunkline.scenario.diffserv import TrafficClass
from trunkline.scenario.dscp import Dscp
from trunkline.scenario.fields import NameReferences, OneOrMany, default

CONDITION_KEYS = ("dscp", "tc", "flow", "source", "destination", "protocol", "trunk", "path")


class MatchConditions(Element):
    """Conditions of a rule: all that are given must hold; a list holds by any item."""

    dscp: OneOrMany[Dscp] | None = default(
        None, "DSCP of an IP packet; a labelled packet shows none."
    )
    tc: OneOrMany[TrafficClass] | None = default(
        None, "Traffic class of a labelled packet (RFC 5462)."
    )
    flow: NameReferences | None = default(None, "Flow, both its directions.")
    source: NameReferences | None = default(None, "Node that the packet comes from.")
    destination: NameReferences | None = default(None, "Node that it goes to.")
    protocol: OneOrMany[Literal["tcp", "udp"]] | None = default(None, "Transport protocol.")
    trunk: NameReferences | None = default(
        None, "Trunk in whose path it is forwarded, from the first node on."
    )
    path: NameReferences | None = default(
        None, "Path by whose label it is forwarded; the outermost counts."
    )


def list_conditions(rule: MatchConditions) -> list[str]:
    """List the keys of the conditions that a rule sets."""
    return [key for key in CONDITION_KEYS if getattr(rule, key) is not None]
