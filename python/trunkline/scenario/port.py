"""Port configurations: classifier, classes with their queues, scheduler."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from trunkline.scenario import presets
from trunkline.scenario.aqm import Aqm, DropTail
from trunkline.scenario.base import Element
from trunkline.scenario.fields import Name, PositiveTime, Quantity, RateOrShare, Switch, Whole, Word
from trunkline.scenario.limit import Limit, LimitField
from trunkline.scenario.match import Match
from trunkline.scenario.units import BYTES, PACKETS

__all__ = ["HIERARCHIES", "SCHEDULERS", "Class", "Port", "Queue", "Rule", "Scheduler", "rate_of"]

Scheduler = Literal["fifo", "priority", "drr", "wfq", "shaped", "htb", "cbq", "cbq-ancestor-only"]
SCHEDULERS = "priority, drr, wfq, shaped, htb, cbq, cbq-ancestor-only"
"""Those that serve several classes, for messages."""
HIERARCHIES = ("htb", "cbq", "cbq-ancestor-only")
"""Those that know parents."""

DEFAULT_BURST_BYTES = 1600
"""As tc sets it where the clock is fine: the MTU of Ethernet, rounded up [B]."""
Burst = Annotated[int, Quantity(BYTES, 1, 2_000_000_000)]


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
        default=1, description="Weight among its peers (drr, wfq, cbq)."
    )
    priority: Annotated[int, Whole("a priority", 0, 1_000_000)] | None = Field(
        default=None,
        description="0 is served first (priority, shaped, htb: below 8, cbq); absent: the order "
        "of the classes, in htb and cbq 0.",
    )
    quantum: Annotated[int, Quantity(BYTES, 1, 2**31 - 1)] | None = Field(
        default=None,
        description="Quantum of a round robin (drr, htb, cbq); absent: from the weight or rate.",
    )
    rate: RateOrShare | None = Field(
        default=None,
        description="Rate it is due (htb, cbq) or shaped to (shaped), or its share of the link's.",
    )
    ceil: RateOrShare | None = Field(
        default=None, description="Most it may borrow up to (htb); absent: its rate."
    )
    burst: Burst = Field(
        default=DEFAULT_BURST_BYTES, description="Depth of the bucket of its rate (htb, shaped)."
    )
    cburst: Burst = Field(
        default=DEFAULT_BURST_BYTES, description="Depth of the bucket of its ceiling (htb)."
    )
    parent: Word | None = Field(
        default=None, description="Class whose rate it shares (htb, cbq); only leaves hold packets."
    )
    bounded: Switch = Field(default=False, description="It never borrows (cbq).")
    isolated: Switch = Field(
        default=False, description="What it leaves is not lent to classes outside it (cbq)."
    )
    max_burst: Annotated[int, Quantity(PACKETS, 1, 1_000_000)] = Field(
        default=16, description="Packets that may go back to back after a silence (cbq)."
    )
    average_packet: Annotated[int, Quantity(BYTES, 1, 65_551)] = Field(
        default=1000, description="Packet size on the wire that max_burst counts in (cbq)."
    )
    ewma_log: Annotated[int, Whole("an ewma_log", 1, 16)] = Field(
        default=5, description="Weight of the idle-time average is 2 to minus this (cbq)."
    )
    min_idle: PositiveTime | None = Field(
        default=None, description="How far below zero the idle-time average may sink (cbq)."
    )


class Rule(Match):
    """A rule of the classifier: all conditions given must hold; a list holds by any item."""

    class_: Name | None = Field(
        default=None, alias="class", description="Class it joins; absent: the only one."
    )
    precedence: Annotated[int, Whole("a drop precedence", 0, 15)] = Field(
        default=0, description="Drop precedence; 0 is dropped last."
    )


class Port(Element):
    """A port configuration that links refer to by name."""

    preset: Annotated[str, presets.Preset()] | None = Field(
        default=None,
        description="Ready-made configuration; keys beside it replace its own, classes by name.",
    )
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

    @model_validator(mode="before")
    @classmethod
    def _expanded(cls, value: Any) -> Any:
        return presets.expand(value)


def rate_of(rate: int | float | None, link_rate: int) -> int:
    """A rate or share of a link's rate [bit/s], rounded down; 0 for None."""
    # The millionth keeps 29 % of 100 Mbit/s, which is no binary number, from losing a bit/s.
    return int(rate * link_rate + 1e-6) if isinstance(rate, float) else rate or 0
