"""What a scheduler owes a class: one type of keys for each scheduler."""

from typing import Annotated, Any

from pydantic import Field

from trunkline.scenario.base import Compiled, Element, keys_of
from trunkline.scenario.fields import (
    PositiveTime,
    Quantity,
    RateOrShare,
    Short,
    Switch,
    Whole,
    Word,
)
from trunkline.scenario.queue import Queue
from trunkline.scenario.units import BYTES, PACKETS

DEFAULT_BURST_BYTES = 1600
"""As tc sets it where the clock is fine: the MTU of Ethernet, rounded up [B]."""
Burst = Annotated[int, Quantity(BYTES, 1, 2_000_000_000)]
Priority = Annotated[int, Whole("a priority", 0, 1_000_000)] | None
Weight = Annotated[int, Whole("a weight", 1, 1_000_000)]
Quantum = Annotated[int, Quantity(BYTES, 1, 2**31 - 1)] | None
_FIRST = "0 is served first; absent: the order of the classes."


def _alone(value: Any) -> Any:
    return {"m2": value} if isinstance(value, str) else value


class Class(Element):
    """A class of a port: a queue. What the scheduler owes it is in the classes below."""

    queue: Queue = Field(default=Queue(), description="Its queue.")

    def rates(self) -> tuple[int | float | None, ...]:
        """Its rates, absolute or shares of the link's."""
        keys = keys_of(type(self)).items()
        return tuple(getattr(self, name) for name, (_, is_rate) in keys if is_rate)

    def share(self, index: int, link_rate: int, names: list[str]) -> Compiled:
        """What it is due as the engine reads it.

        Parameters
        ----------
        index : int
            Its place among the classes, which is its priority where it sets none.
        link_rate : int
            Rate of the link, of which rates may be shares [bit/s].
        """
        due = self.compiled("queue", link_rate=link_rate)
        for key, absent in (("priority", index), ("quantum_bytes", 0)):
            if key in due and due[key] is None:
                due[key] = absent
        if due.get("parent") is not None:
            due["parent"] = names.index(due["parent"])
        return due


class FifoClass(Class):
    """The only class of a port."""


class PriorityClass(Class):
    """A class under strict priority."""

    priority: Priority = Field(default=None, description=_FIRST)


class DrrClass(Class):
    """A class in a deficit round robin."""

    weight: Weight = Field(default=1, description="Weight among the classes without a quantum.")
    quantum: Quantum = Field(default=None, description="Quantum; absent: from the weight.")


class WeightedClass(Class):
    """A class under weighted fair queueing, or in a round robin by packets."""

    weight: Weight = Field(
        default=1, description="Weight among its peers; with `wrr`, packets in a turn."
    )


class ShapedClass(Class):
    """A class shaped by a token bucket."""

    priority: Priority = Field(default=None, description=_FIRST)
    rate: RateOrShare | None = Field(
        default=None, description="Rate it is shaped to, or its share of the link's; absent: none."
    )
    burst: Burst = Field(default=DEFAULT_BURST_BYTES, description="Depth of its bucket.")


class TbfClass(Class):
    """The only class of a port, shaped by a token bucket."""

    rate: RateOrShare = Field(description="Rate it is shaped to, or its share of the link's.")
    burst: Burst = Field(
        default=DEFAULT_BURST_BYTES, description="Depth of the bucket of its rate."
    )
    peak_rate: RateOrShare | None = Field(
        default=None, description="Rate at which a burst goes out; absent: that of the link."
    )
    min_burst: Burst = Field(
        default=DEFAULT_BURST_BYTES, description="Depth of the bucket of the peak rate."
    )


class Member(Class):
    """A class of a hierarchy."""

    parent: Word | None = Field(
        default=None, description="Class whose rate it shares; only leaves hold packets."
    )


class Rated(Member):
    """A class of a hierarchy by rates."""

    rate: RateOrShare = Field(description="Rate it is due, or its share of the link's.")
    quantum: Quantum = Field(default=None, description="Quantum of its turn; absent: by its rate.")


class HtbClass(Rated):
    """A class of a hierarchical token bucket."""

    priority: Annotated[int, Whole("a priority of htb", 0, 7)] = Field(
        default=0, description="0 is served first."
    )
    ceil: RateOrShare | None = Field(
        default=None, description="Maximum rate with what it borrows; absent: its rate."
    )
    burst: Burst = Field(
        default=DEFAULT_BURST_BYTES, description="Depth of the bucket of its rate."
    )
    cburst: Burst = Field(
        default=DEFAULT_BURST_BYTES, description="Depth of the bucket of its ceiling."
    )


class CbqClass(Rated):
    """A class of class-based queueing."""

    priority: Annotated[int, Whole("a priority", 0, 1_000_000)] = Field(
        default=0, description="0 is served first."
    )
    bounded: Switch = Field(default=False, description="It never borrows.")
    isolated: Switch = Field(
        default=False, description="What it leaves is not lent to classes outside it."
    )
    max_burst: Annotated[int, Quantity(PACKETS, 1, 1_000_000)] = Field(
        default=16, description="Packets that may go back to back after a silence."
    )
    average_packet: Annotated[int, Quantity(BYTES, 1, 65_551)] = Field(
        default=1000, description="Packet size on the wire that max_burst counts in."
    )
    ewma_log: Annotated[int, Whole("an ewma_log", 1, 16)] = Field(
        default=5, description="Weight of the idle-time average is 2 to minus this."
    )
    min_idle: PositiveTime | None = Field(
        default=None, description="How far below zero the idle-time average may sink."
    )

    def compiled(self, *without: str, link_rate: int = 0) -> Compiled:
        """As the engine reads it, which knows who borrows."""
        borrow = {"borrow": not self.bounded}
        return super().compiled(*without, "bounded", link_rate=link_rate) | borrow


class CakeClass(Class):
    """A tin of CAKE."""

    priority: Priority = Field(default=None, description=_FIRST)
    rate: RateOrShare = Field(
        default=1.0,
        description="Rate up to which it goes first, or its share of the port's bandwidth.",
    )


class Curve(Element):
    """A service curve of two pieces; a rate alone is short for `{m2: RATE}`."""

    m1: RateOrShare | None = Field(
        default=None, description="Rate of the first piece, or its share of the link's."
    )
    d: PositiveTime | None = Field(default=None, description="How long the first piece lasts.")
    m2: RateOrShare = Field(description="Rate after that, or its share of the link's.")

    def compiled(self, *without: str, link_rate: int = 0) -> Compiled:
        """Its pieces as the engine reads them."""
        return super().compiled(link_rate=link_rate) | {"d_ns": self.d or 0}


CurveField = (
    Annotated[
        Curve,
        Short(_alone, {"type": "string", "examples": ["2 Mbit/s", "20 %"]}),
    ]
    | None
)


class HfscClass(Member):
    """A class of a hierarchy of fair service curves."""

    real_time: CurveField = Field(
        default=None, description="Service it gets whatever others do; of leaves."
    )
    link_share: CurveField = Field(
        default=None, description="Its share of what real time leaves, in proportion to others'."
    )
    upper_limit: CurveField = Field(
        default=None, description="Maximum rate by link sharing; absent: no limit."
    )

    def curves(self) -> dict[str, Curve]:
        """Those it has, by key."""
        each = {key: getattr(self, key) for key in ("real_time", "link_share", "upper_limit")}
        return {key: curve for key, curve in each.items() if curve is not None}

    def rates(self) -> tuple[int | float | None, ...]:
        """Its rates, absolute or shares of the link's."""
        return tuple(rate for curve in self.curves().values() for rate in (curve.m1, curve.m2))
