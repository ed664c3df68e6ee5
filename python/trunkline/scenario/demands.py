"""Demands: load offered between nodes, and the templates that turn it into packets."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field

from trunkline.scenario.base import Element
from trunkline.scenario.fields import Factor, NameReference, PlainInteger, Rate, Table, default
from trunkline.scenario.flow import TcpOptions, UdpOptions
from trunkline.scenario.workload import TransferWorkload


class GravityDemands(Element):
    """Demands in proportion to the load that each node sends and receives."""

    out: dict[NameReference, Rate] = Field(description="Load that each node offers to all others.")
    in_: dict[NameReference, Rate] | None = Field(
        default=None, alias="in", description="Load to each node from all others; absent: `out`."
    )


class LognormalDemands(Element):
    """A gravity matrix between all nodes whose masses are lognormal."""

    total: Rate = Field(description="Sum of all demands.")
    sigma: Factor = default(1.0, "Standard deviation of a mass's logarithm.")
    seed: Annotated[int, PlainInteger("a seed", 0, 2**64 - 1)] = default(
        1, "Seed of the masses, a separate random stream."
    )


class Demand(Element):
    """A demand between two nodes, or many of them: a table, a gravity or a lognormal matrix.

    Exactly one of `rate`, `file`, `gravity` and `lognormal` says how large.
    """

    from_: NameReference | None = Field(
        default=None, alias="from", description="Node that offers it."
    )
    to: NameReference | None = default(None, "Node that it is offered to.")
    rate: Rate | None = default(None, "Offered load, in IP bits.")
    file: Table | None = default(
        None,
        "CSV file under the scenario's folder with columns from, to and rate, and class if they "
        "differ.",
    )
    gravity: GravityDemands | None = default(None, "In proportion to what nodes send and receive.")
    lognormal: LognormalDemands | None = default(None, "Between all nodes, drawn at random.")
    class_: NameReference = Field(
        default="DF",
        alias="class",
        description="Template in `traffic` that turns it into packets; or a DSCP: CBR with it.",
    )
    scale: Factor = default(1.0, "Factor of every rate of it.")


class UdpTemplate(UdpOptions):
    """Each demand is a UDP flow whose mean rate is that of the demand."""

    agent: Literal["udp"] = Field(description="Kind of agent.")


class TcpTemplate(TcpOptions):
    """Each demand is a number of TCP flows, which take their share, or transfers."""

    agent: Literal["tcp"] = Field(description="Kind of agent.")
    flows: Annotated[int, PlainInteger("a number of flows", 1, 10_000)] = default(
        1, "TCP flows of a demand."
    )
    transfers: TransferWorkload | None = default(
        None, "Transfers that come and go instead, whose load is the rate of the demand."
    )


TrafficTemplate = Annotated[TcpTemplate | UdpTemplate, Discriminator("agent")]
