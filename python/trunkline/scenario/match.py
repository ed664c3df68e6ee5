"""Conditions on packets, of classifiers and conditioners alike."""

from typing import Literal

from pydantic import Field

from trunkline.scenario.base import Element
from trunkline.scenario.diffserv import TrafficClass
from trunkline.scenario.dscp import Dscp
from trunkline.scenario.fields import Many, Names

CONDITIONS = ("dscp", "tc", "flow", "source", "destination", "protocol", "trunk", "path")


class Match(Element):
    """What a rule asks for: all conditions given must hold; a list holds by any item."""

    dscp: Many[Dscp] | None = Field(
        default=None, description="DSCP of an IP packet; a labelled packet shows none."
    )
    tc: Many[TrafficClass] | None = Field(
        default=None, description="Traffic class of a labelled packet (RFC 5462)."
    )
    flow: Names | None = Field(default=None, description="Flow, both its directions.")
    source: Names | None = Field(default=None, description="Node that the packet comes from.")
    destination: Names | None = Field(default=None, description="Node that it goes to.")
    protocol: Many[Literal["tcp", "udp"]] | None = Field(
        default=None, description="Transport protocol."
    )
    trunk: Names | None = Field(
        default=None, description="Trunk in whose path it is forwarded, from the first node on."
    )
    path: Names | None = Field(
        default=None, description="Path by whose label it is forwarded; the outermost counts."
    )


def conditions(rule: Match) -> list[str]:
    """Keys of the conditions that a rule sets."""
    return [key for key in CONDITIONS if getattr(rule, key) is not None]
