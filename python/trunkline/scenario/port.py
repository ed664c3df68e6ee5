"""Port configurations: classifier, classes with their queues, scheduler."""

from typing import Annotated, Literal

from pydantic import Field

from trunkline.scenario.aqm import Aqm, DropTail
from trunkline.scenario.base import Element
from trunkline.scenario.fields import (
    Dscp,
    Limit,
    LimitField,
    Many,
    Name,
    Names,
    Quantity,
    Switch,
    Whole,
)
from trunkline.scenario.units import BYTES

__all__ = ["Class", "Port", "Queue", "Rule", "Scheduler"]

Scheduler = Literal["fifo", "priority", "drr", "wfq"]


class Queue(Element):
    """A queue and who judges its arrivals."""

    limit: LimitField = Field(
        default=Limit(packets=100),
        description="Most it holds: `100 packets`, `64 kB` on the wire, a list of both, or "
        "`none`. 0 packets: none waits.",
    )
    counts_in_service: Switch = Field(
        default=False,
        description="Whether limit and AQM count the packet being transmitted too.",
    )
    aqm: Aqm = Field(default=DropTail(), description="Active queue management.")


class Class(Element):
    """A class of a port: a queue, and what the scheduler owes it."""

    queue: Queue = Field(default=Queue(), description="Its queue.")
    weight: Annotated[int, Whole("a weight", 1, 1_000_000)] = Field(
        default=1, description="Weight among its peers (drr, wfq)."
    )
    priority: Annotated[int, Whole("a priority", 0, 1_000_000)] | None = Field(
        default=None,
        description="0 is served first (priority); absent: the order of the classes.",
    )
    quantum: Annotated[int, Quantity(BYTES, 1, 2**31 - 1)] | None = Field(
        default=None, description="Quantum of a round robin (drr); absent: from the weight."
    )


class Rule(Element):
    """A rule of the classifier: all conditions given must hold; a list holds by any item."""

    dscp: Many[Dscp] | None = Field(
        default=None, description="DSCP of an IP packet; a labelled packet shows none."
    )
    tc: Many[Annotated[int, Whole("a traffic class", 0, 7)]] | None = Field(
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
    class_: Name | None = Field(
        default=None, alias="class", description="Class it joins; absent: the only one."
    )
    precedence: Annotated[int, Whole("a drop precedence", 0, 15)] = Field(
        default=0, description="Drop precedence; 0 is dropped last."
    )


class Port(Element):
    """A port configuration that links refer to by name."""

    queue: Queue | None = Field(
        default=None, description="The queue of the only class, or of each flow with `per: flow`."
    )
    per: Literal["port", "flow"] = Field(
        default="port", description="`flow`: every flow has a class of its own."
    )
    classes: dict[Name, Class] = Field(default={}, description="Classes by name.")
    classify: tuple[Rule, ...] = Field(
        default=(), description="Rules in order; the first that matches decides."
    )
    scheduler: Scheduler | None = Field(
        default=None, description="Which class sends next; absent: fifo if there is one class."
    )
