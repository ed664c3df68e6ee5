"""Probes: values recorded over time."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from trunkline.scenario.base import Element
from trunkline.scenario.fields import NameReferences, OneOrMany, PlainInteger, PositiveTime

FlowMeasure = Literal[
    "throughput",
    "goodput",
    "delay",
    "delay-max",
    "cwnd",
    "ssthresh",
    "srtt",
    "rtt",
    "rto",
    "pacing-rate",
    "inflight",
    "state",
    "transfers",
]
LinkMeasure = Literal[
    "queue-packets", "queue-bytes", "queue-average", "utilisation", "drops", "marks"
]
Measure = Literal[FlowMeasure, LinkMeasure]
TCP_MEASURES = ("cwnd", "ssthresh", "srtt", "rtt", "rto", "pacing-rate", "inflight", "state")
FLOW_MEASURES: tuple[str, ...] = get_args(FlowMeasure)
LINK_MEASURES: tuple[str, ...] = get_args(LinkMeasure)


class Probe(Element):
    """Something to record in steps of time."""

    measure: OneOrMany[Measure] = Field(description="What; several give a series each.")
    flow: NameReferences | None = Field(default=None, description="Flows, or `all`.")
    link: NameReferences | None = Field(
        default=None, description="Links by direction (`R1->R2`), or `all`."
    )
    class_: NameReferences | None = Field(
        default=None, alias="class", description="Classes of the port; absent: the whole port."
    )
    precedence: OneOrMany[Annotated[int, PlainInteger("a drop precedence", 0, 15)]] | None = Field(
        default=None, description="Drop precedences, for queues; absent: all of them together."
    )
    every: PositiveTime = Field(description="Step.")
